import type { ComputeDispatch } from "../executor.ts";
import type { BuiltProgram } from "./program_cache.ts";
import { Ranges } from "./resolver.ts";

/** Dispatches that are recorded before a command buffer is submitted. */
export const BATCH = 64;
/** Batches that are recorded or in flight at most; their context blocks are all different. */
export const BATCHES = 4;

/** COMPUTE_USER_DATA registers. */
const USER_DATA = 16;

/** A dispatch that was recorded, until it is known to have finished well. */
export class Recorded {
  program!: BuiltProgram;
  dispatch!: ComputeDispatch;
  /** The dispatch's, where the program needs it to find its images. */
  readonly userData = new Uint32Array(USER_DATA);
  /** Index of its context block. */
  context = 0;
  /** Earlier dispatches may not have finished when its code was looked at. */
  follows = false;
  /** Place of the pin on its pipeline. */
  pin = 0;
}

/** The dispatches of a command buffer. Used again and again: adding one allocates nothing. */
export class Batch {
  /** Timeline value of the submission; 0 while it is recorded. */
  value = 0;
  /** Its dispatches. */
  count = 0;
  /** When it was submitted, where somebody records a trace. */
  submittedMs = 0;
  /** Guest memory that they write. */
  readonly writes = new Ranges();
  readonly #recorded: readonly Recorded[] = Array.from({ length: BATCH }, () => new Recorded());

  /** @param firstContext first of its context blocks */
  constructor(readonly firstContext: number) {}

  /** A dispatch, in their order. */
  at(index: number): Recorded {
    return this.#recorded[index];
  }

  /** Adds a dispatch that was recorded. */
  add(program: BuiltProgram, dispatch: ComputeDispatch, context: number, follows: boolean, pin: number) {
    const recorded = this.#recorded[this.count++];
    recorded.program = program;
    recorded.dispatch = dispatch;
    recorded.context = context;
    recorded.follows = follows;
    recorded.pin = pin;
    if (program.images !== "") recorded.userData.set(dispatch.userData);
  }
}

/** Batches in their order, oldest first; only the last one may be recording. */
export class BatchRing {
  readonly #batches: readonly Batch[] = Array.from({ length: BATCHES }, (_, k) => new Batch(k * BATCH));
  #first = 0;
  #count = 0;

  /** Batches that are recorded or in flight. */
  get count(): number {
    return this.#count;
  }

  /** A batch, the oldest first. */
  at(index: number): Batch {
    return this.#batches[(this.#first + index) % BATCHES];
  }

  /** The newest batch. */
  get last(): Batch | undefined {
    return this.#count === 0 ? undefined : this.at(this.#count - 1);
  }

  /** Begins another one; there must be room. */
  begin(): Batch {
    if (this.#count === BATCHES) throw new Error("all batches are in flight");
    const batch = this.at(this.#count++);
    batch.value = 0;
    batch.count = 0;
    batch.writes.clear();
    return batch;
  }

  /** Takes the oldest one out; it stays as it is until it is begun again. */
  shift(): Batch {
    const oldest = this.at(0);
    this.#first = (this.#first + 1) % BATCHES;
    this.#count--;
    return oldest;
  }

  /** Takes all out. @param unpin gets the pins of their dispatches */
  clear(unpin: (pin: number) => void): void {
    while (this.#count > 0) {
      const batch = this.shift();
      for (let k = 0; k < batch.count; k++) unpin(batch.at(k).pin);
    }
  }

  /** Takes all out that may never finish. @param keep gets the pins of their dispatches, with the timeline value that says that they have finished */
  forget(keep: (value: number, pin: number) => void): void {
    while (this.#count > 0) {
      const batch = this.shift();
      for (let k = 0; k < batch.count; k++) keep(batch.value, batch.at(k).pin);
    }
  }
}
