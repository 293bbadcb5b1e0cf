/**
 * A mutex in shared memory that knows its owner.
 *
 * The word is 0 when free, else the owner's token, with the sign bit set when somebody may be sleeping on it. A sleeper looks every
 * {@linkcode RECHECK_MS} whether the owner still lives, and takes the lock over from a dead one by compare-and-swap on the token. Whoever
 * takes over calls `repair` before anything else, with the lock held, because the dead owner may have stopped anywhere. If the repairer
 * dies too, the next one repairs again, so repairing derives everything anew and can be repeated.
 *
 * Code between lock and unlock inside the structures throws nothing on purpose: arguments are checked before. Should it throw, the lock
 * stays held, the isolate's mask makes every further operation fail, the isolate dies, and the lock is repaired.
 *
 * @module
 */
import { assertLockOrder, LockBit, noteLocked, noteUnlocked } from "./held_locks.ts";
import type { Isolate, Recoverable } from "./isolates.ts";
import { step } from "./steps.ts";
import { SyncError } from "./sync_error.ts";
import { tracer } from "./tracer.ts";
import { RECHECK_MS, waitForLock, waitForLockAsync } from "./waits.ts";

const SLEEPERS = 0x80000000 | 0;
const TOKEN = 0x7fffffff;
const SPINS = 40;

/** Words that a mutex takes. */
export const MUTEX_WORDS = 8;
// The lock word is the first.
const W_ACQUIRED = 1, W_SLEPT = 2, W_TAKEN_OVER = 3, W_LOST = 4;

/** How a mutex is set up; the same in every isolate. */
export interface MutexOptions {
  /** Its class, from `LockBit`. */
  readonly bit: number;
  /** Name for messages. */
  readonly name: string;
  /** Makes the protected data right after an owner died; called with the lock held, possibly more than once. */
  readonly repair?: (deadToken: number) => void;
  /** Milliseconds between two looks at the owner. */
  readonly recheckMs?: number;
}

/** See the module. */
export class FutexMutex implements Recoverable {
  /** Name for messages. */
  readonly name: string;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #at: number;
  readonly #self: Isolate;
  readonly #token: number;
  readonly #bit: number;
  readonly #repair: ((deadToken: number) => void) | undefined;
  readonly #recheckMs: number;
  /** When it was got, where somebody records holds; else 0. */
  #since = 0;

  /**
   * A mutex over `MUTEX_WORDS` words that were zero at first.
   *
   * @param words shared memory
   * @param at index of its first word
   */
  constructor(self: Isolate, words: Int32Array<SharedArrayBuffer>, at: number, options: MutexOptions) {
    this.#self = self;
    this.#token = self.token;
    this.#words = words;
    this.#at = at;
    this.#bit = options.bit;
    this.name = options.name;
    this.#repair = options.repair;
    this.#recheckMs = options.recheckMs ?? RECHECK_MS;
  }

