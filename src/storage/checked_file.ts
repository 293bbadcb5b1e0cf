/**
 * Small records on the disk that nobody has to trust: each begins with its kind, format and checksum, and one that is damaged, cut off, or of
 * another kind is as good as missing.
 *
 * @module
 */
import { ensurePrivate, isPrivate } from "./cache_folder.ts";
import { writeFileAtomically } from "./atomic_file.ts";

const FILE_MODE = 0o600;

/** Reads what {@linkcode writeRecord} wrote; undefined when it is not there, or not as it was written. */
export function readRecord(folder: string, name: string, kind: string): unknown {
  if (!isPrivate(folder)) return undefined;
  let text: string;
  try {
    text = Deno.readTextFileSync(`${folder}/${name}`);
  } catch {
    return undefined; // it is not there, or not text
  }
  const end = text.indexOf("\n"), body = text.slice(end + 1);
  if (end < 0 || text.slice(0, end) !== `${kind} ${checksum(body)}`) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Writes a record (JSON), whole or not at all. False when the folder cannot be written: caches are there to do without. */
export function writeRecord(folder: string, name: string, kind: string, data: unknown): boolean {
  const body = JSON.stringify(data);
  try {
    if (!ensurePrivate(folder)) return false;
    writeFileAtomically(`${folder}/${name}`, new TextEncoder().encode(`${kind} ${checksum(body)}\n${body}`), FILE_MODE);
    return true;
  } catch {
    return false;
  }
}

/** FNV-1a (draft-eastlake-fnv) over UTF-16 units, twice with different starts: 64 bits against accidents, not against intent. */
export function checksum(text: string): string {
  let a = 0x811c9dc5, b = 0x01000193 ^ text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ (unit + 0x9e37), 0x01000193);
  }
  return [a, b].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
