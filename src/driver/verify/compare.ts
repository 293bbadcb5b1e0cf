/** Comparing guest memory of the device with that of the interpreter. */
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { Permission } from "../../guest/memory/window.ts";

/** What a comparison found. */
export interface Comparison {
  /** The first byte that differs. */
  first?: { address: bigint; expected: number; actual: number };
  /** Bytes that differ. */
  bytes: number;
  /** Words within the tolerance, and the largest distance among them. */
  tolerated: number;
  largestUlps: number;
}

/**
 * Compares all writable windows. Both memories have the same windows.
 *
 * @param ulps largest distance of f32 words that counts as equal; 0 is exact
 */
export function compareMemory(expected: GuestMemory, actual: GuestMemory, ulps: number): Comparison {
  const result: Comparison = { bytes: 0, tolerated: 0, largestUlps: 0 };
  for (let w = 0; w < actual.windows.length; w++) {
    const { base, bytes, words, permissions } = actual.windows[w];
    if ((permissions & Permission.Write) === 0) continue;
    const otherWords = expected.windows[w].words, otherBytes = expected.windows[w].bytes;
    for (let i = 0; i < words.length; i++) {
      if (words[i] === otherWords[i]) continue;
      if (ulps > 0) {
        const distance = ulpDistance(words[i], otherWords[i]);
        if (distance <= ulps) {
          result.tolerated++;
          result.largestUlps = Math.max(result.largestUlps, distance);
          continue;
        }
      }
      for (let at = i * 4; at < i * 4 + 4; at++) {
        if (bytes[at] === otherBytes[at]) continue;
        result.bytes++;
        result.first ??= { address: base + BigInt(at), expected: otherBytes[at], actual: bytes[at] };
      }
    }
  }
  return result;
}

/**
 * Distance of two f32 bit patterns in units in the last place; Infinity unless both are normal numbers of the same sign. Whether a word is a float is not
 * known; leaving out everything with an exponent of 0 or 255 keeps small integers and counters exact.
 */
function ulpDistance(a: number, b: number): number {
  const isNormal = (bits: number) => (bits >>> 23 & 0xff) !== 0 && (bits >>> 23 & 0xff) !== 0xff;
  if (!isNormal(a) || !isNormal(b) || a >>> 31 !== b >>> 31) return Infinity;
  return Math.abs((a >>> 0) - (b >>> 0));
}
