/**
 * The sRGB transfer function (IEC 61966-2-1) in f64. Powers are found by Newton's method from an f32 guess, so that the result does not depend on how the
 * device computes powers, and is the nearest f32 or 8-bit number.
 */
import { Op, Type } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import { refuse } from "../refusal.ts";
import { floatBits } from "./bits.ts";

const view = new DataView(new ArrayBuffer(8));

function f64(l: Lifter, value: number): number {
  view.setFloat64(0, value, true);
  return l.ir.append(Op.Const, Type.F64, view.getInt32(0, true), view.getInt32(4, true));
}

/** value^count. */
function power(l: Lifter, value: number, count: number): number {
  let result = value;
  for (let k = 1; k < count; k++) result = l.ir.emit(Op.FMul64, result, value);
  return result;
}

/** value^(numerator / denominator) of an F64 in 0.0001 to 1. @param guess the same as F32, with a relative error below 2^-10 */
function root(l: Lifter, value: number, numerator: number, denominator: number, guess: number): number {
  const { ir } = l;
  const goal = power(l, value, numerator);
  let y = ir.emit(Op.CvtF2D, guess);
  for (let step = 0; step < 3; step++) {
    // y + y / n * (goal / y^n - 1)
    const quotient = ir.emit(Op.FMul64, goal, ir.emit(Op.FRcp64, power(l, y, denominator)));
    const part = ir.emit(Op.FMul64, y, f64(l, 1 / denominator));
    y = ir.emit(Op.FAdd64, y, ir.emit(Op.FMul64, part, ir.emit(Op.FAdd64, quotient, f64(l, -1))));
  }
  return y;
}

function guessOf(l: Lifter, value: number, exponent: number): number {
  const { ir } = l;
  return ir.emit(Op.FExp2, ir.emit(Op.FMul, ir.emit(Op.FLog2, value), ir.constF(floatBits(exponent))));
}

function requireDouble(l: Lifter): void {
  if (!l.request.device.float64) refuse("sRGB needs f64, which this device does not have");
}

/** 8 bits to linear, F32: ((v / 255 + 0.055) / 1.055)^2.4, and v / 255 / 12.92 for small ones. */
export function decodeSrgb(l: Lifter, field: number): number {
  requireDouble(l);
  const { ir } = l;
  const value = ir.emit(Op.CvtU2D, field);
  const base = ir.emit(
    Op.FAdd64,
    ir.emit(Op.FMul64, value, f64(l, 1 / 255 / 1.055)),
    f64(l, 0.055 / 1.055),
  );
  const curve = ir.emit(
    Op.FMul64,
    ir.emit(Op.FMul64, base, base),
    root(l, base, 2, 5, guessOf(l, ir.emit(Op.CvtD2F, base), 0.4)),
  );
  const line = ir.emit(Op.FMul64, value, f64(l, 1 / 255 / 12.92));
  // 0.04045 * 255 is between 10 and 11.
  const isLine = ir.emit(Op.ULt, field, l.u(11));
  return ir.emit(Op.CvtD2F, ir.append(Op.Select, Type.F64, isLine, line, curve));
}

/** Linear, an F32 in 0 to 1, to 8 bits: 1.055 * x^(1 / 2.4) - 0.055, and 12.92 * x for small ones, in 255ths. */
export function encodeSrgb(l: Lifter, value: number): number {
  requireDouble(l);
  const { ir } = l;
  const x = ir.emit(Op.CvtF2D, value);
  // Small numbers are replaced, so that their root is none of 0.
  const isLine = ir.emit(Op.FOrdLe, value, ir.constF(floatBits(0.0031308)));
  const safe = l.select(isLine, ir.constF(floatBits(1)), value);
  const curve = ir.emit(
    Op.FAdd64,
    ir.emit(Op.FMul64, root(l, ir.emit(Op.CvtF2D, safe), 5, 12, guessOf(l, safe, 5 / 12)), f64(l, 1.055 * 255)),
    f64(l, -0.055 * 255),
  );
  const line = ir.emit(Op.FMul64, x, f64(l, 12.92 * 255));
  const scaled = ir.append(Op.Select, Type.F64, isLine, line, curve);
  return ir.emit(Op.UMin, ir.emit(Op.CvtD2U, ir.emit(Op.FRndne64, scaled)), l.u(255));
}
