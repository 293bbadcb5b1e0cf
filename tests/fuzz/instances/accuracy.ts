/** How exact each instruction's result must be. */
import type { Opcode } from "../../../src/rdna/table.ts";
import type { DataType } from "../../../src/rdna/types.ts";
import { exact, float32, float64, halfHigh, halfLow, halves, near32, nearHalf, type Tolerance } from "../compare.ts";
import type { BatchSettings, Compare } from "../frame.ts";

/**
 * f32 functions that are no single rounding of the exact result. The interpreter rounds the exact result; devices have the bounds of the Vulkan
 * specification ("Precision of GLSL.std.450 instructions"): 3 + 2|x| ULP for exp2, 3 ULP or 2^-21 for log2, 2 ULP for the inverse root, an absolute bound for
 * sine and cosine. What is given here is tighter where llvmpipe is (measured over 10^5 operands: exp2 3 ULP; sine and cosine 2.1e-7). Reciprocal and root
 * are compared bit for bit.
 */
const F32: Readonly<Record<string, Tolerance>> = {
  v_exp_f32: { ulps: 4 },
  v_log_f32: { ulps: 3, absolute: 2 ** -21 },
  v_rsq_f32: { ulps: 2 },
  v_sin_f32: { ulps: 2, absolute: 2 ** -21 },
  v_cos_f32: { ulps: 2, absolute: 2 ** -21 },
};

/** f16 functions: computed in f32 and rounded, so the two roundings may differ by one. */
const F16: Readonly<Record<string, Tolerance>> = {
  v_exp_f16: { ulps: 1 },
  v_log_f16: { ulps: 1 },
  v_rsq_f16: { ulps: 1 },
  v_sin_f16: { ulps: 1, absolute: 2 ** -21 },
  v_cos_f16: { ulps: 1, absolute: 2 ** -21 },
};

/** Whether results are within a tolerance only. */
export function isApproximate({ name }: Opcode): boolean {
  return F32[name] !== undefined || F16[name] !== undefined;
}

/** The comparison for an opcode's vector result. @param half which half of the register a 16-bit result is in */
export function compareOf(opcode: Opcode, type: DataType, half: number, { floatMode }: BatchSettings): Compare {
  const { name } = opcode;
  if (type.kind !== "f") return exact;
  if (type.bits === 64) return float64;
  if (type.bits === 16) {
    if (type.count === 2) return halves;
    if (F16[name] !== undefined) return nearHalf(F16[name]);
    return half === 1 ? halfHigh : halfLow;
  }
  const tolerance = F32[name];
  if (tolerance === undefined) return float32;
  return near32(tolerance, name === "v_log_f32" && (floatMode & 0x10) !== 0);
}
