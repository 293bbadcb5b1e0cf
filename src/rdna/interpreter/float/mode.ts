/**
 * The MODE register as float operations see it (AMD RDNA2 ISA, section 3.5 "MODE": FP_ROUND 3:0, FP_DENORM 7:4, DX10_CLAMP 8, IEEE 9, FP16_OVFL 23).
 */
export class FloatMode {
  /** The register. */
  bits = 0;
  /** Rounding of f32 results: one of {@linkcode Round}. */
  round32 = 0;
  /** Rounding of f16 and f64 results. */
  round64 = 0;
  /** f32 denormal sources count as zeros. */
  flushIn32 = true;
  /** f32 denormal results become zeros. */
  flushOut32 = true;
  /** f16 and f64 denormal sources count as zeros. */
  flushIn64 = true;
  /** f16 and f64 denormal results become zeros. */
  flushOut64 = true;
  /** Clamping turns NaN into zero. */
  dx10Clamp = false;
  /** IEEE mode: signalling NaNs matter to minimum and maximum, output modifiers do nothing. */
  ieee = false;
  /** An f16 result that overflows becomes the largest finite number; true infinities stay. */
  fp16Overflow = false;

  constructor(bits = 0) {
    this.set(bits);
  }

  /** Writes the register. */
  set(bits: number): void {
    this.bits = bits >>> 0;
    this.round32 = bits & 3;
    this.round64 = bits >>> 2 & 3;
    this.flushIn32 = (bits & 0x10) === 0;
    this.flushOut32 = (bits & 0x20) === 0;
    this.flushIn64 = (bits & 0x40) === 0;
    this.flushOut64 = (bits & 0x80) === 0;
    this.dx10Clamp = (bits & 0x100) !== 0;
    this.ieee = (bits & 0x200) !== 0;
    this.fp16Overflow = (bits & 0x80_0000) !== 0;
  }
}

/** Rounding modes, as MODE.FP_ROUND numbers them. */
export const Round = { NearestEven: 0, Up: 1, Down: 2, Zero: 3 } as const;

/** The MODE register of a new wave, from COMPUTE_PGM_RSRC1. */
export function initialMode(floatMode: number, ieee: boolean, dx10Clamp: boolean, fp16Overflow = false): number {
  return floatMode & 0xff | (dx10Clamp ? 0x100 : 0) | (ieee ? 0x200 : 0) | (fp16Overflow ? 0x80_0000 : 0);
}
