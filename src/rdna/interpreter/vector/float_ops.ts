/** Vector float arithmetic: f32, f16, f64 (AMD RDNA2 ISA, sections 12.7, 12.8, 12.10). */
import { add16, ceil16, floor16, fma16, fract16, frexpExponent16, frexpMantissa16, ldexp16 } from "../float/f16.ts";
import { max16, max3x16, med3x16, min16, min3x16, mul16, rndne16, sub16, trunc16 } from "../float/f16.ts";
import { add32, ceil32, floor32, fma32, fmaLegacy32, fract32, frexpExponent32, frexpMantissa32 } from "../float/f32.ts";
import { ldexp32, mad32, madLegacy32, max32, max3x32, med3x32, min32, min3x32 } from "../float/f32.ts";
import { input32, mul32, mulLegacy32, mullit32, output32, rndne32, sub32, trunc32 } from "../float/f32.ts";
import { add64, ceil64, floor64, fma64, fract64, frexpExponent64, frexpMantissa64, ldexp64 } from "../float/f64.ts";
import { max64, min64, mul64, rndne64, trunc64 } from "../float/f64.ts";
import { divFixup16, divFixup32, divFixup64, trigPreop64 } from "../float/division.ts";
import { cosine, exponential, inverseRoot, logarithm, reciprocal, root, sine } from "../float/special.ts";
import { type Special, special16, special32, special64 } from "../float/special.ts";
import { f32Value } from "../float/bits.ts";
import type { FloatMode } from "../float/mode.ts";
import type { Define } from "../handler.ts";
import { defineVop, type Kernel } from "./framework.ts";

/** Kernels by opcode. */
const PLAIN: Readonly<Record<string, Kernel>> = {
  v_add_f32: add32,
  v_sub_f32: sub32,
  v_subrev_f32: (m, a, b) => sub32(m, b, a),
  v_mul_f32: mul32,
  v_mul_legacy_f32: mulLegacy32,
  v_fma_f32: fma32,
  v_fmamk_f32: fma32,
  v_fmaak_f32: fma32,
  v_fma_legacy_f32: fmaLegacy32,
  v_mad_f32: mad32,
  v_madmk_f32: mad32,
  v_madak_f32: mad32,
  v_mad_legacy_f32: madLegacy32,
  v_min_f32: min32,
  v_max_f32: max32,
  v_min3_f32: min3x32,
  v_max3_f32: max3x32,
  v_med3_f32: med3x32,
  v_mullit_f32: mullit32,
  v_trunc_f32: trunc32,
  v_ceil_f32: ceil32,
  v_floor_f32: floor32,
  v_rndne_f32: rndne32,
  v_fract_f32: fract32,
  v_ldexp_f32: ldexp32,
  v_frexp_exp_i32_f32: frexpExponent32,
  v_frexp_mant_f32: frexpMantissa32,
  v_div_fixup_f32: divFixup32,

  v_add_f16: add16,
  v_sub_f16: sub16,
  v_subrev_f16: (m, a, b) => sub16(m, b, a),
  v_mul_f16: mul16,
  v_fma_f16: fma16,
  v_fmamk_f16: fma16,
  v_fmaak_f16: fma16,
  v_min_f16: min16,
  v_max_f16: max16,
  v_min3_f16: min3x16,
  v_max3_f16: max3x16,
  v_med3_f16: med3x16,
  v_trunc_f16: trunc16,
  v_ceil_f16: ceil16,
  v_floor_f16: floor16,
  v_rndne_f16: rndne16,
  v_fract_f16: fract16,
  v_ldexp_f16: (m, a, b: number) => ldexp16(m, a, b << 16 >> 16),
  v_frexp_exp_i16_f16: frexpExponent16,
  v_frexp_mant_f16: frexpMantissa16,
  v_div_fixup_f16: divFixup16,

  v_add_f64: add64,
  v_mul_f64: mul64,
  v_fma_f64: (m, a, b, c) => fma64(m, a, b, c),
  v_min_f64: min64,
  v_max_f64: max64,
  v_trunc_f64: trunc64,
  v_ceil_f64: ceil64,
  v_floor_f64: floor64,
  v_rndne_f64: rndne64,
  v_fract_f64: fract64,
  v_ldexp_f64: ldexp64,
  v_frexp_exp_i32_f64: frexpExponent64,
  v_frexp_mant_f64: frexpMantissa64,
  v_div_fixup_f64: divFixup64,
  v_trig_preop_f64: trigPreop64,

  v_cubeid_f32: (m, a, b, c) => cube(m, a, b, c, 0),
  v_cubesc_f32: (m, a, b, c) => cube(m, a, b, c, 1),
  v_cubetc_f32: (m, a, b, c) => cube(m, a, b, c, 2),
  v_cubema_f32: (m, a, b, c) => cube(m, a, b, c, 3),
};

