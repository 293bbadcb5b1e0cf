/** What the isolates of a run of bench/compile_budget get and give. */
import type { DriverRoomHandle } from "../../src/driver/pools/driver_room.ts";
import type { RoomHandle } from "../../src/driver/pools/room.ts";
import type { StubCosts } from "./stub.ts";

/** One run: a title's pipelines, made ahead of use by the pool, and asked for by a queue one after the other. */
export interface RunTask {
  /** Limit of the compile budget in bytes; null: none. */
  readonly limitBytes: number | null;
  /** What a compile has freed stays with the C heap (see `PipelineDriver.giveBack`). */
  readonly keepsHeaps?: boolean;
  /** Workers of the prebuild pool. */
  readonly workers: number;
  /** Bytes of the modules, in the order in which the queue needs them. */
  readonly sizes: readonly number[];
  /** Each so many-th is not announced to the pool: what its pipeline is only the dispatch knows. */
  readonly unannounced: number;
  /** The run is cut off after so many milliseconds. */
  readonly windowMs: number;
  /** Milliseconds from one need of the queue to the next, if it has not to wait. */
  readonly paceMs: number;
  /** The stub compiler's; undefined: the device's driver compiles. */
  readonly stub?: StubCosts;
  /** Modules for the driver, one file for each of `sizes`. */
  readonly modules?: readonly string[];
}

/** Compiles that ended within the window. */
export interface Compiles {
  readonly compiles: number;
  /** Milliseconds, and bytes of SPIR-V, of all. */
  readonly ms: number;
  readonly bytes: number;
}

/** What came of a run. */
export interface RunResult {
  readonly device: string;
  /** Bytes that the process had before, and by which it grew at most. */
  readonly residentBytes: number;
  readonly peakBytes: number;
  /** Milliseconds that it took: the window, or less when everything was made before. */
  readonly ms: number;
  /** Milliseconds of processor time that the process took. */
  readonly cpuMs: number;
  /** Pipelines that were there at the end; milliseconds until one was, on average. */
  readonly pipelines: number;
  readonly readyMs: number;
  readonly pool: Compiles;
  readonly queue: Compiles & {
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
  Begin: 1,
  /** When it began, by the clock of all isolates: {@linkcode sharedMs}. */
  BeganMs: 2,
  /** `Compiled`, of the pool and of the queue. */
  Pool: 4,
  Queue: 8,
  Asked: 12,
  BlockedMs: 13,
  Ready: 14,
  Words: 16,
} as const;

/** Words of one who compiles. */
export const Compiled = { Count: 0, Ms: 1, KiB: 2, ReadyMs: 3 } as const;

/** Milliseconds on a clock that all isolates share, modulo 2^31. */
export function sharedMs(): number {
  return Date.now() % 2 ** 31;
}

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
