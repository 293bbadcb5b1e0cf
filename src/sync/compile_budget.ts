/**
 * The compile budget: how many SPIR-V bytes may be in the driver's compiler at one time, counted over all isolates of the process.
 *
 * A driver's compiler takes up to a gigabyte per thread on the largest modules, so it is the number of large compiles in flight that ends
 * a process at its memory cap, not the compiles. The rules:
 *
 * - A request that fits is granted; one that would pass the limit waits until earlier holds are given back.
 * - Requests that wait are a line, first come, first served: as long as one waits, everything behind it waits too, also what would fit. So
 *   small compiles cannot starve a large one, nor large ones small ones.
 * - What is larger than the whole limit is granted when nothing is held, and nothing is granted beside it.
 * - With limit 0, everything is granted alone.
 * - The **headroom** is a second limit, below the first one when memory is short (the container's limit, learned cost of compiles). What
 *   would pass it waits, and then runs alone.
 *
 * This is the arithmetic only: requests are numbered by the job board, whose lock guards every call, and who waits here stays claimable
 * there. A dispatch that needs its pipeline now never asks.
 *
 * @module
 */
import { SyncError } from "./sync_error.ts";

/** Limit when `APS5_BACKGROUND_COMPILE_KIB` is not set, in KiB. */
export const DEFAULT_COMPILE_KIB = 8192;

/** Largest module that a request may stand for, in bytes. */
export const MAX_REQUEST_BYTES = 2 ** 40;

const F_LIMIT = 0, F_HEADROOM = 1, F_HELD = 2, F_PEAK = 3, F_WORDS = 4;
const I_HOLDS = 0, I_ALONE = 1, I_FIRST = 2, I_LAST = 3, I_GRANTED = 4, I_WAITED = 5, I_WORDS = 8;
const R_STATE = 0, R_NEXT = 1, R_PREVIOUS = 2, REQUEST_WORDS = 3;

const Idle = 0, Waiting = 1, Held = 2, HeldAlone = 3;

/** Bytes of shared memory for `requests` requests: a multiple of 8. */
export function compileBudgetBytes(requests: number): number {
  return Math.ceil((8 * (F_WORDS + requests) + 4 * (I_WORDS + requests * REQUEST_WORDS)) / 8) * 8;
}

/** What the budget counts. */
export interface BudgetStats {
  /** Bytes: the limit, the headroom, held now, most held at once. */
  readonly limit: number;
  readonly headroom: number;
  readonly held: number;
  readonly peak: number;
  /** Holds now, requests waiting now, requests granted so far, requests that had to wait so far. */
  readonly holds: number;
  readonly waiting: number;
  readonly granted: number;
  readonly waited: number;
}

/** See the module. Every method is called under the job board's lock. */
export class CompileBudget {
  readonly #requests: number;
  readonly #numbers: Float64Array<SharedArrayBuffer>;
  readonly #words: Int32Array<SharedArrayBuffer>;

  /**
   * A budget over `compileBudgetBytes(requests)` bytes that were zero at first; {@linkcode setUp} is called once.
   *
   * @param offset first byte, a multiple of 8
   * @param requests requests are numbered 0 to `requests - 1`
   */
  constructor(buffer: SharedArrayBuffer, offset: number, requests: number) {
    this.#requests = requests;
    this.#numbers = new Float64Array(buffer, offset, F_WORDS + requests);
    this.#words = new Int32Array(buffer, offset + 8 * (F_WORDS + requests), I_WORDS + requests * REQUEST_WORDS);
  }

  /** Sets the limit of a new budget. */
  setUp(limitBytes: number): void {
    if (!(limitBytes >= 0)) throw new SyncError("sync.capacity", `compile budget of ${limitBytes} bytes`);
    this.#numbers[F_LIMIT] = limitBytes;
    this.#numbers[F_HEADROOM] = Infinity;
    this.#words[I_FIRST] = this.#words[I_LAST] = -1;
  }

