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
import { procProbe, type ThreadIdentity, type ThreadProbe } from "./thread_probe.ts";

const SLOT_BITS = 8;
const MAX_SLOTS = (1 << SLOT_BITS) - 1;
const MAX_GENERATION = 0x7fffff;
const MAGIC = 0x49534f31;

const H_MAGIC = 0, H_SLOTS = 1, H_USED = 2, H_WORDS = 8;
/** Two words, one 64-bit number: the thread that has the slot, from before it enters until the slot is freed; 0 when free. */
const S_THREAD = 0;
/** 0; the token while alive; minus the token from death until everything is given back. */
const S_OWNER = 2;
/** Generation of the last token that was given back, or before that of the one before. */
const S_GENERATION = 3;
/** 1 when the member has left; noted before the token says so. */
const S_LEAVING = 4;
/** Members that were given back after they left, and after they died. */
const S_LEFT = 5, S_DIED = 6;
const SLOT_WORDS = 8;
/** Bits of a thread's number below its start time: Linux gives numbers below 2^22 (PID_MAX_LIMIT of linux/threads.h). */
const THREAD_BITS = 24n;

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
  /** The same memory, for the threads. */
  readonly #threads: BigInt64Array<SharedArrayBuffer>;
  readonly #probe: ThreadProbe;
  readonly #structures: Recoverable[] = [];

  private constructor(words: Int32Array<SharedArrayBuffer>, probe: ThreadProbe) {
    this.#words = words;
    this.#threads = new BigInt64Array(words.buffer);
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
    const words = this.#words, thread = threadWord(this.#probe.current());
    for (let slot = 0; slot < this.slots; slot++) {
      const at = H_WORDS + slot * SLOT_WORDS;
      if (words[at + S_GENERATION] >= MAX_GENERATION) continue;
      // Who dies from here on has said which thread it is, so the sweep can tell.
      if (Atomics.compareExchange(this.#threads, (at + S_THREAD) / 2, 0n, thread) !== 0n) continue;
      step("isolates.claimed");
      for (let used; (used = Atomics.load(words, H_USED)) <= slot;) {
        Atomics.compareExchange(words, H_USED, used, slot + 1);
      }
      Atomics.store(words, at + S_LEAVING, 0);
      const token = ((Atomics.load(words, at + S_GENERATION) + 1) << SLOT_BITS) | (slot + 1);
      step("isolates.entering");
      Atomics.store(words, at + S_OWNER, token);
      step("isolates.entered");
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
    Atomics.store(this.#words, at + S_LEAVING, 1);
    step("isolates.leaving");
    Atomics.compareExchange(this.#words, at + S_OWNER, isolate.token, -isolate.token);
  }

  /** True once the isolate of this token can do nothing any more. Reads /proc: some 30 microseconds. */
  isDead(token: number): boolean {
    const words = this.#words;
    const at = H_WORDS + slotOf(token) * SLOT_WORDS;
    if (Atomics.load(words, at + S_OWNER) !== token) return true;
    const thread = Atomics.load(this.#threads, (at + S_THREAD) / 2);
    // The slot may have become another's meanwhile: then this token is dead, whoever that is.
    if (Atomics.load(words, at + S_OWNER) !== token) return true;
    if (this.#isRunning(thread)) return false;
    Atomics.compareExchange(words, at + S_OWNER, token, -token);
    return true;
  }

  /** Structures say here that they can give back; each does so itself when it is made. */
  attachStructure(structure: Recoverable): void {
    this.#structures.push(structure);
  }

  /**
   * Supervisor only: finds isolates that died or left, has every structure give back what they held, and frees their slots; also those that died while they
   * entered, which are in no report because they were nobody. To be called when a worker reports an error or its end, and now and then.
   */
  sweep(): Death[] {
    const deaths: Death[] = [], words = this.#words;
    for (let slot = 0; slot < this.slots; slot++) {
      const at = H_WORDS + slot * SLOT_WORDS, place = (at + S_THREAD) / 2;
      const thread = Atomics.load(this.#threads, place);
      if (thread === 0n) continue;
      let owner = Atomics.load(words, at + S_OWNER);
      if (owner === 0) {
        if (this.#isRunning(thread)) continue;
        // It may have become a member before it died.
        owner = Atomics.load(words, at + S_OWNER);
        if (owner === 0) {
          Atomics.compareExchange(this.#threads, place, thread, 0n);
          continue;
        }
      }
      if (owner > 0 && !this.isDead(owner)) continue;
      const token = Math.abs(owner);
      const released: Record<string, number> = {};
      for (const structure of this.#structures) {
        const count = structure.recover(token);
        if (count !== 0) released[structure.name] = (released[structure.name] ?? 0) + count;
      }
      step("isolates.sweep");
      const left = Atomics.load(words, at + S_LEAVING) !== 0;
      // No token is given twice: the generation first. Once, should somebody else sweep, too.
      const generation = token >>> SLOT_BITS;
      Atomics.compareExchange(words, at + S_GENERATION, generation - 1, generation);
      if (Atomics.compareExchange(words, at + S_OWNER, -token, 0) !== -token) continue;
      Atomics.add(words, at + (left ? S_LEFT : S_DIED), 1);
      Atomics.compareExchange(this.#threads, place, thread, 0n);
      deaths.push({ token, left, released });
    }
    return deaths;
  }

  /** Counts since the start; the members of now; and threads that have a slot and are no members: they are entering, or died over that. */
  stats(): { entered: number; left: number; died: number; live: number; entering: number } {
    const words = this.#words;
    let entered = 0, left = 0, died = 0, live = 0, entering = 0;
    for (let slot = 0; slot < this.slots; slot++) {
      const at = H_WORDS + slot * SLOT_WORDS, owner = Atomics.load(words, at + S_OWNER);
      left += words[at + S_LEFT];
      died += words[at + S_DIED];
      entered += words[at + S_LEFT] + words[at + S_DIED] + (owner === 0 ? 0 : 1);
      if (owner > 0) live++;
      if (owner < 0 && words[at + S_LEAVING] !== 0) left++;
      else if (owner < 0) died++;
      if (owner === 0 && Atomics.load(this.#threads, (at + S_THREAD) / 2) !== 0n) entering++;
    }
    return { entered, left, died, live, entering };
  }

  #isRunning(thread: bigint): boolean {
    return this.#probe.isRunning({
      id: Number(BigInt.asUintN(Number(THREAD_BITS), thread)),
      start: Number(thread >> THREAD_BITS),
    });
  }
}

/** A thread as one number that is not 0. */
function threadWord({ id, start }: ThreadIdentity): bigint {
  if (!(id > 0 && id < 2 ** Number(THREAD_BITS) && start >= 0 && start < 2 ** 39)) {
    throw new SyncError("sync.capacity", `thread ${id} that started at tick ${start} does not fit into 64 bits`);
  }
  return BigInt(start) << THREAD_BITS | BigInt(id);
}
