/**
 * A container of the tests: memory with a limit, of which stub compiles take what they cost, in shared words. So a test has no need of a
 * machine with little memory, and nothing is killed where the guard fails.
 */
import type { MemoryState } from "../../../src/driver/compile_cost/memory_limits.ts";
import type { MemoryProbe } from "../../../src/driver/compile_cost/peak_memory.ts";

/** Words, in KiB where they are memory. */
export const C = {
  Used: 0,
  MostUsed: 1,
  /** Compiles now, and compiles that saw no other one from begin to end, and all. */
  Running: 2,
  Alone: 3,
  Compiles: 4,
  /** Compiles began or ended so often. */
  Changes: 5,
  /** Set when compiles may end. */
  Open: 6,
  Words: 8,
} as const;

/** KiB that the container's processes have beside compiles. */
export const IDLE_KIB = 200 << 10;

/** See the module. */
export class Container {
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly #limitKiB: number;

  constructor(limitKiB: number, words = new Int32Array(new SharedArrayBuffer(4 * C.Words))) {
    this.words = words;
    this.#limitKiB = limitKiB;
  }

  /** As `readMemory` reads it. */
  readonly read = (): MemoryState => {
    const limit = this.#limitKiB * 1024, used = (IDLE_KIB + Atomics.load(this.words, C.Used)) * 1024;
    return { limit, free: Math.max(0, limit - used), source: "test" };
  };

  /** As the process sees itself. */
  readonly memory: MemoryProbe = {
    resident: () => (IDLE_KIB + Atomics.load(this.words, C.Used)) * 1024,
    peak: () => 0,
    beginPeak: () => false,
  };

  /** A compile that takes memory, and goes on until {@linkcode open}, or for a moment once that is set. */
  compile(kib: number): void {
    const { words } = this;
    const used = Atomics.add(words, C.Used, kib) + kib;
    for (let most; used > (most = Atomics.load(words, C.MostUsed));) {
      Atomics.compareExchange(words, C.MostUsed, most, used);
    }
    Atomics.add(words, C.Compiles, 1);
    const others = Atomics.add(words, C.Running, 1), changes = Atomics.add(words, C.Changes, 1) + 1;
    Atomics.notify(words, C.Running);
    while (Atomics.wait(words, C.Open, 0, 10_000) === "timed-out");
    Atomics.wait(words, C.MostUsed, -1, 0);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    if (others === 0 && Atomics.load(words, C.Changes) === changes) Atomics.add(words, C.Alone, 1);
    Atomics.add(words, C.Changes, 1);
    Atomics.sub(words, C.Running, 1);
    Atomics.sub(words, C.Used, kib);
  }

  /** Lets all compiles end. */
  open(): void {
    Atomics.store(this.words, C.Open, 1);
    Atomics.notify(this.words, C.Open);
  }
}