  /** Bytes that fit just now beside what is held. */
  get limit(): number {
    return Math.min(this.#numbers[F_LIMIT], this.#numbers[F_HEADROOM]);
  }

  /** Bytes that are held now. Needs no lock. */
  get held(): number {
    return this.#numbers[F_HELD];
  }

  /** Sets the second limit in bytes; `Infinity` takes it away. */
  setHeadroom(bytes: number): void {
    this.#numbers[F_HEADROOM] = bytes;
  }

  /**
   * Asks for a hold. Granted if it fits and nobody waits before it; else it waits in line from now on. May be called again while it waits.
   *
   * @param bytes SPIR-V bytes; looked at when it is asked for the first time
   * @returns true if granted
   */
  request(id: number, bytes: number): boolean {
    const words = this.#words;
    const at = I_WORDS + id * REQUEST_WORDS;
    if (words[at + R_STATE] === Idle) {
      this.#numbers[F_WORDS + id] = bytes;
      if (words[I_FIRST] !== -1 || !this.#fits(bytes)) {
        words[I_WAITED]++;
        words[at + R_STATE] = Waiting;
        words[at + R_NEXT] = -1;
        words[at + R_PREVIOUS] = words[I_LAST];
        if (words[I_LAST] === -1) words[I_FIRST] = id;
        else words[I_WORDS + words[I_LAST] * REQUEST_WORDS + R_NEXT] = id;
        words[I_LAST] = id;
        return false;
      }
    } else {
      if (words[I_FIRST] !== id || !this.#fits(this.#numbers[F_WORDS + id])) return false;
      this.#unlink(id);
    }
    const size = this.#numbers[F_WORDS + id];
    const alone = size > this.limit;
    words[at + R_STATE] = alone ? HeldAlone : Held;
    if (alone) words[I_ALONE]++;
    words[I_HOLDS]++;
    words[I_GRANTED]++;
    this.#numbers[F_HELD] += size;
    if (this.#numbers[F_HELD] > this.#numbers[F_PEAK]) this.#numbers[F_PEAK] = this.#numbers[F_HELD];
    return true;
  }

  /**
   * Gives a hold back, or leaves the line.
   *
   * @returns true if there was anything to give back or to leave
   */
  release(id: number): boolean {
    const words = this.#words;
    const at = I_WORDS + id * REQUEST_WORDS;
    const state = words[at + R_STATE];
    if (state === Idle) return false;
    if (state === Waiting) {
      this.#unlink(id);
    } else {
      if (state === HeldAlone) words[I_ALONE]--;
      words[I_HOLDS]--;
      this.#numbers[F_HELD] -= this.#numbers[F_WORDS + id];
    }
    words[at + R_STATE] = Idle;
    return true;
  }

  /** The request that is first in line, or -1. */
  get first(): number {
    return this.#words[I_FIRST];
  }

  /** True if the first in line would be granted now. */
  get firstFits(): boolean {
    const first = this.#words[I_FIRST];
    return first !== -1 && this.#fits(this.#numbers[F_WORDS + first]);
  }

  /** True if the request is in line. */
  isWaiting(id: number): boolean {
    return this.#words[I_WORDS + id * REQUEST_WORDS + R_STATE] === Waiting;
  }

  /** True if the request has a hold. */
  isHeld(id: number): boolean {
    return this.#words[I_WORDS + id * REQUEST_WORDS + R_STATE] >= Held;
  }

  /**
   * Derives sums and line anew from the requests' own states, after the lock's owner died.
   *
   * @param state 0 none, 1 waits, 2 holds: what each request is according to its job
   * @param order requests that wait, first in line first
   */
  rebuild(state: (id: number) => 0 | 1 | 2, order: (a: number, b: number) => number): void {
    const words = this.#words;
    words[I_HOLDS] = words[I_ALONE] = 0;
    this.#numbers[F_HELD] = 0;
    const line: number[] = [];
    for (let id = 0; id < this.#requests; id++) {
      const at = I_WORDS + id * REQUEST_WORDS;
      const should = state(id);
      if (should === 2) {
        // How it was granted stays: the headroom may have changed since.
        const before = words[at + R_STATE];
        const alone = before === HeldAlone || (before !== Held && this.#numbers[F_WORDS + id] > this.limit);
        words[at + R_STATE] = alone ? HeldAlone : Held;
        if (alone) words[I_ALONE]++;
        words[I_HOLDS]++;
        this.#numbers[F_HELD] += this.#numbers[F_WORDS + id];
      } else {
        words[at + R_STATE] = should === 1 ? Waiting : Idle;
        if (should === 1) line.push(id);
      }
    }
    line.sort(order);
    words[I_FIRST] = line.length === 0 ? -1 : line[0];
    words[I_LAST] = line.length === 0 ? -1 : line[line.length - 1];
    for (let i = 0; i < line.length; i++) {
      const at = I_WORDS + line[i] * REQUEST_WORDS;
      words[at + R_PREVIOUS] = i === 0 ? -1 : line[i - 1];
      words[at + R_NEXT] = i === line.length - 1 ? -1 : line[i + 1];
    }
  }

  /** The counts of now. */
  stats(): BudgetStats {
    let waiting = 0;
    for (let id = 0; id < this.#requests; id++) if (this.isWaiting(id)) waiting++;
    return {
      limit: this.#numbers[F_LIMIT],
      headroom: this.#numbers[F_HEADROOM],
      held: this.#numbers[F_HELD],
      peak: this.#numbers[F_PEAK],
      holds: this.#words[I_HOLDS],
      waiting,
      granted: this.#words[I_GRANTED],
      waited: this.#words[I_WAITED],
    };
  }

  /** What is wrong with the sums and the line, or undefined; for stress tests. */
  check(): string | undefined {
    let held = 0, holds = 0, alone = 0, waiting = 0;
    for (let id = 0; id < this.#requests; id++) {
      const state = this.#words[I_WORDS + id * REQUEST_WORDS + R_STATE];
      if (state >= Held) held += this.#numbers[F_WORDS + id], holds++;
      if (state === HeldAlone) alone++;
      if (state === Waiting) waiting++;
    }
    if (held !== this.#numbers[F_HELD]) return `held ${this.#numbers[F_HELD]}, sum of holds ${held}`;
    if (holds !== this.#words[I_HOLDS]) return `holds ${this.#words[I_HOLDS]}, counted ${holds}`;
    if (alone !== this.#words[I_ALONE]) return `holds alone ${this.#words[I_ALONE]}, counted ${alone}`;
    if (alone > 0 && holds > 1) return `${holds} holds beside one that must be alone`;
    if (this.#numbers[F_LIMIT] === 0 && holds > 1) return `${holds} holds under limit 0`;
    if (alone === 0 && holds > 1 && held > this.#numbers[F_LIMIT]) {
      return `${held} bytes held, limit ${this.#numbers[F_LIMIT]}`;
    }
    let line = 0;
    for (
      let id = this.#words[I_FIRST];
      id !== -1 && line <= waiting;
      id = this.#words[I_WORDS + id * REQUEST_WORDS + R_NEXT]
    ) {
      if (!this.isWaiting(id)) return `request ${id} is in line but does not wait`;
      line++;
    }
    if (line !== waiting) return `${waiting} requests wait, ${line} are in line`;
    return undefined;
  }

  #fits(bytes: number): boolean {
    const words = this.#words;
    if (words[I_HOLDS] === 0) return true;
    const limit = this.limit;
    return words[I_ALONE] === 0 && limit > 0 && this.#numbers[F_HELD] + bytes <= limit;
  }

  #unlink(id: number): void {
    const words = this.#words;
    const at = I_WORDS + id * REQUEST_WORDS;
    const next = words[at + R_NEXT], previous = words[at + R_PREVIOUS];
    if (previous === -1) words[I_FIRST] = next;
    else words[I_WORDS + previous * REQUEST_WORDS + R_NEXT] = next;
    if (next === -1) words[I_LAST] = previous;
    else words[I_WORDS + next * REQUEST_WORDS + R_PREVIOUS] = previous;
  }
}
