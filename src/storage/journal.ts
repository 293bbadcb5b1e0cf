/**
 * An append-only file of records that outlives the process at any moment: a record is there whole or not at all, and what a killed process
 * left of one is cut off. Several processes may append.
 *
 *     "AGCJRNL1", u32 bytes of the identity, u32 zero, checksum of the identity, identity
 *     for each record: u32 mark, u32 bytes, checksum of the payload, payload
 *
 * @module
 */
import { writeFileAtomically } from "./atomic_file.ts";
import { byteChecksum, CHECKSUM_BYTES, sameBytes } from "./byte_checksum.ts";
import { ensurePrivate } from "./cache_folder.ts";
import { withLock } from "./file_lock.ts";

/** First bytes of every journal. */
export const JOURNAL_MAGIC = "AGCJRNL1";
const MAGIC = new TextEncoder().encode(JOURNAL_MAGIC);
const HEADER_BYTES = 16 + CHECKSUM_BYTES;
/** Begins each record; a reader that meets damage looks for the next one. */
const MARK = 0x5243_6a1e, RECORD_HEADER_BYTES = 8 + CHECKSUM_BYTES;
const FILE_MODE = 0o600;
const LIMIT_BYTES = 64 << 20, RECORD_LIMIT_BYTES = 4 << 20;

const LOCK_ENDING = ".lock";

/** Bounds of a {@linkcode Journal}. */
export interface JournalOptions {
  /** Bytes of the file at most: beyond, the older records go, half of it stays. */
  readonly limitBytes?: number;
  /** Bytes of a record at most. */
  readonly recordLimitBytes?: number;
}

/** One journal. No method throws: it is there to do without. */
export class Journal {
  readonly folder: string;
  readonly path: string;
  /** Payloads of the records that were there when it was opened, oldest first. */
  readonly records: readonly Uint8Array[];
  /** What was wrong, for people. */
  readonly notes: string[] = [];
  /** Records that could not be written; why is in `notes`, each reason once. */
  failures = 0;
  readonly #identity: Uint8Array;
  readonly #limit: number;
  readonly #recordLimit: number;
  /** Records that are in the file, by size and checksum. */
  readonly #known = new Set<string>();
  /** The file as it was last seen. */
  #seen: { inode: number | null; end: number } = { inode: null, end: 0 };
  #off = false;

  /**
   * Opens or begins it.
   *
   * @param folder private; made if need be
   * @param name of the file, without an ending
   * @param identity what the records are good for; a journal of another identity turns itself off
   */
  constructor(folder: string, name: string, identity: Uint8Array, options: JournalOptions = {}) {
    this.path = journalPath(folder, name);
    this.folder = folder;
    this.#identity = identity;
    this.#limit = options.limitBytes ?? LIMIT_BYTES;
    this.#recordLimit = options.recordLimitBytes ?? RECORD_LIMIT_BYTES;
    this.records = this.#locked(() => this.#open()) ?? [];
    for (const record of this.records) this.#known.add(keyOf(record));
  }

  /** Nothing is written any more: it is another one's, or cannot be. */
  get off(): boolean {
    return this.#off;
  }

  /** Whether a record is in the file. */
  has(payload: Uint8Array): boolean {
    return this.#known.has(keyOf(payload));
  }

  /** Appends a record, unless it is there. False when that could not be: see `failures`. */
  append(payload: Uint8Array): boolean {
    if (this.#off) return false;
    if (this.has(payload)) return true;
    const record = encodeRecord(payload);
    if (payload.length > this.#recordLimit || HEADER_BYTES + this.#identity.length + record.length > this.#limit) {
      this.failures++;
      this.#note(`a record is too large: more than ${this.#recordLimit} bytes, or than the file may have`);
      return false;
    }
    const done = this.#locked(() => {
      this.#catchUp();
      if (this.has(payload)) return true; // another process was faster
      if (this.#seen.end + record.length > this.#limit) this.#shorten();
      const file = Deno.openSync(this.path, { append: true });
      try {
        for (let at = 0; at < record.length;) at += file.writeSync(record.subarray(at));
      } finally {
        file.close();
      }
      this.#seen.end += record.length;
      this.#known.add(keyOf(payload));
      return true;
    });
    if (done === undefined) this.failures++;
    return done ?? false;
  }

