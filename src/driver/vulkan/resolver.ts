/** Before each dispatch: computes what its program wants to have from the host, and says when that cannot be done or is not known yet. */
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { WindowTableEntry } from "../../guest/memory/window.ts";
import { Access } from "../../recompiler/abi.ts";
import { BufferForm, type ResolvedBuffer, type Resources } from "../../recompiler/resources/plan.ts";
import { ReadResult, type TapeMemory, TapeRunner } from "../../recompiler/resources/evaluate.ts";

/** What came of {@linkcode Resolver.prepare}. */
export const Prepared = {
  /** The program can be dispatched: `write` puts what it needs into a context block. */
  Ready: 0,
  /** The program cannot be used with these descriptors: the one that resolves for itself must be. */
  Unfit: 1,
  /** Work in flight may still change what was read: once more, when it has finished. */
  Busy: 2,
} as const;
/** One of the values of {@linkcode Prepared}. */
export type Prepared = typeof Prepared[keyof typeof Prepared];

/** Bytes behind a buffer that loads read without looking (runtime/buffers.ts). */
const READ_AHEAD = 32;
/** Largest limit: offsets of the last dwords of an access behind it must not wrap. */
const MAX_LIMIT = 0xffff_ffff - 64;
const RAW = 3;
/** Room for one access of any size. */
const LEAST_EXTENT = 16;

/** Ranges of guest memory, as signed 48-bit numbers. */
export class Ranges {
  /** Begin and end of each. */
  #bounds = new Float64Array(32);
  #count = 0;
  #least = Infinity;
  #most = -Infinity;
  /** Any memory at all. */
  everything = false;

  /** Number of ranges. */
  get count(): number {
    return this.#count;
  }

  clear(): void {
    this.#count = 0;
    this.#least = Infinity;
    this.#most = -Infinity;
    this.everything = false;
  }

