/**
 * The keyed table's state and its changes; `KeyedTable` is the interface.
 *
 * @module
 */
import type { Arena } from "./arena.ts";
import { getError } from "./error_blobs.ts";
import { FutexMutex } from "./futex_mutex.ts";
import { LockBit } from "./held_locks.ts";
import type { Isolate } from "./isolates.ts";
import { PinTable } from "./pins.ts";
import { step } from "./steps.ts";
import { SyncError } from "./sync_error.ts";
import { E, EN, ENTRY_STATE, EntryState, T, TableEntries } from "./table_entries.ts";
import type { Begun, Creation } from "./table_types.ts";

/** Most entries of a table. */
export const MAX_CAPACITY = 1 << 20;
const GENERATION_SHIFT = 3;

/** See the module. */
export class TableCore {
  readonly self: Isolate;
  readonly arena: Arena;
  readonly name: string;
  readonly entries: TableEntries;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly pins: PinTable;
  readonly mutex: FutexMutex;

  constructor(self: Isolate, arena: Arena, name: string, table: SharedArrayBuffer, recheckMs: number) {
    this.self = self;
    this.arena = arena;
    this.name = name;
    const header = new Int32Array(table, 0, T.Mutex);
    this.entries = new TableEntries(table, {
      capacity: header[T.Capacity],
      keyWords: header[T.KeyWords],
      places: header[T.Places],
      buckets: header[T.Buckets],
    });
    this.words = this.entries.words;
    this.pins = new PinTable(self, this.words, this.entries.pinsAt, header[T.Places], name);
    this.mutex = new FutexMutex(self, this.words, T.Mutex, {
      bit: LockBit.Table,
      name,
      repair: () => this.repair(),
      recheckMs,
    });
  }

  /** Ends a pin; an entry that has ended is freed with its last pin. */
  unpin(place: number): void {
    const entry = this.pins.unpin(place) - 1;
    if (this.entries.state(entry) < EntryState.Failed) return;
    this.mutex.lock();
    this.reclaim(entry);
    this.mutex.unlock();
  }

  pinFound(entry: number, key: Uint32Array): Begun | undefined {
    const place = this.pins.pin(entry + 1);
    const word = Atomics.load(this.words, this.entries.at(entry));
    const state = word & ENTRY_STATE;
    if ((state === EntryState.Ready || state === EntryState.Building) && this.entries.hasKey(entry, key)) {
      return this.begun(state === EntryState.Ready ? "ready" : "building", entry, place);
    }
    this.unpin(place);
    return undefined;
  }

  beginLocked(key: Uint32Array): Begun {
    this.pins.assertRoom();
    this.mutex.lock();
    const found = this.entries.find(key);
    const state = found === -1 ? EntryState.Free : this.entries.state(found);
    if (state === EntryState.Ready || state === EntryState.Building) {
      const place = this.pins.pin(found + 1);
      this.mutex.unlock();
      return this.begun(state === EntryState.Ready ? "ready" : "building", found, place);
    }
    let entry = found;
    if (state === EntryState.Pending && this.words[T.Closed] === 0) {
      this.words[this.entries.at(found) + E.Owner] = this.self.token;
      this.entries.setState(found, EntryState.Building);
    } else entry = this.insert(found, key, EntryState.Building);
    const place = this.pins.pin(entry + 1);
    this.mutex.unlock();
    step("table.begun");
    return this.begun("create", entry, place);
  }

  /** Under the lock: a new entry for a key; `old` is what is left of an earlier one, or -1. Gives the lock back if it throws. */
  insert(old: number, key: Uint32Array, state: number): number {
    const entries = this.entries;
    if (this.words[T.Closed] !== 0) {
      this.mutex.unlock();
      throw new SyncError("sync.table-closed", `${this.name} is closed: the device goes away`);
    }
    if (old !== -1) {
      entries.unlink(old);
      this.reclaim(old);
    }
    const entry = entries.allocate();
    if (entry === -1) {
      this.mutex.unlock();
      throw new SyncError("sync.table-full", `all ${entries.size.capacity} entries of ${this.name} are in use`);
    }
    step("table.allocated");
    const at = entries.at(entry);
    for (let i = 0; i < entries.size.keyWords; i++) this.words[at + E.Key + i] = key[i];
    this.words[at + E.Owner] = this.self.token;
    entries.numbers[entries.numberAt(entry) + EN.Error] = 0;
    entries.numbers[entries.numberAt(entry) + EN.Job] = 0;
    entries.setState(entry, state);
    step("table.inserted");
    entries.link(entry);
    return entry;
  }

  begun(state: Begun["state"], entry: number, pin: number): Begun {
    return {
      state,
      reference: this.reference(entry),
      pin,
      value: state === "ready" ? this.value(entry) : 0n,
      job: state === "create" ? this.entries.numbers[this.entries.numberAt(entry) + EN.Job] : 0,
    };
  }

