/**
 * Pipelines: created before the GPU mutex, once per key, ahead of use on the prebuild and replay pools within the compile budget, or by the
 * dispatch that needs one now, which waits for no budget. This file knows nothing of Vulkan: a {@linkcode PipelineDriver} does the calls.
 *
 * @module
 */
import { assertNoLocksHeld } from "../../sync/held_locks.ts";
import type { ClaimedJob } from "../../sync/job_types.ts";
import { decodeData, encodeData } from "../../sync/plain_data.ts";
import { blobPayload, JobKind, keyOfBytes, payloadBlob, type Room } from "./room.ts";

/** Creates pipelines. `Request` is plain data and decides the pipeline: module, layout, specialization, wave mode. */
export interface PipelineDriver<Request> {
  /**
   * Creates it if the driver's own cache has it (FAIL_ON_PIPELINE_COMPILE_REQUIRED); undefined: it must be compiled. Absent on devices
   * without that.
   *
   * @param record see {@linkcode PipelineAhead.record}
   */
  cached?(request: Request, record?: Uint8Array): bigint | undefined;
  /** Creates it, compiling. */
  create(request: Request, record?: Uint8Array): bigint;
  /**
   * Gives back to the system what the compiler has freed. Called after a compile within the budget, when its pipeline is there for everybody and
   * its bytes are still held: who is admitted next begins with that memory given back.
   */
  giveBack?(): void;
}

/** A pipeline that a dispatch uses, pinned until it has run. */
export interface PreparedPipeline {
  readonly pipeline: bigint;
  /** Its entry: `room.pipelines.pin(reference)` for later dispatches. */
  readonly reference: number;
  /** Place of the pin: `room.pipelines.unpin` when the dispatch has run. */
  readonly pin: number;
}

/** What is asked for ahead of use. */
export interface PipelineAhead<Request> {
  readonly request: Request;
  /** Bytes of the SPIR-V that the driver compiles. */
  readonly spirvBytes: number;
  /** `Pool.Prebuild` or `Pool.Replay`. */
  readonly pool: number;
  /** Goes to the driver's calls with the request, for a journal; no part of the key. */
  readonly record?: Uint8Array;
  /** 0 to 7; default 4. */
  readonly priority?: number;
  /** The driver can tell whether its cache has it: tried without a hold first. */
  readonly cacheCanTell: boolean;
}

/**
 * Queues the creation of a pipeline, unless it is there, in creation, or queued.
 *
 * @returns true if it was queued
 */
export function announcePipeline<Request>(room: Room, ahead: PipelineAhead<Request>): boolean {
  const { request, record } = ahead, key = pipelineKey(request);
  const reference = room.pipelines.announce(key);
  if (reference === undefined) return false;
  let ticket: number, blob: number | undefined;
  try {
    blob = room.arena.append(encodeData({ request, record }));
    ticket = room.board.submit({
      pool: ahead.pool,
      kind: JobKind.Pipeline,
      priority: ahead.priority,
      bytes: ahead.cacheCanTell ? undefined : ahead.spirvBytes,
      payload: [...blobPayload(blob), ahead.spirvBytes],
      blobs: 1,
    });
  } catch (error) {
    if (blob !== undefined) room.arena.retire(blob);
    room.pipelines.withdraw(key);
    throw error;
  }
  room.pipelines.setJob(reference, ticket);
  return true;
}

/**
 * The pipeline of a request, now, without the GPU mutex: from the table; or waited for, if somebody creates it; or created here, whatever
 * the budget and the pools are doing. A job that was queued for it is done with that.
 *
 * @throws the creation's own error, wherever it ran. @throws SyncError `sync.wait-with-lock` if this isolate holds a lock.
 */
export function computePipeline<Request>(
  room: Room,
  request: Request,
  driver: PipelineDriver<Request>,
  record?: Uint8Array,
  key = pipelineKey(request),
): PreparedPipeline {
  assertNoLocksHeld("create a pipeline");
  for (;;) {
    const begun = room.pipelines.begin(key);
    const { reference, pin } = begun;
    if (begun.state === "ready") return { pipeline: begun.value, reference, pin };
    if (begun.state === "create") {
      endQueued(room, begun.job);
      return { pipeline: createNow(room, reference, pin, () => driver.create(request, record)), reference, pin };
    }
    const ended = room.pipelines.wait(reference);
    if (ended.state === "ready") return { pipeline: ended.value, reference, pin };
    room.pipelines.unpin(pin);
    if (ended.state === "failed") throw ended.error;
  }
}

/**
 * A worker's part: does one pipeline job. Its admission to the budget was before its claim, so it checks here, in the table, whether
 * somebody built or is building the pipeline meanwhile.
 *
 * @param failed told that the pipeline could not be created
 */
export function runPipelineJob<Request>(
  room: Room,
  job: ClaimedJob,
  driver: PipelineDriver<Request>,
  failed: () => void = () => {},
): void {
  try {
    const bytes = room.arena.read(payloadBlob(job.payload));
    const { request, record } = decodeData(bytes) as { request: Request; record: Uint8Array | undefined };
    if (!createAhead(room, job, driver, request, record)) return;
  } catch {
    // A creation's error is the entry's, and a table that is closed or full says so to everybody: who needs the pipeline tries again, and fails
    // there if it must.
    failed();
  }
  room.board.finish(job.ticket);
}

/** Creates what nobody has created or is creating; false if the job is back on the board. */
function createAhead<Request>(
  room: Room,
  job: ClaimedJob,
  driver: PipelineDriver<Request>,
  request: Request,
  record: Uint8Array | undefined,
): boolean {
  const { state, reference, pin } = room.pipelines.begin(pipelineKey(request));
  try {
    if (state !== "create") return true;
    if (job.admitted || driver.cached === undefined) {
      try {
        createNow(room, reference, pin, () => driver.create(request, record), false);
      } finally {
        driver.giveBack?.();
      }
      return true;
    }
    let pipeline: bigint | undefined;
    try {
      pipeline = driver.cached(request, record);
    } catch (error) {
      room.pipelines.fail(reference, error);
      throw error;
    }
    if (pipeline !== undefined) {
      room.pipelines.publish(reference, pipeline);
      return true;
    }
    // It needs the compiler: back to the board, where it waits for the budget and can be claimed by who needs it.
    room.pipelines.postpone(reference, job.ticket);
    room.board.requeue(job.ticket, job.payload[2]);
    return false;
  } finally {
    room.pipelines.unpin(pin);
  }
}

/**
 * Destroys a pipeline that nobody uses any more.
 *
 * @returns false if somebody pins it
 */
export function destroyPipeline(room: Room, reference: number, destroy: (pipeline: bigint) => void): boolean {
  const pipeline = room.pipelines.evict(reference);
  if (pipeline === undefined) return false;
  destroy(pipeline);
  return true;
}

function createNow(room: Room, reference: number, pin: number, create: () => bigint, unpin = true): bigint {
  let pipeline: bigint;
  try {
    assertNoLocksHeld("driver compile");
    pipeline = create();
  } catch (error) {
    room.pipelines.fail(reference, error);
    if (unpin) room.pipelines.unpin(pin);
    throw error;
  }
  room.pipelines.publish(reference, pipeline);
  return pipeline;
}

/** The key of a request in the room's table. */
export function pipelineKey(request: unknown): Uint32Array<ArrayBuffer> {
  return keyOfBytes(encodeData(request));
}

/** The job that was to create what is created here has nothing to do any more. */
function endQueued(room: Room, ticket: number): void {
  if (ticket !== 0 && room.board.claim(ticket) !== undefined) room.board.finish(ticket);
}