  /** Adds a range, or widens one that it touches. */
  add(begin: number, end: number): void {
    this.#least = Math.min(this.#least, begin);
    this.#most = Math.max(this.#most, end);
    for (let i = 0; i < this.#count * 2; i += 2) {
      if (begin > this.#bounds[i + 1] || end < this.#bounds[i]) continue;
      this.#bounds[i] = Math.min(this.#bounds[i], begin);
      this.#bounds[i + 1] = Math.max(this.#bounds[i + 1], end);
      return;
    }
    if (this.#count * 2 === this.#bounds.length) {
      const wider = new Float64Array(this.#bounds.length * 2);
      wider.set(this.#bounds);
      this.#bounds = wider;
    }
    this.#bounds[this.#count * 2] = begin;
    this.#bounds[this.#count * 2 + 1] = end;
    this.#count++;
  }

  /** Adds all of another's. */
  addAll(other: Ranges): void {
    if (other.everything) this.everything = true;
    for (let i = 0; i < other.#count * 2; i += 2) this.add(other.#bounds[i], other.#bounds[i + 1]);
  }

  /** Whether a range has a byte in common with one of these. */
  meets(begin: number, end: number): boolean {
    if (this.everything) return true;
    if (begin >= this.#most || end <= this.#least) return false;
    for (let i = 0; i < this.#count * 2; i += 2) {
      if (begin < this.#bounds[i + 1] && end > this.#bounds[i]) return true;
    }
    return false;
  }
}

/** A program's resources with what is needed to compute them. */
export interface PreparedProgram {
  readonly resources: Resources;
  readonly runner: TapeRunner;
}

/** Makes a program ready to be resolved again and again. */
export function preparedProgram(resources: Resources): PreparedProgram {
  return { resources, runner: new TapeRunner(resources.tape) };
}

/** One for an executor; nothing is allocated per dispatch. */
export class Resolver implements TapeMemory {
  /** What the last prepared dispatch writes. */
  readonly writes = new Ranges();
  /** What dispatches in flight write. */
  #inFlight: readonly Ranges[] = [];
  // The window table, a device-contiguous piece an entry.
  #begin = new Float64Array(0);
  #end = new Float64Array(0);
  #device = new Float64Array(0);
  #permissions = new Uint8Array(0);
  #words: Uint32Array[] = [];
  /** Byte offset of each piece in its window. */
  #offset = new Float64Array(0);
  #last = 0;
  // Of each buffer of the last prepared dispatch: guest address, device address, limit, bytes to the end of its window.
  #guest = new Float64Array(16);
  #address = new Float64Array(16);
  #limit = new Float64Array(16);
  #extent = new Float64Array(16);

  /** A new window table. */
  setWindows(table: readonly WindowTableEntry[], memory: GuestMemory): void {
    const signed = (address: bigint) => Number(BigInt.asIntN(64, address));
    this.#begin = Float64Array.from(table, ({ base }) => signed(base));
    this.#end = Float64Array.from(table, ({ base, end }) => signed(base) + Number(BigInt.asUintN(64, end - base)));
    this.#device = Float64Array.from(table, ({ base, delta }) => Number(BigInt.asUintN(64, base + delta)));
    this.#permissions = Uint8Array.from(table, ({ permissions }) => permissions);
    const windows = table.map(({ base }) => memory.find(base)!);
    this.#words = windows.map(({ words }) => words);
    this.#offset = Float64Array.from(table, ({ base }, k) => Number(base - windows[k].base));
    this.#last = 0;
  }

  /** Computes what a dispatch needs. @param inFlight what dispatches write that may not have finished */
  prepare({ resources, runner }: PreparedProgram, userData: ArrayLike<number>, inFlight: readonly Ranges[]): Prepared {
    this.#inFlight = inFlight;
    const read = runner.run(userData, this);
    if (read !== ReadResult.Done) return read === ReadResult.Busy ? Prepared.Busy : Prepared.Unfit;
    this.writes.clear();
    this.writes.everything = resources.writesElsewhere;
    const { buffers } = resources;
    if (buffers.length > this.#guest.length) this.#grow(buffers.length);
    for (let k = 0; k < buffers.length; k++) if (!this.#place(buffers[k], k, runner)) return Prepared.Unfit;
    // A program that overwrites what it reads must read it itself.
    const { cells, cellCount } = runner;
    for (let k = 0; k < cellCount; k++) {
      if (this.writes.meets(cells[k * 2], cells[k * 2] + cells[k * 2 + 1] * 4)) return Prepared.Unfit;
    }
    return Prepared.Ready;
  }

  /**
   * Puts what the last prepared dispatch needs into the resolved area of a context block.
   *
   * @param words memory of the blocks
   * @param at index of the area's first word
   * @param zero device address of bytes that are zero
   */
  write({ resources, runner }: PreparedProgram, words: Uint32Array, at: number, zero: number): void {
    const { values, buffers } = resources, { results } = runner;
    for (let k = 0; k < values.length; k++) words[at + k] = results[values[k] * 4];
    for (let k = 0; k < buffers.length; k++) {
      const { base, limit, extent, guest } = buffers[k];
      words[at + limit / 4] = this.#limit[k];
      // Where nothing is in range, loads still read.
      writeNumber(words, at + base / 4, this.#limit[k] !== 0 ? this.#address[k] : zero);
      if (extent >= 0) writeNumber(words, at + extent / 4, this.#extent[k]);
      if (guest >= 0) writeNumber(words, at + guest / 4, this.#guest[k]);
    }
  }

  read(address: number, dwords: number, out: Int32Array, at: number): ReadResult {
    const end = address + dwords * 4;
    const k = this.#find(address);
    if (k < 0 || end > this.#end[k] || (this.#permissions[k] & Access.Read) === 0) return ReadResult.Unmapped;
    for (let batch = 0; batch < this.#inFlight.length; batch++) {
      if (this.#inFlight[batch].meets(address, end)) return ReadResult.Busy;
    }
    const words = this.#words[k], first = (address - this.#begin[k] + this.#offset[k]) / 4;
    for (let i = 0; i < dwords; i++) out[at + i] = words[first + i];
    return ReadResult.Done;
  }

  /** Works out where buffer `k` is; false where the program cannot be used with it. */
  #place(buffer: ResolvedBuffer, k: number, { results, cells, cellCount }: TapeRunner): boolean {
    const { words, form, access, alignment } = buffer;
    const word1 = results[words[1] * 4], word3 = results[words[3] * 4];
    const records = results[words[2] * 4] >>> 0, stride = (word1 >>> 16) & 0x3fff;
    let low = results[words[0] * 4] >>> 0;
    let limit: number;
    if (form === BufferForm.Scalar) {
      low -= low % 4;
      limit = records * Math.max(stride, 1);
    } else {
      if ((word3 & (1 << 23)) !== 0) return false; // ADD_TID_ENABLE
      const select = (word3 >>> 28) & 3;
      limit = select === RAW ? records : records === 0 ? 0 : select === 0 ? stride : Infinity;
    }
    const begin = (word1 << 16 >> 16) * 0x1_0000_0000 + low;
    this.#guest[k] = begin;
    this.#limit[k] = limit;
    this.#address[k] = 0;
    this.#extent[k] = READ_AHEAD;
    if (limit === 0) return true;
    if (limit > MAX_LIMIT || low % alignment !== 0) return false;
    const w = this.#find(begin);
    if (w < 0 || (this.#permissions[w] & access) !== access) return false;
    let extent = this.#end[w] - begin;
    // The last access in range ends at most at the next dword; loads read ahead.
    const last = Math.ceil(limit / 4) * 4;
    if (last + ((access & Access.Read) !== 0 || buffer.extent >= 0 ? READ_AHEAD : 0) > extent) return false;
    if (buffer.extent >= 0 && (access & Access.Write) !== 0) {
      // Behind its end the program may go as far as what was read for it; farther is refused when it happens (FaultReason.Elsewhere).
      for (let cell = 0; cell < cellCount; cell++) {
        const room = cells[cell * 2] - begin;
        if (room >= last && room < extent) extent = room;
      }
      if (extent < LEAST_EXTENT) return false;
    }
    this.#address[k] = this.#device[w] + (begin - this.#begin[w]);
    this.#extent[k] = extent;
    if ((access & Access.Write) !== 0) this.writes.add(begin, begin + (buffer.extent >= 0 ? extent : last));
    return true;
  }

  /** Entry of the window table that holds an address, or -1. */
  #find(address: number): number {
    const begin = this.#begin, end = this.#end;
    const last = this.#last;
    if (last < begin.length && address >= begin[last] && address < end[last]) return last;
    for (let k = 0; k < begin.length; k++) {
      if (address >= begin[k] && address < end[k]) return this.#last = k;
    }
    return -1;
  }

  #grow(count: number): void {
    this.#guest = new Float64Array(count);
    this.#address = new Float64Array(count);
    this.#limit = new Float64Array(count);
    this.#extent = new Float64Array(count);
  }
}

/** A signed number of less than 2^53 as a U64. */
function writeNumber(words: Uint32Array, at: number, value: number): void {
  const high = Math.floor(value / 0x1_0000_0000);
  words[at] = value - high * 0x1_0000_0000;
  words[at + 1] = high;
}
