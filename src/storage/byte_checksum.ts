/**
 * Checksum of bytes, for files that nobody has to trust.
 *
 * @module
 */

/** Bytes of a checksum. */
export const CHECKSUM_BYTES = 8;

/**
 * FNV-1a (draft-eastlake-fnv) over 32-bit words, twice with different starts: 64 bits against accidents, not against intent. Each step is
 * a bijection, so a change of one word always shows. A nanosecond for four bytes; loads nothing.
 */
export function byteChecksum(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = bytes.length >>> 2;
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice(0, whole * 4);
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, whole);
  let a = 0x811c9dc5 ^ bytes.length, b = 0x01000193;
  for (let i = 0; i < whole; i++) {
    const word = words[i];
    a = Math.imul(a ^ word, 0x01000193);
    a ^= a >>> 15; // words differ in their high bits, which multiplication alone keeps there
    b = Math.imul(b ^ word, 0x85ebca6b);
    b ^= b >>> 13;
  }
  for (let i = whole * 4; i < bytes.length; i++) {
    a = Math.imul(a ^ bytes[i], 0x01000193);
    b = Math.imul(b ^ bytes[i], 0x85ebca6b);
  }
  const sum = new Uint8Array(CHECKSUM_BYTES), view = new DataView(sum.buffer);
  view.setUint32(0, a, true);
  view.setUint32(4, b, true);
  return sum;
}

/** Whether two runs of bytes are the same. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
