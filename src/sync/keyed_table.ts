/**
 * The keyed table: content key -> 64-bit value, shared by all isolates, created once per key whoever asks.
 *
 * - {@linkcode KeyedTable.begin} finds the entry, or makes the caller its creator. Everybody else waits for that one creation.
 * - If it fails, every waiter gets the original error, and the entry is taken out, so that a later request tries again. The error is
 *   published before the table is changed.
 * - If the creator dies, waiters find the entry abandoned and begin anew: one of them becomes the creator.
 * - What is pinned cannot be evicted. A pin is one store and one load, without lock and without wait.
 * - A snapshot takes no lock and waits for nobody, and nobody waits for it.
 *
 * Hits take no lock either. The lock is held to put an entry in or take one out, never during a creation.
 *
 * @module
 */
import type { Arena } from "./arena.ts";
import { putError } from "./error_blobs.ts";
import { encodeError } from "./error_data.ts";
import type { FutexMutex } from "./futex_mutex.ts";
import { assertNoLocksHeld } from "./held_locks.ts";
import type { Isolate, Recoverable } from "./isolates.ts";
import { step } from "./steps.ts";
import { SyncError } from "./sync_error.ts";
import { checkEntries } from "./table_check.ts";
import { MAX_CAPACITY, TableCore } from "./table_core.ts";
import { E, EN, ENTRY_STATE, EntryState, T, TableEntries } from "./table_entries.ts";
import type { Begun, Creation, KeyedTableOptions, SnapshotRow } from "./table_types.ts";
import { snapshotOf, type TableStats, tableStats } from "./table_view.ts";
import { RECHECK_MS, waitForWork, type WaitSteps, waitThrough, waitThroughAsync } from "./waits.ts";

const MAGIC = 0x4b544231;

/** The shared part, for postMessage; the arena has its own. */
export interface KeyedTableHandle {
  /** Memory of the table. */
  readonly table: SharedArrayBuffer;
}

/** See the module. */
export class KeyedTable implements Recoverable {
  /** Name for messages and reports. */
  readonly name: string;
  /** What another isolate needs to attach. */
  readonly handle: KeyedTableHandle;
  readonly #self: Isolate;
  readonly #core: TableCore;
  readonly #recheckMs: number;

  private constructor(self: Isolate, arena: Arena, name: string, handle: KeyedTableHandle, recheckMs: number) {
    this.name = name;
    this.#self = self;
    this.handle = handle;
    this.#recheckMs = recheckMs;
    this.#core = new TableCore(self, arena, name, handle.table, recheckMs);
    self.registry.attachStructure(this);
  }

  /**
   * Makes a table; to be called by the supervisor.
   *
   * @param arena where errors are kept
   */
  static create(self: Isolate, arena: Arena, options: KeyedTableOptions, recheckMs = RECHECK_MS): KeyedTable {
    const capacity = options.capacity ?? 16384, keyWords = options.keyWords ?? 8, places = options.pins ?? 1024;
    if (!(capacity >= 1 && capacity <= MAX_CAPACITY)) {
      throw new SyncError("sync.capacity", `${capacity} entries: 1 to ${MAX_CAPACITY}`);
    }
    const size = { capacity, keyWords, places, buckets: 1 << (32 - Math.clz32(capacity * 2 - 1)) };
    const table = new SharedArrayBuffer(TableEntries.bytes(size, self.registry.slots));
    const words = new Int32Array(table);
    words[T.Magic] = MAGIC;
    words[T.Capacity] = capacity;
    words[T.KeyWords] = keyWords;
    words[T.Places] = places;
    words[T.Buckets] = size.buckets;
    new TableEntries(table, size).rebuild();
    return new KeyedTable(self, arena, options.name, { table }, recheckMs);
  }

