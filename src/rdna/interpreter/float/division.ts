/**
 * The steps of correctly rounded division: v_div_scale, v_div_fmas, v_div_fixup (AMD RDNA2 ISA, section 12.10), and v_trig_preop_f64.
 *
 * Three points of the document's pseudo code cannot be meant as written, since compilers build IEEE division from these instructions and it comes out
 * right: v_div_fmas scales by 2^64 or 2^-64 (f64: 2^128, 2^-128), by the size of its third operand, not by 2^32; where both the reciprocal and the
 * quotient are denormal, v_div_scale scales the denominator down; and v_div_fixup makes an overflow of a NaN. The tests run the whole sequence against
 * exact division.
 */
import { f16Value, f32Value, f64Value, isNan16, isNan32, isNan64, quiet32, quiet64 } from "./bits.ts";
import { input16 } from "./f16.ts";
import { input32, ldexp32, scaledFma32 } from "./f32.ts";
import { fma64, input64, ldexp64 } from "./f64.ts";
import { roundExact } from "./exact.ts";
import { type FloatMode, Round } from "./mode.ts";

/** Whether the last v_div_scale asks v_div_fmas to scale its result (the VCC bit). */
export let divisionScales = false;

/** What happens to a source of v_div_scale. */
const enum Scale {
  None,
  Up,
  Down,
}

const MIN_NORMAL32 = 2 ** -126;
const MIN_NORMAL64 = 2 ** -1022;

function exponentField32(bits: number): number {
  return bits >>> 23 & 0xff;
}

function exponentField64(bits: bigint): number {
  return Number(bits >> 52n & 0x7ffn);
}

/**
 * The decision of v_div_scale, the same for f32 and f64.
 *
 * @param isDenominator the source to scale is the denominator; else it is the numerator
 */
function decide(
  difference: number,
  limit: number,
  denominatorDenormal: boolean,
  reciprocalDenormal: boolean,
  quotientDenormal: boolean,
  tinyNumerator: boolean,
  isDenominator: boolean,
  isNumerator: boolean,
): Scale {
  divisionScales = false;
  if (difference >= limit) {
    divisionScales = true;
    return isDenominator ? Scale.Up : Scale.None;
  }
  if (denominatorDenormal) return Scale.Up;
  if (reciprocalDenormal && quotientDenormal) {
    divisionScales = true;
    return isDenominator ? Scale.Down : Scale.None;
  }
  if (reciprocalDenormal) return Scale.Down;
  if (quotientDenormal) {
    divisionScales = true;
    return isNumerator ? Scale.Up : Scale.None;
  }
  return tinyNumerator ? Scale.Up : Scale.None;
}

function isDenormal(size: number, smallestNormal: number): boolean {
  return size !== 0 && size < smallestNormal;
}

/** V_DIV_SCALE_F32: a is the denominator b or the numerator c. Sets {@linkcode divisionScales}. */
export function divScale32(m: FloatMode, a: number, b: number, c: number): number {
  a = input32(m, a);
  b = input32(m, b);
  c = input32(m, c);
  const denominator = Math.abs(f32Value(b)), numerator = Math.abs(f32Value(c));
  divisionScales = false;
  if (denominator === 0 || numerator === 0) return NAN32;
  const scale = decide(
    exponentField32(c) - exponentField32(b),
    96,
    isDenormal(denominator, MIN_NORMAL32),
    isDenormal(1 / denominator, MIN_NORMAL32),
    isDenormal(numerator / denominator, MIN_NORMAL32),
    exponentField32(c) <= 23,
    f32Value(a) === f32Value(b),
    f32Value(a) === f32Value(c),
  );
  return scale === Scale.None ? a : ldexp32(m, a, scale === Scale.Up ? 64 : -64);
}

const NAN32 = 0x7fc00000;
const NAN64 = 0x7ff8_0000_0000_0000n;

/** V_DIV_SCALE_F64. Sets {@linkcode divisionScales}. */
export function divScale64(m: FloatMode, a: bigint, b: bigint, c: bigint): bigint {
  a = input64(m, a);
  b = input64(m, b);
  c = input64(m, c);
  const denominator = Math.abs(f64Value(b)), numerator = Math.abs(f64Value(c));
  divisionScales = false;
  if (denominator === 0 || numerator === 0) return NAN64;
  const scale = decide(
    exponentField64(c) - exponentField64(b),
    768,
    isDenormal(denominator, MIN_NORMAL64),
    isDenormal(1 / denominator, MIN_NORMAL64),
    quotientIsDenormal64(numerator, denominator),
    exponentField64(c) <= 53,
    f64Value(a) === f64Value(b),
    f64Value(a) === f64Value(c),
  );
  return scale === Scale.None ? a : ldexp64(m, a, scale === Scale.Up ? 128 : -128);
}

/** A quotient that f64 rounds to zero is below the normal numbers too. */
function quotientIsDenormal64(numerator: number, denominator: number): boolean {
  return denominator < Infinity && numerator / denominator < MIN_NORMAL64;
}

/** V_DIV_FMAS_F32: a fused multiply-add, scaled where VCC says so. */
export function divFmas32(m: FloatMode, a: number, b: number, c: number, scales: boolean): number {
  const factor = !scales ? 1 : exponentField32(c) > 127 ? 2 ** 64 : 2 ** -64;
  return scaledFma32(m, a, b, c, factor);
}

