import { Op } from "../ir/ops.ts";
import { Code } from "./codes.ts";
import type { Emitter, Handler, HandlerTable } from "./emitter.ts";
import { T } from "./module.ts";
import * as float from "./runtime/float.ts";
import { halfFunction, type HalfOperation, isNativeHalf } from "./runtime/half.ts";
import { oddSum } from "./runtime/odd.ts";
import { softFma } from "./runtime/soft_fma.ts";

/**
 * f16 operations, on halves of U32 values. Where the device computes f16 exactly (probed), one instruction on a pair of f16; else functions that go
 * through f32.
 */

/** An operand of an f16 instruction: a half that is zero must not be known to be (see Inputs.writeZeros). */
function operand(e: Emitter, value: number): number {
  return hasZeroHalf(e, value) ? hidden(e, value) : e.use(value);
}

/**
 * An operand of a function that goes through f32: no constant, also because Mesa's NIR makes a zero of the upper half when it folds UnpackHalf2x16
 * (nir_opcodes.py shifts it out of 16 bits).
 */
function unpacked(e: Emitter, value: number): number {
  return e.ir.op[value] === Op.Const || hasZeroHalf(e, value) ? hidden(e, value) : e.use(value);
}

/** The value, whose bits no driver knows. */
function hidden(e: Emitter, value: number): number {
  return e.body.op2(Code.BitwiseOr, T.U32, e.inputs.zeroBits(), e.use(value));
}

/** Whether a value is made from a constant half that is a zero of either sign. */
function hasZeroHalf({ ir }: Emitter, value: number): boolean {
  const isZero = (half: number, at: number) => ir.op[half] === Op.Const && (ir.a[half] >>> at & 0x7fff) === 0;
  if (ir.op[value] !== Op.BitInsert || ir.d[value] !== 16) return isZero(value, 0) || isZero(value, 16);
  return isZero(ir.b[value], 0) || isZero(ir.a[value], 16 - ir.c[value]);
}

function sumOrProduct(name: HalfOperation): Handler {
  return (e, i) => call(e, i, name, [e.ir.a[i], e.ir.b[i]]);
}

function call(e: Emitter, i: number, name: HalfOperation, values: readonly number[]): void {
  const native = isNativeHalf(e.request.device, name);
  const operands = values.map((value) => native ? operand(e, value) : unpacked(e, value));
  e.ids[i] = e.body.call(halfFunction(e.functions, name), T.U32, operands);
}

function fma(e: Emitter, i: number): void {
  const { ir } = e;
  call(e, i, "fma", [ir.a[i], ir.b[i], ir.c[i]]);
}

function fromHalf(e: Emitter, i: number): void {
  e.ids[i] = e.body.call(float.fromHalf(e.functions), T.F32, [e.use(e.ir.a[i])]);
}

function toHalf(e: Emitter, i: number): void {
  e.ids[i] = e.body.call(float.toHalf(e.functions, false), T.U32, [e.use(e.ir.a[i])]);
}

function bitInsert(e: Emitter, i: number): void {
  const { ir, body, module } = e;
  e.ids[i] = body.ops(Code.BitFieldInsert, T.U32, [
    e.use(ir.a[i]),
    e.use(ir.b[i]),
    module.u32(ir.c[i]),
    module.u32(ir.d[i]),
  ]);
}

/** Handlers of this file. */
export const HALF: HandlerTable = {
  HAdd: sumOrProduct("add"),
  HMul: sumOrProduct("multiply"),
  HFma: fma,
  CvtH2F: fromHalf,
  CvtF2H: toHalf,
  BitInsert: bitInsert,
  FAddOdd: (e, i) => {
    const { ir, body, module } = e;
    const a = e.use(ir.a[i]), b = e.use(ir.b[i]);
    if (e.guards && (e.mayBeDenormal(ir.a[i]) || e.mayBeDenormal(ir.b[i]))) {
      const one = module.constant(T.F32, 0x3f800000);
      e.ids[i] = body.call(softFma(e.functions, false, "odd"), T.F32, [a, one, b]);
    } else e.ids[i] = body.call(oddSum(e.functions), T.F32, [a, b]);
  },
};
