/**
 * A lock that many isolates share or one has alone, and that knows all its owners.
 *
 * Every isolate has a word of its own for sharing, and there is one word for the exclusive owner. Sharing is one store and one load: store
 * the own token, then look for an exclusive owner; the exclusive side stores its token first and then looks at all the words. Both orders
 * are sequentially consistent, so at least one side sees the other. A dead isolate's words are released by compare-and-swap on its token.
 *
 * Who asks for it alone keeps new sharers out, so it is not starved. For that reason nobody may hold it, either way, during a driver
 * compile or a wait: one compile of minutes and one exclusive request would stop everybody. (Snapshots of the pipeline cache take no lock
 * at all, see `KeyedTable.snapshot`.)
 *
 * No part of the driver takes it today. It is there for what many isolates use and one replaces, as the Vulkan device; but who creates pipelines does so
 * for minutes, and nobody may hold a lock meanwhile, so teardown and replacement close the table of pipelines and wait for the creations in flight instead
 * (`KeyedTable.close`, `KeyedTable.waitForBuilds`), and what a dispatch uses is pinned, which is one store and one load as sharing is.
 *
 * @module
 */
import { assertLockOrder, noteLocked, noteUnlocked } from "./held_locks.ts";
import { type Isolate, type Recoverable, slotOf } from "./isolates.ts";
import { step } from "./steps.ts";
import { SyncError } from "./sync_error.ts";
import { RECHECK_MS, waitForLock } from "./waits.ts";

/** Exclusive owner's token, or 0. */
const W_EXCLUSIVE = 0;
/** Changes whenever a word is given back; sleepers wait on it. */
const W_BELL = 1;
const W_SLEEPERS = 2;
/** 1 while the exclusive owner is in: no longer only asking. Only the exclusive owner writes it. */
const W_INSIDE = 3;
/** Then one word for each slot: the token while it shares. */
const W_SHARED = 4;

/** The shared part, for postMessage. */
export interface SharedExclusiveHandle {
  /** Memory of the lock. */
  readonly sharedExclusive: SharedArrayBuffer;
}

/** How the lock is set up; the same in every isolate. */
export interface SharedExclusiveOptions {
  /** Its class, from `LockBit`. */
  readonly bit: number;
  /** Name for messages. */
  readonly name: string;
  /** Makes the protected data right after an exclusive owner died that was in; called while nobody else is, possibly more than once. */
  readonly repair?: (deadToken: number) => void;
  /** Milliseconds between two looks at the owners. */
  readonly recheckMs?: number;
}

/** See the module. */
export class SharedExclusiveLock implements Recoverable {
  /** Name for messages. */
  readonly name: string;
  /** What another isolate needs to attach. */
  readonly handle: SharedExclusiveHandle;
  readonly #self: Isolate;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #options: SharedExclusiveOptions;
  readonly #mine: number;
  readonly #recheckMs: number;

  /** A new lock, or with `handle` one that exists. */
  constructor(self: Isolate, options: SharedExclusiveOptions, handle?: SharedExclusiveHandle) {
    const buffer = handle?.sharedExclusive ?? new SharedArrayBuffer(4 * (W_SHARED + self.registry.slots));
    this.#words = new Int32Array(buffer);
    this.#self = self;
    this.#options = options;
    this.name = options.name;
    this.#mine = W_SHARED + self.slot;
    this.#recheckMs = options.recheckMs ?? RECHECK_MS;
    this.handle = { sharedExclusive: buffer };
    self.registry.attachStructure(this);
  }

