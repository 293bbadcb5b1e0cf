/**
 * Recompiles as jobs. A request is plain data; its key is the SHA-256 of its bytes, so equal requests are recompiled once, whoever asks: a
 * loader ahead of use ({@linkcode announceArtifact}), a draw or dispatch that needs it now ({@linkcode artifact}), or the main isolate, which may
 * not block ({@linkcode artifactAsync}).
 *
 * @module
 */
import { hex } from "../../errors.ts";
import { NeedsImageDescriptors } from "../../recompiler/lift/image_descriptor.ts";
import { recompile } from "../../recompiler/recompile.ts";
import type { Artifact, RecompileRequest } from "../../recompiler/request.ts";
import { assertNoLocksHeld } from "../../sync/held_locks.ts";
import type { ClaimedJob } from "../../sync/job_types.ts";
import { decodeData, encodeData } from "../../sync/plain_data.ts";
import { SyncError } from "../../sync/sync_error.ts";
import { tracer } from "../../sync/tracer.ts";
import { RECHECK_MS, waitForWork } from "../../sync/waits.ts";
import { failureLine, type LogLine, markFailure } from "./failures.ts";
import { blobPayload, JobKind, keyOfBytes, payloadBlob, Pool, type Room } from "./room.ts";

/** A pinned artifact. */
export interface PreparedArtifact {
  readonly artifact: Artifact;
  /** Its entry in the room's table. */
  readonly reference: number;
  /** Place of the pin: `room.artifacts.unpin` when it is not used any more. */
  readonly pin: number;
}

/** What who recompiles has beside the room. */
export interface PreparationServices {
  /** An artifact that an earlier run left. Asked for what would be recompiled in a room on a device; a registry publishes them by itself. */
  readonly find?: (request: RecompileRequest) => Artifact | undefined;
  /** Gets each artifact that this isolate made, for later runs. Must return at once. */
  readonly keep?: (request: RecompileRequest, artifact: Artifact) => void;
  /** Told what failed ahead of use; console.error when left out. */
  readonly log?: LogLine;
  /** Told what the recompiler throws here, before the request is free to be asked for anew: no loader may find it neither in the making nor failed. */
  readonly failing?: (error: unknown) => void;
}

/** Priorities: of what nobody waits for yet, of what a submission that is on its way will need, and of what somebody waits for. */
export const AHEAD = 5, NAMED = 1, NEEDED = 0;

/** A request with its bytes and its key in the room's tables. */
export interface KeyedRequest {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly key: Uint32Array<ArrayBuffer>;
}

/** Nobody changes it: to sleep on. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));

/** The key of a request. */
export function keyOfRequest(request: RecompileRequest): KeyedRequest {
  const bytes = encodeData(request);
  return { bytes, key: keyOfBytes(bytes) };
}

/**
 * Queues a recompile on the preparation pool, unless the artifact is there, in the making, or queued.
 *
 * @param shader what the guest's shader is called: a failure is then marked and logged (failures.ts), since nobody may ever ask for it
 * @returns true if it was queued
 * @throws SyncError if a capacity is used up (`sync.board-full`, `sync.table-full`, `sync.arena-full`).
 */
export function announceArtifact(
  room: Room,
  request: RecompileRequest,
  priority = AHEAD,
  shader?: string,
  { bytes, key } = keyOfRequest(request),
): boolean {
  const reference = room.artifacts.announce(key);
  if (reference === undefined) return false;
  let ticket: number;
  try {
    ticket = shader === undefined
      ? submit(room, JobKind.Recompile, priority, bytes)
      : submit(room, JobKind.Variant, priority, bytes, new TextEncoder().encode(shader));
  } catch (error) {
    room.artifacts.withdraw(key);
    throw error;
  }
  room.artifacts.setJob(reference, ticket);
  return true;
}

/**
 * Says that a draw or dispatch will need a request: its job, if it is still queued, becomes more urgent.
 *
 * @returns true if it did
 */
