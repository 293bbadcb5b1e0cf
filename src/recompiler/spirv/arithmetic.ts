import { Op, Type } from "../ir/ops.ts";
import { Code, Glsl } from "./codes.ts";
import type { Emitter, Handler, HandlerTable } from "./emitter.ts";
import { T } from "./module.ts";
import { comparison } from "./runtime/denormals.ts";
import { dotParts } from "./runtime/dot.ts";

/** Integer, comparison, boolean, 64-bit and vector operations. */

/** One instruction with two operands. */
export function binary(opcode: number): Handler {
  return (e, i) => {
    const { ir } = e;
    e.ids[i] = e.body.op2(opcode, ir.type[i] as T, e.use(ir.a[i]), e.use(ir.b[i]));
  };
}

/** A comparison of floats: of f32 as integers where an operand may be a denormal that the device takes for zero. */
function floatComparison(opcode: number): Handler {
  const plain = binary(opcode);
  return (e, i) => {
    const a = e.ir.a[i], b = e.ir.b[i];
    if (!e.guards || e.ir.type[a] !== Type.F32 || !e.mayBeDenormal(a) && !e.mayBeDenormal(b)) return plain(e, i);
    e.ids[i] = e.body.call(comparison(e.functions, opcode), T.Bool, [e.use(a), e.use(b)]);
  };
}

/** One instruction with one operand. */
export function unary(opcode: number): Handler {
  return (e, i) => {
    e.ids[i] = e.body.op1(opcode, e.ir.type[i] as T, e.use(e.ir.a[i]));
  };
}

/** One GLSL.std.450 instruction with one operand. */
export function glsl1(instruction: number): Handler {
  return (e, i) => {
    e.ids[i] = e.body.glsl1(instruction, e.ir.type[i] as T, e.use(e.ir.a[i]));
  };
}

/** One GLSL.std.450 instruction with two operands. */
function glsl2(instruction: number): Handler {
  return (e, i) => {
    e.ids[i] = e.body.glsl(instruction, e.ir.type[i] as T, [e.use(e.ir.a[i]), e.use(e.ir.b[i])]);
  };
}

function ternary(opcode: number): Handler {
  return (e, i) => {
    const { ir } = e;
    e.ids[i] = e.body.op3(opcode, ir.type[i] as T, e.use(ir.a[i]), e.use(ir.b[i]), e.use(ir.c[i]));
  };
}

/** High half of a 32 x 32 bit product. */
function high(opcode: number): Handler {
  return (e, i) => {
    const { body, module, ir } = e;
    const type = module.pairType();
    const id = module.bound++;
    body.words.put5(opcode, type, id, e.use(ir.a[i]), e.use(ir.b[i]));
    e.ids[i] = body.extract(T.U32, id, 1);
  };
}

/** 64-bit product of two 32-bit values. */
function wide(extend: number): Handler {
  return (e, i) => {
    const { body, ir } = e;
    const a = body.op1(extend, T.U64, e.use(ir.a[i]));
    const b = ir.a[i] === ir.b[i] ? a : body.op1(extend, T.U64, e.use(ir.b[i]));
    e.ids[i] = body.op2(Code.IMul, T.U64, a, b);
  };
}

function pack64(e: Emitter, i: number): void {
  const { body, ir } = e;
  const low = ir.a[i], high = ir.b[i];
  if (e.isConstant(high, 0)) e.ids[i] = body.op1(Code.UConvert, T.U64, e.use(low));
  else e.ids[i] = body.op1(Code.Bitcast, T.U64, body.op2(Code.CompositeConstruct, T.V2, e.use(low), e.use(high)));
}

function hi64(e: Emitter, i: number): void {
  const { body, module } = e;
  const shifted = body.op2(Code.ShiftRightLogical, T.U64, e.use(e.ir.a[i]), module.u32(32));
  e.ids[i] = body.op1(Code.UConvert, T.U32, shifted);
}

function vec(e: Emitter, i: number): void {
  const { body, ir, module } = e;
  if (e.resolved?.places.has(i)) return;
  const count = ir.type[i] - Type.V2 + 2;
  const parts = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]].slice(0, count);
  if (!wantsFloat(e, i)) {
    e.ids[i] = body.ops(Code.CompositeConstruct, ir.type[i] as T, parts.map((part) => e.use(part)));
    return;
  }
  // Each part is a BitcastU of a float, or a constant.
  const floats = parts.map((part) => ir.op[part] === Op.Const ? module.constant(T.F32, ir.a[part]) : e.use(ir.a[part]));
  e.ids[i] = body.ops(Code.CompositeConstruct, (T.F32x2 + count - 2) as T, floats);
  e.floatForm[i] = 1;
}