  /** Shares the lock; sleeps while somebody has it, or has asked for it, alone. */
  lockShared(): void {
    assertLockOrder(this.#options.bit);
    const words = this.#words;
    for (;;) {
      Atomics.store(words, this.#mine, this.#self.token);
      step("shared.announced");
      const owner = Atomics.load(words, W_EXCLUSIVE);
      if (owner === 0) break;
      this.#giveBack(this.#mine);
      this.#sleepUntil(() => Atomics.load(words, W_EXCLUSIVE) === 0);
    }
    noteLocked(this.#options.bit);
  }

  /**
   * Ends sharing.
   *
   * @throws SyncError `sync.not-owner`
   */
  unlockShared(): void {
    if (Atomics.load(this.#words, this.#mine) !== this.#self.token) this.#notMine("shared");
    this.#giveBack(this.#mine);
    noteUnlocked(this.#options.bit);
  }

  /** Takes the lock alone; sleeps until the others are out. */
  lockExclusive(): void {
    assertLockOrder(this.#options.bit);
    const words = this.#words;
    while (Atomics.compareExchange(words, W_EXCLUSIVE, 0, this.#self.token) !== 0) {
      this.#sleepUntil(() => Atomics.load(words, W_EXCLUSIVE) === 0);
    }
    step("exclusive.announced");
    for (let at = W_SHARED; at < words.length; at++) {
      if (Atomics.load(words, at) !== 0) this.#sleepUntil(() => Atomics.load(words, at) === 0);
    }
    Atomics.store(words, W_INSIDE, 1);
    step("exclusive.inside");
    noteLocked(this.#options.bit);
  }

  /**
   * Gives the lock back that this isolate has alone.
   *
   * @throws SyncError `sync.not-owner`
   */
  unlockExclusive(): void {
    if (Atomics.load(this.#words, W_EXCLUSIVE) !== this.#self.token) this.#notMine("exclusive");
    Atomics.store(this.#words, W_INSIDE, 0);
    step("exclusive.leaves");
    this.#giveBack(W_EXCLUSIVE);
    noteUnlocked(this.#options.bit);
  }

  /**
   * Gives back what a dead isolate held of this lock.
   *
   * @throws SyncError `sync.lock-order` if this isolate holds it, or a lock that comes after it.
   */
  recover(token: number): number {
    const words = this.#words, { bit, repair } = this.#options;
    assertLockOrder(bit);
    let count = 0;
    const shared = W_SHARED + slotOf(token);
    if (Atomics.compareExchange(words, shared, token, 0) === token) count++;
    // As the exclusive owner, so that nobody comes in between; who dies here is followed by another, who finds the same.
    if (Atomics.compareExchange(words, W_EXCLUSIVE, token, this.#self.token) === token) {
      step("exclusive.taken-over");
      // Who only asked for it has changed nothing, and others may still share it.
      if (Atomics.load(words, W_INSIDE) !== 0) {
        noteLocked(bit);
        repair?.(token);
        Atomics.store(words, W_INSIDE, 0);
        noteUnlocked(bit);
      }
      step("exclusive.repaired");
      Atomics.store(words, W_EXCLUSIVE, 0);
      count++;
    }
    // Also for a death between giving back and ringing.
    this.#ring();
    return count;
  }

  /** Isolates that share it now, and whether one has it, or asked for it, alone. */
  stats(): { shared: number; exclusive: boolean } {
    let shared = 0;
    for (let at = W_SHARED; at < this.#words.length; at++) if (Atomics.load(this.#words, at) !== 0) shared++;
    return { shared, exclusive: Atomics.load(this.#words, W_EXCLUSIVE) !== 0 };
  }

  #giveBack(at: number): void {
    Atomics.store(this.#words, at, 0);
    step("shared-exclusive.given-back");
    if (Atomics.load(this.#words, W_SLEEPERS) !== 0) this.#ring();
  }

  #ring(): void {
    Atomics.add(this.#words, W_BELL, 1);
    Atomics.notify(this.#words, W_BELL);
  }

  #sleepUntil(ready: () => boolean): void {
    const words = this.#words;
    Atomics.add(words, W_SLEEPERS, 1);
    for (;;) {
      const bell = Atomics.load(words, W_BELL);
      if (ready()) break;
      step("shared-exclusive.sleep");
      if (waitForLock(words, W_BELL, bell, this.#recheckMs) === "timed-out") this.#releaseDead();
    }
    Atomics.sub(words, W_SLEEPERS, 1);
  }

  #releaseDead(): void {
    for (let at = 0; at < this.#words.length; at = at === W_EXCLUSIVE ? W_SHARED : at + 1) {
      const token = Atomics.load(this.#words, at);
      if (token !== 0 && token !== this.#self.token && this.#self.registry.isDead(token)) this.recover(token);
    }
  }

  #notMine(how: string): never {
    throw new SyncError("sync.not-owner", `${this.name} (${how}) unlocked by an isolate that does not hold it`);
  }
}
