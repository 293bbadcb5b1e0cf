import { Op } from "../ir/ops.ts";
import { Code, Glsl } from "./codes.ts";
import type { Emitter, Handler, HandlerTable } from "./emitter.ts";
import { T } from "./module.ts";
import * as float from "./runtime/float.ts";
import { halfFunction, type HalfOperation } from "./runtime/half.ts";
import { oddSum } from "./runtime/odd.ts";

/**
 * f16 operations, on halves of U32 values. Where the device computes f16 exactly (probed), one instruction on a pair of f16; else functions that go
 * through f32.
 */

/** Ids of the f16 pairs that values were cast from, by value. */
const PAIRS = new WeakMap<Emitter, Map<number, number>>();

/** A U32 as two f16. */
function asPair(e: Emitter, value: number): number {
  return PAIRS.get(e)?.get(value) ?? e.body.op1(Code.Bitcast, T.F16x2, operand(e, value));
}

function keepPair(e: Emitter, i: number, pair: number): void {
  e.ids[i] = e.body.op1(Code.Bitcast, T.U32, pair);
  let pairs = PAIRS.get(e);
  if (pairs === undefined) PAIRS.set(e, pairs = new Map());
  pairs.set(i, pair);
}

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

function sumOrProduct(opcode: number, name: HalfOperation): Handler {
  return (e, i) => {
    const { ir, body } = e;
    if (e.request.device.exactHalf && e.request.device.float16) {
      const pair = body.op2(opcode, T.F16x2, asPair(e, ir.a[i]), asPair(e, ir.b[i]));
      e.exact.push(pair);
      return keepPair(e, i, pair);
    }
    e.ids[i] = body.call(halfFunction(e.functions, name), T.U32, [
      unpacked(e, ir.a[i]),
      unpacked(e, ir.b[i]),
    ]);
  };
}

function fma(e: Emitter, i: number): void {
  const { ir, body, request: { device } } = e;
  const values = [ir.a[i], ir.b[i], ir.c[i]];
  if (device.fusesFma16 && device.exactHalf && device.float16) {
    return keepPair(e, i, body.glsl(Glsl.Fma, T.F16x2, values.map((value) => asPair(e, value))));
  }
  e.ids[i] = body.call(
    halfFunction(e.functions, "fma"),
    T.U32,
    values.map((value) => unpacked(e, value)),
  );
}

function fromHalf(e: Emitter, i: number): void {
  const { ir, body, request: { device } } = e;
  const bits = e.use(ir.a[i]);
  if (device.exactHalfPack) e.ids[i] = body.extract(T.F32, body.glsl1(Glsl.UnpackHalf2x16, T.F32x2, bits), 0);
  else e.ids[i] = body.call(float.fromHalf(e.functions), T.F32, [bits]);
}

function toHalf(e: Emitter, i: number): void {
  const { ir, body, module, request: { device } } = e;
  const value = e.use(ir.a[i]);
  if (device.exactHalfPack) {
    const pair = body.op2(Code.CompositeConstruct, T.F32x2, value, module.constant(T.F32, 0));
    e.ids[i] = body.glsl1(Glsl.PackHalf2x16, T.U32, pair);
  } else e.ids[i] = body.call(float.toHalf(e.functions, false), T.U32, [value]);
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
  HAdd: sumOrProduct(Code.FAdd, "add"),
  HMul: sumOrProduct(Code.FMul, "multiply"),
  HFma: fma,
  CvtH2F: fromHalf,
  CvtF2H: toHalf,
  BitInsert: bitInsert,
  FAddOdd: (e, i) => {
    e.ids[i] = e.body.call(oddSum(e.functions), T.F32, [e.use(e.ir.a[i]), e.use(e.ir.b[i])]);
  },
};
