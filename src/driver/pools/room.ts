/**
 * The shared structures of one run, made by the main isolate and attached by every worker.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { Arena, type ArenaHandle } from "../../sync/arena.ts";
import { GpuMutex } from "../../sync/gpu_mutex.ts";
import type { MutexHandle } from "../../sync/futex_mutex.ts";
import { type Isolate, IsolateRegistry, type IsolatesHandle } from "../../sync/isolates.ts";
import { JobBoard, type JobBoardHandle } from "../../sync/job_board.ts";
import { KeyedTable, type KeyedTableHandle } from "../../sync/keyed_table.ts";
import { SyncError } from "../../sync/sync_error.ts";
import { setTracer } from "../../sync/tracer.ts";
import { CompileMeter, type CompileMeterHandle } from "../compile_cost/compile_meter.ts";
import type { CostSample } from "../compile_cost/learned_cost.ts";
import { type SharedTraceHandle, TraceLane } from "../recording/shared_trace.ts";
import { ROOM_SLOTS } from "./room_slots.ts";

/** The pools of the board. */
export const Pool = {
  /** Recompiles. */
  Preparation: 0,
  /** Driver compiles ahead of use, and library prebuilds. */
  Prebuild: 1,
  /** The journal's replay at start. */
  Replay: 2,
  /** The one writer of the shader cache; always there, with room for one worker. */
  Writer: 3,
} as const;

/** What the jobs are. */
export const JobKind = {
  /** Recompile the request in the blob whose reference is payload 0 (low) and 1 (high). */
  Recompile: 1,
  /** Create the pipeline whose request is in the blob whose reference is payload 0 (low) and 1 (high); payload 2: SPIR-V bytes. */
  Pipeline: 2,
  /** Recompile ahead of use, for a shader of the guest: the request is in the blob payload 0 and 1, what the shader is called in payload 2 and 3. */
  Variant: 3,
  /** Write an entry of the shader cache, which is in the blob (payload 0 and 1). */
  Entry: 4,
  /** Like Recompile, and then have the program's pipeline created; payload 3: the pool that does that. See programs_ahead.ts. */
  Program: 5,
} as const;

/** Pipelines at one time. */
export const PIPELINES = 16384;

/** Sizes of a room. */
export interface RoomOptions {
  /** Workers of each pool, by `Pool`. */
  readonly workers: readonly [preparation: number, prebuild: number, replay: number];
  /** Limit of the compile budget in bytes; default 8,192 KiB. */
  readonly compileBytes?: number;
  /** Bytes for blobs; default 1 GiB, taken only when written. */
  readonly arenaBytes?: number;
  /** What compiles cost on this device in earlier runs. */
  readonly costs?: readonly CostSample[];
  /** Where every isolate puts down what took time, if somebody asked; made for `ROOM_SLOTS` isolates. */
  readonly trace?: SharedTraceHandle;
}

/** What a worker gets. */
export interface RoomHandle {
  readonly registry: IsolatesHandle;
  readonly arena: ArenaHandle;
  readonly board: JobBoardHandle;
  readonly artifacts: KeyedTableHandle;
  readonly pipelines: KeyedTableHandle;
  readonly failures: KeyedTableHandle;
  readonly gpu: MutexHandle;
  readonly costs: CompileMeterHandle;
  readonly trace: SharedTraceHandle | undefined;
}

/** See the module. */
export interface Room {
  readonly registry: IsolateRegistry;
  /** This isolate. */
  readonly self: Isolate;
  readonly arena: Arena;
  readonly board: JobBoard;
  /** SHA-256 of a recompile request -> reference of the artifact's blob. */
  readonly artifacts: KeyedTable;
  /** SHA-256 of a pipeline's key -> pipeline handle. */
  readonly pipelines: KeyedTable;
  /** SHA-256 of a recompile request that failed in the background -> reference of the blob that says why: see failures.ts. */
  readonly failures: KeyedTable;
  readonly gpu: GpuMutex;
  /** Who compiles just now, and what compiles cost: every call of the driver's compiler goes through it. */
  readonly costs: CompileMeter;
  readonly handle: RoomHandle;
}

/** Makes the structures; the caller is their supervisor. */
export function createRoom(options: RoomOptions): Room {
  const all = options.workers.reduce((sum, workers) => sum + workers, 0);
  if (all > ROOM_SLOTS - 2) {
    throw new SyncError(
      "sync.capacity",
      `${all} workers: a room has ${ROOM_SLOTS} isolates, main and a writer included`,
    );
  }
  const registry = IsolateRegistry.create(ROOM_SLOTS);
  const self = registry.enter();
  const arena = Arena.create(self, { bytes: options.arenaBytes });
  const pools = [...options.workers, 1].map((workers) => ({ workers }));
  const board = JobBoard.create(self, arena, { pools, limitBytes: options.compileBytes });
  const artifacts = KeyedTable.create(self, arena, { name: "artifacts" });
  const pipelines = KeyedTable.create(self, arena, { name: "pipelines", capacity: PIPELINES });
  const failures = KeyedTable.create(self, arena, { name: "failures" });
  const gpu = new GpuMutex(self);
  const costs = CompileMeter.create(self, options.costs);
  traceAs("main", options.trace, self);
  const handle = {
    registry: registry.handle,
    arena: arena.handle,
    board: board.handle,
    artifacts: artifacts.handle,
    pipelines: pipelines.handle,
    failures: failures.handle,
    gpu: gpu.handle,
    costs: costs.handle,
    trace: options.trace,
  };
  return { registry, self, arena, board, artifacts, pipelines, failures, gpu, costs, handle };
}

/** The same in a worker, which becomes a member; what keeps it from that is thrown, and it is none. */
export function attachRoom(handle: RoomHandle): Room {
  const registry = IsolateRegistry.attach(handle.registry);
  const self = registry.enter();
  try {
    return attachAs(self, handle);
  } catch (error) {
    registry.leave(self);
    throw error;
  }
}

function attachAs(self: Isolate, handle: RoomHandle): Room {
  const arena = Arena.attach(self, handle.arena);
  const room = {
    registry: self.registry,
    self,
    arena,
    board: JobBoard.attach(self, arena, handle.board),
    artifacts: KeyedTable.attach(self, arena, "artifacts", handle.artifacts),
    pipelines: KeyedTable.attach(self, arena, "pipelines", handle.pipelines),
    failures: KeyedTable.attach(self, arena, "failures", handle.failures),
    gpu: new GpuMutex(self, handle.gpu),
    costs: CompileMeter.attach(self, handle.costs),
    handle,
  };
  // Workers of a pool have one name.
  const { name = "" } = globalThis as { name?: string };
  traceAs(/\d/.test(name) ? name : `${name || "isolate"} ${self.slot}`, handle.trace, self);
  return room;
}

/** Has this isolate's structures put down what takes time, if somebody asked. */
export function traceAs(name: string, handle: SharedTraceHandle | undefined, self: Isolate): void {
  setTracer(handle && new TraceLane(handle, self, name));
}

/** Payload words of a blob's reference: low and high. */
export function blobPayload(blob: number): [low: number, high: number] {
  return [blob % 2 ** 32 | 0, Math.floor(blob / 2 ** 32)];
}

/** The reference in a job's payload. */
export function payloadBlob(payload: readonly number[]): number {
  return (payload[0] >>> 0) + payload[1] * 2 ** 32;
}

/** Key of the table for data: the SHA-256 of its bytes. */
export function keyOfBytes(bytes: Uint8Array): Uint32Array<ArrayBuffer> {
  return new Uint32Array(new Uint8Array(createHash("sha256").update(bytes).digest()).buffer);
}
