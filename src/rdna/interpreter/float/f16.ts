/**
 * f16 operations on 16-bit patterns in the low half of a number, in the f16/f64 rounding and denormal modes of MODE. They are computed in f64, where
 * sums and products of f16 numbers are exact or rounded to odd. NaNs: see f32.ts.
 */
import { DEFAULT_NAN16, f16Value, f32Bits, f32Value, isNan16, isNan32, narrow16, quiet32, widen16 } from "./bits.ts";
import { FloatMode } from "./mode.ts";
import { OMOD_FACTOR } from "./f32.ts";
import { max32, max3x32, med3x32, min32, min3x32 } from "./f32.ts";
import { addInMode, roundToEven, roundToF16 } from "./round.ts";

/** A source: a denormal becomes a zero of its sign where MODE says so. */
export function input16(m: FloatMode, bits: number): number {
  return m.flushIn64 && (bits & 0x7c00) === 0 ? bits & 0x8000 : bits & 0xffff;
}

/** A result that is a bit pattern already. */
export function output16(m: FloatMode, bits: number): number {
  return m.flushOut64 && (bits & 0x7c00) === 0 ? bits & 0x8000 : bits & 0xffff;
}

/** A result as an exact (or rounded to odd) number. NaN stands for an invalid operation. */
export function result16(m: FloatMode, value: number): number {
  if (value !== value) return DEFAULT_NAN16;
  return output16(m, roundToF16(value, m.round64, m.fp16Overflow));
}

function nanOf(a: number, b: number): number {
  return (isNan16(a) ? a : b) & 0xffff | 0x200;
}

/** a + b. */
export function add16(m: FloatMode, a: number, b: number): number {
  a = input16(m, a);
  b = input16(m, b);
  if (isNan16(a) || isNan16(b)) return nanOf(a, b);
  return result16(m, addInMode(f16Value(a), f16Value(b), m.round64));
}

/** a - b. */
export function sub16(m: FloatMode, a: number, b: number): number {
  return isNan16(b) ? nanOf(a, b) : add16(m, a, b ^ 0x8000);
}

/** a * b. */
export function mul16(m: FloatMode, a: number, b: number): number {
  a = input16(m, a);
  b = input16(m, b);
  if (isNan16(a) || isNan16(b)) return nanOf(a, b);
  return result16(m, f16Value(a) * f16Value(b));
}

/** a * b + c with one rounding. */
export function fma16(m: FloatMode, a: number, b: number, c: number): number {
  a = input16(m, a);
  b = input16(m, b);
  c = input16(m, c);
  if (isNan16(a) || isNan16(b)) return nanOf(a, b);
  if (isNan16(c)) return c | 0x200;
  return result16(m, addInMode(f16Value(a) * f16Value(b), f16Value(c), m.round64));
}

/** The f32 functions below see f16 numbers as f32 ones, none of which is an f32 denormal; only IEEE mode matters to them. */
const WIDE_MODE = new FloatMode();

function wide(m: FloatMode): FloatMode {
  WIDE_MODE.set(m.bits & ~0xff | 0xf0);
  return WIDE_MODE;
}

function widen(m: FloatMode, bits: number): number {
  return widen16(input16(m, bits));
}

/** The smaller one (as min32). */
export function min16(m: FloatMode, a: number, b: number): number {
  return output16(m, narrow16(min32(wide(m), widen(m, a), widen(m, b))));
}

/** The larger one. */
export function max16(m: FloatMode, a: number, b: number): number {
  return output16(m, narrow16(max32(wide(m), widen(m, a), widen(m, b))));
}

/** The smallest of three. */
export function min3x16(m: FloatMode, a: number, b: number, c: number): number {
  return output16(m, narrow16(min3x32(wide(m), widen(m, a), widen(m, b), widen(m, c))));
}

/** The largest of three. */
export function max3x16(m: FloatMode, a: number, b: number, c: number): number {
  return output16(m, narrow16(max3x32(wide(m), widen(m, a), widen(m, b), widen(m, c))));
}

