/** The inline float constants, operand codes 240 to 248 (AMD RDNA2 ISA, section 3 "Scalar and vector operand codes"). */

/** First operand code of the inline floats, and the last. */
export const FIRST_FLOAT = 240;
export const LAST_FLOAT = 248;

/** 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi) as f32. */
export const INLINE_F32: readonly number[] = [
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
export const INLINE_F16: readonly number[] = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];
/** The same as f64. */
export const INLINE_F64: readonly bigint[] = [
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
