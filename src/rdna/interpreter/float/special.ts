/**
 * Reciprocals, roots, exponentials, logarithms and trigonometric functions (AMD RDNA2 ISA, sections 12.8).
 *
 * The hardware's results are documented only by an error bound: 1 ULP for the f32 and f16 functions, about 2^-8 relative (a seed for Newton iterations)
 * for the f64 ones; sine and cosine have an absolute bound (2^-20 or so) near their zeros. Here every result is computed in f64 and rounded once, to
 * nearest even whatever MODE says. A comparison with another implementation must allow 1 ULP of the hardware plus its own error.
 *
 * Denormals follow MODE. (Whether the hardware sees f32 denormals at all in these functions is not documented; LLVM's lowering assumes that it does
 * not, so compiled code does not depend on it.)
 */
import {
  DEFAULT_NAN16,
  DEFAULT_NAN32,
  DEFAULT_NAN64,
  f16Value,
  f32Bits,
  f32Value,
  f64Bits,
  f64Value,
  isNan16,
  isNan32,
  isNan64,
  quiet32,
  quiet64,
} from "./bits.ts";
import { input16, output16 } from "./f16.ts";
import { input32, output32 } from "./f32.ts";
import { input64, output64 } from "./f64.ts";
import { type FloatMode, Round } from "./mode.ts";
import { roundToEven, roundToF16 } from "./round.ts";

/** A function of one number in f64. */
export type Special = (x: number) => number;

/** 1 / x. */
export const reciprocal: Special = (x) => 1 / x;
/** 1 / sqrt(x); -0 gives -infinity. */
export const inverseRoot: Special = (x) => x === 0 ? 1 / x : 1 / Math.sqrt(x);
/** sqrt(x). */
export const root: Special = Math.sqrt;
/** 2^x. */
export const exponential: Special = (x) => 2 ** x;
/** log2(x). */
export const logarithm: Special = (x) => Math.log2(x);

/** sin(2 pi x), exact at multiples of a quarter. */
export const sine: Special = (x) => {
  if (!(Math.abs(x) < Infinity)) return NaN;
  if (x === 0) return x;
  // All steps are exact: the nearest integer of x, then reflection into -0.25..0.25.
  let turn = x - roundToEven(x);
  if (turn > 0.25) turn = 0.5 - turn;
  else if (turn < -0.25) turn = -0.5 - turn;
  return Math.abs(turn) === 0.25 ? Math.sign(turn) : Math.sin(turn * (2 * Math.PI));
};

/** cos(2 pi x), exact at multiples of a quarter. */
export const cosine: Special = (x) => {
  if (!(Math.abs(x) < Infinity)) return NaN;
  const turn = Math.abs(x - roundToEven(x));
  if (turn === 0.25) return 0;
  return turn > 0.25 ? -Math.cos((0.5 - turn) * (2 * Math.PI)) : Math.cos(turn * (2 * Math.PI));
};

/** Applies a function to f32 bits. */
export function special32(m: FloatMode, a: number, compute: Special): number {
  a = input32(m, a);
  if (isNan32(a)) return quiet32(a);
  const value = compute(f32Value(a));
  return value === value ? output32(m, f32Bits(value)) : DEFAULT_NAN32;
}

/** Applies a function to f16 bits. */
export function special16(m: FloatMode, a: number, compute: Special): number {
  a = input16(m, a);
  if (isNan16(a)) return a | 0x200;
  const value = compute(f16Value(a));
  return value === value ? output16(m, roundToF16(value, Round.NearestEven, m.fp16Overflow)) : DEFAULT_NAN16;
}

/** Applies a function to f64 bits. */
export function special64(m: FloatMode, a: bigint, compute: Special): bigint {
  a = input64(m, a);
  if (isNan64(a)) return quiet64(a);
  const value = compute(f64Value(a));
  return value === value ? output64(m, f64Bits(value)) : DEFAULT_NAN64;
}
