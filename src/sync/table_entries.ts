/**
 * The entries of a keyed table: where everything lies in its shared memory, chains of entries by key, and the free list.
 *
 * @module
 */
import { MUTEX_WORDS } from "./futex_mutex.ts";
import { pinTableWords } from "./pins.ts";

/** States of an entry; from Failed on, nobody new may pin it. */
export const EntryState = {
  Free: 0,
  /** Somebody announced that it will be needed; nobody creates it yet. */
  Pending: 1,
  Building: 2,
  Ready: 3,
  /** Being looked at whether it can be evicted; decided under the lock. */
  Evicting: 4,
  Failed: 5,
  /** Its creator died or gave up. */
  Abandoned: 6,
  Evicted: 7,
} as const;
/** Mask of the state in the state word; the generation is above. */
export const ENTRY_STATE = 7;

/** Words of an entry; the key follows. */
export const E = { State: 0, Owner: 1, Next: 2, Linked: 3, ValueLow: 4, ValueHigh: 5, Key: 6 } as const;
/** Numbers of an entry: reference of the error, ticket of the job that will create it. */
export const EN = { Error: 0, Job: 1 } as const;
const ENTRY_NUMBERS = 2;

/** Header words. */
export const T = {
  Magic: 0,
  Capacity: 1,
  KeyWords: 2,
  Places: 3,
  Buckets: 4,
  FreeFirst: 5,
  Closed: 6,
  /** Changes when a build ends while the table is closed. */
  Idle: 7,
  Created: 8,
  Failed: 9,
  Abandoned: 10,
  Evicted: 11,
  Mutex: 16,
} as const;
const HEADER_WORDS = T.Mutex + MUTEX_WORDS;

/** Sizes of a table. */
export interface TableSize {
  readonly capacity: number;
  readonly keyWords: number;
  readonly places: number;
  /** Power of two. */
  readonly buckets: number;
}

/** The table's memory. */
export class TableEntries {
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly numbers: Float64Array<SharedArrayBuffer>;
  readonly size: TableSize;
  readonly pinsAt: number;
  readonly #stride: number;
  readonly #entriesAt: number;

  constructor(buffer: SharedArrayBuffer, size: TableSize) {
    this.size = size;
    this.#stride = E.Key + size.keyWords;
    const layout = TableEntries.#layout(size);
    this.#entriesAt = layout.entriesAt;
    this.pinsAt = layout.pinsAt;
    this.words = new Int32Array(buffer);
    this.numbers = new Float64Array(buffer, layout.numbersAt, size.capacity * ENTRY_NUMBERS);
  }

  static #layout(size: TableSize) {
    const entriesAt = HEADER_WORDS + size.buckets;
    const numbersAt = Math.ceil((entriesAt + size.capacity * (E.Key + size.keyWords)) * 4 / 8) * 8;
    const pinsAt = numbersAt / 4 + size.capacity * ENTRY_NUMBERS * 2;
    return { entriesAt, numbersAt, pinsAt };
  }

  /** Bytes of a table's memory. */
  static bytes(size: TableSize, slots: number): number {
    return 4 * (TableEntries.#layout(size).pinsAt + pinTableWords(slots, size.places));
  }

  /** Index of an entry's first word. */
  at(entry: number): number {
    return this.#entriesAt + entry * this.#stride;
  }

  /** Index of an entry's first number. */
  numberAt(entry: number): number {
    return entry * ENTRY_NUMBERS;
  }

  /** State of an entry. */
  state(entry: number): number {
    return Atomics.load(this.words, this.at(entry)) & ENTRY_STATE;
  }

  /** Changes an entry's state. */
  setState(entry: number, state: number): void {
    const at = this.at(entry);
    Atomics.store(this.words, at, (this.words[at] & ~ENTRY_STATE) | state);
  }

  /**
   * The linked entry with a key, or -1. Without the lock it may miss one that is there; what it finds has that key as long as its state
   * word stays.
   */
  find(key: Uint32Array): number {
    const words = this.words;
    const keyWords = this.size.keyWords;
    let next = Atomics.load(words, this.#bucket(key));
    // Without the lock, a chain may change while it is followed.
    for (let steps = 0; next !== 0 && steps <= this.size.capacity; steps++) {
      const at = this.at(next - 1);
      let i = 0;
      while (i < keyWords && words[at + E.Key + i] === (key[i] | 0)) i++;
      if (i === keyWords && words[at + E.Linked] !== 0) return next - 1;
      next = Atomics.load(words, at + E.Next);
    }
    return -1;
  }

  /** True if the entry has the key. */
  hasKey(entry: number, key: Uint32Array): boolean {
    const at = this.at(entry) + E.Key;
    for (let i = 0; i < this.size.keyWords; i++) if (this.words[at + i] !== (key[i] | 0)) return false;
    return true;
  }

  /** A copy of an entry's key. */
  key(entry: number): Uint32Array<ArrayBuffer> {
    const at = this.at(entry) + E.Key;
    return Uint32Array.from(this.words.subarray(at, at + this.size.keyWords));
  }

  /** Under the lock: puts an entry into its chain. */
  link(entry: number): void {
    const at = this.at(entry);
    const bucket = this.#bucket(this.key(entry));
    this.words[at + E.Linked] = 1;
    Atomics.store(this.words, at + E.Next, this.words[bucket]);
    Atomics.store(this.words, bucket, entry + 1);
  }

  /** Under the lock: takes an entry out of its chain, if it is in. */
  unlink(entry: number): void {
    const words = this.words;
    const at = this.at(entry);
    if (words[at + E.Linked] === 0) return;
    words[at + E.Linked] = 0;
    let from = this.#bucket(this.key(entry));
    while (words[from] !== entry + 1) {
      if (words[from] === 0) return;
      from = this.at(words[from] - 1) + E.Next;
    }
    Atomics.store(words, from, words[at + E.Next]);
  }

  /** Under the lock: a free entry, or -1. */
  allocate(): number {
    const first = this.words[T.FreeFirst];
    if (first === 0) return -1;
    this.words[T.FreeFirst] = this.words[this.at(first - 1) + E.Next];
    return first - 1;
  }

  /** Under the lock: makes an entry free, under its next generation. */
  free(entry: number): void {
    const at = this.at(entry);
    Atomics.store(this.words, at, ((this.words[at] | ENTRY_STATE) + 1) | EntryState.Free);
    Atomics.store(this.words, at + E.Next, this.words[T.FreeFirst]);
    this.words[T.FreeFirst] = entry + 1;
  }

  /** Under the lock: derives chains and free list from the entries. */
  rebuild(): void {
    this.words.fill(0, HEADER_WORDS, HEADER_WORDS + this.size.buckets);
    this.words[T.FreeFirst] = 0;
    for (let entry = this.size.capacity - 1; entry >= 0; entry--) {
      const at = this.at(entry);
      if (this.state(entry) === EntryState.Free) {
        this.words[at + E.Linked] = 0;
        this.words[at + E.Next] = this.words[T.FreeFirst];
        this.words[T.FreeFirst] = entry + 1;
      } else if (this.words[at + E.Linked] !== 0 || this.state(entry) < EntryState.Failed) {
        // Also one that was just being put in: it can be found, and found to be abandoned.
        this.link(entry);
      }
    }
  }

  #bucket(key: Uint32Array): number {
    let hash = 0x811c9dc5;
    for (let i = 0; i < this.size.keyWords; i++) hash = Math.imul(hash ^ (key[i] | 0), 0x01000193) ^ (hash >>> 15);
    hash ^= hash >>> 16;
    return HEADER_WORDS + (hash & (this.size.buckets - 1));
  }
}
