/** Vector conversions (AMD RDNA2 ISA, sections 12.7, 12.8, 12.10). */
import { f64Bits, isNan16 } from "../float/bits.ts";
import {
  cvtF16I16,
  cvtF16U16,
  cvtF32F64,
  cvtF32I32,
  cvtF32U32,
  cvtF32Ubyte,
  cvtF64F32,
  cvtFlrI32F32,
  cvtI16F16,
  cvtI32F32,
  cvtI32F64,
  cvtNormI16F16,
  cvtNormI16F32,
  cvtNormU16F16,
  cvtNormU16F32,
  cvtOffF32I4,
  cvtRpiI32F32,
  cvtU16F16,
  cvtU32F32,
  cvtU32F64,
  cvtU8F32,
} from "../float/convert.ts";
import { cvtF16F32, cvtF16F32In, cvtF32F16, input16, output16 } from "../float/f16.ts";
import { type FloatMode, Round } from "../float/mode.ts";
import type { Define } from "../handler.ts";
import { defineVop, type Kernel } from "./framework.ts";

function pack(low: number, high: number): number {
  return low & 0xffff | high << 16;
}

function limit(value: number, low: number, high: number): number {
  return value < low ? low : value > high ? high : value;
}

const KERNELS: Readonly<Record<string, Kernel>> = {
  v_cvt_i32_f64: cvtI32F64,
  v_cvt_u32_f64: cvtU32F64,
  v_cvt_f64_i32: (_m, a: number) => f64Bits(a | 0),
  v_cvt_f64_u32: (_m, a: number) => f64Bits(a >>> 0),
  v_cvt_f32_i32: cvtF32I32,
  v_cvt_f32_u32: cvtF32U32,
  v_cvt_u32_f32: cvtU32F32,
  v_cvt_i32_f32: cvtI32F32,
  v_cvt_f16_f32: cvtF16F32,
  v_cvt_f32_f16: cvtF32F16,
  v_cvt_rpi_i32_f32: cvtRpiI32F32,
  v_cvt_flr_i32_f32: cvtFlrI32F32,
  v_cvt_off_f32_i4: cvtOffF32I4,
  v_cvt_f32_f64: cvtF32F64,
  v_cvt_f64_f32: cvtF64F32,
  v_cvt_f32_ubyte0: (m, a) => cvtF32Ubyte(m, a, 0),
  v_cvt_f32_ubyte1: (m, a) => cvtF32Ubyte(m, a, 1),
  v_cvt_f32_ubyte2: (m, a) => cvtF32Ubyte(m, a, 2),
  v_cvt_f32_ubyte3: (m, a) => cvtF32Ubyte(m, a, 3),
  v_cvt_f16_u16: cvtF16U16,
  v_cvt_f16_i16: cvtF16I16,
  v_cvt_u16_f16: cvtU16F16,
  v_cvt_i16_f16: cvtI16F16,
  v_cvt_norm_i16_f16: cvtNormI16F16,
  v_cvt_norm_u16_f16: cvtNormU16F16,
  v_cvt_pkrtz_f16_f32: (m, a, b) => pack(cvtF16F32In(m, a, Round.Zero), cvtF16F32In(m, b, Round.Zero)),
  v_cvt_pknorm_i16_f32: (m, a, b) => pack(cvtNormI16F32(m, a), cvtNormI16F32(m, b)),
  v_cvt_pknorm_u16_f32: (m, a, b) => pack(cvtNormU16F32(m, a), cvtNormU16F32(m, b)),
  v_cvt_pknorm_i16_f16: (m, a, b) => pack(cvtNormI16F16(m, a), cvtNormI16F16(m, b)),
  v_cvt_pknorm_u16_f16: (m, a, b) => pack(cvtNormU16F16(m, a), cvtNormU16F16(m, b)),
  v_cvt_pk_u16_u32: (_m, a: number, b: number) => pack(limit(a >>> 0, 0, 0xffff), limit(b >>> 0, 0, 0xffff)),
  v_cvt_pk_i16_i32: (_m, a: number, b: number) => pack(limit(a, -0x8000, 0x7fff), limit(b, -0x8000, 0x7fff)),
  v_cvt_pk_u8_f32: (m: FloatMode, a: number, b: number, c: number) => {
    const shift = (b & 3) * 8;
    return c & ~(0xff << shift) | cvtU8F32(m, a) << shift;
  },
  // Flushes denormals as MODE says (Mesa: ACO packs with it only where MODE keeps them); in IEEE mode NaNs become quiet (ROCm/rocm-systems, rocjitsu).
  v_pack_b32_f16: (m: FloatMode, a: number, b: number) => pack(packed16(m, a), packed16(m, b)),
  v_sat_pk_u8_i16: (_m, a: number) => limit(a << 16 >> 16, 0, 255) | limit(a >> 16, 0, 255) << 8,
};

function packed16(m: FloatMode, bits: number): number {
  const result = output16(m, input16(m, bits));
  return m.ieee && isNan16(result) ? result | 0x200 : result;
}

/** Adds the handlers of this class. */
export function defineConversions(define: Define): void {
  for (const [name, kernel] of Object.entries(KERNELS)) defineVop(define, name, kernel);
}
