/** Inline constants (AMD RDNA2 ISA, section 3 "Scalar and vector operand codes": 128..208 integers, 240..248 floats). */

import { FIRST_FLOAT, INLINE_F16, INLINE_F32, INLINE_F64, LAST_FLOAT } from "../../inline_constants.ts";

/** Whether an operand code is an inline float. */
export function isInlineFloat(code: number): boolean {
  return code >= FIRST_FLOAT && code <= LAST_FLOAT;
}

/** Whether an operand code is an inline integer. */
export function isInlineInteger(code: number): boolean {
  return code >= 128 && code <= 208;
}

/** Value of an inline integer, -16..64. */
export function inlineInteger(code: number): number {
  return code <= 192 ? code - 128 : 192 - code;
}

/** Bits of an inline float as f32. */
export function inlineFloat32(code: number): number {
  return INLINE_F32[code - FIRST_FLOAT] | 0;
}

/** Bits of an inline float as f16. */
export function inlineFloat16(code: number): number {
  return INLINE_F16[code - FIRST_FLOAT];
}

/** Bits of an inline float as f64. */
export function inlineFloat64(code: number): bigint {
  return INLINE_F64[code - FIRST_FLOAT];
}