  isKnown(entry: number, key: Uint32Array): boolean {
    if (entry === -1) return false;
    const state = this.entries.state(entry);
    return state !== EntryState.Free && state < EntryState.Failed && this.entries.hasKey(entry, key);
  }

  /** Publishes a bad end first, and takes the entry out afterwards: no waiter can miss it. */
  endBadly(entry: number, state: number): void {
    const reference = this.reference(entry);
    step("table.fail");
    this.entries.setState(entry, state);
    step("table.ended");
    this.ended(entry);
    step("table.failed");
    this.mutex.lock();
    // Who began the key anew meanwhile has taken it out already, and may have used it again.
    if (this.reference(entry) === reference) {
      this.entries.unlink(entry);
      this.reclaim(entry);
    }
    this.mutex.unlock();
  }

  /** Wakes who waits for the entry, or for all creations to end. */
  ended(entry: number): void {
    Atomics.notify(this.words, this.entries.at(entry));
    if (Atomics.load(this.words, T.Closed) === 0) return;
    Atomics.add(this.words, T.Idle, 1);
    Atomics.notify(this.words, T.Idle);
  }

  /** Under the lock. */
  evictReady(entry: number): bigint | undefined {
    this.entries.setState(entry, EntryState.Evicting);
    step("table.evicting");
    if (this.pins.isPinned(entry + 1)) {
      this.entries.setState(entry, EntryState.Ready);
      return undefined;
    }
    const value = this.value(entry);
    this.entries.setState(entry, EntryState.Evicted);
    this.entries.unlink(entry);
    this.words[T.Evicted]++;
    this.reclaim(entry);
    return value;
  }

  /** Under the lock: frees an entry that has ended, is out of the chains and not pinned. */
  reclaim(entry: number): void {
    const entries = this.entries;
    if (entries.state(entry) < EntryState.Failed || this.words[entries.at(entry) + E.Linked] !== 0) return;
    if (this.pins.isPinned(entry + 1)) return;
    const number = entries.numberAt(entry) + EN.Error, error = entries.numbers[number];
    // Before the entry is free, and nobody knows of the error.
    if (error !== 0) this.arena.retire(error);
    entries.numbers[number] = 0;
    step("table.reclaimed");
    entries.free(entry);
  }

  repair(): void {
    for (let entry = 0; entry < this.entries.size.capacity; entry++) {
      if (this.entries.state(entry) === EntryState.Evicting) this.entries.setState(entry, EntryState.Ready);
    }
    this.entries.rebuild();
    for (let entry = 0; entry < this.entries.size.capacity; entry++) this.reclaim(entry);
  }

  firstBuilding(): number {
    for (let entry = 0; entry < this.entries.size.capacity; entry++) {
      if (this.entries.state(entry) === EntryState.Building) return entry;
    }
    return -1;
  }

  mine(reference: number): number {
    const entry = this.entry(reference);
    if (
      this.reference(entry) !== reference || this.entries.state(entry) !== EntryState.Building ||
      this.words[this.entries.at(entry) + E.Owner] !== this.self.token
    ) throw new SyncError("sync.not-owner", `an entry of ${this.name} is ended by an isolate that does not create it`);
    return entry;
  }

  /** Of an entry that the caller pinned while it was being created. */
  creation(entry: number, reference: number): Creation {
    if (this.reference(entry) !== reference) {
      throw new SyncError("sync.stale-reference", `an entry of ${this.name} is gone: who waits for it must pin it`);
    }
    switch (this.entries.state(entry)) {
      case EntryState.Failed:
        return {
          state: "failed",
          error: getError(
            this.arena,
            this.entries.numbers[this.entries.numberAt(entry) + EN.Error],
            `a creation for ${this.name}`,
          ),
        };
      case EntryState.Pending:
      case EntryState.Abandoned:
        return { state: "abandoned" };
    }
    return { state: "ready", value: this.value(entry) };
  }

  value(entry: number): bigint {
    const at = this.entries.at(entry);
    return (BigInt(this.words[at + E.ValueHigh] >>> 0) << 32n) | BigInt(this.words[at + E.ValueLow] >>> 0);
  }

  reference(entry: number): number {
    return this.referenceOf(entry, Atomics.load(this.words, this.entries.at(entry)));
  }

  referenceOf(entry: number, word: number): number {
    return (word >>> GENERATION_SHIFT) * MAX_CAPACITY + entry + 1;
  }

  /** Of a reference; generations have 29 bits. */
  generation(reference: number): number {
    return (reference - 1 - this.entry(reference)) / MAX_CAPACITY + 1;
  }

  entry(reference: number): number {
    const entry = (reference - 1) % MAX_CAPACITY;
    if (!(reference >= 1 && entry < this.entries.size.capacity)) {
      throw new SyncError("sync.stale-reference", `${reference} is no entry of ${this.name}`);
    }
    return entry;
  }
}