  /**
   * Takes the lock; sleeps while somebody has it.
   *
   * @throws SyncError `sync.lock-order`
   */
  lock(): void {
    assertLockOrder(this.#bit);
    if (Atomics.compareExchange(this.#words, this.#at, 0, this.#token) !== 0) {
      const asked = tracer === undefined ? 0 : performance.now();
      this.#lockSlow();
      if (asked !== 0) tracer?.span("mutex-wait", this.name, asked, performance.now());
    }
    this.#got();
  }

  /** Takes the lock if it is free. */
  tryLock(): boolean {
    assertLockOrder(this.#bit);
    if (Atomics.compareExchange(this.#words, this.#at, 0, this.#token) !== 0) return false;
    this.#got();
    return true;
  }

  /**
   * Takes the lock without blocking the event loop. It belongs to the isolate, not to the task: give it back before the next `await`.
   */
  async lockAsync(): Promise<void> {
    while (!this.tryLock()) {
      const seen = this.#announce();
      if (seen === 0) continue;
      const result = await waitForLockAsync(this.#words, this.#at, seen, this.#recheckMs);
      if (result === "timed-out") {
        assertLockOrder(this.#bit);
        if (this.#takeOver()) return this.#got();
      }
    }
    // Others may be sleeping that this lock's word does not tell of any more.
    Atomics.or(this.#words, this.#at, SLEEPERS);
  }

  /**
   * Gives the lock back.
   *
   * @throws SyncError `sync.not-owner`
   */
  unlock(): void {
    const words = this.#words, at = this.#at;
    if (Atomics.compareExchange(words, at, this.#token, 0) !== this.#token) {
      const value = Atomics.load(words, at);
      if ((value & TOKEN) !== this.#token) {
        throw new SyncError("sync.not-owner", `${this.name} unlocked by an isolate that does not hold it`);
      }
      Atomics.store(words, at, 0);
      step("mutex.unlock");
      Atomics.notify(words, at, 1);
    }
    noteUnlocked(this.#bit);
    if (this.#since !== 0) {
      tracer?.span("mutex-hold", this.name, this.#since, performance.now());
      this.#since = 0;
    }
  }

  /** Runs `action` with the lock held; for code that may throw. */
  with<T>(action: () => T): T {
    this.lock();
    try {
      return action();
    } finally {
      this.unlock();
    }
  }

  /** True if this isolate has it. */
  get isMine(): boolean {
    return (Atomics.load(this.#words, this.#at) & TOKEN) === this.#token;
  }

  /** Gives back the lock of a dead isolate, repaired. */
  recover(token: number): number {
    assertLockOrder(this.#bit);
    const value = Atomics.load(this.#words, this.#at);
    if ((value & TOKEN) !== token || !this.#takeFrom(value)) {
      // It may have died between freeing the word and waking the next one.
      Atomics.notify(this.#words, this.#at, 1);
      return 0;
    }
    this.#got();
    this.unlock();
    return 1;
  }

  /** Counts: times taken, sleeps, takeovers from the dead, and sleeps that ended by their interval with the lock free (wake-ups lost). */
  stats(): { acquired: number; slept: number; takenOver: number; lost: number } {
    const words = this.#words, at = this.#at;
    return {
      acquired: words[at + W_ACQUIRED],
      slept: words[at + W_SLEPT],
      takenOver: words[at + W_TAKEN_OVER],
      lost: words[at + W_LOST],
    };
  }

  #got(): void {
    noteLocked(this.#bit);
    this.#words[this.#at + W_ACQUIRED]++;
    // Of the locks inside the structures only waits are worth a record: they are held for less time than it takes.
    if (tracer !== undefined && this.#bit < LockBit.Board) this.#since = performance.now();
    step("mutex.locked");
  }

  #lockSlow(): void {
    const words = this.#words, at = this.#at;
    for (let i = 0; i < SPINS; i++) {
      if (Atomics.compareExchange(words, at, 0, this.#token) === 0) return;
    }
    // From here on the word says that somebody may sleep, also when this isolate is the one that gets it: it may not be alone.
    while (Atomics.compareExchange(words, at, 0, this.#token | SLEEPERS) !== 0) {
      const seen = this.#announce();
      if (seen === 0) continue;
      step("mutex.sleep");
      if (waitForLock(words, at, seen, this.#recheckMs) === "timed-out" && this.#takeOver()) return;
    }
  }

  /** Marks the word as slept on; returns what it is then, 0 if it became free. */
  #announce(): number {
    const seen = Atomics.load(this.#words, this.#at);
    if (seen === 0) return 0;
    Atomics.add(this.#words, this.#at + W_SLEPT, 1);
    if (seen < 0) return seen;
    return Atomics.compareExchange(this.#words, this.#at, seen, seen | SLEEPERS) === seen ? seen | SLEEPERS : 0;
  }

  /** After a sleep that nobody ended: takes the lock from a dead owner. */
  #takeOver(): boolean {
    const value = Atomics.load(this.#words, this.#at);
    if (value === 0) {
      Atomics.add(this.#words, this.#at + W_LOST, 1);
      return false;
    }
    return this.#self.registry.isDead(value & TOKEN) && this.#takeFrom(value);
  }

  #takeFrom(value: number): boolean {
    const words = this.#words, at = this.#at;
    // A sleeper may have set the sign bit meanwhile.
    if (
      Atomics.compareExchange(words, at, value, this.#token | SLEEPERS) !== value &&
      Atomics.compareExchange(words, at, value | SLEEPERS, this.#token | SLEEPERS) !== (value | SLEEPERS)
    ) return false;
    Atomics.add(words, at + W_TAKEN_OVER, 1);
    step("mutex.taken-over");
    // The mask must say that the lock is held while repairing.
    noteLocked(this.#bit);
    this.#repair?.(value & TOKEN);
    return true;
  }
}

/** The shared part of a mutex of its own. */
export interface MutexHandle {
  /** Memory of the mutex. */
  readonly mutex: SharedArrayBuffer;
}

/** A mutex with memory of its own, registered for the supervisor's sweep. */
export class SharedMutex extends FutexMutex {
  /** What another isolate needs to attach. */
  readonly handle: MutexHandle;

  /** A new mutex, or with `handle` one that exists. */
  constructor(self: Isolate, options: MutexOptions, handle?: MutexHandle) {
    const mutex = handle?.mutex ?? new SharedArrayBuffer(4 * MUTEX_WORDS);
    super(self, new Int32Array(mutex), 0, options);
    this.handle = { mutex };
    self.registry.attachStructure(this);
  }
}