export function raiseArtifact(room: Room, key: Uint32Array, priority = NAMED): boolean {
  const ticket = room.artifacts.pendingJob(key);
  return ticket !== 0 && room.board.raise(ticket, priority);
}

/**
 * The artifact of a request, now: from the table; or waited for, if somebody recompiles it; or recompiled here, and a job that was queued
 * for it is done with that. Holds no lock.
 *
 * @throws what the recompiler throws, wherever it ran.
 */
export function artifact(
  room: Room,
  request: RecompileRequest,
  services: PreparationServices = {},
  { key } = keyOfRequest(request),
): PreparedArtifact {
  assertNoLocksHeld("recompile or wait for an artifact");
  for (;;) {
    const begun = room.artifacts.begin(key);
    if (begun.state === "create") return createHere(room, request, begun, services);
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
 * @throws what the recompiler throws. @throws SyncError `sync.board-closed` if the pool is stopped; HostError `driver.pool` if it gave up.
 */
export async function artifactAsync(room: Room, request: RecompileRequest): Promise<PreparedArtifact> {
  const { bytes } = keyOfRequest(request);
  for (;;) {
    const ticket = submit(room, JobKind.Recompile, NEEDED, bytes, undefined, true);
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

/**
 * Publishes an artifact that an earlier run left, unless the request is known.
 *
 * @returns true if it is there because of this call
 */
export function publishArtifact(room: Room, key: Uint32Array, made: Artifact): boolean {
  const begun = room.artifacts.begin(key);
  try {
    if (begun.state !== "create") return false;
    publish(room, begun.reference, () => made, undefined);
    return true;
  } finally {
    room.artifacts.unpin(begun.pin);
  }
}

/**
 * Ends a request's job, for who needs it ended (not its artifact): one that is queued is claimed and run here, one that runs is waited for. What
 * the recompiler throws is marked and logged, not thrown.
 *
 * @throws SyncError `sync.wait-with-lock` if this isolate holds a lock.
 */
export function finishArtifact(room: Room, key: Uint32Array, services: PreparationServices = {}): void {
  assertNoLocksHeld("run or wait for a recompile");
  let patience = 1000;
  for (;;) {
    const state = room.artifacts.peek(key);
    if (state === undefined || state === "ready") return;
    if (state === "pending") {
      const ticket = room.artifacts.pendingJob(key);
      const job = ticket === 0 ? undefined : room.board.claim(ticket);
      if (job !== undefined) runRecompileJob(room, job, services);
      else if (ticket !== 0) {
        // Claimed; should its worker die, it is claimable again. Unless it was the last try: then there is no job to end.
        const { state } = room.board.wait(ticket, RECHECK_MS);
        if (state !== "timed-out" && room.artifacts.pendingJob(key) === ticket) return;
      } else if (patience-- === 0) return; // who announced it died before it queued the job
      else waitForWork(NEVER, 0, 0, 1, "a job that is about to be queued");
      continue;
    }
    const { reference, pin, state: begun } = room.artifacts.begin(key);
    if (begun === "create") room.artifacts.abandon(reference); // it ended badly just now
    else if (begun === "building") room.artifacts.wait(reference);
    room.artifacts.unpin(pin);
  }
}

/** A worker's part: does one job of the preparation pool. What the recompiler throws is the error of the entry and of the job. */
export function runRecompileJob(room: Room, job: ClaimedJob, services: PreparationServices = {}): void {
  try {
    const bytes = room.arena.read(payloadBlob(job.payload));
    const request = decodeData(bytes) as RecompileRequest, key = keyOfBytes(bytes);
    const shader = job.kind === JobKind.Variant
      ? new TextDecoder().decode(room.arena.read(shaderBlob(job.payload)))
      : undefined;
    const failing = shader === undefined
      ? undefined
      : (error: unknown) => noteFailure(room, key, shader, error, services);
    const wanted = shader === undefined && job.payload[2] !== 0;
    room.board.finish(job.ticket, BigInt(recompileOnce(room, request, key, wanted, { ...services, failing })));
  } catch (error) {
    room.board.fail(job.ticket, error);
  }
}

/** Marks what failed ahead of use, and logs it unless it was marked before. */
export function noteFailure(
  room: Room,
  key: Uint32Array,
  shader: string,
  error: unknown,
  { log = console.error }: PreparationServices,
): void {
  const failure = { shader, kind: error instanceof NeedsImageDescriptors ? "deferred" : "failed", error } as const;
  if (markFailure(room, key, failure) && failure.kind === "failed") log(failureLine(failure));
}

/** Recompiles unless somebody has, or does; `wanted`: then waits for that one. Gives the entry's reference. */
function recompileOnce(
  room: Room,
  request: RecompileRequest,
  key: Uint32Array,
  wanted: boolean,
  services: PreparationServices,
): number {
  for (;;) {
    const begun = room.artifacts.begin(key);
    try {
      if (begun.state === "create") make(room, begun.reference, request, services);
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
  services: PreparationServices,
): PreparedArtifact {
  // The job that was queued for it has nothing to do any more.
  const queued = job === 0 ? undefined : room.board.claim(job);
  try {
    return { artifact: make(room, reference, request, services), reference, pin };
  } catch (error) {
    room.artifacts.unpin(pin);
    throw error;
  } finally {
    if (queued !== undefined) room.board.finish(queued.ticket);
  }
}

/** Recompiles, publishes, and keeps for later runs. */
function make(
  room: Room,
  reference: number,
  request: RecompileRequest,
  { find, keep, failing }: PreparationServices,
): Artifact {
  const kept = keptBefore(find, request);
  if (kept !== undefined) return publish(room, reference, () => kept, failing);
  const start = tracer === undefined ? 0 : performance.now();
  const made = publish(room, reference, () => room.costs.beside(() => recompile(request)), failing);
  tracer?.span("recompile", `recompile ${hex(request.codeAddress)}`, start, performance.now());
  keep?.(request, made);
  return made;
}

/** What earlier runs left is there to do without: whatever is wrong with it, it is not the request's error. */
function keptBefore(find: PreparationServices["find"], request: RecompileRequest): Artifact | undefined {
  try {
    return find?.(request);
  } catch {
    return undefined;
  }
}

/** Makes an artifact and publishes it, or the error. */
function publish(
  room: Room,
  reference: number,
  make: () => Artifact,
  failing: PreparationServices["failing"],
): Artifact {
  let blob: number, made: Artifact;
  try {
    made = make();
    blob = room.arena.append(encodeData(made));
  } catch (error) {
    try {
      failing?.(error);
    } finally {
      room.artifacts.fail(reference, error);
    }
    throw error;
  }
  // In this order: who dies in between leaves a blob that nobody needs, and not an artifact whose blob is gone.
  room.arena.share(blob);
  room.artifacts.publish(reference, BigInt(blob));
  return made;
}

/** @param shader of a variant: what it is called @param wanted the outcome is asked for */
function submit(
  room: Room,
  kind: number,
  priority: number,
  request: Uint8Array,
  shader?: Uint8Array,
  wanted = false,
): number {
  const blobs: number[] = [];
  try {
    blobs.push(room.arena.append(request));
    if (shader !== undefined) blobs.push(room.arena.append(shader));
    const rest = shader === undefined ? [wanted ? 1 : 0] : blobPayload(blobs[1]);
    return room.board.submit({
      pool: Pool.Preparation,
      kind,
      priority,
      payload: [...blobPayload(blobs[0]), ...rest],
      blobs: shader === undefined ? 1 : 2,
      keep: wanted,
    });
  } catch (error) {
    for (const blob of blobs) room.arena.retire(blob);
    throw error;
  }
}

/** The blob with the name of a variant's shader. */
function shaderBlob(payload: readonly number[]): number {
  return payloadBlob(payload.slice(2));
}

function prepared(room: Room, value: bigint, { reference, pin }: { reference: number; pin: number }): PreparedArtifact {
  return { artifact: decodeData(room.arena.view(Number(value))) as Artifact, reference, pin };
}
