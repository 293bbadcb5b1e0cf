/**
 * f64 operations on bit patterns (unsigned bigints), in the f16/f64 rounding and denormal modes of MODE. Rounding to nearest even is JavaScript's own
 * arithmetic; the other modes, and fused multiply-add, are computed on integers. NaNs: see f32.ts.
 */
import { DEFAULT_NAN64, exponentOf, f64Bits, f64Value, isNan64, isSignalling64, isSmall64, quiet64 } from "./bits.ts";
import { firstNan64, fusedMultiplyAdd64, isInfinite64, mantissaOf, roundExact, scaleOf } from "./exact.ts";
import { OMOD_FACTOR } from "./f32.ts";
import { type FloatMode, Round } from "./mode.ts";
import { roundToEven } from "./round.ts";

const SIGN = 1n << 63n;
const ONE = 0x3ff0_0000_0000_0000n;

/** A source: a denormal becomes a zero of its sign where MODE says so. */
export function input64(m: FloatMode, bits: bigint): bigint {
  return m.flushIn64 && isSmall64(bits) ? bits & SIGN : bits;
}

/** A result that is a bit pattern already. */
export function output64(m: FloatMode, bits: bigint): bigint {
  return m.flushOut64 && isSmall64(bits) ? bits & SIGN : bits;
}

/** a + b. */
export function add64(m: FloatMode, a: bigint, b: bigint): bigint {
  a = input64(m, a);
  b = input64(m, b);
  const nan = firstNan64(a, b);
  if (nan !== undefined) return nan;
  if (m.round64 === Round.NearestEven) return output64(m, f64Bits(f64Value(a) + f64Value(b)));
  return output64(m, fusedMultiplyAdd64(a, ONE, b, m.round64));
}

/** a * b. */
export function mul64(m: FloatMode, a: bigint, b: bigint): bigint {
  a = input64(m, a);
  b = input64(m, b);
  const nan = firstNan64(a, b);
  if (nan !== undefined) return nan;
  if (m.round64 === Round.NearestEven || isInfinite64(a) || isInfinite64(b)) {
    return output64(m, f64Bits(f64Value(a) * f64Value(b)));
  }
  const product = mantissaOf(a) * mantissaOf(b);
  return output64(m, roundExact(product, scaleOf(a) + scaleOf(b), m.round64, ((a ^ b) & SIGN) !== 0n));
}

/** (a * b + c) * 2^scale with one rounding. */
export function fma64(m: FloatMode, a: bigint, b: bigint, c: bigint, scale = 0): bigint {
  a = input64(m, a);
  b = input64(m, b);
  c = input64(m, c);
  return firstNan64(a, b, c) ?? output64(m, fusedMultiplyAdd64(a, b, c, m.round64, scale));
}

function pick64(m: FloatMode, a: bigint, b: bigint, max: boolean): bigint {
  a = input64(m, a);
  b = input64(m, b);
  if (m.ieee && isSignalling64(a)) return quiet64(a);
  if (m.ieee && isSignalling64(b)) return quiet64(b);
  if (isNan64(a)) return isNan64(b) ? quiet64(b) : output64(m, b);
  if (isNan64(b)) return output64(m, a);
  const x = f64Value(a), y = f64Value(b);
  const isLess = x < y || (x === y && a > b); // equal patterns aside, only -0 and +0 are equal
  return output64(m, isLess !== max ? a : b);
}

/** The smaller one (as min32). */
export function min64(m: FloatMode, a: bigint, b: bigint): bigint {
  return pick64(m, a, b, false);
}

/** The larger one. */
export function max64(m: FloatMode, a: bigint, b: bigint): bigint {
  return pick64(m, a, b, true);
}

function whole64(m: FloatMode, a: bigint, to: (value: number) => number): bigint {
  a = input64(m, a);
  return isNan64(a) ? quiet64(a) : f64Bits(to(f64Value(a)));
}

/** Toward zero. */
export function trunc64(m: FloatMode, a: bigint): bigint {
  return whole64(m, a, Math.trunc);
}

/** Up. */
export function ceil64(m: FloatMode, a: bigint): bigint {
  return whole64(m, a, Math.ceil);
}

/** Down. */
export function floor64(m: FloatMode, a: bigint): bigint {
  return whole64(m, a, Math.floor);
}

/** To the nearest integer, ties to even. */
export function rndne64(m: FloatMode, a: bigint): bigint {
  return whole64(m, a, roundToEven);
}

/** a - floor(a), below 1. */
export function fract64(m: FloatMode, a: bigint): bigint {
  a = input64(m, a);
  if (isNan64(a)) return quiet64(a);
  if (isInfinite64(a)) return DEFAULT_NAN64;
  const bits = add64(m, a, f64Bits(-Math.floor(f64Value(a))));
  return bits < ONE ? bits : ONE - 1n;
}

/** a * 2^exponent with one rounding. */
export function ldexp64(m: FloatMode, a: bigint, exponent: number): bigint {
  a = input64(m, a);
  if (isNan64(a)) return quiet64(a);
  if (isInfinite64(a)) return a;
  const scale = scaleOf(a) + Math.max(-5000, Math.min(5000, exponent));
  return output64(m, roundExact(mantissaOf(a), scale, m.round64, (a & SIGN) !== 0n));
}

/** Exponent of a as a number in 0.5..1 times a power of two; 0 for zero, infinity and NaN. */
export function frexpExponent64(m: FloatMode, a: bigint): number {
  const value = f64Value(input64(m, a));
  if (value === 0 || !(Math.abs(value) < Infinity)) return 0;
  const exponent = exponentOf(value);
  return exponent > -1023 ? exponent + 1 : exponentOf(value * 2 ** 100) - 99;
}

/** a as a number in 0.5..1 (of its sign); zero, infinity and NaN stay. */
export function frexpMantissa64(m: FloatMode, a: bigint): bigint {
  a = input64(m, a);
  if (isNan64(a)) return quiet64(a);
  if (isInfinite64(a) || (a & ~SIGN) === 0n) return a;
  return roundExact(mantissaOf(a), scaleOf(a) - frexpExponent64(m, a), Round.NearestEven);
}

/** To 0..1, as clamp32. */
export function clamp64(m: FloatMode, bits: bigint): bigint {
  if (isNan64(bits)) return m.dx10Clamp ? 0n : bits;
  if (bits & SIGN) return 0n;
  return bits > ONE ? ONE : bits;
}

/** The output modifier, as modify32. */
export function modify64(m: FloatMode, bits: bigint, omod: number): bigint {
  if (omod === 0 || !m.flushOut64 || m.ieee || isNan64(bits)) return bits;
  const size = bits & ~SIGN;
  if (size < 0x10_0000_0000_0000n) return 0n;
  if (omod === 3 && size < 0x20_0000_0000_0000n) return bits & SIGN;
  return mul64(m, bits, f64Bits(OMOD_FACTOR[omod]));
}
