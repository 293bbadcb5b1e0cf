import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { Isolate } from "../../sync/isolates.ts";
import type { ComputeExecutor } from "../executor.ts";

/** What an isolate got from its {@linkcode ExecutorKind}. */
export interface OpenedExecutor {
  /** The isolate as a member of the registry that main supervises. */
  readonly self: Isolate;
  /** Has been attached to the memory. */
  readonly executor: ComputeExecutor;
  /** Whether the device may still be working on guest memory. */
  hung?(): boolean;
}

/** Opens an executor in the isolate of a queue. @param data the source's */
export type ExecutorKind = (data: unknown, memory: GuestMemory) => OpenedExecutor | Promise<OpenedExecutor>;
