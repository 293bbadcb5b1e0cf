/**
 * Waits of guest queues for guest memory, across isolates.
 *
 * There is one **epoch** for all memory. Whoever has written memory (and only then) adds to it and wakes everybody; whoever waits looks at
 * memory and then sleeps for as long as the epoch is the one from before it looked. So no wake-up is lost, whatever was written and by
 * whom, and nothing has to be known of addresses: stores of shaders have none.
 *
 * A queue's record says what its isolate does: it **runs** (also while submissions that were handed over are not finished), or it **waits**
 * since an epoch. When all that are not finished wait since the present epoch, none of them has looked away since the last write, and
 * nobody is left who could write: these waits are for ever. Whoever makes that true (by beginning to wait, or by finishing) finds it, so it
 * is found at once. A queue must therefore have nothing in flight when it begins to wait or finishes its last submission, and must have
 * called {@linkcode LabelWatch.written} for all that was.
 *
 * An isolate that died may have written memory without waking anybody: giving its record back wakes all, and ends all waits.
 *
 * @module
 */
import type { Isolate, Recoverable } from "./isolates.ts";
import { step } from "./steps.ts";
import { SyncError } from "./sync_error.ts";
import { RECHECK_MS, waitForWork } from "./waits.ts";

/** Why all queues are to stop. */
export const Stop = {
  /** They are not. */
  None: 0,
  /** One of them failed. */
  Failed: 1,
  /** All that are left wait, and nothing can end that. */
  Forever: 2,
  /** The isolate of one of them died. */
  Died: 3,
  /** Somebody asked for it. */
  Asked: 4,
} as const;

/** How a wait ended. */
export type WaitOutcome = "ready" | "stopped" | "timed-out";

/** The shared part, for postMessage. */
export interface LabelWatchHandle {
  /** Memory of the watch. */
  readonly labels: SharedArrayBuffer;
}

/** How a watch is set up; the same in every isolate. */
export interface LabelWatchOptions {
  /** `stop`: the death of a queue's isolate ends all waits. `go-on`: somebody puts another isolate in its place. */
  readonly onDeath?: "stop" | "go-on";
  /** Milliseconds between two looks whether the others' isolates live. */
  readonly recheckMs?: number;
}

const MAGIC = 0x4c41424c;
const H_MAGIC = 0, H_QUEUES = 1, H_EPOCH = 2, H_STOP = 3, H_ORDER = 4, H_SEALED = 5;
/** Words of the header, and of a queue's record: a cache line each. */
const H_WORDS = 16, R_WORDS = 16;
const R_TOKEN = 0, R_STATE = 1, R_EPOCH = 2, R_HANDED = 3, R_FINISHED = 4;
// R_TOKEN: 0; the token of the queue's isolate; minus that since its death was noticed. So what a dead one's record says is never mixed up with what
// its successor says, whoever notices the death how late.
const State = { Running: 0, Waiting: 1, Left: 2 } as const;

/** See the module. */
export class LabelWatch implements Recoverable {
  /** Name for reports. */
  readonly name = "labels";
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #self: Isolate;
  readonly #goOn: boolean;
  readonly #recheckMs: number;

  private constructor(self: Isolate, words: Int32Array<SharedArrayBuffer>, options: LabelWatchOptions) {
    this.#self = self;
    this.#words = words;
    this.#goOn = options.onDeath === "go-on";
    this.#recheckMs = options.recheckMs ?? RECHECK_MS;
    self.registry.attachStructure(this);
  }

  /** Makes a watch over so many queues; they are numbered from 0. */
  static create(self: Isolate, queues: number, options: LabelWatchOptions = {}): LabelWatch {
    const words = new Int32Array(new SharedArrayBuffer(4 * (H_WORDS + queues * R_WORDS)));
    words[H_MAGIC] = MAGIC;
    words[H_QUEUES] = queues;
    return new LabelWatch(self, words, options);
  }

  /** The same watch in another isolate. */
  static attach(self: Isolate, handle: LabelWatchHandle, options: LabelWatchOptions = {}): LabelWatch {
    const words = new Int32Array(handle.labels);
    if (words[H_MAGIC] !== MAGIC) throw new SyncError("sync.handle", "this is no watch over labels");
    return new LabelWatch(self, words, options);
  }