/** V_DIV_FMAS_F64. */
export function divFmas64(m: FloatMode, a: bigint, b: bigint, c: bigint, scales: boolean): bigint {
  const scale = !scales ? 0 : exponentField64(c) > 1023 ? 128 : -128;
  return fma64(m, a, b, c, scale);
}

/** Cases of division that are decided without a quotient; `Quotient` is the rest. */
const enum Special {
  Quotient,
  Invalid,
  Infinite,
  Zero,
}

function specialCase(denominator: number, numerator: number): Special {
  const b = Math.abs(denominator), c = Math.abs(numerator);
  if ((b === 0 && c === 0) || (b === Infinity && c === Infinity)) return Special.Invalid;
  if (b === 0 || c === Infinity) return Special.Infinite;
  return b === Infinity || c === 0 ? Special.Zero : Special.Quotient;
}

/**
 * V_DIV_FIXUP_F32: the quotient a of numerator c and denominator b, corrected for special operands. Where the steps before have overflowed, a is NaN, and
 * the result infinity (as on RDNA3 hardware: tinygrad, test/amd/hw/test_vop3.py).
 */
export function divFixup32(m: FloatMode, a: number, b: number, c: number): number {
  a = input32(m, a);
  b = input32(m, b);
  c = input32(m, c);
  const sign = (b ^ c) & 0x80000000;
  if (isNan32(c)) return quiet32(c);
  if (isNan32(b)) return quiet32(b);
  switch (specialCase(f32Value(b), f32Value(c))) {
    case Special.Invalid:
      return 0xffc00000 | 0;
    case Special.Infinite:
      return sign | 0x7f800000;
    case Special.Zero:
      return sign;
  }
  const difference = exponentField32(c) - exponentField32(b);
  if (difference < -150) return underflow32(m, sign);
  return isNan32(a) ? sign | 0x7f800000 : sign | (a & 0x7fffffff);
}

/** What a result too small for any f32 number rounds to. */
function underflow32(m: FloatMode, sign: number): number {
  const away = m.round32 === (sign < 0 ? Round.Down : Round.Up);
  return away && !m.flushOut32 ? sign | 1 : sign;
}

/** V_DIV_FIXUP_F64. */
export function divFixup64(m: FloatMode, a: bigint, b: bigint, c: bigint): bigint {
  a = input64(m, a);
  b = input64(m, b);
  c = input64(m, c);
  const sign = (b ^ c) & 1n << 63n;
  if (isNan64(c)) return quiet64(c);
  if (isNan64(b)) return quiet64(b);
  switch (specialCase(f64Value(b), f64Value(c))) {
    case Special.Invalid:
      return 0xfff8_0000_0000_0000n;
    case Special.Infinite:
      return sign | 0x7ff0_0000_0000_0000n;
    case Special.Zero:
      return sign;
  }
  if (exponentField64(c) - exponentField64(b) < -1075) {
    const away = m.round64 === (sign !== 0n ? Round.Down : Round.Up);
    return away && !m.flushOut64 ? sign | 1n : sign;
  }
  return isNan64(a) ? sign | 0x7ff0_0000_0000_0000n : sign | (a & 0x7fff_ffff_ffff_ffffn);
}

/** V_DIV_FIXUP_F16. */
export function divFixup16(m: FloatMode, a: number, b: number, c: number): number {
  a = input16(m, a);
  b = input16(m, b);
  c = input16(m, c);
  const sign = (b ^ c) & 0x8000;
  if (isNan16(c)) return c | 0x200;
  if (isNan16(b)) return b | 0x200;
  switch (specialCase(f16Value(b), f16Value(c))) {
    case Special.Invalid:
      return 0xfe00;
    case Special.Infinite:
      return sign | 0x7c00;
    case Special.Zero:
      return sign;
  }
  return sign | (a & 0x7fff);
}

/** Bits of 2 / pi behind the point that v_trig_preop_f64 knows. */
const TRIG_BITS = 1201;
let twoOverPi: bigint | undefined;

/** floor(2 / pi * 2^bits), from Machin's formula pi / 4 = 4 arctan(1/5) - arctan(1/239). */
export function twoOverPiBits(bits: number): bigint {
  const scale = BigInt(bits + 64);
  const arctan = (inverse: bigint) => {
    let power = (1n << 2n * scale) / inverse, sum = 0n;
    for (let n = 1n, positive = true; power > 0n; n += 2n, positive = !positive) {
      sum += positive ? power / n : -(power / n);
      power /= inverse * inverse;
    }
    return sum;
  };
  const pi = 4n * (4n * arctan(5n) - arctan(239n));
  return (2n << 2n * scale + BigInt(bits)) / pi;
}

/** V_TRIG_PREOP_F64: 53 bits of 2 / pi, from the place that segment b and the exponent of a choose. */
export function trigPreop64(m: FloatMode, a: bigint, b: number): bigint {
  const exponent = exponentField64(input64(m, a));
  let shift = (b & 31) * 53;
  if (exponent > 1077) shift += exponent - 1077;
  twoOverPi ??= twoOverPiBits(TRIG_BITS);
  // The 53 bits below bit 1201 - shift; what lies behind the last known bit reads as zero.
  const position = TRIG_BITS - shift - 53;
  const field = position >= 0 ? twoOverPi >> BigInt(position) : twoOverPi << BigInt(-position);
  const mantissa = field & (1n << 53n) - 1n;
  const scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
  return roundExact(mantissa, scale, Round.NearestEven);
}
