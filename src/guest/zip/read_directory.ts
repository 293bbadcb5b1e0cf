import { hex, RefusedError } from "../../errors.ts";
import { MalformedFileError } from "../loaders/file_format.ts";
import {
  CENTRAL_BYTES,
  END_BYTES,
  entryNameProblem,
  Flag,
  LOCAL_BYTES,
  Method,
  Signature,
  ZIP64_LOCATOR_BYTES,
  type ZipLimits,
} from "./zip_format.ts";

/** What the directory says of an entry. */
export interface ZipEntry {
  name: string;
  method: number;
  crc: number;
  /** Bytes in the archive. */
  packedBytes: number;
  /** Bytes when unpacked. */
  bytes: number;
  /** Offset of the local header. */
  headerOffset: number;
  /** Offset of the data. */
  dataOffset: number;
}

const U16 = 0xFFFF, U32 = 0xFFFF_FFFF;

/** Reads and checks the directory and all local headers; see `ZipArchive` for the codes of what is refused. */
export function readDirectory(file: string, bytes: Uint8Array, limits: ZipLimits): Map<string, ZipEntry> {
  return new DirectoryReader(file, bytes, limits).read();
}

class DirectoryReader {
  readonly #file: string;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #limits: ZipLimits;

  constructor(file: string, bytes: Uint8Array, limits: ZipLimits) {
    this.#file = file;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#limits = limits;
  }

  read(): Map<string, ZipEntry> {
    const { count, offset, end } = this.#endRecord();
    const entries = new Map<string, ZipEntry>(), names = new Set<string>();
    let at = offset, total = 0;
    for (let i = 0; i < count; i++) {
      const { entry, next } = this.#centralHeader(at, end);
      // Case must not be all that tells two entries apart: somebody may unpack the archive where it does not count.
      const folded = entry.name.toLowerCase();
      if (names.has(folded)) this.#fail("zip.duplicate", at, `the name ${entry.name} is given twice`);
      names.add(folded);
      total += entry.bytes;
      if (total > this.#limits.totalBytes) {
        this.#fail("zip.too-large", at, `the entries unpack to over ${this.#limits.totalBytes} bytes`);
      }
      entries.set(entry.name, entry);
      at = next;
    }
    if (at !== end) this.#fail("zip.directory", at, `${count} entries end here, the directory at ${hex(end)}`);
    this.#checkTiling([...entries.values()], offset);
    return entries;
  }

