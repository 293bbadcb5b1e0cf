/** Conversions between number types (AMD RDNA2 ISA, sections 12.8 and 12.10): out of range is clamped, NaN gives 0. */
import { DEFAULT_NAN32, f16Value, f32Value, f64Bits, f64Value, isNan32, isNan64, quiet32 } from "./bits.ts";
import { input16, result16 } from "./f16.ts";
import { input32, output32, result32 } from "./f32.ts";
import { input64 } from "./f64.ts";
import { type FloatMode, Round } from "./mode.ts";
import { roundToEven, roundToF32 } from "./round.ts";

/** Clamps a whole number (or infinity, or NaN: 0) to low..high; high may be above 2^31, the result is its int32 pattern. */
function clampWhole(value: number, low: number, high: number): number {
  if (value !== value) return 0;
  return (value < low ? low : value > high ? high : value) | 0;
}

/** A number cut off to an int32. */
function toI32(value: number): number {
  return clampWhole(Math.trunc(value), -0x8000_0000, 0x7fff_ffff);
}

/** A number cut off to a uint32 (its int32 pattern). */
function toU32(value: number): number {
  return clampWhole(Math.trunc(value), 0, 0xffff_ffff);
}

/** A number cut off to an int16, in the low half. */
function toI16(value: number): number {
  return clampWhole(Math.trunc(value), -0x8000, 0x7fff) & 0xffff;
}

/** A number cut off to a uint16. */
function toU16(value: number): number {
  return clampWhole(Math.trunc(value), 0, 0xffff);
}

/** V_CVT_I32_F32. */
export function cvtI32F32(m: FloatMode, a: number): number {
  return toI32(f32Value(input32(m, a)));
}

/** V_CVT_U32_F32. */
export function cvtU32F32(m: FloatMode, a: number): number {
  return toU32(f32Value(input32(m, a)));
}

/** V_CVT_RPI_I32_F32: floor(a + 0.5), exactly (AMD's emulator: ROCm/rocm-systems, rocjitsu, conversion.h). */
export function cvtRpiI32F32(m: FloatMode, a: number): number {
  return toI32(Math.floor(f32Value(input32(m, a)) + 0.5));
}

/** V_CVT_FLR_I32_F32: floor(a). */
export function cvtFlrI32F32(m: FloatMode, a: number): number {
  return toI32(Math.floor(f32Value(input32(m, a))));
}

/** V_CVT_F32_I32. */
export function cvtF32I32(m: FloatMode, a: number): number {
  return roundToF32(a | 0, m.round32);
}

/** V_CVT_F32_U32. */
export function cvtF32U32(m: FloatMode, a: number): number {
  return roundToF32(a >>> 0, m.round32);
}

/** V_CVT_OFF_F32_I4: a signed 4-bit number in sixteenths. */
export function cvtOffF32I4(_m: FloatMode, a: number): number {
  return roundToF32((a << 28 >> 28) / 16, Round.NearestEven);
}

/** V_CVT_F64_F32, exact. */
export function cvtF64F32(m: FloatMode, a: number): bigint {
  a = input32(m, a);
  if (!isNan32(a)) return f64Bits(f32Value(a));
  const bits = BigInt(quiet32(a) >>> 0);
  return (bits >> 31n) << 63n | 0x7ff0_0000_0000_0000n | (bits & 0x7f_ffffn) << 29n;
}

/** V_CVT_F32_F64, in the f32 rounding mode. */
export function cvtF32F64(m: FloatMode, a: bigint): number {
  a = input64(m, a);
  if (!isNan64(a)) return output32(m, roundToF32(f64Value(a), m.round32));
  const payload = Number(a >> 29n & 0x7f_ffffn);
  return Number(a >> 63n) << 31 | DEFAULT_NAN32 | payload;
}

/** V_CVT_I32_F64. */
export function cvtI32F64(m: FloatMode, a: bigint): number {
  return toI32(f64Value(input64(m, a)));
}

/** V_CVT_U32_F64. */
export function cvtU32F64(m: FloatMode, a: bigint): number {
  return toU32(f64Value(input64(m, a)));
}

/** V_CVT_I16_F16. */
export function cvtI16F16(m: FloatMode, a: number): number {
  return toI16(f16Value(input16(m, a)));
}

/** V_CVT_U16_F16. */
export function cvtU16F16(m: FloatMode, a: number): number {
  return toU16(f16Value(input16(m, a)));
}

/** V_CVT_F16_I16. */
export function cvtF16I16(m: FloatMode, a: number): number {
  return result16(m, a << 16 >> 16);
}

/** V_CVT_F16_U16. */
export function cvtF16U16(m: FloatMode, a: number): number {
  return result16(m, a & 0xffff);
}

/** A number in -1..1 as an int16, nearest even, in the low half; NaN gives 0. */
function toSnorm16(value: number): number {
  if (value !== value) return 0;
  return roundToEven(Math.max(-1, Math.min(1, value)) * 0x7fff) & 0xffff;
}

/** A number in 0..1 as a uint16, nearest even; NaN gives 0. */
function toUnorm16(value: number): number {
  if (value !== value) return 0;
  return roundToEven(Math.max(0, Math.min(1, value)) * 0xffff);
}

/** V_CVT_PKNORM_I16_F32 for one half. */
export function cvtNormI16F32(m: FloatMode, a: number): number {
  return toSnorm16(f32Value(input32(m, a)));
}

/** V_CVT_PKNORM_U16_F32 for one half. */
export function cvtNormU16F32(m: FloatMode, a: number): number {
  return toUnorm16(f32Value(input32(m, a)));
}

/** V_CVT_NORM_I16_F16. */
export function cvtNormI16F16(m: FloatMode, a: number): number {
  return toSnorm16(f16Value(input16(m, a)));
}

/** V_CVT_NORM_U16_F16. */
export function cvtNormU16F16(m: FloatMode, a: number): number {
  return toUnorm16(f16Value(input16(m, a)));
}

const TO_WHOLE = [roundToEven, Math.ceil, Math.floor, Math.trunc];

/** An f32 number as a byte 0..255, rounded as MODE says (V_CVT_PK_U8_F32; measured by AMD on gfx1201: ROCm/rocm-systems, rocjitsu). */
export function cvtU8F32(m: FloatMode, a: number): number {
  return clampWhole(TO_WHOLE[m.round32](f32Value(input32(m, a))), 0, 255);
}

/** V_CVT_F32_UBYTE0..3: byte `index` of the source. */
export function cvtF32Ubyte(m: FloatMode, a: number, index: number): number {
  return result32(m, a >>> index * 8 & 0xff);
}
