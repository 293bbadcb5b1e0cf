/**
 * The steps of correctly rounded division: v_div_scale, v_div_fmas, v_div_fixup (AMD RDNA2 ISA, section 12.10), and v_trig_preop_f64.
 *
 * The pseudo code of the document does not divide. What the hardware does was measured by AMD on gfx1100 and gfx1201 (ROCm/rocm-systems, rocjitsu,
 * division.h): v_div_scale decides by exponent fields; v_div_fmas scales by 2^64 or 2^-64 (f64: 2^128, 2^-128) by the size of its third operand, in the one
 * rounding of the multiply-add, and keeps denormal sources; v_div_fixup takes a quotient that is no number for an overflow. The tests run the whole sequence
 * against exact division.
 */
import { f16Value, f32Value, f64Value, isNan16, isNan32, isNan64, quiet32, quiet64 } from "./bits.ts";
import { input16 } from "./f16.ts";
import { input32, ldexp32, output32, scaledFma32 } from "./f32.ts";
import { fma64, input64, ldexp64, output64 } from "./f64.ts";
import { roundExact } from "./exact.ts";
import { FloatMode, Round } from "./mode.ts";
import { roundToF32 } from "./round.ts";

/** Whether the last v_div_scale asks v_div_fmas to scale its result (the VCC bit). */
export let divisionScales = false;

function exponentField32(bits: number): number {
  return bits >>> 23 & 0xff;
}

function exponentField64(bits: bigint): number {
  return Number(bits >> 52n & 0x7ffn);
}

/**
 * The decision of v_div_scale by exponent fields, the same for f32 and f64. Sets {@linkcode divisionScales}.
 *
 * @param denominator exponent field of S1
 * @param numerator exponent field of S2
 * @param far difference of exponents from which on the quotient is near the largest or the smallest number
 * @param largest exponent fields from this one on have a denormal reciprocal
 * @param tiny exponent fields of numerators up to this one count as tiny
 * @returns the direction in which S0 is scaled: 1, 0 or -1
 */
function scaleDirection(
  denominator: number,
  numerator: number,
  far: number,
  largest: number,
  tiny: number,
  isDenominator: boolean,
): number {
  const difference = numerator - denominator;
  divisionScales = false;
  if (difference >= far) {
    divisionScales = true;
    return isDenominator ? 1 : 0;
  }
  if (denominator === 0) return 1;
  if (denominator >= largest) {
    divisionScales = difference <= -far;
    return divisionScales && !isDenominator ? 0 : -1;
  }
  if (difference <= -far) {
    divisionScales = true;
    return isDenominator ? 0 : 1;
  }
  return numerator <= tiny ? 1 : 0;
}

/** V_DIV_SCALE_F32: a is the denominator b or the numerator c. Sets {@linkcode divisionScales}. */
export function divScale32(m: FloatMode, a: number, b: number, c: number): number {
  a = input32(m, a);
  b = input32(m, b);
  c = input32(m, c);
  const direction = scaleDirection(exponentField32(b), exponentField32(c), 96, 253, 24, a === b);
  if ((b & 0x7fffffff) === 0 || (c & 0x7fffffff) === 0) return NAN32;
  return direction === 0 ? (isNan32(a) ? quiet32(a) : output32(m, a)) : ldexp32(m, a, direction * 64);
}

const NAN32 = 0x7fc00000;
const NAN64 = 0x7ff8_0000_0000_0000n;
const SIZE64 = 0x7fff_ffff_ffff_ffffn;

/** V_DIV_SCALE_F64. Sets {@linkcode divisionScales}. */
export function divScale64(m: FloatMode, a: bigint, b: bigint, c: bigint): bigint {
  a = input64(m, a);
  b = input64(m, b);
  c = input64(m, c);
  const direction = scaleDirection(exponentField64(b), exponentField64(c), 768, 2045, 53, a === b);
  if ((b & SIZE64) === 0n || (c & SIZE64) === 0n) return NAN64;
  return direction === 0 ? (isNan64(a) ? quiet64(a) : output64(m, a)) : ldexp64(m, a, direction * 128);
}

/** MODE as v_div_fmas sees it: it keeps denormal sources. */
const FMAS_MODE = new FloatMode();

/** V_DIV_FMAS_F32: a fused multiply-add, scaled where VCC says so. */
export function divFmas32(m: FloatMode, a: number, b: number, c: number, scales: boolean): number {
  const factor = !scales ? 1 : exponentField32(c) > 127 ? 2 ** 64 : 2 ** -64;
  FMAS_MODE.set(m.bits | 0x50);
  return scaledFma32(FMAS_MODE, a, b, c, factor);
}

/** V_DIV_FMAS_F64. */
export function divFmas64(m: FloatMode, a: bigint, b: bigint, c: bigint, scales: boolean): bigint {
  const scale = !scales ? 0 : exponentField64(c) > 1023 ? 128 : -128;
  FMAS_MODE.set(m.bits | 0x50);
  return fma64(FMAS_MODE, a, b, c, scale);
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
 * V_DIV_FIXUP_F32: the quotient a of numerator c and denominator b, corrected for special operands. Where the steps before have overflowed, a is infinite or
 * NaN, and the result what an overflow rounds to. A denormal quotient stays.
 */
export function divFixup32(m: FloatMode, a: number, b: number, c: number): number {
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
  if ((a & 0x7fffffff) >= 0x7f800000) return roundToF32(sign < 0 ? -HUGE : HUGE, m.round32);
  return sign | (a & 0x7fffffff);
}

/** Larger than every f32 number. */
const HUGE = 2 ** 200;

/** What a result too small for any f32 number rounds to. */
function underflow32(m: FloatMode, sign: number): number {
  const away = m.round32 === (sign < 0 ? Round.Down : Round.Up);
  return away && !m.flushOut32 ? sign | 1 : sign;
}

/** V_DIV_FIXUP_F64. */
export function divFixup64(m: FloatMode, a: bigint, b: bigint, c: bigint): bigint {
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
  if ((a & SIZE64) >= 0x7ff0_0000_0000_0000n) return roundExact(sign === 0n ? 1n : -1n, 2000, m.round64);
  return sign | (a & SIZE64);
}

/** V_DIV_FIXUP_F16. */
export function divFixup16(m: FloatMode, a: number, b: number, c: number): number {
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
  return sign | Math.min(a & 0x7fff, 0x7c00);
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
