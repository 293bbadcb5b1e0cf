/** What the isolates of a run of bench/compile_budget get and give. */
import type { DriverRoomHandle } from "../../src/driver/pools/driver_room.ts";
import type { RoomHandle } from "../../src/driver/pools/room.ts";

/** Bytes of memory that the stub compiler takes for a byte of SPIR-V, and milliseconds. */
export interface StubCosts {
  readonly memory: number;
  readonly ms: number;
}

/** One run: a title's pipelines, made ahead of use by the pool, and asked for by a queue one after the other. */
export interface RunTask {
  /** Limit of the compile budget in bytes; null: none. */
  readonly limitBytes: number | null;
  /** Workers of the prebuild pool. */
  readonly workers: number;
  /** Bytes of the modules, in the order in which the queue needs them. */
  readonly sizes: readonly number[];
  /** The run is cut off after so many milliseconds. */
  readonly windowMs: number;
  /** Milliseconds from one need of the queue to the next, if it has not to wait. */
  readonly paceMs: number;
  /** The stub compiler's; undefined: the device's driver compiles. */
  readonly stub?: StubCosts;
  /** Modules for the driver, one file for each of `sizes`. */
  readonly modules?: readonly string[];
}

/** What came of a run. */
export interface RunResult {
  readonly device: string;
  /** Bytes by which the process grew at most. */
  readonly peakBytes: number;
  /** Milliseconds that it took: the window, or less when everything was made before. */
  readonly ms: number;
  /** Pipelines that were there at the end. */
  readonly pipelines: number;
  /** Compiles that ended, and milliseconds of all: by the pool, and by the queue. */
  readonly pool: { readonly compiles: number; readonly ms: number };
  readonly queue: {
    readonly compiles: number;
    readonly ms: number;
    /** Pipelines that it asked for, and milliseconds until it had them, waiting for the pool's compiles included. */
    readonly asked: number;
    readonly blockedMs: number;
    /** Of them, those that were there already. */
    readonly ready: number;
  };
  /** SPIR-V bytes that were held at most, compiles that had to wait for the budget. */
  readonly heldBytes: number;
  readonly waited: number;
}

/** Words that a run's isolates share. */
export const Shared = {
  Stop: 0,
  PoolCompiles: 1,
  PoolMs: 2,
  QueueCompiles: 3,
  QueueMs: 4,
  Asked: 5,
  BlockedMs: 6,
  Ready: 7,
  Begin: 8,
  Words: 16,
} as const;

/** To an isolate. */
export interface IsolateTask {
  readonly role: "pool" | "queue";
  readonly room: RoomHandle;
  /** Where a device compiles. */
  readonly driver?: DriverRoomHandle;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly task: RunTask;
}

/** A pipeline of the stub compiler: plain data that decides it. */
export interface StubRequest {
  readonly module: number;
  readonly bytes: number;
}
