/**
 * Builds zip archives field by field from the published layout, so that tests of the reader do not depend on the writer and can lie about anything.
 */
import { crc32, deflateRawSync } from "node:zlib";

/** One entry; fields that are left out are the true ones. */
export interface RawEntry {
  name: string;
  data?: Uint8Array;
  /** Bytes in the archive, when they are not what `data` packs to. */
  packed?: Uint8Array;
  method?: number;
  flags?: number;
  crc?: number;
  bytes?: number;
  packedBytes?: number;
  /** Offset that the directory tells. */
  headerOffset?: number;
  disk?: number;
  extra?: Uint8Array;
  /** What the local header says instead. */
  local?: { name?: string; method?: number; flags?: number; crc?: number; bytes?: number; packedBytes?: number };
}

/** Fields of the end record that are to be wrong, and bytes between things. */
export interface RawArchive {
  entries: RawEntry[];
  /** Bytes before the directory that belong to nothing. */
  gap?: Uint8Array;
  /** Bytes before the end record, counted as part of the directory. */
  directoryTail?: Uint8Array;
  end?: { disk?: number; here?: number; count?: number; size?: number; offset?: number; comment?: number };
  tail?: Uint8Array;
}

/** The archive, and where its parts are. */
export function buildArchive(archive: RawArchive): {
  bytes: Uint8Array<ArrayBuffer>;
  /** Offsets of local headers, of directory entries, of the directory, of the end record. */
  at: { local: number[]; central: number[]; directory: number; end: number };
} {
  const parts: number[] = [], local: number[] = [], central: number[] = [];
  const u16 = (value: number) => parts.push(value & 0xFF, value >>> 8 & 0xFF);
  const u32 = (value: number) => (u16(value & 0xFFFF), u16(value >>> 16));
  const text = (value: string) => parts.push(...Array.from(value, (letter) => letter.charCodeAt(0) & 0xFF));
  const facts = archive.entries.map((entry) => {
    const data = entry.data ?? new Uint8Array(0), method = entry.method ?? 0;
    const packed = entry.packed ?? (method === 8 ? new Uint8Array(deflateRawSync(data)) : data);
    return {
      name: entry.name,
      method,
      flags: entry.flags ?? 0,
      crc: entry.crc ?? crc32(data),
      bytes: entry.bytes ?? data.length,
      packedBytes: entry.packedBytes ?? packed.length,
      packed,
      extra: entry.extra ?? new Uint8Array(0),
    };
  });
  facts.forEach((entry, i) => {
    const told = { ...entry, ...archive.entries[i].local };
    local.push(parts.length);
    u32(0x04034B50), u16(20), u16(told.flags), u16(told.method), u16(0), u16(0x21);
    u32(told.crc), u32(told.packedBytes), u32(told.bytes), u16(told.name.length), u16(entry.extra.length);
    text(told.name), parts.push(...entry.extra, ...entry.packed);
  });
  parts.push(...archive.gap ?? []);
  const directory = parts.length;
  facts.forEach((entry, i) => {
    central.push(parts.length);
    u32(0x02014B50), u16(20), u16(20), u16(entry.flags), u16(entry.method), u16(0), u16(0x21);
    u32(entry.crc), u32(entry.packedBytes), u32(entry.bytes), u16(entry.name.length), u16(entry.extra.length), u16(0);
    u16(archive.entries[i].disk ?? 0), u16(0), u32(0), u32(archive.entries[i].headerOffset ?? local[i]);
    text(entry.name), parts.push(...entry.extra);
  });
  parts.push(...archive.directoryTail ?? []);
  const end = parts.length, told = archive.end ?? {};
  u32(0x06054B50), u16(told.disk ?? 0), u16(0), u16(told.here ?? facts.length), u16(told.count ?? facts.length);
  u32(told.size ?? end - directory), u32(told.offset ?? directory), u16(told.comment ?? 0);
  parts.push(...archive.tail ?? []);
  return { bytes: Uint8Array.from(parts), at: { local, central, directory, end } };
}