  /** What another isolate needs to attach. */
  get handle(): LabelWatchHandle {
    return { labels: this.#words.buffer };
  }

  /** Queues. */
  get queues(): number {
    return this.#words[H_QUEUES];
  }

  /** Why all are to stop; of `Stop`. */
  get stopped(): number {
    return Atomics.load(this.#words, H_STOP);
  }

  /** The supervisor: one more submission is on its way to a queue, which runs until it is finished. */
  handOver(queue: number): void {
    Atomics.add(this.#words, record(queue) + R_HANDED, 1);
  }

  /** The supervisor: there will be no more submissions. Waits are for ever only after that. */
  seal(): void {
    Atomics.store(this.#words, H_SEALED, 1);
    this.#findForever();
  }

  /** The calling isolate is the queue's from now on. */
  enter(queue: number): void {
    const at = record(queue);
    Atomics.store(this.#words, at + R_STATE, State.Running);
    Atomics.store(this.#words, at + R_TOKEN, this.#self.token);
  }

  /** The calling isolate has given its results over; its end is no death any more. */
  leave(queue: number): void {
    const at = record(queue);
    Atomics.store(this.#words, at + R_STATE, State.Left);
    Atomics.compareExchange(this.#words, at + R_TOKEN, this.#self.token, 0);
  }

  /** Submissions of the queue that are not finished. */
  pending(queue: number): number {
    const at = record(queue);
    return Atomics.load(this.#words, at + R_HANDED) - Atomics.load(this.#words, at + R_FINISHED) | 0;
  }

  /** A submission is finished. If it was the last that was handed over, nothing of it is in flight. */
  finished(queue: number): void {
    Atomics.add(this.#words, record(queue) + R_FINISHED, 1);
    step("labels.finished");
    this.#findForever();
  }

  /** Memory was written: to be called behind every write, and when work on a device is done. */
  written(): void {
    step("labels.written");
    Atomics.add(this.#words, H_EPOCH, 1);
    step("labels.ring");
    Atomics.notify(this.#words, H_EPOCH);
  }

  /** A number that rises over all queues: taken before a label is written, numbers are in the order of cause and effect. */
  order(): number {
    return Atomics.add(this.#words, H_ORDER, 1);
  }

  /** Stops all queues, unless they are stopped already; true if this was the first reason. */
  stop(why: number): boolean {
    const first = Atomics.compareExchange(this.#words, H_STOP, Stop.None, why) === Stop.None;
    this.written();
    return first;
  }

  /**
   * Waits until `holds()`. It is called at once, and again after every write.
   *
   * @param queue the calling isolate's
   * @param holds looks at memory; whatever it throws ends the wait
   * @param timeoutMs milliseconds without a write by anybody, after which the wait is given up
   * @returns `stopped` when all queues are to stop
   * @throws SyncError `sync.wait-with-lock`
   */
  wait(queue: number, holds: () => boolean, timeoutMs: number): WaitOutcome {
    const words = this.#words, at = record(queue);
    let since = performance.now(), last: number | undefined;
    try {
      for (;;) {
        const epoch = Atomics.load(words, H_EPOCH);
        if (Atomics.load(words, H_STOP) !== Stop.None) return "stopped";
        step("labels.look");
        if (holds()) return "ready";
        const now = performance.now();
        if (epoch !== last) since = now;
        else if (now - since >= timeoutMs) return "timed-out";
        last = epoch;
        // In this order: who sees that it waits sees since when.
        Atomics.store(words, at + R_EPOCH, epoch);
        Atomics.store(words, at + R_STATE, State.Waiting);
        step("labels.waits");
        if (this.#findForever()) continue;
        step("labels.sleep");
        const rest = Math.min(this.#recheckMs, timeoutMs - (now - since));
        if (waitForWork(words, H_EPOCH, epoch, rest, "guest memory") === "timed-out") this.#lookForDead();
      }
    } finally {
      // Also before an error is dealt with: an isolate that does something does not wait.
      Atomics.store(words, at + R_STATE, State.Running);
    }
  }

  /**
   * Marks what belongs to a dead isolate, wakes everybody, and ends all waits unless another isolate will go on. Who did it before may have died in
   * between: all of it is done again until the queue has another isolate.
   */
  recover(token: number): number {
    const words = this.#words;
    let count = 0, found = false;
    for (let queue = 0; queue < this.queues; queue++) {
      const before = Atomics.compareExchange(words, record(queue) + R_TOKEN, token, -token);
      if (before === token) count++;
      found ||= before === token || before === -token;
    }
    if (!found) return 0;
    step("labels.recover");
    if (this.#goOn) this.written();
    else this.stop(Stop.Died);
    return count;
  }

  /** Whether the queue's isolate died. */
  isDead(queue: number): boolean {
    return Atomics.load(this.#words, record(queue) + R_TOKEN) < 0;
  }

  /** Whether the queue waited when its isolate last said so. */
  isWaiting(queue: number): boolean {
    return Atomics.load(this.#words, record(queue) + R_STATE) === State.Waiting;
  }

  /** Whether the queue's isolate left. */
  hasLeft(queue: number): boolean {
    return Atomics.load(this.#words, record(queue) + R_STATE) === State.Left;
  }

  /** If all that are left wait, and nothing can end that: stops them. */
  #findForever(): boolean {
    const words = this.#words;
    if (Atomics.load(words, H_SEALED) === 0) return false;
    const epoch = Atomics.load(words, H_EPOCH);
    let waiting = 0;
    for (let queue = 0; queue < this.queues; queue++) {
      const at = record(queue);
      if (this.pending(queue) === 0) continue;
      // State first: it is written last.
      if (Atomics.load(words, at + R_STATE) !== State.Waiting || Atomics.load(words, at + R_EPOCH) !== epoch) {
        return false;
      }
      // Another isolate may take the dead one's place, and write.
      if (Atomics.load(words, at + R_TOKEN) < 0) return false;
      waiting++;
    }
    step("labels.forever");
    if (waiting === 0 || Atomics.load(words, H_EPOCH) !== epoch || (this.#goOn && this.#anyDied())) return false;
    this.stop(Stop.Forever);
    return true;
  }

  /** Whether the isolate of one that waits is dead, though nobody has noticed: another one will go on for it, and may write. */
  #anyDied(): boolean {
    let any = false;
    for (let queue = 0; queue < this.queues; queue++) {
      const token = Atomics.load(this.#words, record(queue) + R_TOKEN);
      if (token <= 0 || this.pending(queue) === 0 || !this.#self.registry.isDead(token)) continue;
      this.recover(token);
      any = true;
    }
    return any;
  }

  #lookForDead(): void {
    for (let queue = 0; queue < this.queues; queue++) {
      const at = record(queue);
      // Who waits keeps nobody waiting; the supervisor's sweep finds that one.
      if (Atomics.load(this.#words, at + R_STATE) === State.Waiting) continue;
      const token = Atomics.load(this.#words, at + R_TOKEN);
      if (token > 0 && token !== this.#self.token && this.#self.registry.isDead(token)) this.recover(token);
    }
  }
}

function record(queue: number): number {
  return H_WORDS + queue * R_WORDS;
}
