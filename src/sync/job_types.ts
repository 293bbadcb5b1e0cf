/**
 * What users of the job board say and get.
 *
 * @module
 */
/** One pool of a new board. */
export interface PoolOptions {
  /** Workers that it will have, which sets the share of budgeted jobs: half of them, at least one. */
  readonly workers: number;
}

/** Sizes of a new board. */
export interface JobBoardOptions {
  /** The pools, numbered from 0. */
  readonly pools: readonly PoolOptions[];
  /** Most jobs at one time, up to 65,535; default 4,096. */
  readonly jobs?: number;
  /** Limit of the compile budget in bytes; default 8,192 KiB. */
  readonly limitBytes?: number;
  /** Most jobs that one isolate waits for or keeps at one time; default 256. */
  readonly pins?: number;
}

/** What a submitter says. */
export interface JobSpec {
  /** Pool whose workers may take it. */
  readonly pool: number;
  /** What is to be done; means something to the pool's workers. */
  readonly kind: number;
  /** 0 (most urgent) to 7; default 4. */
  readonly priority?: number;
  /** SPIR-V bytes of the driver compile: makes the job budgeted. */
  readonly bytes?: number;
  /** Up to four 32-bit numbers for who runs it. */
  readonly payload?: readonly number[];
  /**
   * How many references of the arena's blobs the payload begins with (low and high word each). Once the job is queued they are its own: they outlive the
   * submitter, and are retired when it has ended, however it ended.
   */
  readonly blobs?: 1 | 2;
  /** The submitter wants the outcome: it stays until `release`. */
  readonly keep?: boolean;
  /** Isolates that may die over it before it fails; default 2. */
  readonly deaths?: number;
}

/** A job that this isolate has claimed and must finish, fail or requeue. */
export interface ClaimedJob {
  /** Its number. */
  readonly ticket: number;
  /** See `JobSpec`. */
  readonly kind: number;
  /** See `JobSpec`; four numbers. */
  readonly payload: readonly number[];
  /** True if it has a hold of the compile budget. */
  readonly admitted: boolean;
}

/** How a job ended. `gone`: it ended, and nobody kept its outcome. */
export type Outcome =
  | { readonly state: "done"; readonly value: bigint }
  | { readonly state: "failed"; readonly error: unknown }
  | { readonly state: "cancelled" | "gone" | "timed-out" };
