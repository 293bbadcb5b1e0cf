/**
 * The arena: blobs (SPIR-V words, artifact metadata, errors as data) in one fixed piece of shared memory.
 *
 * A blob is written once, published, and never changes; it is read without locks. Its **reference** is a number that goes into any shared
 * word pair or message. Who reads pins it meanwhile. Retiring a blob forbids new pins, and its memory is used again once the last pin is
 * gone; a reference to it is then known to be stale, because it carries the record's generation.
 *
 * A blob belongs to the isolate that appended it until {@linkcode Arena.share} says that a shared structure refers to it; blobs of a dead
 * isolate are retired. The memory is a fixed SharedArrayBuffer: the system gives pages only when they are touched, so a large one costs
 * nothing, while typed arrays over a growable one cost 51 ns an access instead of 3 (measured).
 *
 * @module
 */
import { FutexMutex, MUTEX_WORDS } from "./futex_mutex.ts";
import { LockBit } from "./held_locks.ts";
import type { Isolate, Recoverable } from "./isolates.ts";
import { PinTable, pinTableWords } from "./pins.ts";
import { step } from "./steps.ts";
import { SyncError } from "./sync_error.ts";

/** Blobs begin at multiples of it, in bytes: a cache line, and enough for every typed array. */
const UNIT = 64;
const CLASSES = 160;
const MAX_BLOBS = 1 << 20;
const MAX_BLOB_BYTES = 0x7fffffff - UNIT;

const H_MAGIC = 0, H_BLOBS = 1, H_PLACES = 2, H_RECORDS = 3, H_BUMP = 4, H_MUTEX = 8;
const H_CLASSES = H_MUTEX + MUTEX_WORDS, H_WORDS = H_CLASSES + CLASSES;
const MAGIC = 0x4152454e;

/** Generation << 3 | state. */
const B_STATE = 0;
const B_OWNER = 1, B_OFFSET = 2, B_UNITS = 3, B_LENGTH = 4, B_NEXT = 5, BLOB_WORDS = 6;
const Free = 0, Writing = 1, Published = 2, Retired = 3, STATE_MASK = 7;

/** The shared part, for postMessage. */
export interface ArenaHandle {
  /** Records, free lists and pins. */
  readonly arenaControl: SharedArrayBuffer;
  /** The blobs. */
  readonly arenaData: SharedArrayBuffer;
}

/** Sizes of a new arena. */
export interface ArenaOptions {
  /** Bytes for blobs; default 1 GiB, of which only what is written takes memory. */
  readonly bytes?: number;
  /** Most blobs at one time; default 65,536. */
  readonly blobs?: number;
  /** Most pins of one isolate at one time; default 256. */
  readonly pins?: number;
}

/** What an arena counts. */
export interface ArenaStats {
  /** Blobs that are written, published, or retired and still pinned. */
  readonly blobs: number;
  /** Bytes of memory of those. */
  readonly bytes: number;
  /** Bytes ever taken from the piece of memory. */
  readonly touched: number;
  /** Blobs that still belong to one isolate. */
  readonly owned: number;
  /** Pins of all isolates. */
  readonly pins: number;
}

/** See the module. */
export class Arena implements Recoverable {
  /** Name for reports. */
  readonly name = "arena";
  /** What another isolate needs to attach. */
  readonly handle: ArenaHandle;
  readonly #self: Isolate;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #data: Uint8Array<SharedArrayBuffer>;
  readonly #blobs: number;
  readonly #mutex: FutexMutex;
  readonly #pins: PinTable;

