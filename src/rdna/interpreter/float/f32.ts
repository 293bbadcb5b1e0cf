/**
 * f32 operations on bit patterns, in the rounding and denormal modes of MODE (AMD RDNA2 ISA, sections 12.7 to 12.10). Every function takes the mode
 * and int32 bit patterns and gives one.
 *
 * A NaN operand gives the first NaN among the operands, made quiet. Which NaN comes out where several meet, and its bits where none went in, is not
 * documented by AMD: comparisons with other implementations must take all NaNs for equal.
 */
import { DEFAULT_NAN32, f32Bits, f32Value, isNan32, isSignalling32, isSmall32, quiet32 } from "./bits.ts";
import { FloatMode } from "./mode.ts";
import { addInMode, roundToEven, roundToF32 } from "./round.ts";

/** A source: a denormal becomes a zero of its sign where MODE says so. */
export function input32(m: FloatMode, bits: number): number {
  return m.flushIn32 && isSmall32(bits) ? bits & 0x80000000 : bits;
}

/** A result that is a bit pattern already. */
export function output32(m: FloatMode, bits: number): number {
  return m.flushOut32 && isSmall32(bits) ? bits & 0x80000000 : bits;
}

/** A result as an exact (or rounded to odd) number: rounded, then flushed where MODE says so. NaN stands for an invalid operation. */
export function result32(m: FloatMode, value: number): number {
  if (value !== value) return DEFAULT_NAN32;
  return output32(m, roundToF32(value, m.round32));
}

function nanOf(a: number, b: number): number {
  return quiet32(isNan32(a) ? a : b);
}

/** a + b. */
export function add32(m: FloatMode, a: number, b: number): number {
  a = input32(m, a);
  b = input32(m, b);
  if (isNan32(a) || isNan32(b)) return nanOf(a, b);
  return result32(m, addInMode(f32Value(a), f32Value(b), m.round32));
}

/** a - b. */
export function sub32(m: FloatMode, a: number, b: number): number {
  if (isNan32(b)) return nanOf(a, b);
  return add32(m, a, b ^ 0x80000000);
}

/** a * b. */
export function mul32(m: FloatMode, a: number, b: number): number {
  a = input32(m, a);
  b = input32(m, b);
  if (isNan32(a) || isNan32(b)) return nanOf(a, b);
  return result32(m, f32Value(a) * f32Value(b));
}

/** a * b + c with one rounding. */
export function fma32(m: FloatMode, a: number, b: number, c: number): number {
  return scaledFma32(m, a, b, c, 1);
}

/** (a * b + c) * scale with one rounding; scale is a power of two within 2^-100..2^100. */
export function scaledFma32(m: FloatMode, a: number, b: number, c: number, scale: number): number {
  a = input32(m, a);
  b = input32(m, b);
  c = input32(m, c);
  if (isNan32(a) || isNan32(b)) return nanOf(a, b);
  if (isNan32(c)) return quiet32(c);
  return result32(m, addInMode(f32Value(a) * f32Value(b), f32Value(c), m.round32) * scale);
}

function isZero32(m: FloatMode, bits: number): boolean {
  return (input32(m, bits) & 0x7fffffff) === 0;
}

/** a * b, where zero times anything is +0 (the rule of Direct3D 9). */
export function mulLegacy32(m: FloatMode, a: number, b: number): number {
  return isZero32(m, a) || isZero32(m, b) ? 0 : mul32(m, a, b);
}

/**
 * a * b + c with one rounding, where zero times anything is +0, so that c = -0 gives +0 (LLVM, AMDGPUInstCombineIntrinsic.cpp, fma.legacy; the document's
 * pseudo code would leave c).
 */
export function fmaLegacy32(m: FloatMode, a: number, b: number, c: number): number {
  return isZero32(m, a) || isZero32(m, b) ? add32(m, 0, c) : fma32(m, a, b, c);
}

/** The mode in which v_mad and v_mac compute: they flush f32 denormals whatever MODE says (AMD RDNA1 ISA, V_MAC_F32). */
const MAD_MODE = new FloatMode();

/** a * b rounded, plus c, rounded again; denormals are flushed at every step. */
export function mad32(m: FloatMode, a: number, b: number, c: number): number {
  MAD_MODE.set(m.bits & ~0x30);
  return add32(MAD_MODE, mul32(MAD_MODE, a, b), c);
}

/** Like {@linkcode mad32}, where zero times anything is +0. */
export function madLegacy32(m: FloatMode, a: number, b: number, c: number): number {
  MAD_MODE.set(m.bits & ~0x30);
  return add32(MAD_MODE, mulLegacy32(MAD_MODE, a, b), c);
}

/** Whether a < b for numbers, -0 below +0. */
function isLess(a: number, b: number): boolean {
  const x = f32Value(a), y = f32Value(b);
  return x < y || (x === y && a < 0 && b >= 0);
}

function pick32(m: FloatMode, a: number, b: number, max: boolean): number {
  a = input32(m, a);
  b = input32(m, b);
  if (m.ieee && isSignalling32(a)) return quiet32(a);
  if (m.ieee && isSignalling32(b)) return quiet32(b);
  if (isNan32(a)) return isNan32(b) ? quiet32(b) : output32(m, b);
  if (isNan32(b)) return output32(m, a);
  return output32(m, isLess(a, b) !== max ? a : b);
}

/**
 * The smaller one: -0 is below +0, a number wins against a NaN, but in IEEE mode a signalling NaN is the result, made quiet (AMD RDNA2 ISA,
 * V_MIN_F32).
 */
export function min32(m: FloatMode, a: number, b: number): number {
  return pick32(m, a, b, false);
}

