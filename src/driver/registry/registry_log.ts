/**
 * What was registered, in order, for all isolates: an append-only list in shared memory. Its length is the **epoch**: a submission carries the epoch of its
 * time, and sees the entries before it, whatever is registered later. Reading takes no lock; appending takes the registry's.
 *
 * @module
 */
import { SyncError } from "../../sync/sync_error.ts";

/** Magic, entries, capacity; then the entries. */
const H_MAGIC = 0, H_COUNT = 1, H_CAPACITY = 2, H_WORDS = 4;
const MAGIC = 0x52454731;
/** Kind, number (of the registration), blob low and high, key. */
const E_KIND = 0, E_NUMBER = 1, E_BLOB = 2, E_KEY = 4, ENTRY_WORDS = 12, KEY_WORDS = 8;

/** What an entry is. */
export const LogKind = {
  /** A shader; the blob has its record and code, the key is its code's hash. */
  Registration: 1,
  /** A variant of shader `number` was asked for; the key is the request's. */
  Variant: 2,
  /** Shader `number` was taken out: submissions that are made later do not see it. */
  Removal: 3,
} as const;

/** One entry. */
export interface LogEntry {
  /** See {@linkcode LogKind}. */
  readonly kind: number;
  /** Index of the entry that it belongs to. */
  readonly number: number;
  /** Reference in the arena, or 0. */
  readonly blob: number;
  /** Eight words. */
  readonly key: Uint32Array;
}

/** The shared part, for postMessage. */
export interface RegistryLogHandle {
  /** Memory of the list. */
  readonly log: SharedArrayBuffer;
}

/** See the module. */
export class RegistryLog {
  /** What another isolate needs. */
  readonly handle: RegistryLogHandle;
  readonly #words: Int32Array<SharedArrayBuffer>;

  private constructor(log: SharedArrayBuffer) {
    this.handle = { log };
    this.#words = new Int32Array(log);
  }

  /** A new list. @param capacity most entries */
  static create(capacity: number): RegistryLog {
    const log = new SharedArrayBuffer(4 * (H_WORDS + capacity * ENTRY_WORDS));
    const words = new Int32Array(log);
    words[H_MAGIC] = MAGIC;
    words[H_CAPACITY] = capacity;
    return new RegistryLog(log);
  }

  /** The same list in another isolate. */
  static attach(handle: RegistryLogHandle): RegistryLog {
    if (new Int32Array(handle.log)[H_MAGIC] !== MAGIC) throw new SyncError("sync.handle", "this is no registry");
    return new RegistryLog(handle.log);
  }

  /** Entries so far: the epoch of now. */
  get epoch(): number {
    return Atomics.load(this.#words, H_COUNT);
  }

  /**
   * Throws if there is no room for another entry.
   *
   * @throws SyncError `registry.full`
   */
  assertRoom(): void {
    if (this.epoch < this.#words[H_CAPACITY]) return;
    throw new SyncError("registry.full", `the shader registry has all of its ${this.epoch} entries in use`);
  }

  /**
   * Appends an entry, under the registry's lock.
   *
   * @returns its index
   * @throws SyncError `registry.full`
   */
  append({ kind, number, blob, key }: LogEntry): number {
    this.assertRoom();
    const index = this.epoch, at = H_WORDS + index * ENTRY_WORDS, words = this.#words;
    words[at + E_KIND] = kind;
    words[at + E_NUMBER] = number;
    words[at + E_BLOB] = blob % 2 ** 32 | 0;
    words[at + E_BLOB + 1] = Math.floor(blob / 2 ** 32);
    for (let i = 0; i < KEY_WORDS; i++) words[at + E_KEY + i] = key[i];
    // Whoever sees the new length sees the entry; an isolate that dies before leaves none.
    Atomics.store(words, H_COUNT, index + 1);
    return index;
  }

  /** An entry before the epoch of now. */
  entry(index: number): LogEntry {
    const at = H_WORDS + index * ENTRY_WORDS, words = this.#words;
    return {
      kind: words[at + E_KIND],
      number: words[at + E_NUMBER],
      blob: (words[at + E_BLOB] >>> 0) + words[at + E_BLOB + 1] * 2 ** 32,
      key: new Uint32Array(words.slice(at + E_KEY, at + E_KEY + KEY_WORDS)),
    };
  }
}