  #locked<T>(body: () => T): T | undefined {
    if (!ensurePrivate(this.folder)) {
      this.#turnOff("its folder cannot be used");
      return undefined;
    }
    try {
      return withLock(lockOf(this.path), body, undefined, (reason) => this.#note(`it cannot be opened: ${reason}`));
    } catch (error) {
      this.#turnOff(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  #open(): Uint8Array[] {
    const bytes = readIfThere(this.path);
    if (bytes === undefined) {
      this.#rewrite([]);
      return [];
    }
    const header = this.#header(bytes);
    if (header === "foreign") {
      this.#turnOff("it is of another device, driver or program");
      return [];
    }
    const { records, end, damaged, givenUp } = scan(
      bytes,
      header === "good" ? HEADER_BYTES + this.#identity.length : 0,
    );
    if (givenUp) {
      this.#turnOff(VAIN);
      return [];
    }
    if (header === "damaged") this.notes.push(`the journal ${this.path} has a damaged head; its records are kept`);
    else if (damaged > 0) {
      this.notes.push(`the journal ${this.path}: ${damaged} bytes in the middle are damaged, and removed`);
    }
    if (end < bytes.length) {
      this.notes.push(`the journal ${this.path}: a record at the end was not finished, and is cut off`);
    }
    if (header === "damaged" || damaged > 0) this.#rewrite(records);
    else this.#cutOff(end, bytes.length);
    return records;
  }

  #header(bytes: Uint8Array): "good" | "foreign" | "damaged" {
    const identity = identityOf(bytes);
    if (identity === undefined) return "damaged";
    return sameBytes(identity, this.#identity) ? "good" : "foreign";
  }

  /** Looks at what others appended, and cuts off what one of them did not finish. */
  #catchUp(): void {
    const info = statIfThere(this.path);
    if (info === undefined) {
      this.#known.clear();
      return this.#rewrite([]);
    }
    if (info.ino === this.#seen.inode && info.size === this.#seen.end) return;
    const bytes = readIfThere(this.path)!;
    const from = info.ino === this.#seen.inode && info.size > this.#seen.end
      ? this.#seen.end
      : HEADER_BYTES + this.#identity.length;
    if (from !== this.#seen.end) this.#known.clear();
    const { records, end, givenUp } = scan(bytes, from);
    if (givenUp) throw new Error(VAIN);
    for (const record of records) this.#known.add(keyOf(record));
    this.#cutOff(end, bytes.length);
  }

  #cutOff(end: number, size: number): void {
    if (end < size) Deno.truncateSync(this.path, end);
    this.#seen = { inode: Deno.statSync(this.path).ino, end };
  }

  /** Drops the older half. */
  #shorten(): void {
    const { records, givenUp } = scan(readIfThere(this.path)!, HEADER_BYTES + this.#identity.length);
    if (givenUp) throw new Error(VAIN);
    let bytes = 0, first = records.length;
    while (first > 0 && (bytes += RECORD_HEADER_BYTES + records[first - 1].length) <= this.#limit / 2) first--;
    this.notes.push(`the journal ${this.path} is full: the oldest ${first} of ${records.length} records are dropped`);
    this.#rewrite(records.slice(first));
    this.#known.clear();
    for (const record of records.slice(first)) this.#known.add(keyOf(record));
  }

  #rewrite(records: readonly Uint8Array[]): void {
    const header = new Uint8Array(HEADER_BYTES + this.#identity.length);
    header.set(MAGIC);
    new DataView(header.buffer).setUint32(8, this.#identity.length, true);
    header.set(byteChecksum(this.#identity), 16);
    header.set(this.#identity, HEADER_BYTES);
    const parts = [header, ...records.map(encodeRecord)];
    const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    writeFileAtomically(this.path, all, FILE_MODE);
    this.#seen = { inode: Deno.statSync(this.path).ino, end: all.length };
  }

  #note(problem: string): void {
    const note = `the journal ${this.path}: ${problem}`;
    if (!this.notes.includes(note)) this.notes.push(note);
  }

  #turnOff(reason: string): void {
    if (!this.#off) this.notes.push(`the journal ${this.path} is off: ${reason}`);
    this.#off = true;
  }
}

/** Path of a journal. */
export function journalPath(folder: string, name: string): string {
  return `${folder}/${name}.journal`;
}

/** Line about records that could not be written, for people; none where there are none. */
export function failureNotes(path: string, failures: number): string[] {
  return failures === 0 ? [] : [`the journal ${path}: ${failures} records could not be written`];
}

/** Path of a journal's lock. */
export function lockOf(journal: string): string {
  return `${journal}${LOCK_ENDING}`;
}

function encodeRecord(payload: Uint8Array): Uint8Array {
  const record = new Uint8Array(RECORD_HEADER_BYTES + payload.length), view = new DataView(record.buffer);
  view.setUint32(0, MARK, true);
  view.setUint32(4, payload.length, true);
  record.set(byteChecksum(payload), 8);
  record.set(payload, RECORD_HEADER_BYTES);
  return record;
}

/** A journal's bytes, taken apart. */
export interface JournalContent {
  /** What the records are good for; undefined where the head is damaged. */
  readonly identity: Uint8Array | undefined;
  /** Whole records, oldest first. */
  readonly records: readonly Uint8Array[];
  /** Byte offsets of the records. */
  readonly offsets: readonly number[];
  /** Byte ranges before the last record that are none: whoever opens the journal removes them. */
  readonly damage: readonly { readonly offset: number; readonly bytes: number }[];
  /** Where the last record ends: what is behind it is cut off by whoever opens the journal. */
  readonly end: number;
  /** Too much of it looks like records and is none: it was not looked at from `end` on. */
  readonly givenUp: boolean;
}

/** Bytes that are taken for records in vain, beyond 64 for each byte of the file: a file that somebody made can look like records everywhere. */
const VAIN_BYTES = 64 << 20;
const VAIN = "too much of it looks like records and is none; `anyagc journal clear` removes it";

/** Takes a journal's bytes apart, whatever they are. The file stays as it is. */
export function readJournal(bytes: Uint8Array): JournalContent {
  const identity = identityOf(bytes), begin = identity === undefined ? 0 : HEADER_BYTES + identity.length;
  const { records, offsets, end, givenUp } = scan(bytes, begin);
  const damage: { offset: number; bytes: number }[] = [];
  let at = begin;
  for (const [index, offset] of offsets.entries()) {
    if (offset > at) damage.push({ offset: at, bytes: offset - at });
    at = offset + RECORD_HEADER_BYTES + records[index].length;
  }
  return { identity, records, offsets, damage, end, givenUp };
}

/** The identity in a journal's head; undefined when the head is damaged. */
function identityOf(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.length < HEADER_BYTES || !sameBytes(bytes.subarray(0, 8), MAGIC)) return undefined;
  const end = HEADER_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  const identity = bytes.subarray(HEADER_BYTES, end);
  const whole = bytes.length >= end && sameBytes(byteChecksum(identity), bytes.subarray(16, HEADER_BYTES));
  return whole ? identity : undefined;
}

/** Whole records from an offset on, where they begin, the end of the last one, and how many bytes between them are none. Gives up at {@linkcode VAIN_BYTES}. */
function scan(
  bytes: Uint8Array,
  from: number,
): { records: Uint8Array[]; offsets: number[]; end: number; damaged: number; givenUp: boolean } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), records: Uint8Array[] = [];
  const offsets: number[] = [], vainBytes = VAIN_BYTES + 64 * bytes.length;
  let end = from, damaged = 0, vain = 0;
  for (let at = from; at + RECORD_HEADER_BYTES <= bytes.length;) {
    const length = view.getUint32(at + 4, true), start = at + RECORD_HEADER_BYTES;
    if (view.getUint32(at, true) === MARK && start + length <= bytes.length) {
      const payload = bytes.slice(start, start + length);
      if (sameBytes(byteChecksum(payload), bytes.subarray(at + 8, start))) {
        damaged += at - end;
        records.push(payload);
        offsets.push(at);
        at = end = start + length;
        continue;
      }
      if ((vain += length) > vainBytes) return { records, offsets, end, damaged, givenUp: true };
    }
    at++;
  }
  return { records, offsets, end, damaged, givenUp: false };
}

function keyOf(payload: Uint8Array): string {
  return `${payload.length}:${byteChecksum(payload).toHex()}`;
}

function readIfThere(path: string): Uint8Array | undefined {
  try {
    return Deno.readFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function statIfThere(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