/** The middle one. */
export function med3x16(m: FloatMode, a: number, b: number, c: number): number {
  return output16(m, narrow16(med3x32(wide(m), widen(m, a), widen(m, b), widen(m, c))));
}

function whole16(m: FloatMode, a: number, to: (value: number) => number): number {
  a = input16(m, a);
  return isNan16(a) ? a | 0x200 : narrow16(f32Bits(to(f16Value(a))));
}

/** Toward zero. */
export function trunc16(m: FloatMode, a: number): number {
  return whole16(m, a, Math.trunc);
}

/** Up. */
export function ceil16(m: FloatMode, a: number): number {
  return whole16(m, a, Math.ceil);
}

/** Down. */
export function floor16(m: FloatMode, a: number): number {
  return whole16(m, a, Math.floor);
}

/** To the nearest integer, ties to even. */
export function rndne16(m: FloatMode, a: number): number {
  return whole16(m, a, roundToEven);
}

/** a - floor(a), below 1. */
export function fract16(m: FloatMode, a: number): number {
  a = input16(m, a);
  if (isNan16(a)) return a | 0x200;
  const value = f16Value(a);
  const bits = result16(m, addInMode(value, -Math.floor(value), m.round64));
  return isNan16(bits) || bits < 0x3bff ? bits : 0x3bff;
}

/** a * 2^exponent with one rounding; exponent is an integer. */
export function ldexp16(m: FloatMode, a: number, exponent: number): number {
  a = input16(m, a);
  if (isNan16(a)) return a | 0x200;
  return result16(m, f16Value(a) * 2 ** Math.max(-100, Math.min(100, exponent)));
}

/** Exponent of a as a number in 0.5..1 times a power of two; 0 for zero, infinity and NaN. */
export function frexpExponent16(m: FloatMode, a: number): number {
  const size = input16(m, a) & 0x7fff;
  if (size === 0 || size >= 0x7c00) return 0;
  return size >= 0x400 ? (size >>> 10) - 14 : 32 - Math.clz32(size) - 24;
}

/** a as a number in 0.5..1 (of its sign); zero, infinity and NaN stay. */
export function frexpMantissa16(m: FloatMode, a: number): number {
  a = input16(m, a);
  if (isNan16(a)) return a | 0x200;
  const size = a & 0x7fff;
  if (size === 0 || size === 0x7c00) return a;
  return narrow16(f32Bits(f16Value(a) * 2 ** -frexpExponent16(m, a)));
}

/** To 0..1, as clamp32. */
export function clamp16(m: FloatMode, bits: number): number {
  if (isNan16(bits)) return m.dx10Clamp ? 0 : bits;
  if (bits & 0x8000) return 0;
  return bits > 0x3c00 ? 0x3c00 : bits;
}

/** The output modifier, as modify32. */
export function modify16(m: FloatMode, bits: number, omod: number): number {
  if (omod === 0 || !m.flushOut64 || m.ieee || isNan16(bits)) return bits;
  const size = bits & 0x7fff;
  if (size < 0x400) return 0;
  if (omod === 3 && size < 0x800) return bits & 0x8000;
  return result16(m, f16Value(bits) * OMOD_FACTOR[omod]);
}

/** f32 to f16 in the f16 rounding mode (V_CVT_F16_F32). */
export function cvtF16F32(m: FloatMode, bits: number): number {
  return cvtF16F32In(m, bits, m.round64);
}

/** f32 to f16 in a given rounding mode. */
export function cvtF16F32In(m: FloatMode, bits: number, mode: number): number {
  if (m.flushIn32 && (bits & 0x7f800000) === 0) bits &= 0x80000000;
  if (isNan32(bits)) return narrow16(quiet32(bits));
  return output16(m, roundToF16(f32Value(bits), mode, m.fp16Overflow));
}

/** f16 to f32, exact (V_CVT_F32_F16). */
export function cvtF32F16(m: FloatMode, bits: number): number {
  const wideBits = widen16(input16(m, bits));
  return isNan32(wideBits) ? quiet32(wideBits) : wideBits;
}
