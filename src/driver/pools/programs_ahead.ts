/**
 * Programs ahead of use: a worker of the preparation pool recompiles, and announces the pipeline to the prebuild (or replay) pool, if it can
 * be made without a dispatch.
 *
 * @module
 */
import type { RecompileRequest } from "../../recompiler/request.ts";
import type { ClaimedJob } from "../../sync/job_types.ts";
import { decodeData } from "../../sync/plain_data.ts";
import { encodeRecorded } from "../warm_start/recorded_pipeline.ts";
import { NeedsImageDescriptors } from "../../recompiler/lift/image_descriptor.ts";
import { imageNeeds, pipelineNow, pipelineRequest } from "../vulkan/pipeline_request.ts";
import type { DriverRoom } from "./driver_room.ts";
import { announcePipeline } from "./prebuild.ts";
import { AHEAD, artifact, keyOfRequest, raiseArtifact } from "./preparation.ts";
import { blobPayload, JobKind, payloadBlob, Pool } from "./room.ts";

/**
 * Queues the recompile of a program, and the creation of its pipeline after it. A dispatch that needs either sooner takes it over.
 *
 * @param pool that creates the pipeline
 * @throws SyncError if a capacity is used up (`sync.board-full`, `sync.table-full`, `sync.arena-full`): then nothing is queued.
 */
export function announceProgram(shared: DriverRoom, request: RecompileRequest, pool: number = Pool.Prebuild): void {
  const { room } = shared, { bytes, key } = keyOfRequest(request);
  const reference = room.artifacts.announce(key);
  // A submission that is on its way names it: what a loader has queued for it comes first.
  if (reference === undefined) raiseArtifact(room, key);
  let ticket: number, blob: number | undefined;
  try {
    blob = room.arena.append(bytes);
    const payload = [...blobPayload(blob), 0, pool];
    ticket = room.board.submit({ pool: Pool.Preparation, kind: JobKind.Program, priority: AHEAD, payload, blobs: 1 });
  } catch (error) {
    if (blob !== undefined) room.arena.retire(blob);
    if (reference !== undefined) room.artifacts.withdraw(key);
    throw error;
  }
  if (reference !== undefined) room.artifacts.setJob(reference, ticket);
  shared.want(Pool.Preparation);
}

/** A preparation worker's part. What goes wrong is left to the dispatch that needs the program. */
export function runProgramJob(shared: DriverRoom, job: ClaimedJob): void {
  const { room } = shared, blob = payloadBlob(job.payload);
  try {
    prepareProgram(shared, decodeData(room.arena.read(blob)) as RecompileRequest, job.payload[3]);
  } catch {
    shared.failedAhead(); // why is said by who needs the program
  }
  room.board.finish(job.ticket);
}

/** Recompiles a program (or takes it from the table), and announces its pipeline if it can be made now. */
export function prepareProgram(
  shared: DriverRoom,
  request: RecompileRequest,
  pool: number,
): "announced" | "known" | "at-dispatch" {
  const { room, services, layout, device, cacheCanTell } = shared;
  for (let next = request;;) {
    let made;
    try {
      const prepared = artifact(room, next, services);
      room.artifacts.unpin(prepared.pin);
      made = prepared.artifact;
    } catch (error) {
      made = imageNeeds(error, next);
      if (made === undefined) throw error;
    }
    const now = pipelineNow(next, made, device.capabilities);
    if (now.state === "instead") {
      next = now.request;
      continue;
    }
    if (now.state !== "now" || made instanceof NeedsImageDescriptors) return "at-dispatch";
    const queued = announcePipeline(room, {
      request: pipelineRequest(made, layout),
      record: encodeRecorded(next, made.codeWords),
      spirvBytes: made.spirv.byteLength,
      pool,
      cacheCanTell,
    });
    if (queued) shared.want(pool);
    return queued ? "announced" : "known";
  }
}
