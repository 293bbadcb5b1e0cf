/** Executors that get something wrong, for tests of the comparison with the interpreter. */
import type { ComputeDispatch, ComputeExecutor, ProgramReport } from "../../../src/driver/executor.ts";
import { SoftwareExecutor } from "../../../src/driver/software/software_executor.ts";
import type { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";

/** What is wrong with a device. */
export interface Corruption {
  /** Code words that it executes as others: guest address, and the word that it executes. */
  words?: readonly { address: bigint; word: number }[];
  /** What it does to memory after each dispatch; `number` counts from 0. */
  after?: (memory: GuestMemory, number: number) => void;
}

/** A device that is wrong: another executor, the interpreter when left out, that sees other code. */
export class CorruptDevice implements ComputeExecutor {
  readonly name = "corrupt";
  readonly busy = false;
  dispatches = 0;
  readonly #executor: ComputeExecutor;
  #memory: GuestMemory | undefined;

  constructor(readonly corruption: Corruption, executor?: ComputeExecutor) {
    this.#executor = executor ?? new SoftwareExecutor({ target: "gfx1013" });
  }

  attach(memory: GuestMemory): void {
    this.#memory = memory;
    this.#executor.attach(memory);
  }

  dispatch(dispatch: ComputeDispatch): void {
    const memory = this.#memory!, { words = [], after } = this.corruption;
    const originals = words.map(({ address }) => memory.read(address, 4, 0));
    words.forEach(({ address, word }) => memory.initialize(address, new Uint8Array(Uint32Array.of(word).buffer)));
    try {
      this.#executor.dispatch(dispatch);
      this.#executor.drain();
    } finally {
      words.forEach(({ address }, index) => memory.initialize(address, originals[index]));
      after?.(memory, this.dispatches++);
    }
  }

  drain(): void {}

  programs(): ProgramReport[] {
    return this.#executor.programs();
  }

  deviceMs(): undefined {
    return undefined;
  }

  close(): void {
    this.#executor.close();
  }
}