/** The larger one; see {@linkcode min32}. */
export function max32(m: FloatMode, a: number, b: number): number {
  return pick32(m, a, b, true);
}

/** The smallest of three. */
export function min3x32(m: FloatMode, a: number, b: number, c: number): number {
  return min32(m, min32(m, a, b), c);
}

/** The largest of three. */
export function max3x32(m: FloatMode, a: number, b: number, c: number): number {
  return max32(m, max32(m, a, b), c);
}

/**
 * The middle one, -0 below +0; with a NaN, the smallest (AMD RDNA2 ISA, V_MED3_F32; that signed zeros are told apart was measured by AMD on gfx1201:
 * ROCm/rocm-systems, rocjitsu, minmax.h).
 */
export function med3x32(m: FloatMode, a: number, b: number, c: number): number {
  if (isNan32(a) || isNan32(b) || isNan32(c)) return min3x32(m, a, b, c);
  return max32(m, min32(m, a, b), min32(m, max32(m, a, b), c));
}

function whole32(m: FloatMode, a: number, to: (value: number) => number): number {
  a = input32(m, a);
  return isNan32(a) ? quiet32(a) : f32Bits(to(f32Value(a)));
}

/** Toward zero. */
export function trunc32(m: FloatMode, a: number): number {
  return whole32(m, a, Math.trunc);
}

/** Up. */
export function ceil32(m: FloatMode, a: number): number {
  return whole32(m, a, Math.ceil);
}

/** Down. */
export function floor32(m: FloatMode, a: number): number {
  return whole32(m, a, Math.floor);
}

/** To the nearest integer, ties to even. */
export function rndne32(m: FloatMode, a: number): number {
  return whole32(m, a, roundToEven);
}

/** The largest f32 number below 1. */
const BELOW_ONE = 0x3f7fffff;

/**
 * a - floor(a), below 1 (AMD RDNA2 ISA, V_FRACT_F32; that the result never reaches 1 says LLVM, AMDGPUCodeGenPrepare, where it takes
 * min(a - floor(a), 0x1.fffffep-1) for this instruction). An infinity gives NaN.
 */
export function fract32(m: FloatMode, a: number): number {
  a = input32(m, a);
  if (isNan32(a)) return quiet32(a);
  const value = f32Value(a);
  const bits = result32(m, addInMode(value, -Math.floor(value), m.round32));
  return isNan32(bits) || bits < BELOW_ONE ? bits : BELOW_ONE;
}

/** a * 2^exponent with one rounding (V_LDEXP_F32); exponent is an int32. */
export function ldexp32(m: FloatMode, a: number, exponent: number): number {
  a = input32(m, a);
  if (isNan32(a)) return quiet32(a);
  // 2^-400 and 2^400 already give zero and infinity for every f32 number, and are exact in f64.
  return result32(m, f32Value(a) * 2 ** Math.max(-400, Math.min(400, exponent)));
}

/** Exponent of a as a number in 0.5..1 times a power of two; 0 for zero, infinity and NaN (V_FREXP_EXP_I32_F32). */
export function frexpExponent32(m: FloatMode, a: number): number {
  a = input32(m, a);
  const size = a & 0x7fffffff;
  if (size === 0 || size >= 0x7f800000) return 0;
  if (size >= 0x800000) return (size >>> 23) - 126;
  // A denormal has its highest set bit at 31 - clz, which stands for 2^(31 - clz - 149).
  return 32 - Math.clz32(size) - 149;
}

/** a as a number in 0.5..1 (of its sign); zero, infinity and NaN stay (V_FREXP_MANT_F32). */
export function frexpMantissa32(m: FloatMode, a: number): number {
  a = input32(m, a);
  const size = a & 0x7fffffff;
  if (isNan32(a)) return quiet32(a);
  if (size === 0 || size === 0x7f800000) return a;
  return f32Bits(f32Value(a) * 2 ** -frexpExponent32(m, a));
}

/** To 0..1; a NaN becomes 0 with DX10_CLAMP and stays without. -0 becomes +0. */
export function clamp32(m: FloatMode, bits: number): number {
  if (isNan32(bits)) return m.dx10Clamp ? 0 : bits;
  if (bits < 0) return 0;
  return bits > 0x3f800000 ? 0x3f800000 : bits;
}

/**
 * The output modifier (1 times 2, 2 times 4, 3 divided by 2). It acts only where MODE flushes f32 results and IEEE mode is off (AMD RDNA2 ISA,
 * section 6.2.3 "Output modifiers"). A zero becomes +0; what halving makes denormal, before any rounding, becomes a zero of its sign (measured by AMD on
 * gfx1010 and gfx1030: ROCm/rocm-systems, rocjitsu, output_modifier.h).
 */
export function modify32(m: FloatMode, bits: number, omod: number): number {
  if (omod === 0 || !m.flushOut32 || m.ieee || isNan32(bits)) return bits;
  const size = bits & 0x7fffffff;
  if (size < 0x800000) return 0;
  if (omod === 3 && size < 0x1000000) return bits & 0x80000000;
  return result32(m, f32Value(bits) * OMOD_FACTOR[omod]);
}

/** Factors of the output modifiers. */
export const OMOD_FACTOR = [1, 2, 4, 0.5];

/** v_mullit_f32: a * b, but the largest negative number where b is that or -infinity or NaN, or c is not above zero (AMD RDNA2 ISA, V_MULLIT_F32). */
export function mullit32(m: FloatMode, a: number, b: number, c: number): number {
  b = input32(m, b);
  c = input32(m, c);
  const lowest = 0xff7fffff | 0;
  if (isNan32(b) || isNan32(c) || b === lowest || b === (0xff800000 | 0) || f32Value(c) <= 0) return lowest;
  return mul32(m, a, b);
}
