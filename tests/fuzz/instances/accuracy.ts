/** How exact each instruction's result must be. */
import type { Opcode } from "../../../src/rdna/table.ts";
import type { DataType } from "../../../src/rdna/types.ts";
import {
  exact,
  float32,
  float64,
  halfHigh,
  halfLow,
  halves,
  near32,
  near64,
  nearHalf,
  type Tolerance,
} from "../compare.ts";
import type { BatchSettings, Compare } from "../frame.ts";

/** f32 functions that are no single rounding of the exact result. */
const F32: Readonly<Record<string, Tolerance>> = {};

/** f16 functions. */
const F16: Readonly<Record<string, Tolerance>> = {};

/** f64 functions: relative error. */
const F64: Readonly<Record<string, number>> = {};

/** The comparison for an opcode's vector result. @param half which half of the register a 16-bit result is in */
export function compareOf(opcode: Opcode, type: DataType, half: number, { floatMode }: BatchSettings): Compare {
  const { name } = opcode;
  if (type.kind !== "f") return exact;
  if (type.bits === 64) return F64[name] === undefined ? float64 : near64(F64[name]);
  if (type.bits === 16) {
    if (type.count === 2) return halves;
    if (F16[name] !== undefined) return nearHalf(F16[name]);
    return half === 1 ? halfHigh : halfLow;
  }
  const tolerance = F32[name];
  if (tolerance === undefined) return float32;
  return near32({ ...tolerance, flushed: (floatMode & 0x20) === 0 });
}