  private constructor(self: Isolate, handle: ArenaHandle, recheckMs?: number) {
    this.#self = self;
    this.handle = handle;
    const words = this.#words = new Int32Array(handle.arenaControl);
    this.#data = new Uint8Array(handle.arenaData);
    this.#blobs = words[H_BLOBS];
    this.#mutex = new FutexMutex(self, words, H_MUTEX, {
      bit: LockBit.Arena,
      name: "arena",
      repair: () => this.#repair(),
      recheckMs,
    });
    this.#pins = new PinTable(self, words, H_WORDS + this.#blobs * BLOB_WORDS, words[H_PLACES], "arena");
    self.registry.attachStructure(this);
  }

  /** Makes an arena; to be called by the supervisor. */
  static create(self: Isolate, options: ArenaOptions = {}, recheckMs?: number): Arena {
    const bytes = options.bytes ?? 2 ** 30, blobs = options.blobs ?? 65536, places = options.pins ?? 256;
    if (!(blobs >= 1 && blobs <= MAX_BLOBS)) throw new SyncError("sync.capacity", `${blobs} blobs: 1 to ${MAX_BLOBS}`);
    const control = new SharedArrayBuffer(
      4 * (H_WORDS + blobs * BLOB_WORDS + pinTableWords(self.registry.slots, places)),
    );
    const words = new Int32Array(control);
    words[H_MAGIC] = MAGIC;
    words[H_BLOBS] = blobs;
    words[H_PLACES] = places;
    return new Arena(self, { arenaControl: control, arenaData: new SharedArrayBuffer(bytes) }, recheckMs);
  }

  /** The same arena in another isolate. */
  static attach(self: Isolate, handle: ArenaHandle, recheckMs?: number): Arena {
    if (new Int32Array(handle.arenaControl)[H_MAGIC] !== MAGIC) throw new SyncError("sync.handle", "this is no arena");
    return new Arena(self, handle, recheckMs);
  }

  /**
   * Copies bytes into a new blob, which belongs to this isolate until it is shared.
   *
   * @returns its reference, positive and below 2^53
   * @throws SyncError `sync.arena-full`
   */
  append(content: ArrayBufferView): number {
    const length = content.byteLength;
    if (length > MAX_BLOB_BYTES) {
      throw new SyncError("sync.arena-full", `a blob of ${length} bytes: at most ${MAX_BLOB_BYTES}`);
    }
    const words = this.#words;
    const units = classUnits(classOf(Math.max(1, Math.ceil(length / UNIT))));
    this.#mutex.lock();
    const blob = this.#allocate(units);
    if (blob === -1) {
      const used = words[H_BUMP] * UNIT, records = words[H_RECORDS];
      this.#mutex.unlock();
      throw new SyncError(
        "sync.arena-full",
        `no room for a blob of ${length} bytes: ${used} of ${this.#data.length} bytes and ${records} of ${this.#blobs} blobs used`,
      );
    }
    const at = H_WORDS + blob * BLOB_WORDS;
    const generation = words[at + B_STATE] & ~STATE_MASK;
    words[at + B_LENGTH] = length;
    Atomics.store(words, at + B_OWNER, this.#self.token);
    step("arena.allocated");
    Atomics.store(words, at + B_STATE, generation | Writing);
    this.#mutex.unlock();
    this.#data.set(new Uint8Array(content.buffer, content.byteOffset, length), words[at + B_OFFSET] * UNIT);
    step("arena.written");
    Atomics.store(words, at + B_STATE, generation | Published);
    return (generation >>> 3) * MAX_BLOBS + blob + 1;
  }

  /** Says that a shared structure refers to the blob now: it outlives this isolate. */
  share(reference: number): void {
    Atomics.compareExchange(this.#words, this.#at(reference) + B_OWNER, this.#self.token, 0);
  }

  /**
   * Pins a blob so that its memory stays.
   *
   * @returns the place for {@linkcode unpin}, or undefined if the blob is retired
   */
  pin(reference: number): number | undefined {
    const at = this.#at(reference);
    const place = this.#pins.pin(this.#blob(reference) + 1);
    if (Atomics.load(this.#words, at + B_STATE) === (this.#generation(reference) | Published)) return place;
    this.unpin(place);
    return undefined;
  }

  /** Ends a pin; the last one of a retired blob gives its memory back. */
  unpin(place: number): void {
    const blob = this.#pins.unpin(place) - 1;
    if ((Atomics.load(this.#words, H_WORDS + blob * BLOB_WORDS + B_STATE) & STATE_MASK) === Retired) {
      this.#reclaim(blob);
    }
  }

  /**
   * The bytes of a blob, in place. Valid while it is pinned (or known not to be retired).
   *
   * @throws SyncError `sync.stale-reference` if the blob is gone.
   */
  view(reference: number): Uint8Array<SharedArrayBuffer> {
    const at = this.#at(reference);
    const state = Atomics.load(this.#words, at + B_STATE);
    const generation = this.#generation(reference);
    if (state !== (generation | Published) && state !== (generation | Retired)) this.#stale(reference);
    const offset = this.#words[at + B_OFFSET] * UNIT;
    return this.#data.subarray(offset, offset + this.#words[at + B_LENGTH]);
  }

  /**
   * A copy of a blob.
   *
   * @throws SyncError `sync.stale-reference` if the blob is retired or gone.
   */
  read(reference: number): Uint8Array<ArrayBuffer> {
    const place = this.pin(reference);
    if (place === undefined) this.#stale(reference);
    const copy = new Uint8Array(this.view(reference));
    this.unpin(place);
    return copy;
  }

  /**
   * Says that nothing refers to the blob any more. Its memory is used again when nobody pins it.
   *
   * @returns false if it was retired already
   */
  retire(reference: number): boolean {
    const at = this.#at(reference);
    const generation = this.#generation(reference);
    if (
      Atomics.compareExchange(this.#words, at + B_STATE, generation | Published, generation | Retired) !==
        (generation | Published)
    ) {
      return false;
    }
    step("arena.retired");
    this.#reclaim(this.#blob(reference));
    return true;
  }

  /** Retires what a dead isolate appended and never shared, and ends its pins. */
  recover(token: number): number {
    this.#mutex.recover(token);
    let count = 0;
    const words = this.#words;
    this.#mutex.lock();
    for (let blob = 0; blob < words[H_RECORDS]; blob++) {
      const at = H_WORDS + blob * BLOB_WORDS;
      const state = Atomics.load(words, at + B_STATE);
      if (words[at + B_OWNER] !== token || (state & STATE_MASK) === Free) continue;
      // Retired first: a recoverer that dies here leaves nothing that nobody owns.
      Atomics.store(words, at + B_STATE, (state & ~STATE_MASK) | Retired);
      words[at + B_OWNER] = 0;
      count++;
    }
    count += this.#pins.releaseDead(token).length;
    for (let blob = 0; blob < words[H_RECORDS]; blob++) this.#freeIfUnused(blob);
    this.#mutex.unlock();
    return count;
  }

  /** The counts of now. */
  stats(): ArenaStats {
    const words = this.#words;
    let blobs = 0, units = 0, owned = 0;
    this.#mutex.lock();
    for (let blob = 0; blob < words[H_RECORDS]; blob++) {
      const at = H_WORDS + blob * BLOB_WORDS;
      if ((words[at + B_STATE] & STATE_MASK) === Free) continue;
      blobs++;
      units += words[at + B_UNITS];
      if (words[at + B_OWNER] !== 0) owned++;
    }
    const touched = words[H_BUMP] * UNIT;
    this.#mutex.unlock();
    return { blobs, bytes: units * UNIT, touched, owned, pins: this.#pins.count() };
  }

  /** What is wrong with the free lists, or undefined; for stress tests. */
  check(): string | undefined {
    const words = this.#words;
    this.#mutex.lock();
    const listed = new Set<number>();
    let wrong: string | undefined;
    for (let c = 0; c < CLASSES && wrong === undefined; c++) {
      for (let next = words[H_CLASSES + c]; next !== 0; next = words[H_WORDS + (next - 1) * BLOB_WORDS + B_NEXT]) {
        const at = H_WORDS + (next - 1) * BLOB_WORDS;
        if (listed.has(next)) wrong = `blob ${next - 1} is listed twice`;
        else if ((words[at + B_STATE] & STATE_MASK) !== Free) wrong = `blob ${next - 1} is in a free list but not free`;
        else if (classOf(words[at + B_UNITS]) !== c) wrong = `blob ${next - 1} is in the list of another size`;
        if (wrong !== undefined) break;
        listed.add(next);
      }
    }
    let end = 0;
    for (let blob = 0; blob < words[H_RECORDS] && wrong === undefined; blob++) {
      const at = H_WORDS + blob * BLOB_WORDS;
      if (words[at + B_OFFSET] < end) wrong = `blob ${blob} overlaps the one before`;
      end = words[at + B_OFFSET] + words[at + B_UNITS];
      if ((words[at + B_STATE] & STATE_MASK) === Free && !listed.has(blob + 1)) {
        wrong = `free blob ${blob} is in no list`;
      }
    }
    this.#mutex.unlock();
    return wrong;
  }

  /** Under the lock: a free record with memory of so many units, or -1. */
  #allocate(units: number): number {
    const words = this.#words;
    const list = H_CLASSES + classOf(units);
    const first = words[list];
    if (first !== 0) {
      words[list] = words[H_WORDS + (first - 1) * BLOB_WORDS + B_NEXT];
      step("arena.unlisted");
      return first - 1;
    }
    const blob = words[H_RECORDS], offset = words[H_BUMP];
    if (blob === this.#blobs || (offset + units) * UNIT > this.#data.length) return -1;
    const at = H_WORDS + blob * BLOB_WORDS;
    words[at + B_OFFSET] = offset;
    words[at + B_UNITS] = units;
    words[H_RECORDS] = blob + 1;
    step("arena.grown");
    words[H_BUMP] = offset + units;
    return blob;
  }

  #reclaim(blob: number): void {
    if (this.#pins.isPinned(blob + 1)) return;
    this.#mutex.lock();
    this.#freeIfUnused(blob);
    this.#mutex.unlock();
  }

  /** Under the lock. */
  #freeIfUnused(blob: number): void {
    const words = this.#words;
    const at = H_WORDS + blob * BLOB_WORDS;
    const state = Atomics.load(words, at + B_STATE);
    if ((state & STATE_MASK) !== Retired || this.#pins.isPinned(blob + 1)) return;
    words[at + B_OWNER] = 0;
    Atomics.store(words, at + B_STATE, ((state | STATE_MASK) + 1) | Free);
    step("arena.freed");
    const list = H_CLASSES + classOf(words[at + B_UNITS]);
    words[at + B_NEXT] = words[list];
    words[list] = blob + 1;
  }

  /** Derives free lists and the end of the used memory from the records. */
  #repair(): void {
    const words = this.#words;
    words.fill(0, H_CLASSES, H_CLASSES + CLASSES);
    let end = 0;
    for (let blob = 0; blob < words[H_RECORDS]; blob++) {
      const at = H_WORDS + blob * BLOB_WORDS;
      end = Math.max(end, words[at + B_OFFSET] + words[at + B_UNITS]);
      if ((Atomics.load(words, at + B_STATE) & STATE_MASK) !== Free) continue;
      words[at + B_OWNER] = 0;
      const list = H_CLASSES + classOf(words[at + B_UNITS]);
      words[at + B_NEXT] = words[list];
      words[list] = blob + 1;
    }
    words[H_BUMP] = end;
  }

  #blob(reference: number): number {
    return (reference - 1) % MAX_BLOBS;
  }

  #generation(reference: number): number {
    return Math.floor((reference - 1) / MAX_BLOBS) << 3;
  }

  #at(reference: number): number {
    const blob = this.#blob(reference);
    if (!(reference >= 1 && blob < this.#blobs)) this.#stale(reference);
    return H_WORDS + blob * BLOB_WORDS;
  }

  #stale(reference: number): never {
    throw new SyncError("sync.stale-reference", `arena: reference ${reference} is no blob, or one that is gone`);
  }
}

/** Size class of so many units: exact up to 8, then four steps for each power of two. */
function classOf(units: number): number {
  if (units <= 8) return units;
  const top = 31 - Math.clz32(units - 1);
  return 8 + (top - 3) * 4 + (((units - 1) >> (top - 2)) & 3) + 1;
}

/** Units that a blob of a class takes. */
function classUnits(c: number): number {
  if (c <= 8) return c;
  const top = 3 + ((c - 9) >> 2);
  return (5 + ((c - 9) & 3)) << (top - 2);
}