function extract(e: Emitter, i: number): void {
  const { body, ir } = e;
  const vector = ir.a[i];
  const float = e.floatForm[vector];
  e.floatForm[i] = float;
  const id = float !== 0 ? e.ids[vector] : e.use(vector);
  e.ids[i] = body.extract(float !== 0 ? T.F32 : T.U32, id, ir.b[i]);
}

/** Whether the analysis wants the value emitted as a float. */
export function wantsFloat(e: Emitter, i: number): boolean {
  return (e.usage.flags[i] & 2) !== 0;
}

/** BitcastU: nothing when everybody who reads it takes the float. */
function bitcastU(e: Emitter, i: number): void {
  const { ir } = e;
  const id = e.use(ir.a[i]);
  if (wantsFloat(e, i)) {
    e.ids[i] = id;
    e.floatForm[i] = 1;
  } else if (ir.op[ir.a[i]] === Op.Const) e.ids[i] = e.module.constant(T.U32, ir.a[ir.a[i]]);
  else e.ids[i] = e.body.op1(Code.Bitcast, T.U32, id);
}

function bitcastF(e: Emitter, i: number): void {
  const { ir } = e;
  const value = ir.a[i];
  if (e.floatForm[value] !== 0) e.ids[i] = e.ids[value];
  else if (ir.op[value] === Op.Const) e.ids[i] = e.module.constant(T.F32, ir.a[value]);
  else e.ids[i] = e.body.op1(Code.Bitcast, T.F32, e.use(value));
}

/** Handlers of this file. */
export const ARITHMETIC: HandlerTable = {
  ISub: binary(Code.ISub),
  IMul: binary(Code.IMul),
  UMulHi: high(Code.UMulExtended),
  SMulHi: high(Code.SMulExtended),
  And: binary(Code.BitwiseAnd),
  Or: binary(Code.BitwiseOr),
  Xor: binary(Code.BitwiseXor),
  Not: unary(Code.Not),
  Shl: binary(Code.ShiftLeftLogical),
  Shr: binary(Code.ShiftRightLogical),
  Sar: binary(Code.ShiftRightArithmetic),
  UMin: glsl2(Glsl.UMin),
  UMax: glsl2(Glsl.UMax),
  SMin: glsl2(Glsl.SMin),
  SMax: glsl2(Glsl.SMax),
  UBfe: ternary(Code.BitFieldUExtract),
  SBfe: ternary(Code.BitFieldSExtract),
  BitCount: unary(Code.BitCount),
  BitReverse: unary(Code.BitReverse),
  FindLsb: glsl1(Glsl.FindILsb),
  FindUMsb: glsl1(Glsl.FindUMsb),
  FindSMsb: glsl1(Glsl.FindSMsb),
  IEq: binary(Code.IEqual),
  INe: binary(Code.INotEqual),
  ULt: binary(Code.ULessThan),
  ULe: binary(Code.ULessThanEqual),
  SLt: binary(Code.SLessThan),
  SLe: binary(Code.SLessThanEqual),
  FOrdEq: floatComparison(Code.FOrdEqual),
  FOrdNe: floatComparison(Code.FOrdNotEqual),
  FOrdLt: floatComparison(Code.FOrdLessThan),
  FOrdLe: floatComparison(Code.FOrdLessThanEqual),
  FUnordEq: floatComparison(Code.FUnordEqual),
  FUnordNe: floatComparison(Code.FUnordNotEqual),
  FUnordLt: floatComparison(Code.FUnordLessThan),
  FUnordLe: floatComparison(Code.FUnordLessThanEqual),
  FIsNan: unary(Code.IsNan),
  Ieq64: binary(Code.IEqual),
  Ult64: binary(Code.ULessThan),
  Slt64: binary(Code.SLessThan),
  LAnd: binary(Code.LogicalAnd),
  LOr: binary(Code.LogicalOr),
  LXor: binary(Code.LogicalNotEqual),
  LNot: unary(Code.LogicalNot),
  Select: ternary(Code.Select),
  DotParts: (e, i) => {
    const { ir } = e;
    const operands = [ir.a[i], ir.b[i], ir.c[i]].map((value) => e.use(value));
    e.ids[i] = e.body.call(dotParts(e.functions, ir.d[i]), T.U32, operands);
  },
  BitcastU: bitcastU,
  BitcastF: bitcastF,
  Pack64: pack64,
  Lo64: unary(Code.UConvert),
  Hi64: hi64,
  IAdd64: binary(Code.IAdd),
  ISub64: binary(Code.ISub),
  IMul64: binary(Code.IMul),
  UMulWide: wide(Code.UConvert),
  SMulWide: wide(Code.SConvert),
  Shl64: binary(Code.ShiftLeftLogical),
  Shr64: binary(Code.ShiftRightLogical),
  Sar64: binary(Code.ShiftRightArithmetic),
  BitcastF64: unary(Code.Bitcast),
  BitcastU64: unary(Code.Bitcast),
  Vec: vec,
  Extract: extract,
};
