/**
 * The registry of isolates: who takes part, under which token, and who has died.
 *
 * A **token** is a positive 31-bit number: slot + 1 in the low 8 bits, the slot's generation above. It goes into every lock word, hold and
 * claim. A slot is used again under a new generation, so what a dead isolate held is told apart from what its successor holds, and is
 * released by compare-and-swap on the token: exactly once, whoever notices the death.
 *
 * Death is noticed by anyone ({@linkcode IsolateRegistry.isDead} looks at the thread) and by the **supervisor**, the isolate that made the
 * registry and all structures: its {@linkcode IsolateRegistry.sweep} lets every structure give back what the dead isolate held, and only
 * then frees the slot.
 *
 * @module
 */
import { heldLocks, lockNames } from "./held_locks.ts";
import { step } from "./steps.ts";
import { SyncError } from "./sync_error.ts";
import { procProbe, type ThreadProbe } from "./thread_probe.ts";

const SLOT_BITS = 8;
const MAX_SLOTS = (1 << SLOT_BITS) - 1;
const MAX_GENERATION = 0x7fffff;
const MAGIC = 0x49534f31;

const H_MAGIC = 0, H_SLOTS = 1, H_ENTERED = 2, H_LEFT = 3, H_DIED = 4, H_USED = 5, H_WORDS = 8;
/** 1 from entering until the slot is freed. */
const S_CLAIM = 0;
/** 0; the token while alive; minus the token from death until everything is given back. */
const S_OWNER = 1;
const S_GENERATION = 2;
const S_THREAD = 3;
const S_START_LOW = 4;
const S_START_HIGH = 5;
const S_LEFT = 6;
const SLOT_WORDS = 8;

/** The shared part, for postMessage. */
export interface IsolatesHandle {
  /** Memory of the registry. */
  readonly isolates: SharedArrayBuffer;
}

/** A structure that can give back what a dead isolate held. */
export interface Recoverable {
  /** Name for reports. */
  readonly name: string;
  /** Gives back what `token` held, at most once; returns the number of things given back. */
  recover(token: number): number;
}

/** This isolate as a member. */
export interface Isolate {
  /** Its registry. */
  readonly registry: IsolateRegistry;
  /** Its slot, from 0. */
  readonly slot: number;
  /** Its token. */
  readonly token: number;
}

/** One death, as the supervisor reports it. */
export interface Death {
  /** Token of the isolate. */
  readonly token: number;
  /** True when it left by itself. */
  readonly left: boolean;
  /** Things given back, by structure; only those with any. */
  readonly released: Readonly<Record<string, number>>;
}

/** Slot of a token. */
export function slotOf(token: number): number {
  return (token & MAX_SLOTS) - 1;
}

/** See the module. */
export class IsolateRegistry {
  /** Slots, the most isolates at one time. */
  readonly slots: number;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #probe: ThreadProbe;
  readonly #structures: Recoverable[] = [];

  private constructor(words: Int32Array<SharedArrayBuffer>, probe: ThreadProbe) {
    this.#words = words;
    this.slots = words[H_SLOTS];
    this.#probe = probe;
  }

  /**
   * Makes a registry; the caller is its supervisor.
   *
   * @param slots most isolates at one time, 1 to 255
   */
  static create(slots = 64, probe: ThreadProbe = procProbe): IsolateRegistry {
    if (!(slots >= 1 && slots <= MAX_SLOTS)) throw new SyncError("sync.capacity", `${slots} slots: 1 to ${MAX_SLOTS}`);
    const words = new Int32Array(new SharedArrayBuffer(4 * (H_WORDS + slots * SLOT_WORDS)));
    words[H_MAGIC] = MAGIC;
    words[H_SLOTS] = slots;
    return new IsolateRegistry(words, probe);
  }

  /** The same registry in another isolate. */
  static attach(handle: IsolatesHandle, probe: ThreadProbe = procProbe): IsolateRegistry {
    const words = new Int32Array(handle.isolates);
    if (words[H_MAGIC] !== MAGIC) throw new SyncError("sync.handle", "this is no registry of isolates");
    return new IsolateRegistry(words, probe);
  }

