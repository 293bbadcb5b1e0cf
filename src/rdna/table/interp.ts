import type { Row } from "./row.ts";

/**
 * VINTRP: parameter interpolation (AMD RDNA2 ISA, section 12.17). The VOP3 form has the number 0x200 + this one.
 */
export const VINTRP: readonly Row[] = [
  [0x00, "v_interp_p1_f32", "f32 = vf32", "rm0 interp"],
  [0x01, "v_interp_p2_f32", "f32 = vf32", "rm0 interp rdst"],
  [0x02, "v_interp_mov_f32", "f32 =", "rm0 interp"],
];

/** EXP: exports (AMD RDNA2 ISA, section 12.18). */
export const EXP: readonly Row[] = [[0x00, "exp", "= b32 b32 b32 b32", "export"]];
