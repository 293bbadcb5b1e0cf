import { zlib } from "../../node_zlib.ts";
import { InvalidInputError } from "../../errors.ts";
import {
  CENTRAL_BYTES,
  END_BYTES,
  entryNameProblem,
  FIXED_DATE,
  LOCAL_BYTES,
  Method,
  Signature,
  VERSION,
  ZIP_LIMITS,
} from "./zip_format.ts";

/** A file to put into an archive. */
export interface ZipInput {
  /** Path in the archive; see `entryNameProblem`. */
  name: string;
  /** Its bytes. */
  data: Uint8Array;
  /** Never packed, so that its bytes lie in the archive as they are, at an offset that error messages can name. */
  stored?: boolean;
}

interface Packed {
  name: Uint8Array;
  method: number;
  crc: number;
  bytes: number;
  data: Uint8Array;
}

/**
 * Makes a zip archive: entries sorted by name, fixed dates, no extra fields, no gaps, so that the same contents give the same bytes (with one build of
 * Deflate). What it writes, `ZipArchive` reads.
 *
 * @throws InvalidInputError for a name that is not allowed or given twice, and for contents over the limits.
 */
export function writeZip(inputs: readonly ZipInput[]): Uint8Array<ArrayBuffer> {
  const sorted = inputs.toSorted((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  refuse(sorted);
  const entries = sorted.map(pack);
  const localBytes = entries.reduce((sum, each) => sum + LOCAL_BYTES + each.name.length + each.data.length, 0);
  const centralBytes = entries.reduce((sum, each) => sum + CENTRAL_BYTES + each.name.length, 0);
  const file = new Uint8Array(localBytes + centralBytes + END_BYTES), view = new DataView(file.buffer);
  let at = 0, central = localBytes;
  for (const entry of entries) {
    const offset = at;
    view.setUint32(at, Signature.Local, true);
    writeFacts(view, at + 4, entry);
    file.set(entry.name, at + LOCAL_BYTES);
    file.set(entry.data, at + LOCAL_BYTES + entry.name.length);
    at += LOCAL_BYTES + entry.name.length + entry.data.length;

    view.setUint32(central, Signature.Central, true);
    view.setUint16(central + 4, VERSION, true);
    writeFacts(view, central + 6, entry);
    view.setUint32(central + 42, offset, true);
    file.set(entry.name, central + CENTRAL_BYTES);
    central += CENTRAL_BYTES + entry.name.length;
  }
  view.setUint32(central, Signature.End, true);
  view.setUint16(central + 8, entries.length, true);
  view.setUint16(central + 10, entries.length, true);
  view.setUint32(central + 12, centralBytes, true);
  view.setUint32(central + 16, localBytes, true);
  return file;
}

/** The 26 bytes that both headers have: version needed, flags, method, time, date, CRC, sizes, length of the name, of the extra field. */
function writeFacts(view: DataView, at: number, { name, method, crc, bytes, data }: Packed): void {
  view.setUint16(at, VERSION, true);
  view.setUint16(at + 4, method, true);
  view.setUint16(at + 8, FIXED_DATE, true);
  view.setUint32(at + 10, crc, true);
  view.setUint32(at + 14, data.length, true);
  view.setUint32(at + 18, bytes, true);
  view.setUint16(at + 22, name.length, true);
}

function pack({ name, data, stored }: ZipInput): Packed {
  const packed = stored || data.length === 0 ? data : zlib().deflateRawSync(data);
  const deflated = packed.length < data.length;
  return {
    name: new TextEncoder().encode(name),
    method: deflated ? Method.Deflated : Method.Stored,
    crc: zlib().crc32(data),
    bytes: data.length,
    data: deflated ? packed : data,
  };
}

function refuse(sorted: readonly ZipInput[]): void {
  let total = 0;
  const names = new Set<string>();
  for (const { name, data } of sorted) {
    const problem = names.has(name.toLowerCase()) ? "the name is given twice" : entryNameProblem(name);
    if (problem !== undefined) throw new InvalidInputError("zip.name", `${JSON.stringify(name)}: ${problem}`);
    names.add(name.toLowerCase());
    total += data.length;
  }
  const { entries, totalBytes } = ZIP_LIMITS;
  if (sorted.length > entries || total > totalBytes) {
    throw new InvalidInputError(
      "zip.too-large",
      `${sorted.length} entries of ${total} bytes; an archive has up to ${entries} entries of ${totalBytes} bytes together`,
    );
  }
}
