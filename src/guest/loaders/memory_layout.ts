import { hex } from "../../errors.ts";
import { PAGE_BYTES } from "../memory/address.ts";
import { Permission } from "../memory/window.ts";
import type { MemoryPiece, ProgramMemory } from "../program.ts";

const PAGE = BigInt(PAGE_BYTES);

/** A named range of guest addresses that a loader found. */
interface NamedRange {
  name: string;
  start: bigint;
  end: bigint;
}

/**
 * Collects ranges and contents, and makes windows of them: whole pages, ranges that touch or overlap become one window (most programs then have a
 * single one, which is the fast path on the device).
 */
export class MemoryLayout {
  readonly #ranges: NamedRange[] = [];
  readonly #contents: { address: bigint; data: Uint8Array }[] = [];

  /** Adds a range, extended to whole pages. */
  addRange(name: string, address: bigint, bytes: number): void {
    this.#ranges.push({
      name,
      start: address - address % PAGE,
      end: (address + BigInt(bytes) + PAGE - 1n) / PAGE * PAGE,
    });
  }

  /** Adds contents inside ranges that are (or will be) added. */
  addContents(address: bigint, data: Uint8Array): void {
    if (data.length > 0) this.#contents.push({ address, data });
  }

  /** True when all of the range has been added. */
  covers(address: bigint, bytes: number): boolean {
    const end = address + BigInt(bytes);
    let at = address;
    for (const { start, end: rangeEnd } of this.#sorted()) {
      if (start <= at && rangeEnd > at) at = rangeEnd;
      if (at >= end) return true;
    }
    return false;
  }

  /** Reads words from the contents, zero where there are none; undefined unless the whole range has been added. */
  readWords(address: bigint, count: number): Uint32Array | undefined {
    if (!this.covers(address, 4 * count)) return undefined;
    const bytes = new Uint8Array(4 * count);
    for (const piece of this.#contents) {
      const skip = Number(address - piece.address);
      if (skip >= piece.data.length || -skip >= bytes.length) continue;
      bytes.set(piece.data.subarray(Math.max(0, skip), Math.max(0, skip + bytes.length)), Math.max(0, -skip));
    }
    return new Uint32Array(bytes.buffer);
  }

  /** Addresses, multiples of `alignment`, where the contents hold `word`; by rising address. */
  find(word: number, alignment: number): bigint[] {
    const found: bigint[] = [];
    for (const { address, data } of this.#contents) {
      const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
      const first = (alignment - Number(address % BigInt(alignment))) % alignment;
      for (let at = first; at + 4 <= data.length; at += alignment) {
        if (view.getUint32(at, true) === word) found.push(address + BigInt(at));
      }
    }
    return found.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0);
  }

  /** The windows, by rising base. `fail` reports contents that overlap or lie outside. */
  windows(fail: (address: bigint, reason: string) => never): ProgramMemory[] {
    const windows: ProgramMemory[] = [];
    let end = 0n;
    for (const range of this.#sorted()) {
      const last = windows.at(-1);
      if (last === undefined || range.start > end) {
        windows.push({
          name: range.name,
          base: range.start,
          bytes: Number(range.end - range.start),
          permissions: Permission.All,
          contents: [],
        });
        end = range.end;
      } else {
        if (!last.name.split("+").includes(range.name)) last.name += `+${range.name}`;
        if (range.end > end) end = range.end;
        last.bytes = Number(end - last.base);
      }
    }
    const contents = this.#contents.toSorted((a, b) => a.address < b.address ? -1 : a.address > b.address ? 1 : 0);
    let previousEnd = 0n, index = 0, previous: Uint8Array | undefined;
    for (const { address, data } of contents) {
      // The same image may be named by several parts of a capture.
      if (previous !== undefined && address + BigInt(data.length) === previousEnd && sameBytes(previous, data)) {
        continue;
      }
      previous = data;
      if (address < previousEnd) fail(address, "contents are given twice");
      previousEnd = address + BigInt(data.length);
      while (index < windows.length && windows[index].base + BigInt(windows[index].bytes) <= address) index++;
      const window = windows[index];
      if (window === undefined || address < window.base || previousEnd > window.base + BigInt(window.bytes)) {
        fail(address, `contents of ${data.length} bytes end at ${hex(previousEnd)}, outside every window`);
      }
      window.contents.push({ offset: Number(address - window.base), data });
    }
    for (const window of windows) window.contents = joinPieces(window.contents);
    return windows;
  }

  #sorted(): NamedRange[] {
    return this.#ranges.toSorted((a, b) => a.start < b.start ? -1 : a.start > b.start ? 1 : 0);
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Joins pieces that follow each other without a gap. Pieces are in order. */
function joinPieces(pieces: MemoryPiece[]): MemoryPiece[] {
  const groups: MemoryPiece[][] = [];
  for (const piece of pieces) {
    const group = groups.at(-1), last = group?.at(-1);
    if (group !== undefined && last!.offset + last!.data.length === piece.offset) group.push(piece);
    else groups.push([piece]);
  }
  return groups.map((group) => {
    if (group.length === 1) return group[0];
    const data = new Uint8Array(group.reduce((sum, piece) => sum + piece.data.length, 0));
    for (const piece of group) data.set(piece.data, piece.offset - group[0].offset);
    return { offset: group[0].offset, data };
  });
}
