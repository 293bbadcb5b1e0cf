/**
 * How results are compared. Everything is bit for bit, except: NaN bits of float operations (which NaN comes out is not documented by AMD, see
 * src/rdna/interpreter/float/f32.ts), and functions that the hardware defines by an error bound.
 */
import type { Compare } from "./frame.ts";

/** Bit for bit. */
export const exact: Compare = (actual, expected, at, words) => {
  for (let k = 0; k < words; k++) if (actual[at + k] !== expected[at + k]) return false;
  return true;
};

/** Whether bits are an f32 NaN. */
export function isNan32(bits: number): boolean {
  return (bits & 0x7fffffff) > 0x7f800000;
}

/** Whether the low 16 bits are an f16 NaN. */
export function isNan16(bits: number): boolean {
  return (bits & 0x7fff) > 0x7c00;
}

function same16(a: number, b: number): boolean {
  return (a & 0xffff) === (b & 0xffff) || (isNan16(a) && isNan16(b));
}

/** f32: all NaNs are equal. */
export const float32: Compare = (actual, expected, at) =>
  actual[at] === expected[at] || (isNan32(actual[at]) && isNan32(expected[at]));

/** An f16 in the low half, anything in the high half: all f16 NaNs are equal. */
export const halfLow: Compare = (actual, expected, at) =>
  same16(actual[at], expected[at]) && actual[at] >>> 16 === expected[at] >>> 16;

/** An f16 in the high half, anything in the low half. */
export const halfHigh: Compare = (actual, expected, at) =>
  same16(actual[at] >>> 16, expected[at] >>> 16) && (actual[at] & 0xffff) === (expected[at] & 0xffff);

/** Two f16. */
export const halves: Compare = (actual, expected, at) =>
  same16(actual[at], expected[at]) && same16(actual[at] >>> 16, expected[at] >>> 16);

/** f64 in two words: all NaNs are equal. */
export const float64: Compare = (actual, expected, at) => {
  if (actual[at] === expected[at] && actual[at + 1] === expected[at + 1]) return true;
  const isNan = (words: Uint32Array) => {
    const high = words[at + 1] & 0x7fffffff;
    return high > 0x7ff00000 || (high === 0x7ff00000 && words[at] !== 0);
  };
  return isNan(actual) && isNan(expected);
};

/** Numbers between two f32 bit patterns (neither a NaN). */
function ulps32(a: number, b: number): number {
  const ordered = (bits: number) => (bits & 0x80000000) !== 0 ? -(bits & 0x7fffffff) : bits & 0x7fffffff;
  return Math.abs(ordered(a) - ordered(b));
}

function ulps16(a: number, b: number): number {
  const ordered = (bits: number) => (bits & 0x8000) !== 0 ? -(bits & 0x7fff) : bits & 0x7fff;
  return Math.abs(ordered(a & 0xffff) - ordered(b & 0xffff));
}

const view = new DataView(new ArrayBuffer(8));

function value32(bits: number): number {
  view.setUint32(0, bits);
  return view.getFloat32(0);
}

/** What an approximate result may be off by: numbers between, or the absolute distance; either is enough. Output modifiers scale up to four times. */
export interface Tolerance {
  ulps: number;
  absolute?: number;
}

/** Smallest normal f32 number. */
const SMALLEST = 2 ** -126;

/**
 * f32 within a tolerance. Denormal results may be zeros: whether the hardware's functions know denormals is not documented, and devices differ.
 *
 * @param logarithm the same for operands: all logarithms below that of the smallest normal number are equal
 */
export function near32({ ulps, absolute = 0 }: Tolerance, logarithm = false): Compare {
  const limit = SMALLEST * (1 + ulps * 2 ** -23);
  return (actual, expected, at) => {
    const a = actual[at], b = expected[at];
    if (a === b) return true;
    if (isNan32(a) || isNan32(b)) return isNan32(a) && isNan32(b);
    if (ulps32(a, b) <= ulps) return true;
    const [x, y] = [value32(a), value32(b)];
    if (Math.abs(x) <= 2 * limit && Math.abs(y) <= 2 * limit && x * y >= 0) return true;
    if (logarithm && x <= -126 && y <= -126) return true;
    return absolute > 0 && Math.abs(x - y) <= 4 * absolute;
  };
}

/** f16 in the low half within a tolerance; the high half bit for bit. */
export function nearHalf({ ulps, absolute = 0 }: Tolerance): Compare {
  return (actual, expected, at) => {
    if (actual[at] >>> 16 !== expected[at] >>> 16) return false;
    const a = actual[at] & 0xffff, b = expected[at] & 0xffff;
    if (isNan16(a) || isNan16(b)) return isNan16(a) && isNan16(b);
    return ulps16(a, b) <= 4 * ulps || Math.abs(value16(a) - value16(b)) <= 4 * absolute;
  };
}

function value16(bits: number): number {
  view.setUint16(0, bits);
  return view.getFloat16(0);
}

/** A partial register written from a float whose whole is in the next word: where the whole is a NaN on both sides, its part may differ. */
export function partOf(isNan: (bits: number) => boolean): Compare {
  return (actual, expected, at) => actual[at] === expected[at] || (isNan(actual[at + 1]) && isNan(expected[at + 1]));
}
