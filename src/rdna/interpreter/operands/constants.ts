/** Inline constants (AMD RDNA2 ISA, section 3 "Scalar and vector operand codes": 128..208 integers, 240..248 floats). */

/** First operand code of the inline floats, and the last. */
export const FIRST_FLOAT = 240;
export const LAST_FLOAT = 248;

/** 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi) as f32. */
const FLOATS32 = [
  0x3f000000,
  0xbf000000,
  0x3f800000,
  0xbf800000,
  0x40000000,
  0xc0000000,
  0x40800000,
  0xc0800000,
  0x3e22f983,
];
/** The same as f16. */
const FLOATS16 = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];
/** The same as f64. */
const FLOATS64 = [
  0x3fe0_0000_0000_0000n,
  0xbfe0_0000_0000_0000n,
  0x3ff0_0000_0000_0000n,
  0xbff0_0000_0000_0000n,
  0x4000_0000_0000_0000n,
  0xc000_0000_0000_0000n,
  0x4010_0000_0000_0000n,
  0xc010_0000_0000_0000n,
  0x3fc4_5f30_6dc9_c882n,
];

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
  return FLOATS32[code - FIRST_FLOAT] | 0;
}

/** Bits of an inline float as f16. */
export function inlineFloat16(code: number): number {
  return FLOATS16[code - FIRST_FLOAT];
}

/** Bits of an inline float as f64. */
export function inlineFloat64(code: number): bigint {
  return FLOATS64[code - FIRST_FLOAT];
}
