/**
 * What main and the isolates of queues say to each other. Main hands everything over without being asked, in order; an isolate that blocks
 * reads its messages later, and needs none to go on. It is stopped by the flag of the `LabelWatch`.
 *
 * @module
 */
import type { WindowDescription } from "../../guest/memory/window.ts";
import type { ValidatedSubmission } from "../../pm4/validated.ts";
import type { LabelWatchHandle } from "../../sync/label_watch.ts";
import type { LabelWrite } from "../driver_sink.ts";
import type { ProgramReport } from "../executor.ts";
import type { Span } from "../recording/timeline.ts";
import type { WaitInProgress, WaitReport } from "../run_program.ts";

/** Where an isolate gets its executor from. */
export interface ExecutorSource {
  /** One of the kinds that the isolate's module knows. */
  readonly kind: string;
  /** For that kind: plain data. */
  readonly data: unknown;
}

/** Load what a kind of executors needs, ahead of the start. */
export interface QueueLoad {
  readonly type: "load";
  readonly kind: string;
}

/** Everything that a queue needs. */
export interface QueueStart {
  readonly type: "start";
  /** Guest queue. */
  readonly queue: number;
  /** Its number in the watch. */
  readonly place: number;
  readonly labels: LabelWatchHandle;
  readonly windows: readonly WindowDescription[];
  readonly executor: ExecutorSource;
  /** See `LabelWatch.wait`. */
  readonly waitTimeoutMs: number;
  /** See `LabelWatchOptions`. */
  readonly recheckMs: number | undefined;
  /** Dispatches of all queues so far: one word. */
  readonly dispatches: Int32Array<SharedArrayBuffer>;
  /** Put down what happens when, and keep modules. */
  readonly records: boolean;
}

/** A submission, validated. */
export interface QueueSubmit {
  readonly type: "submit";
  readonly submission: ValidatedSubmission;
}

/** There are no more submissions: give the results over. */
export interface QueueEnd {
  readonly type: "end";
  /** Wait for another start, instead of ending. */
  readonly stays: boolean;
}

/** To a queue's isolate. */
export type ToQueue = QueueLoad | QueueStart | QueueSubmit | QueueEnd;

/** Spans with the clock of the isolate: its time zero in milliseconds since 1970. */
export interface QueueSpans {
  readonly type: "spans";
  readonly zeroMs: number;
  readonly spans: readonly Span[];
}

/** With the order over all queues. */
export type Ordered<T> = T & { readonly order: number };

/** What a queue did. */
export interface QueueResults {
  readonly type: "done";
  /** What was thrown, as `encodeError` has it. */
  readonly error?: Uint8Array<ArrayBuffer>;
  /** What it waited for when it was stopped. */
  readonly wait?: WaitInProgress;
  readonly labels: readonly Ordered<LabelWrite>[];
  readonly waits: readonly Ordered<WaitReport>[];
  readonly dispatches: number;
  readonly programs: readonly ProgramReport[];
  /** Modules of the programs, where things are recorded. */
  readonly modules: readonly (Uint32Array | undefined)[];
  readonly deviceMs?: number;
  /** What was wrong beside the guest's work, for people. */
  readonly notes?: readonly string[];
  /** The device may still be working on guest memory. */
  readonly hung: boolean;
}

/** From a queue's isolate. */
export type FromQueue = QueueSpans | QueueResults;
