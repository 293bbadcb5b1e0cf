import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { Isolate } from "../../sync/isolates.ts";
import type { ComputeExecutor } from "../executor.ts";

/** What an isolate got from its {@linkcode ExecutorKind}. */
export interface OpenedExecutor {
  /** The isolate as a member of the registry that main supervises. */
  readonly self: Isolate;
  /** Has been attached to the memory. */
  readonly executor: ComputeExecutor;
  /** What was wrong beside the guest's work, for people; asked for when everything is closed. */
  notes?(): readonly string[];
  /** Whether the device may still be working on guest memory. */
  hung?(): boolean;
  /** Closes the executor and what came with it; closing the executor is enough when left out. The isolate stays a member. */
  close?(): void;
}

/**
 * Opens an executor in the isolate of a queue.
 *
 * @param data the source's
 * @param place counts the program's queues from 0
 */
export type ExecutorKind = (data: unknown, memory: GuestMemory, place: number) => OpenedExecutor;

/** Kinds by their names; loaded when they are wanted. */
export type ExecutorKinds = Readonly<Record<string, () => Promise<ExecutorKind>>>;
