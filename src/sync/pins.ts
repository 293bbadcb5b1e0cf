/**
 * Pins: which isolate uses which object right now, so that nobody destroys it.
 *
 * Every isolate has a row of places, and a pin is the object's number in one of them. Pinning is one store; the pinner then looks whether
 * the object is still what it wanted. Who wants to destroy an object first changes its state and then looks through the rows. Both orders
 * are sequentially consistent, so at least one side sees the other. What a dead isolate had pinned is its row: cleared exactly once, under
 * the lock of the structure that the pins belong to.
 *
 * @module
 */
import { type Isolate, type IsolateRegistry, slotOf } from "./isolates.ts";
import { step } from "./steps.ts";
import { SyncError } from "./sync_error.ts";

/** The row's isolate: its token; minus the token while the row of a dead one is cleared. */
const R_OWNER = 0;
/** Places of the row that were ever used. */
const R_HIGH = 1;
const ROW_HEADER = 4;

/** Words that a pin table takes. */
export function pinTableWords(slots: number, places: number): number {
  return slots * (ROW_HEADER + places);
}

/** See the module. */
export class PinTable {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #at: number;
  readonly #registry: IsolateRegistry;
  readonly #stride: number;
  readonly #row: number;
  readonly #places: number;
  readonly #what: string;
  /** Free places of the own row; only this isolate uses them. */
  readonly #free: number[] = [];
  #high = 0;

  /**
   * A table over `pinTableWords(slots, places)` words that were zero at first. An isolate attaches once to each.
   *
   * @param words shared memory
   * @param at index of its first word
   * @param places most pins of one isolate at one time
   * @param what name for messages
   */
  constructor(self: Isolate, words: Int32Array<SharedArrayBuffer>, at: number, places: number, what: string) {
    this.#words = words;
    this.#at = at;
    this.#registry = self.registry;
    this.#stride = ROW_HEADER + places;
    this.#row = at + self.slot * this.#stride;
    this.#places = places;
    this.#what = what;
    if (Atomics.compareExchange(words, this.#row + R_OWNER, 0, self.token) !== 0) {
      throw new SyncError("sync.attached-twice", `${what}: this isolate is attached already`);
    }
  }

  /**
   * Pins object `id`; afterwards look whether it is still there, and unpin it if not.
   *
   * @param id positive
   * @returns the place, for `unpin`
   * @throws SyncError `sync.pins-full`
   */
  pin(id: number): number {
    let place = this.#free.pop();
    if (place === undefined) {
      if (this.#high === this.#places) this.#full();
      place = this.#high++;
      Atomics.store(this.#words, this.#row + R_HIGH, this.#high);
    }
    Atomics.store(this.#words, this.#row + ROW_HEADER + place, id);
    step("pins.pinned");
    return place;
  }

  /**
   * Ends a pin.
   *
   * @returns the object's number
   * @throws SyncError `sync.not-pinned`
   */
  unpin(place: number): number {
    const at = this.#row + ROW_HEADER + place;
    const id = place >= 0 && place < this.#high ? this.#words[at] : 0;
    if (id === 0) throw new SyncError("sync.not-pinned", `${this.#what}: place ${place} holds no pin`);
    Atomics.store(this.#words, at, 0);
    this.#free.push(place);
    return id;
  }

  /**
   * To be called before taking a lock under which something is pinned.
   *
   * @throws SyncError `sync.pins-full` if this isolate cannot pin one more object.
   */
  assertRoom(): void {
    if (this.#free.length === 0 && this.#high === this.#places) this.#full();
  }

  /** True if anybody pins the object. */
  isPinned(id: number): boolean {
    const words = this.#words;
    // Who enters only after this look finds, once it has pinned, that the state was changed before it.
    const slots = this.#registry.usedSlots;
    for (let slot = 0; slot < slots; slot++) {
      const row = this.#at + slot * this.#stride;
      const end = row + ROW_HEADER + Atomics.load(words, row + R_HIGH);
      for (let at = row + ROW_HEADER; at < end; at++) if (Atomics.load(words, at) === id) return true;
    }
    return false;
  }

  /**
   * Clears the row of a dead isolate, once. To be called under the structure's lock.
   *
   * @returns the objects it had pinned
   */
  releaseDead(token: number): number[] {
    const words = this.#words;
    const row = this.#at + slotOf(token) * this.#stride;
    const owner = Atomics.load(words, row + R_OWNER);
    if (owner !== token && owner !== -token) return [];
    // Minus the token: a repairer that dies here leaves a row that still belongs to this token and to nobody else.
    Atomics.store(words, row + R_OWNER, -token);
    const released: number[] = [];
    const end = row + ROW_HEADER + Atomics.load(words, row + R_HIGH);
    for (let at = row + ROW_HEADER; at < end; at++) {
      const id = Atomics.exchange(words, at, 0);
      if (id !== 0) released.push(id);
    }
    step("pins.cleared");
    Atomics.store(words, row + R_HIGH, 0);
    Atomics.store(words, row + R_OWNER, 0);
    return released;
  }

  /** Pins of all isolates. */
  count(): number {
    let count = 0;
    for (let slot = 0; slot < this.#registry.usedSlots; slot++) {
      const row = this.#at + slot * this.#stride;
      const end = row + ROW_HEADER + Atomics.load(this.#words, row + R_HIGH);
      for (let at = row + ROW_HEADER; at < end; at++) if (Atomics.load(this.#words, at) !== 0) count++;
    }
    return count;
  }

  #full(): never {
    throw new SyncError("sync.pins-full", `${this.#what}: this isolate pins ${this.#places} objects, the most it can`);
  }
}