  #endRecord(): { count: number; offset: number; end: number } {
    const view = this.#view, end = this.#bytes.length - END_BYTES;
    if (end < 0 || view.getUint32(end, true) !== Signature.End) {
      this.#fail(
        "zip.end",
        Math.max(0, end),
        `the last ${END_BYTES} bytes are no end record: the file is cut short, or something is behind it`,
      );
    }
    const count = view.getUint16(end + 10, true), size = view.getUint32(end + 12, true);
    const offset = view.getUint32(end + 16, true);
    const locator = end - ZIP64_LOCATOR_BYTES;
    if (
      count === U16 || size === U32 || offset === U32 ||
      locator >= 0 && view.getUint32(locator, true) === Signature.Zip64Locator
    ) this.#refuse("zip.zip64", end, "zip64 archives are not read");
    if (view.getUint16(end + 4, true) !== 0 || view.getUint16(end + 6, true) !== 0) {
      this.#refuse("zip.multi-disk", end + 4, "archives of several parts are not read");
    }
    if (view.getUint16(end + 8, true) !== count) {
      this.#fail("zip.count", end + 8, `${view.getUint16(end + 8, true)} entries on this disk, but ${count} in all`);
    }
    if (view.getUint16(end + 20, true) !== 0) this.#fail("zip.end", end + 20, "the end record announces a comment");
    if (offset + size !== end) {
      this.#fail(
        "zip.directory",
        end + 12,
        `a directory of ${size} bytes at ${hex(offset)} does not end at the end record, ${hex(end)}`,
      );
    }
    if (count > this.#limits.entries) {
      this.#fail("zip.too-many", end + 10, `${count} entries; at most ${this.#limits.entries} are read`);
    }
    return { count, offset, end };
  }

  #centralHeader(at: number, end: number): { entry: ZipEntry; next: number } {
    const view = this.#view;
    if (at + CENTRAL_BYTES > end) this.#fail("zip.directory", at, "the directory ends within an entry");
    if (view.getUint32(at, true) !== Signature.Central) {
      this.#fail("zip.directory", at, `${hex(view.getUint32(at, true), 8)} is no directory entry`);
    }
    const flags = view.getUint16(at + 8, true), method = view.getUint16(at + 10, true);
    const crc = view.getUint32(at + 16, true), packedBytes = view.getUint32(at + 20, true);
    const bytes = view.getUint32(at + 24, true), headerOffset = view.getUint32(at + 42, true);
    const nameBytes = view.getUint16(at + 28, true);
    const next = at + CENTRAL_BYTES + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (next > end) this.#fail("zip.directory", at, "the directory ends within an entry");
    if (packedBytes === U32 || bytes === U32 || headerOffset === U32) {
      this.#refuse("zip.zip64", at, "zip64 entries are not read");
    }
    if (view.getUint16(at + 34, true) !== 0) this.#refuse("zip.multi-disk", at + 34, "the entry is on another disk");
    this.#checkFlags(flags, at + 8);
    if (method !== Method.Stored && method !== Method.Deflated) {
      this.#refuse("zip.method", at + 10, `compression method ${method}; 0 (stored) and 8 (Deflate) are read`);
    }
    const name = this.#name(at + CENTRAL_BYTES, nameBytes);
    this.#checkSizes(method, packedBytes, bytes, at, name);
    const dataOffset = this.#localHeader({ name, flags, method, crc, packedBytes, bytes, headerOffset });
    return { entry: { name, method, crc, packedBytes, bytes, headerOffset, dataOffset }, next };
  }

  #checkFlags(flags: number, at: number): void {
    if (flags & Flag.Encrypted) this.#refuse("zip.encrypted", at, "encrypted entries are not read");
    if (flags & Flag.Descriptor) {
      this.#refuse("zip.descriptor", at, "entries with their sizes behind them (data descriptors) are not read");
    }
    const unknown = flags & ~(Flag.DeflateLevel | Flag.Utf8);
    if (unknown !== 0) this.#refuse("zip.flags", at, `flags ${hex(unknown, 4)} are not known`);
  }

  #checkSizes(method: number, packedBytes: number, bytes: number, at: number, name: string): void {
    const { entryBytes, ratio } = this.#limits;
    if (method === Method.Stored && packedBytes !== bytes) {
      this.#fail("zip.size", at + 20, `entry ${name} is stored in ${packedBytes} bytes, but has ${bytes}`);
    }
    if (bytes > entryBytes) {
      this.#fail("zip.too-large", at + 24, `entry ${name} unpacks to ${bytes} bytes; at most ${entryBytes} are read`);
    }
    if (bytes > packedBytes * ratio) {
      this.#fail(
        "zip.ratio",
        at + 24,
        `entry ${name} claims to unpack from ${packedBytes} to ${bytes} bytes, over ${ratio} to 1`,
      );
    }
  }

  /** Checks that the local header says the same; gives the offset of the data. */
  #localHeader(entry: Omit<ZipEntry, "dataOffset"> & { flags: number }): number {
    const view = this.#view, { name, headerOffset: at } = entry;
    if (at + LOCAL_BYTES > this.#bytes.length || view.getUint32(at, true) !== Signature.Local) {
      this.#fail("zip.local", at, `entry ${name} has no header here`);
    }
    const nameBytes = view.getUint16(at + 26, true);
    const dataOffset = at + LOCAL_BYTES + nameBytes + view.getUint16(at + 28, true);
    const facts: [what: string, offset: number, bytes: 2 | 4, expected: number][] = [
      ["flags", 6, 2, entry.flags],
      ["compression method", 8, 2, entry.method],
      ["CRC-32", 14, 4, entry.crc],
      ["packed size", 18, 4, entry.packedBytes],
      ["size", 22, 4, entry.bytes],
    ];
    for (const [what, offset, bytes, expected] of facts) {
      const found = bytes === 2 ? view.getUint16(at + offset, true) : view.getUint32(at + offset, true);
      if (found !== expected) {
        this.#fail(
          "zip.local",
          at + offset,
          `entry ${name}: ${what} ${hex(found)} in its header, ${hex(expected)} in the directory`,
        );
      }
    }
    if (dataOffset + entry.packedBytes > this.#bytes.length) {
      this.#fail("zip.truncated", at, `entry ${name} has ${entry.packedBytes} bytes, which the file does not hold`);
    }
    if (this.#text(at + LOCAL_BYTES, nameBytes) !== name) {
      this.#fail("zip.local", at + LOCAL_BYTES, `entry ${name} has another name in its header`);
    }
    return dataOffset;
  }

  /** Entries must follow each other, from the start of the file to the directory: nothing is shared, nothing is hidden. */
  #checkTiling(entries: ZipEntry[], directory: number): void {
    let expected = 0;
    for (const entry of entries.toSorted((a, b) => a.headerOffset - b.headerOffset)) {
      this.#checkStart(entry.headerOffset, expected, `entry ${entry.name}`);
      expected = entry.dataOffset + entry.packedBytes;
    }
    this.#checkStart(directory, expected, "the directory");
  }

  #checkStart(start: number, expected: number, what: string): void {
    if (start < expected) this.#fail("zip.overlap", start, `${what} overlaps what ends at ${hex(expected)}`);
    if (start > expected) {
      this.#fail("zip.gap", expected, `${start - expected} bytes before ${what} belong to nothing`);
    }
  }

  #name(at: number, length: number): string {
    const name = this.#text(at, length), problem = entryNameProblem(name);
    if (problem !== undefined) this.#fail("zip.name", at, `entry ${JSON.stringify(name.slice(0, 80))}: ${problem}`);
    return name;
  }

  /** Bytes as characters, one each: names beyond ASCII are refused anyway. */
  #text(at: number, length: number): string {
    return Array.from(this.#bytes.subarray(at, at + length), (byte) => String.fromCharCode(byte)).join("");
  }

  #fail(code: string, fileOffset: number, reason: string): never {
    throw new MalformedFileError(code, reason, { file: this.#file, fileOffset });
  }

  #refuse(code: string, fileOffset: number, reason: string): never {
    throw new RefusedError(code, reason, { file: this.#file, fileOffset });
  }
}