  /** Slots that were ever used: those with lower numbers. Grows before the isolate of a new one can do anything. */
  get usedSlots(): number {
    return Atomics.load(this.#words, H_USED);
  }

  /** What another isolate needs to attach. */
  get handle(): IsolatesHandle {
    return { isolates: this.#words.buffer };
  }

  /**
   * Makes the calling isolate a member.
   *
   * @throws SyncError `sync.isolates-full`
   */
  enter(): Isolate {
    const words = this.#words;
    const thread = this.#probe.current();
    for (let slot = 0; slot < this.slots; slot++) {
      const at = H_WORDS + slot * SLOT_WORDS;
      if (words[at + S_GENERATION] >= MAX_GENERATION || Atomics.compareExchange(words, at + S_CLAIM, 0, 1) !== 0) {
        continue;
      }
      for (let used; (used = Atomics.load(words, H_USED)) <= slot;) {
        Atomics.compareExchange(words, H_USED, used, slot + 1);
      }
      const generation = Atomics.add(words, at + S_GENERATION, 1) + 1;
      words[at + S_THREAD] = thread.id;
      words[at + S_START_LOW] = thread.start % 2 ** 32 | 0;
      words[at + S_START_HIGH] = Math.floor(thread.start / 2 ** 32);
      words[at + S_LEFT] = 0;
      const token = (generation << SLOT_BITS) | (slot + 1);
      Atomics.store(words, at + S_OWNER, token);
      Atomics.add(words, H_ENTERED, 1);
      return { registry: this, slot, token };
    }
    throw new SyncError("sync.isolates-full", `all ${this.slots} slots for isolates are in use`);
  }

  /**
   * Ends a membership. What it still holds (pins, jobs) is given back by the supervisor like a dead isolate's.
   *
   * @throws SyncError `sync.leave-with-lock` if the isolate holds a lock.
   */
  leave(isolate: Isolate): void {
    if (heldLocks() !== 0) {
      throw new SyncError("sync.leave-with-lock", `isolate leaves while holding ${lockNames(heldLocks())}`);
    }
    const at = H_WORDS + isolate.slot * SLOT_WORDS;
    Atomics.store(this.#words, at + S_LEFT, 1);
    if (Atomics.compareExchange(this.#words, at + S_OWNER, isolate.token, -isolate.token) === isolate.token) {
      Atomics.add(this.#words, H_LEFT, 1);
    }
  }

  /** True once the isolate of this token can do nothing any more. Reads /proc: some 30 microseconds. */
  isDead(token: number): boolean {
    const words = this.#words;
    const at = H_WORDS + slotOf(token) * SLOT_WORDS;
    const owner = Atomics.load(words, at + S_OWNER);
    if (owner !== token) return true;
    const start = (words[at + S_START_LOW] >>> 0) + words[at + S_START_HIGH] * 2 ** 32;
    if (this.#probe.isRunning({ id: words[at + S_THREAD], start })) return false;
    if (Atomics.compareExchange(words, at + S_OWNER, token, -token) === token) Atomics.add(words, H_DIED, 1);
    return true;
  }

  /** Structures say here that they can give back; each does so itself when it is made. */
  attachStructure(structure: Recoverable): void {
    this.#structures.push(structure);
  }

  /**
   * Supervisor only: finds isolates that died or left, has every structure give back what they held, and frees their slots. To be called
   * when a worker reports an error or its end, and now and then.
   */
  sweep(): Death[] {
    const deaths: Death[] = [];
    for (let slot = 0; slot < this.slots; slot++) {
      const at = H_WORDS + slot * SLOT_WORDS;
      const owner = Atomics.load(this.#words, at + S_OWNER);
      if (owner === 0 || (owner > 0 && !this.isDead(owner))) continue;
      const token = Math.abs(owner);
      const released: Record<string, number> = {};
      for (const structure of this.#structures) {
        const count = structure.recover(token);
        if (count !== 0) released[structure.name] = (released[structure.name] ?? 0) + count;
      }
      step("isolates.sweep");
      const left = this.#words[at + S_LEFT] !== 0;
      if (Atomics.compareExchange(this.#words, at + S_OWNER, -token, 0) === -token) {
        Atomics.store(this.#words, at + S_CLAIM, 0);
        deaths.push({ token, left, released });
      }
    }
    return deaths;
  }

  /** Counts since the start, and the members of now. */
  stats(): { entered: number; left: number; died: number; live: number } {
    const words = this.#words;
    let live = 0;
    for (let slot = 0; slot < this.slots; slot++) {
      if (Atomics.load(words, H_WORDS + slot * SLOT_WORDS + S_OWNER) > 0) live++;
    }
    return { entered: words[H_ENTERED], left: words[H_LEFT], died: words[H_DIED], live };
  }
}
