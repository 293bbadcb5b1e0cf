/**
 * Rounding of exact results.
 *
 * JavaScript computes in f64, to nearest even. An f32 or f16 result that is to be rounded in any mode is first made exact or rounded to odd in f64
 * (an inexact value gets its last bit set): with at least two more bits than the target, the second rounding then is right in every mode (Boldo and
 * Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Transactions on Computers 57(4), 2008).
 */
import { exponentOf, f32Bits, f32Value, isOdd, neighbour } from "./bits.ts";
import { Round } from "./mode.ts";

/** a + b rounded to odd. Neither the sum nor its error may overflow or underflow f64, which sums and products of f32 and f16 numbers never do. */
export function addToOdd(a: number, b: number): number {
  const sum = a + b;
  if (!(Math.abs(sum) < Infinity)) return sum;
  const part = sum - a;
  const lost = (a - (sum - part)) + (b - part);
  if (lost === 0 || isOdd(sum)) return sum;
  return neighbour(sum, lost > 0 === sum > 0);
}

/**
 * Like {@linkcode addToOdd}, with the sign that a zero sum has in the rounding mode: exact cancellation gives -0 when rounding down, else +0.
 */
export function addInMode(a: number, b: number, mode: number): number {
  const sum = addToOdd(a, b);
  if (sum === 0 && mode === Round.Down && (Object.is(a, -0) || Object.is(b, -0) || a !== 0)) return -0;
  return sum;
}

/** Rounds an exact (or rounded to odd) number that is no NaN to f32 bits. */
export function roundToF32(value: number, mode: number): number {
  const bits = f32Bits(value);
  if (mode === Round.NearestEven) return bits;
  const rounded = f32Value(bits);
  if (rounded === value) return bits;
  // Bits of magnitudes count up with the magnitude, infinity included: one less is the next number towards zero.
  switch (mode) {
    case Round.Zero:
      return Math.abs(rounded) > Math.abs(value) ? bits - 1 : bits;
    case Round.Up:
      if (rounded > value) return bits;
      return value > 0 ? bits + 1 : bits - 1;
    default:
      if (rounded < value) return bits;
      return value > 0 ? bits - 1 : bits + 1;
  }
}

/**
 * Rounds the size of a number (0 or more, exact or rounded to odd) to the bits of a float format without its sign.
 *
 * @param fraction bits of the mantissa
 * @param bias exponent bias; the smallest normal number is 2^(1 - bias)
 * @param mode rounding; up and down act on the size
 * @returns the pattern; {@linkcode exponentLimit} and above is an overflow
 */
export function roundSize(size: number, fraction: number, bias: number, mode: number): number {
  if (size === 0) return 0;
  const unit = Math.max(exponentOf(size), 1 - bias) - fraction;
  if (unit > 2 * bias) return exponentLimit(fraction, bias);
  // Two steps, because 2^-unit itself may be too large for a number.
  const scaled = size * 2 ** -Math.ceil(unit / 2) * 2 ** -Math.floor(unit / 2);
  let whole = Math.floor(scaled);
  const rest = scaled - whole;
  if (mode === Round.NearestEven) { if (rest > 0.5 || (rest === 0.5 && whole % 2 === 1)) whole++; }
  else if (mode === Round.Up && rest > 0) whole++;
  return (unit + fraction + bias - 1) * 2 ** fraction + whole;
}

/** Pattern of infinity in a format. */
export function exponentLimit(fraction: number, bias: number): number {
  return (2 * bias + 1) * 2 ** fraction;
}

/** Rounds an exact (or rounded to odd) number that is no NaN to f16 bits. `clampOverflow`: MODE.FP16_OVFL. */
export function roundToF16(value: number, mode: number, clampOverflow = false): number {
  const negative = value < 0 || Object.is(value, -0);
  const sign = negative ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size === Infinity) return sign | 0x7c00;
  const sizeMode = mode === Round.Up || mode === Round.Down
    ? (mode === Round.Up) === negative ? Round.Zero : Round.Up
    : mode;
  const bits = roundSize(size, 10, 15, sizeMode);
  if (bits < 0x7c00) return sign | bits;
  return sign | (sizeMode === Round.Zero || clampOverflow ? 0x7bff : 0x7c00);
}

/** To the nearest integer, ties to even; keeps the sign of zero. */
export function roundToEven(value: number): number {
  if (Math.abs(value) >= 2 ** 52 || value === 0) return value;
  const low = Math.floor(value);
  const rest = value - low;
  const rounded = rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
  return rounded === 0 && value < 0 ? -0 : rounded;
}
