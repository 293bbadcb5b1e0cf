/**
 * Makes the progress of a run visible: an executor around another one that counts dispatches, and at which a Ctrl-C takes effect.
 *
 * @module
 */
import type { ComputeDispatch, ComputeExecutor, ProgramReport } from "../../driver/executor.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { Program } from "../../guest/program.ts";
import { scanPackets } from "../../pm4/mod.ts";
import type { Progress } from "../progress.ts";

/** Unit of a run's progress. */
export const RUN_UNIT = "dispatches";

/** Hands everything on to an executor, and tells a {@linkcode Progress} how many dispatches were queued. */
export class WatchedExecutor implements ComputeExecutor {
  readonly name: string;
  readonly scratch?: boolean;
  readonly modules?: ComputeExecutor["modules"];
  readonly #inner: ComputeExecutor;
  readonly #progress: Progress;
  #count = 0;

  /** @param inner stays the caller's */
  constructor(inner: ComputeExecutor, progress: Progress) {
    this.name = inner.name;
    this.scratch = inner.scratch;
    this.#inner = inner;
    this.#progress = progress;
    if (inner.modules !== undefined) this.modules = () => inner.modules!();
  }

  get busy(): boolean {
    return this.#inner.busy;
  }

  attach(memory: GuestMemory): void {
    this.#inner.attach(memory);
  }

  dispatch(dispatch: ComputeDispatch): void {
    this.#progress.update(this.#count);
    this.#inner.dispatch(dispatch);
    this.#progress.update(++this.#count);
  }

  drain(): void {
    this.#inner.drain();
    this.#progress.update(this.#count);
  }

  programs(): ProgramReport[] {
    return this.#inner.programs();
  }

  deviceMs(): number | undefined {
    return this.#inner.deviceMs();
  }

  close(): void {
    this.#inner.close();
  }
}

/** How many dispatches a program's streams have; undefined where that shows only when they run (indirect buffers, conditions). */
export function countDispatches(program: Program): number | undefined {
  let count = 0;
  for (const { words } of program.submissions) {
    for (const { name } of scanPackets(words).packets) {
      if (/^(INDIRECT_BUFFER|COND_)/.test(name)) return undefined;
      if (name.startsWith("DISPATCH_")) count++;
    }
  }
  return count;
}