  /** The same table in another isolate. */
  static attach(
    self: Isolate,
    arena: Arena,
    name: string,
    handle: KeyedTableHandle,
    recheckMs = RECHECK_MS,
  ): KeyedTable {
    if (new Int32Array(handle.table)[T.Magic] !== MAGIC) {
      throw new SyncError("sync.handle", `${name}: this is no table`);
    }
    return new KeyedTable(self, arena, name, handle, recheckMs);
  }

  /**
   * Finds the entry of a key, or makes the caller its creator. The entry is pinned for the caller.
   *
   * @throws SyncError `sync.table-full`, `sync.table-closed`, `sync.pins-full`
   */
  begin(key: Uint32Array): Begun {
    this.#checkKey(key);
    const found = this.#core.entries.find(key);
    if (found !== -1) {
      const begun = this.#core.pinFound(found, key);
      if (begun !== undefined) return begun;
    }
    step("table.not-found");
    return this.#core.beginLocked(key);
  }

  /**
   * Says that a key will be needed and that a job will create it; the first {@linkcode begin} after that is its creator, whoever it is.
   *
   * @returns the reference for {@linkcode setJob}, or undefined if the key is known already
   * @throws SyncError `sync.table-full`, `sync.table-closed`
   */
  announce(key: Uint32Array): number | undefined {
    this.#checkKey(key);
    if (this.#core.isKnown(this.#core.entries.find(key), key)) return undefined;
    this.#core.mutex.lock();
    const found = this.#core.entries.find(key);
    if (this.#core.isKnown(found, key)) {
      this.#core.mutex.unlock();
      return undefined;
    }
    const entry = this.#core.insert(found, key, EntryState.Pending);
    const reference = this.#core.reference(entry);
    this.#core.mutex.unlock();
    return reference;
  }

  /** Takes back an {@linkcode announce} whose job could not be queued, unless somebody has begun the key since. */
  withdraw(key: Uint32Array): void {
    const begun = this.begin(key);
    if (begun.state === "create") this.abandon(begun.reference);
    this.unpin(begun.pin);
  }

  /**
   * Number of the entry that a reference names, below the capacity: for what is kept beside the table.
   *
   * @throws SyncError `sync.stale-reference`
   */
  entryOf(reference: number): number {
    return this.#core.entry(reference);
  }

  /**
   * Tells the creations of one entry apart, a 32-bit number that is not 0: for what is kept beside the table of one of them.
   *
   * @throws SyncError `sync.stale-reference`
   */
  generationOf(reference: number): number {
    return this.#core.generation(reference);
  }

  /** Notes the job that will create an announced entry, so that who creates it sooner can cancel that job. */
  setJob(reference: number, ticket: number): void {
    const entry = this.#core.entry(reference);
    if (this.#core.entries.state(entry) === EntryState.Pending && this.#core.reference(entry) === reference) {
      this.#core.entries.numbers[this.#core.entries.numberAt(entry) + EN.Job] = ticket;
    }
  }

  /**
   * The creator's end: the value is there for everybody.
   *
   * @param value 64 bits
   * @throws SyncError `sync.not-owner`
   */
  publish(reference: number, value: bigint): void {
    const entry = this.#core.mine(reference);
    const at = this.#core.entries.at(entry);
    this.#core.words[at + E.ValueLow] = Number(value & 0xffffffffn) | 0;
    this.#core.words[at + E.ValueHigh] = Number((value >> 32n) & 0xffffffffn) | 0;
    step("table.publish");
    this.#core.entries.setState(entry, EntryState.Ready);
    step("table.published");
    Atomics.add(this.#core.words, T.Created, 1);
    this.#core.ended(entry);
  }

  /**
   * The creator's end: every waiter gets this error, rebuilt field by field, and the next request tries again.
   *
   * @throws SyncError `sync.not-owner`
   */
  fail(reference: number, error: unknown): void {
    const encoded = encodeError(error), entry = this.#core.mine(reference);
    const { entries, arena } = this.#core;
    putError(arena, encoded, (blob) => entries.numbers[entries.numberAt(entry) + EN.Error] = blob);
    Atomics.add(this.#core.words, T.Failed, 1);
    this.#core.endBadly(entry, EntryState.Failed);
  }

  /**
   * The creator's end: it does not create it after all. Waiters begin anew.
   *
   * @throws SyncError `sync.not-owner`
   */
  abandon(reference: number): void {
    const entry = this.#core.mine(reference);
    Atomics.add(this.#core.words, T.Abandoned, 1);
    this.#core.endBadly(entry, EntryState.Abandoned);
  }

  /**
   * The creator puts the creation off: the entry is announced again, and whoever begins it next is its creator. Waiters begin anew.
   *
   * @param job the job that will create it if nobody needs it before
   * @throws SyncError `sync.not-owner`
   */
  postpone(reference: number, job: number): void {
    const entry = this.#core.mine(reference);
    this.#core.entries.numbers[this.#core.entries.numberAt(entry) + EN.Job] = job;
    step("table.postpone");
    this.#core.entries.setState(entry, EntryState.Pending);
    this.#core.ended(entry);
  }

  /**
   * Waits until a creation ends. The caller has the entry pinned (as `begin` gave it).
   *
   * @throws SyncError `sync.wait-with-lock`
   */
  wait(reference: number, timeoutMs = Infinity): Creation {
    return waitThrough(this.#waitSteps(reference, timeoutMs));
  }

  /** {@linkcode wait} without blocking the event loop: for the main isolate. */
  async waitAsync(reference: number, timeoutMs = Infinity): Promise<Creation> {
    return await waitThroughAsync(this.#waitSteps(reference, timeoutMs));
  }

  /**
   * The value of a key: from the table, or created and inserted, or waited for while another isolate creates it. Pinned for the caller.
   *
   * @param create makes the value without any lock held; what it throws is thrown here and in all waiters
   * @throws SyncError `sync.wait-with-lock` if this isolate holds a lock: nothing is created or waited for under one.
   */
  getOrCreate(
    key: Uint32Array,
    create: () => bigint,
  ): { value: bigint; reference: number; pin: number; created: boolean } {
    assertNoLocksHeld(`creation for ${this.name}`);
    for (;;) {
      const begun = this.begin(key);
      const { reference, pin } = begun;
      if (begun.state === "ready") return { value: begun.value, reference, pin, created: false };
      if (begun.state === "create") {
        let value: bigint;
        try {
          value = create();
        } catch (error) {
          this.fail(reference, error);
          this.unpin(pin);
          throw error;
        }
        this.publish(reference, value);
        return { value, reference, pin, created: true };
      }
      const ended = this.wait(reference);
      if (ended.state === "ready") return { value: ended.value, reference, pin, created: false };
      this.unpin(pin);
      if (ended.state === "failed") throw ended.error;
    }
  }

  /** What is known of a key, without pinning or changing anything; undefined if nothing. */
  peek(key: Uint32Array): "pending" | "building" | "ready" | undefined {
    this.#checkKey(key);
    const entry = this.#core.entries.find(key);
    if (entry === -1) return undefined;
    const before = Atomics.load(this.#core.words, this.#core.entries.at(entry));
    if (
      !this.#core.entries.hasKey(entry, key) || Atomics.load(this.#core.words, this.#core.entries.at(entry)) !== before
    ) {
      return undefined;
    }
    switch (before & ENTRY_STATE) {
      case EntryState.Pending:
        return "pending";
      case EntryState.Building:
        return "building";
      case EntryState.Ready:
      case EntryState.Evicting:
        return "ready";
    }
    return undefined;
  }

  /** The job that will create an announced key, as {@linkcode setJob} noted it; 0 if the key is not (or no longer) waiting for one. */
  pendingJob(key: Uint32Array): number {
    this.#checkKey(key);
    const entry = this.#core.entries.find(key);
    if (entry === -1) return 0;
    const before = Atomics.load(this.#core.words, this.#core.entries.at(entry));
    if ((before & ENTRY_STATE) !== EntryState.Pending || !this.#core.entries.hasKey(entry, key)) return 0;
    const job = this.#core.entries.numbers[this.#core.entries.numberAt(entry) + EN.Job];
    return Atomics.load(this.#core.words, this.#core.entries.at(entry)) === before ? job : 0;
  }

  /**
   * Pins a ready entry by its reference: what a dispatch does for the pipeline that it found at an earlier one.
   *
   * @returns the place for `unpin`, or undefined if it is gone
   */
  pin(reference: number): number | undefined {
    const entry = this.#core.entry(reference);
    const place = this.#core.pins.pin(entry + 1);
    for (;;) {
      const word = Atomics.load(this.#core.words, this.#core.entries.at(entry));
      if (this.#core.referenceOf(entry, word) === reference) {
        if ((word & ENTRY_STATE) === EntryState.Ready) return place;
        if ((word & ENTRY_STATE) === EntryState.Evicting) {
          // Whoever decides has the lock.
          this.#core.mutex.lock();
          this.#core.mutex.unlock();
          continue;
        }
      }
      this.unpin(place);
      return undefined;
    }
  }

  /** Value of an entry that this isolate has pinned while it was ready. */
  value(reference: number): bigint {
    return this.#core.value(this.#core.entry(reference));
  }

  /** Ends a pin. */
  unpin(place: number): void {
    this.#core.unpin(place);
  }

  /**
   * Takes a ready entry out, so that its value can be destroyed; the caller does that.
   *
   * @returns the value, or undefined if somebody pins it (or it is gone): then nothing has changed
   */
  evict(reference: number): bigint | undefined {
    const entry = this.#core.entry(reference);
    this.#core.mutex.lock();
    const word = Atomics.load(this.#core.words, this.#core.entries.at(entry));
    let value: bigint | undefined;
    if (this.#core.referenceOf(entry, word) === reference && (word & ENTRY_STATE) === EntryState.Ready) {
      value = this.#core.evictReady(entry);
    }
    this.#core.mutex.unlock();
    return value;
  }

  /**
   * All entries that are ready. Every row is whole, and no entry is missing that was ready before and is ready after. Takes no lock and
   * waits for nobody: creations go on meanwhile.
   */
  snapshot(): SnapshotRow[] {
    return snapshotOf(this.#core);
  }

  /** Forbids new creations, for teardown or replacement of the device. */
  close(): void {
    this.#core.mutex.lock();
    Atomics.store(this.#core.words, T.Closed, 1);
    this.#core.mutex.unlock();
  }

  /**
   * After {@linkcode close}: waits until no creation is in flight.
   *
   * @returns false after the time
   */
  waitForBuilds(timeoutMs = Infinity): boolean {
    assertNoLocksHeld(`wait for creations of ${this.name}`);
    const end = performance.now() + timeoutMs;
    for (;;) {
      const seen = Atomics.load(this.#core.words, T.Idle);
      const building = this.#core.firstBuilding();
      if (building === -1) return true;
      const rest = end - performance.now();
      if (rest <= 0) return false;
      step("table.drain");
      waitForWork(this.#core.words, T.Idle, seen, Math.min(rest, this.#recheckMs), `creations of ${this.name}`);
      this.#lookAfter(building);
    }
  }

  /**
   * After {@linkcode close} and {@linkcode waitForBuilds}: takes everything out that nobody pins.
   *
   * @param destroy gets each value, without any lock held
   * @returns entries that are still there because they are pinned
   */
  clear(destroy: (value: bigint, key: Uint32Array) => void): number {
    let rest = 0;
    for (let entry = 0; entry < this.#core.entries.size.capacity; entry++) {
      this.#core.mutex.lock();
      const state = this.#core.entries.state(entry);
      const key = this.#core.entries.key(entry);
      let value: bigint | undefined;
      if (state === EntryState.Ready) {
        value = this.#core.evictReady(entry);
        if (value === undefined) rest++;
      } else if (state === EntryState.Pending) {
        this.#core.entries.setState(entry, EntryState.Abandoned);
        this.#core.entries.unlink(entry);
        this.#core.reclaim(entry);
      } else if (state === EntryState.Building) rest++;
      this.#core.mutex.unlock();
      if (value !== undefined) destroy(value, key);
    }
    return rest;
  }

  /** Allows creations again, for a new device. */
  reopen(): void {
    Atomics.store(this.#core.words, T.Closed, 0);
  }

  /** Abandons what a dead isolate was creating, or had announced and put into nobody's hands; wakes who waits for what it ended; and ends its pins. */
  recover(token: number): number {
    this.#core.mutex.recover(token);
    let count = 0;
    this.#core.mutex.lock();
    const { entries, words } = this.#core;
    for (let entry = 0; entry < entries.size.capacity; entry++) {
      if (words[entries.at(entry) + E.Owner] !== token) continue;
      const state = entries.state(entry), building = state === EntryState.Building;
      if (building || (state === EntryState.Pending && entries.numbers[entries.numberAt(entry) + EN.Job] === 0)) {
        count++;
        if (building) Atomics.add(words, T.Abandoned, 1);
        entries.setState(entry, EntryState.Abandoned);
      }
      // It may have died after it had ended a creation, and before it told anybody.
      this.#core.ended(entry);
    }
    count += this.#core.pins.releaseDead(token).length;
    // Also what it had ended badly and not yet taken out.
    for (let entry = 0; entry < this.#core.entries.size.capacity; entry++) {
      if (this.#core.entries.state(entry) < EntryState.Failed) continue;
      this.#core.entries.unlink(entry);
      this.#core.reclaim(entry);
    }
    this.#core.mutex.unlock();
    return count;
  }

  /** The counts of now and since the start. */
  stats(): TableStats {
    return tableStats(this.#core);
  }

  /** Counts of the table's lock. */
  lockStats(): ReturnType<FutexMutex["stats"]> {
    return this.#core.mutex.stats();
  }

  /** What is wrong with chains and free list, or undefined; for stress tests. */
  check(): string | undefined {
    this.#core.mutex.lock();
    const wrong = checkEntries(this.#core);
    this.#core.mutex.unlock();
    return wrong;
  }

  *#waitSteps(reference: number, timeoutMs: number): WaitSteps<Creation> {
    const what = `an entry of ${this.name}`;
    assertNoLocksHeld(`wait for ${what}`);
    const { words, entries } = this.#core, entry = this.#core.entry(reference), index = entries.at(entry);
    const end = performance.now() + timeoutMs;
    for (;;) {
      const value = Atomics.load(words, index);
      const rest = end - performance.now();
      if ((value & ENTRY_STATE) !== EntryState.Building) return this.#core.creation(entry, reference);
      if (rest <= 0) return { state: "timed-out" };
      step("table.wait");
      const ended = yield { words, index, value, timeoutMs: Math.min(rest, this.#recheckMs), what };
      if (ended === "timed-out") this.#lookAfter(entry);
    }
  }

  /** Is the isolate alive that creates an entry? */
  #lookAfter(entry: number): void {
    const owner = Atomics.load(this.#core.words, this.#core.entries.at(entry) + E.Owner);
    if (this.#core.entries.state(entry) === EntryState.Building && this.#self.registry.isDead(owner)) {
      this.recover(owner);
    }
  }

  #checkKey(key: Uint32Array): void {
    if (key.length !== this.#core.entries.size.keyWords) {
      throw new SyncError(
        "sync.key",
        `a key of ${key.length} words for ${this.name}: ${this.#core.entries.size.keyWords}`,
      );
    }
  }
}
