/** F64 values of the lift, with constants folded where everything is known. */
import { Op, Type } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import { refuse } from "../refusal.ts";

const view = new DataView(new ArrayBuffer(8));

/** An F64 that is known before the program runs, or a value of it. */
export type Double = { readonly known: number } | { readonly id: number };

/** Refuses a device without f64. */
export function requireDouble(l: Lifter, what: string): void {
  if (!l.request.device.float64) refuse(`${what} needs f64, which this device does not have`);
}

/** The F64 constant. */
export function f64(l: Lifter, value: number): number {
  view.setFloat64(0, value, true);
  return l.ir.append(Op.Const, Type.F64, view.getInt32(0, true), view.getInt32(4, true));
}

/** The value's id. */
export function idOf(l: Lifter, value: Double): number {
  return "id" in value ? value.id : f64(l, value.known);
}

/** The larger one of a value and a number. */
export function atLeast(l: Lifter, value: Double, number: number): Double {
  if ("known" in value) return { known: Math.max(value.known, number) };
  return { id: l.ir.emit(Op.FMax64, value.id, f64(l, number)) };
}

/** The smaller one of a value and a number. */
export function atMost(l: Lifter, value: Double, number: number): Double {
  if ("known" in value) return { known: Math.min(value.known, number) };
  return { id: l.ir.emit(Op.FMin64, value.id, f64(l, number)) };
}

/** value + number. */
export function plus(l: Lifter, value: Double, number: number): Double {
  if ("known" in value) return { known: value.known + number };
  return number === 0 ? value : { id: l.ir.emit(Op.FAdd64, value.id, f64(l, number)) };
}

/** Whether value > 0. */
export function isPositive(l: Lifter, value: Double): number {
  if ("known" in value) return value.known > 0 ? l.true : l.false;
  return l.ir.emit(Op.FOrdLt, f64(l, 0), value.id);
}

/** Bool: a NaN. */
export function isNan64(l: Lifter, id: number): number {
  return l.ir.emit(Op.FUnordNe, id, id);
}

/** f32 bits as F64. */
export function widen(l: Lifter, bits: number): number {
  return l.ir.emit(Op.CvtF2D, l.asF(bits));
}

/** log2 of a positive F64 that is normal: exponent, and a series for the mantissa whose error is below 2^-46. */
export function log2(l: Lifter, value: number): number {
  const { ir } = l;
  const bits = ir.emit(Op.BitcastU64, value);
  const low = ir.emit(Op.Lo64, bits), high = ir.emit(Op.Hi64, bits);
  const exponent = ir.emit(Op.CvtS2D, l.addConstant(ir.emit(Op.UBfe, high, l.u(20), l.u(11)), -1023));
  const fraction = ir.emit(Op.Or, ir.emit(Op.And, high, l.u(0xfffff)), l.u(0x3ff00000));
  const mantissa = ir.emit(Op.BitcastF64, l.pack([low, fraction]));
  // log2(m) = 2 / ln(2) * artanh((m - 1) / (m + 1))
  const t = ir.emit(
    Op.FMul64,
    ir.emit(Op.FAdd64, mantissa, f64(l, -1)),
    ir.emit(Op.FRcp64, ir.emit(Op.FAdd64, mantissa, f64(l, 1))),
  );
  const square = ir.emit(Op.FMul64, t, t);
  let sum = f64(l, 1 / SERIES);
  for (let n = SERIES - 2; n > 0; n -= 2) sum = ir.emit(Op.FAdd64, ir.emit(Op.FMul64, sum, square), f64(l, 1 / n));
  const tail = ir.emit(Op.FMul64, ir.emit(Op.FMul64, sum, t), f64(l, 2 / Math.LN2));
  return ir.emit(Op.FAdd64, exponent, tail);
}

/** Last power of the series: t is at most 1 / 3. */
const SERIES = 29;