/** Kernels that take the destination as the last source. */
const ACCUMULATING: Readonly<Record<string, Kernel>> = {
  v_fmac_f32: fma32,
  v_fmac_legacy_f32: fmaLegacy32,
  v_mac_f32: mad32,
  v_mac_legacy_f32: madLegacy32,
  v_fmac_f16: fma16,
};

/** Transcendental functions by the middle of the opcode's name. */
const SPECIALS: Readonly<Record<string, Special>> = {
  rcp: reciprocal,
  rsq: inverseRoot,
  sqrt: root,
  exp: exponential,
  log: logarithm,
  sin: sine,
  cos: cosine,
};

/** Adds the handlers of this class. */
export function defineFloatOperations(define: Define): void {
  for (const [name, kernel] of Object.entries(PLAIN)) defineVop(define, name, kernel);
  for (const [name, kernel] of Object.entries(ACCUMULATING)) defineVop(define, name, kernel, { accumulate: true });
  for (const [name, compute] of Object.entries(SPECIALS)) {
    defineVop(define, `v_${name}_f32`, (m, a) => special32(m, a, compute));
    defineVop(define, `v_${name}_f16`, (m, a) => special16(m, a, compute));
    if (["rcp", "rsq", "sqrt"].includes(name)) {
      defineVop(define, `v_${name}_f64`, (m, a) => special64(m, a, compute));
    }
  }
  // It raises other exceptions than v_rcp_f32, which nobody can see without a trap handler.
  defineVop(define, "v_rcp_iflag_f32", (m, a) => special32(m, a, reciprocal));
}

/**
 * Cube map coordinates (AMD RDNA2 ISA, V_CUBEID_F32 and its followers): the face of the largest component, its two coordinates, twice the component.
 *
 * @param part 0 face number, 1 s, 2 t, 3 twice the major axis
 */
function cube(m: FloatMode, x: number, y: number, z: number, part: number): number {
  x = input32(m, x);
  y = input32(m, y);
  z = input32(m, z);
  const ax = Math.abs(f32Value(x)), ay = Math.abs(f32Value(y)), az = Math.abs(f32Value(z));
  const minus = 0x80000000;
  const isNegative = (bits: number) => f32Value(bits) < 0;
  let face: number, s: number, t: number, major: number;
  if (az >= ax && az >= ay) {
    face = isNegative(z) ? 0x40a00000 : 0x40800000; // 5, 4
    s = isNegative(z) ? x ^ minus : x;
    t = y ^ minus;
    major = z;
  } else if (ay >= ax) {
    face = isNegative(y) ? 0x40400000 : 0x40000000; // 3, 2
    s = x;
    t = isNegative(y) ? z ^ minus : z;
    major = y;
  } else {
    face = isNegative(x) ? 0x3f800000 : 0; // 1, 0
    s = isNegative(x) ? z : z ^ minus;
    t = y ^ minus;
    major = x;
  }
  if (part === 3) return add32(m, major, major);
  return part === 0 ? face : output32(m, part === 1 ? s : t);
}
