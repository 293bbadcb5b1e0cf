/**
 * Recompiles as jobs. A request is plain data; its key is the SHA-256 of its bytes, so equal requests are recompiled once, whoever asks: a
 * loader ahead of use ({@linkcode announceArtifact}), a dispatch that needs it now ({@linkcode artifact}), or the main isolate, which may not
 * block ({@linkcode artifactAsync}).
 *
 * @module
 */
import { recompile } from "../../recompiler/recompile.ts";
import type { Artifact, RecompileRequest } from "../../recompiler/request.ts";
import { assertNoLocksHeld } from "../../sync/held_locks.ts";
import type { ClaimedJob } from "../../sync/job_types.ts";
import { decodeData, encodeData } from "../../sync/plain_data.ts";
import { SyncError } from "../../sync/sync_error.ts";
import { blobPayload, JobKind, keyOfBytes, payloadBlob, Pool, type Room } from "./room.ts";

/** A pinned artifact. */
export interface PreparedArtifact {
  readonly artifact: Artifact;
  /** Its entry in the room's table. */
  readonly reference: number;
  /** Place of the pin: `room.artifacts.unpin` when it is not used any more. */
  readonly pin: number;
}

/** Priority of what nobody waits for yet, and of what somebody waits for. */
const AHEAD = 5, NEEDED = 0;

/**
 * Queues a recompile on the preparation pool, unless the artifact is there, in the making, or queued.
 *
 * @returns true if it was queued
 * @throws SyncError if a capacity is used up (`sync.board-full`, `sync.table-full`, `sync.arena-full`).
 */
export function announceArtifact(room: Room, request: RecompileRequest, priority = AHEAD): boolean {
  const { bytes, key } = keyOf(request);
  const reference = room.artifacts.announce(key);
  if (reference === undefined) return false;
  room.artifacts.setJob(reference, submit(room, bytes, priority, false));
  return true;
}

/**
 * The artifact of a request, now: from the table; or waited for, if somebody recompiles it; or recompiled here, and a job that was queued
 * for it is done with that. Holds no lock.
 *
 * @throws what the recompiler throws, wherever it ran.
 */
export function artifact(room: Room, request: RecompileRequest): PreparedArtifact {
  assertNoLocksHeld("recompile or wait for an artifact");
  const { key } = keyOf(request);
  for (;;) {
    const begun = room.artifacts.begin(key);
    if (begun.state === "create") return createHere(room, request, begun);
    if (begun.state === "ready") return prepared(room, begun.value, begun);
    const ended = room.artifacts.wait(begun.reference);
    if (ended.state === "ready") return prepared(room, ended.value, begun);
    room.artifacts.unpin(begun.pin);
    if (ended.state === "failed") throw ended.error;
  }
}

/**
 * {@linkcode artifact} for the main isolate: a worker recompiles (or waits), and the event loop goes on.
 *
 * @throws what the recompiler throws. @throws SyncError `sync.board-closed` if the pool is stopped.
 */
export async function artifactAsync(room: Room, request: RecompileRequest): Promise<PreparedArtifact> {
  const { bytes } = keyOf(request);
  for (;;) {
    const ticket = submit(room, bytes, NEEDED, true);
    const outcome = await room.board.waitAsync(ticket);
    room.board.release(ticket);
    if (outcome.state === "failed") throw outcome.error;
    if (outcome.state !== "done") throw new SyncError("sync.board-closed", "the preparation pool was stopped");
    const reference = Number(outcome.value);
    const pin = room.artifacts.pin(reference);
    // It may have been evicted since.
    if (pin !== undefined) return prepared(room, room.artifacts.value(reference), { reference, pin });
  }
}

/** A worker's part: does one job of the preparation pool. What the recompiler throws is the error of the entry and of the job. */
export function runRecompileJob(room: Room, job: ClaimedJob): void {
  const blob = payloadBlob(job.payload);
  const request = decodeData(room.arena.read(blob)) as RecompileRequest;
  try {
    room.board.finish(job.ticket, BigInt(recompileOnce(room, request, job.payload[2] !== 0)));
  } catch (error) {
    room.board.fail(job.ticket, error);
  }
  room.arena.retire(blob);
}

/** Recompiles unless somebody has, or does; `wanted`: then waits for that one. Gives the entry's reference. */
function recompileOnce(room: Room, request: RecompileRequest, wanted: boolean): number {
  for (;;) {
    const begun = room.artifacts.begin(keyOf(request).key);
    try {
      if (begun.state === "create") publish(room, begun.reference, () => recompile(request));
      if (begun.state !== "building" || !wanted) return begun.reference;
      const ended = room.artifacts.wait(begun.reference);
      if (ended.state === "failed") throw ended.error;
      if (ended.state === "ready") return begun.reference;
    } finally {
      room.artifacts.unpin(begun.pin);
    }
  }
}

/** Takes an artifact out that nobody uses any more; false if somebody pins it. */
export function evictArtifact(room: Room, reference: number): boolean {
  const blob = room.artifacts.evict(reference);
  if (blob === undefined) return false;
  room.arena.retire(Number(blob));
  return true;
}

function createHere(
  room: Room,
  request: RecompileRequest,
  { reference, pin, job }: { reference: number; pin: number; job: number },
): PreparedArtifact {
  // The job that was queued for it has nothing to do any more.
  const queued = job === 0 ? undefined : room.board.claim(job);
  try {
    return { artifact: publish(room, reference, () => recompile(request)), reference, pin };
  } catch (error) {
    room.artifacts.unpin(pin);
    throw error;
  } finally {
    if (queued !== undefined) {
      room.board.finish(queued.ticket);
      room.arena.retire(payloadBlob(queued.payload));
    }
  }
}

/** Makes an artifact and publishes it, or the error. */
function publish(room: Room, reference: number, make: () => Artifact): Artifact {
  let blob: number, made: Artifact;
  try {
    made = make();
    blob = room.arena.append(encodeData(made));
  } catch (error) {
    room.artifacts.fail(reference, error);
    throw error;
  }
  room.artifacts.publish(reference, BigInt(blob));
  room.arena.share(blob);
  return made;
}

function submit(room: Room, request: Uint8Array, priority: number, wanted: boolean): number {
  const blob = room.arena.append(request);
  const payload = [...blobPayload(blob), wanted ? 1 : 0];
  const ticket = room.board.submit({
    pool: Pool.Preparation,
    kind: JobKind.Recompile,
    priority,
    payload,
    keep: wanted,
  });
  room.arena.share(blob);
  return ticket;
}

function prepared(room: Room, value: bigint, { reference, pin }: { reference: number; pin: number }): PreparedArtifact {
  return { artifact: decodeData(room.arena.view(Number(value))) as Artifact, reference, pin };
}

function keyOf(request: RecompileRequest): { bytes: Uint8Array<ArrayBuffer>; key: Uint32Array } {
  const bytes = encodeData(request);
  return { bytes, key: keyOfBytes(bytes) };
}
