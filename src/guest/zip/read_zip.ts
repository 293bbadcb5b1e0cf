import { zlib } from "../../node_zlib.ts";
import { hex } from "../../errors.ts";
import { MalformedFileError } from "../loaders/file_format.ts";
import { readDirectory, type ZipEntry } from "./read_directory.ts";
import { Method, ZIP_LIMITS, type ZipLimits } from "./zip_format.ts";

export type { ZipEntry };

/**
 * A zip archive in memory, read strictly: the directory and every local header agree, entries tile the file without gaps or overlaps, and nothing is
 * unpacked that claims more than the limits allow. Everything wrong is refused with the archive's name, the offset and the reason.
 *
 * Codes of MalformedFileError: `zip.end`, `zip.count`, `zip.directory`, `zip.truncated`, `zip.local`, `zip.name`, `zip.duplicate`, `zip.overlap`,
 * `zip.gap`, `zip.too-many`, `zip.too-large`, `zip.ratio` (when opened); `zip.missing`, `zip.size`, `zip.deflate`, `zip.crc` (when read). Codes of
 * RefusedError, for what the format has and captures have not: `zip.multi-disk`, `zip.zip64`, `zip.encrypted`, `zip.descriptor`, `zip.flags`,
 * `zip.method`.
 */
export class ZipArchive {
  /** Path of the archive, for errors. */
  readonly file: string;
  /** Entries by name. */
  readonly entries: ReadonlyMap<string, ZipEntry>;
  readonly #bytes: Uint8Array;

  /** Reads the directory; contents are unpacked one by one by {@linkcode read}. */
  constructor(file: string, bytes: Uint8Array, limits: ZipLimits = ZIP_LIMITS) {
    this.file = file;
    this.#bytes = bytes;
    this.entries = readDirectory(file, bytes, limits);
  }

  /** The unpacked bytes of an entry, checked against its size and its CRC-32. */
  read(name: string): Uint8Array<ArrayBuffer> {
    const entry = this.entries.get(name);
    if (entry === undefined) {
      throw new MalformedFileError("zip.missing", `the archive has no entry ${name}`, { file: this.file });
    }
    const packed = this.#bytes.subarray(entry.dataOffset, entry.dataOffset + entry.packedBytes);
    const data = entry.method === Method.Stored ? packed.slice() : this.#inflate(entry, packed);
    const crc = zlib().crc32(data);
    if (crc !== entry.crc) {
      this.#fail("zip.crc", entry, `the data's CRC-32 is ${hex(crc, 8)}, the directory says ${hex(entry.crc, 8)}`);
    }
    return data;
  }

  #inflate(entry: ZipEntry, packed: Uint8Array): Uint8Array<ArrayBuffer> {
    let data: Uint8Array, used: number;
    try {
      // With `info`, the engine tells how many bytes it took: what is behind the end of the Deflate stream must not go unnoticed.
      const result = zlib().inflateRawSync(packed, {
        maxOutputLength: Math.max(1, entry.bytes),
        info: true,
      }) as unknown as {
        buffer: Uint8Array;
        engine: { bytesWritten: number };
      };
      data = result.buffer;
      used = result.engine.bytesWritten;
    } catch (error) {
      if (error instanceof RangeError) {
        this.#fail("zip.size", entry, `the data unpacks to more than the ${entry.bytes} bytes that the directory says`);
      }
      this.#fail(
        "zip.deflate",
        entry,
        `the data is no Deflate stream: ${error instanceof Error ? error.message : error}`,
      );
    }
    if (used !== packed.length) {
      this.#fail("zip.deflate", entry, `the Deflate stream ends ${packed.length - used} bytes before the entry does`);
    }
    if (data.length !== entry.bytes) {
      this.#fail("zip.size", entry, `the data unpacks to ${data.length} bytes, the directory says ${entry.bytes}`);
    }
    return new Uint8Array(data);
  }

  #fail(code: string, { name, dataOffset }: ZipEntry, reason: string): never {
    throw new MalformedFileError(code, `entry ${name}: ${reason}`, { file: this.file, fileOffset: dataOffset });
  }
}

/** True for bytes that start like a zip archive, an empty one included. */
export function isZip(bytes: Uint8Array): boolean {
  return bytes.length >= 4 && bytes[0] === 0x50 && bytes[1] === 0x4B &&
    (bytes[2] === 3 && bytes[3] === 4 || bytes[2] === 5 && bytes[3] === 6);
}
