import { hex } from "../../errors.ts";
import { AtomicKind, Op } from "../ir/ops.ts";
import { glsl1, unary } from "./arithmetic.ts";
import { Capability, Code, Glsl, Mode } from "./codes.ts";
import type { Emitter, Handler, HandlerTable } from "./emitter.ts";
import { T } from "./module.ts";
import {
  type Approximate,
  approximate,
  type Arithmetic,
  guardedArithmetic,
  integerMinMax,
  raised,
  SUSPECT_RESULT,
  writeSign,
} from "./runtime/denormals.ts";
import * as runtime from "./runtime/float.ts";
import { softFma } from "./runtime/soft_fma.ts";
import { Use } from "./usage.ts";

/** 32-bit float operations, execution modes, and what must not be contracted. */

/** Operations that round. */
const ROUNDED: readonly number[] = [
  Op.FAdd,
  Op.FSub,
  Op.FMul,
  Op.FFma,
  Op.FRcp,
  Op.FRsq,
  Op.FSqrt,
  Op.FExp2,
  Op.FLog2,
  Op.FSin,
  Op.FCos,
  Op.CvtU2F,
  Op.CvtS2F,
  Op.FAddOdd,
  Op.FFmaOdd,
  Op.FFmaScaled,
  Op.CvtD2F,
];

/** Operations whose denormal operands or results MODE decides about, beside those that round. */
const EXACT: readonly number[] = [
  Op.FMin,
  Op.FMax,
  Op.FFloor,
  Op.FCeil,
  Op.FTrunc,
  Op.FRndne,
  Op.FOrdEq,
  Op.FOrdNe,
  Op.FOrdLt,
  Op.FOrdLe,
  Op.FUnordEq,
  Op.FUnordNe,
  Op.FUnordLt,
  Op.FUnordLe,
  Op.CvtF2D,
];

/** Fields of FLOAT_MODE that concern f32 (AMD RDNA2 ISA, "MODE register"). */
const ROUND_MASK = 3;
const DENORM_SHIFT = 4;
/** Bit 0 keeps denormal operands, bit 1 denormal results. */
const FLUSH_BOTH = 0;

/**
 * Declares the execution modes that give the request's FLOAT_MODE, where the device has them. Where it lacks flushing, the IR has FlushDenorm where
 * it matters; where it loses denormals that count, operations that may meet one are guarded (runtime/denormals.ts).
 */
export function declareFloatModes(e: Emitter): void {
  preserveSpecialNumbers(e);
  const { floatMode, device } = e.request;
  const flushesBoth = ((floatMode >> DENORM_SHIFT) & 3) === FLUSH_BOTH;
  // Kept on both sides, or flushed on one side by FlushDenorm: the device must not flush by itself.
  e.guards = !flushesBoth && !device.denormPreserve32 && !device.keepsDenormals32;
  if (e.guards) {
    e.functions.denormals = device.roundRte32 && device.roundRteKeepsDenormals32 ? "keptInSums" : "lost";
  }
  const added = firstFloatAtomic(e);
  const rounded = earlier(firstOf(e, ROUNDED), added), governed = earlier(firstOf(e, EXACT), rounded);
  if (governed < 0) return;
  if (rounded >= 0 && (floatMode & ROUND_MASK) !== 0) {
    throw e.refuse(rounded, "float-rounding", `FLOAT_MODE ${hex(floatMode)} does not round to nearest even`);
  }
  // A device that flushes unasked may stop when told how to round (measured on NVIDIA: RecompilerDevice.flushesDenormals32), and rounds to nearest anyway.
  const flushesUnasked = flushesBoth && device.flushesDenormals32 && !device.denormFlush32;
  if (device.roundRte32 && !flushesUnasked) declareMode(e, Capability.RoundingModeRTE, Mode.RoundingModeRTE);
  if (device.signedZeroInfNanPreserve32) {
    declareMode(e, Capability.SignedZeroInfNanPreserve, Mode.SignedZeroInfNanPreserve);
  }
  if (!flushesBoth) {
    if (device.denormPreserve32) declareMode(e, Capability.DenormPreserve, Mode.DenormPreserve);
    return;
  }
  if (device.denormFlush32) declareMode(e, Capability.DenormFlushToZero, Mode.DenormFlushToZero);
  e.flushes = device.denormFlush32 || device.flushesDenormals32;
  // Atomics and the last step of divisions count denormals all the same.
  const counts = added >= 0 || e.usage.present[Op.FFmaScaled] !== 0;
  if (counts && (e.flushes || !device.keepsDenormals32)) e.functions.denormals = "lost";
}

/** Keeps drivers from taking x * 0 for 0 and x + 0 for x in f16 and f64 (Mesa's NIR does so where the mode is not declared). */
function preserveSpecialNumbers(e: Emitter): void {
  const { request: { device }, usage: { present }, module } = e;
  for (
    const [supported, width, ops] of [
      [device.signedZeroInfNanPreserve16 && device.float16, 16, [Op.HAdd, Op.HMul, Op.HFma]],
      [device.signedZeroInfNanPreserve64 && device.float64, 64, [Op.FAdd64, Op.FMul64, Op.FFma64, Op.FFmaScaled64]],
    ] as const
  ) {
    if (!supported || ops.every((op) => present[op] === 0)) continue;
    module.capability(Capability.SignedZeroInfNanPreserve);
    module.mode(Mode.SignedZeroInfNanPreserve, width);
  }
}

/** First atomic addition of floats that counts denormals; -1 when there is none. */
function firstFloatAtomic({ ir, usage: { present } }: Emitter): number {
  if (present[Op.Atomic] === 0 && present[Op.LdsAtomic] === 0) return -1;
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.Atomic && ir.op[i] !== Op.LdsAtomic) continue;
    const kind = ir.d[i];
    if ((kind & AtomicKind.Mask) === AtomicKind.FAdd && (kind & AtomicKind.Flush) !== AtomicKind.Flush) return i;
  }
  return -1;
}

/** The earlier of two places, of which -1 is none. */
function earlier(a: number, b: number): number {
  return a < 0 || b < 0 ? Math.max(a, b) : Math.min(a, b);
}

/** First operation in the stream that is one of `ops`; -1 when there is none. */
function firstOf(e: Emitter, ops: readonly number[]): number {
  const places = ops.filter((op) => e.usage.present[op] !== 0).map((op) => e.usage.first[op]);
  return places.length === 0 ? -1 : Math.min(...places);
}

function declareMode({ module }: Emitter, capability: number, mode: number): void {
  module.capability(capability);
  module.mode(mode, 32);
}

const ARITHMETIC_NAMES: ReadonlyMap<number, Arithmetic> = new Map([
  [Code.FAdd, "add"],
  [Code.FSub, "sub"],
  [Code.FMul, "mul"],
]);

/** Which of the first operands, and whether the result, may be a denormal that the device loses; 0 where nothing is. */
function suspectsOf(e: Emitter, i: number, operands: 2 | 3): number {
  const { ir } = e;
  let suspects = e.mayBeDenormal(i) ? SUSPECT_RESULT : 0;
  if (e.mayBeDenormal(ir.a[i])) suspects |= 1;
  if (e.mayBeDenormal(ir.b[i])) suspects |= 2;
  if (operands > 2 && e.mayBeDenormal(ir.c[i])) suspects |= 4;
  return suspects;
}

/** Additions, subtractions and multiplications. */
function sumOrProduct(opcode: number): Handler {
  return (e, i) => {
    const { ir } = e;
    if (e.functions.denormals === "lost" && e.guards) {
      const suspects = suspectsOf(e, i, 2);
      if (suspects !== 0) {
        const operation = ARITHMETIC_NAMES.get(opcode)!;
        const callee = guardedArithmetic(e.functions, operation, suspects);
        e.ids[i] = e.body.call(callee, T.F32, [e.use(ir.a[i]), e.use(ir.b[i])]);
        return;
      }
    }
    const id = e.body.op2(opcode, T.F32, e.use(ir.a[i]), e.use(ir.b[i]));
    e.ids[i] = id;
    if (mustStayExact(e, i)) e.exact.push(id);
  };
}

/**
 * Whether a driver could make something else of this operation together with a neighbour. Such operations get NoContraction, one word each:
 * a product that feeds a sum (fused multiply-add), and the patterns that algebraic optimisers rewrite: constant operands, x - x,
 * (x + y) - x and the like. The rest, two thirds of real code, stays undecorated: a chain of sums of distinct values is not reassociated by
 * drivers that keep signed zeros, infinities and NaN.
 */
function mustStayExact(e: Emitter, i: number): boolean {
  const { ir } = e;
  const op = ir.op[i], a = ir.a[i], b = ir.b[i];
  if (op === Op.FMul) {
    if ((e.usage.flags[i] & Use.FeedsSum) !== 0) return true;
    return (ir.op[a] === Op.Const && ir.op[b] === Op.FMul) || (ir.op[b] === Op.Const && ir.op[a] === Op.FMul) ||
      e.isConstant(a, 0) || e.isConstant(b, 0);
  }
  if (a === b && op === Op.FSub) return true;
  if (ir.op[a] === Op.Const || ir.op[b] === Op.Const) return true;
  return cancels(e, a, b) || cancels(e, b, a);
}

/** Whether `sum` is a sum that has `other` (or its negative) as an operand; if so it must stay exact as well. */
function cancels(e: Emitter, sum: number, other: number): boolean {
  const { ir } = e;
  const inner = ir.op[sum] === Op.FNeg ? ir.a[sum] : sum;
  if (ir.op[inner] !== Op.FAdd && ir.op[inner] !== Op.FSub) return false;
  const plain = (value: number) => ir.op[value] === Op.FNeg ? ir.a[value] : value;
  if (plain(ir.a[inner]) !== plain(other) && plain(ir.b[inner]) !== plain(other)) return false;
  e.exact.push(e.ids[inner]);
  return true;
}

function call1(find: (e: Emitter) => number, result: T): Handler {
  return (e, i) => {
    e.ids[i] = e.body.call(find(e), result, [e.use(e.ir.a[i])]);
  };
}

/** Minimum and maximum: one instruction when an operand is a constant that is no zero, NaN or denormal, else a function. */
function minMax(max: boolean): Handler {
  return (e, i) => {
    const { ir, body } = e;
    const a = e.use(ir.a[i]), b = e.use(ir.b[i]);
    if (e.guards && (e.mayBeDenormal(ir.a[i]) || e.mayBeDenormal(ir.b[i]))) {
      e.ids[i] = body.call(integerMinMax(e.functions, max), T.F32, [a, b]);
    } else if (!e.flushes && (isOrdinary(e, ir.a[i]) || isOrdinary(e, ir.b[i]))) {
      e.ids[i] = body.glsl(max ? Glsl.NMax : Glsl.NMin, T.F32, [a, b]);
    } else e.ids[i] = body.call(runtime.minMax(e.functions, max, e.flushes), T.F32, [a, b]);
  };
}

function isOrdinary(e: Emitter, value: number): boolean {
  if (e.ir.op[value] !== Op.Const) return false;
  const exponent = (e.ir.a[value] >>> 23) & 255;
  return exponent !== 0 && exponent !== 255;
}

/**
 * Floor and ceiling can make 1 of a denormal. A device that flushes need not do so here (measured on NVIDIA), so where denormals do not count they are
 * made zeros first, and where they do, normal numbers.
 */
function awayFromZero(instruction: number): Handler {
  return (e, i) => {
    const x = e.use(e.ir.a[i]);
    const guarded = e.guards && e.mayBeDenormal(e.ir.a[i]);
    const change = guarded ? raised : e.flushes ? runtime.flushDenormal : undefined;
    const operand = change !== undefined ? e.body.call(change(e.functions), T.F32, [x]) : x;
    e.ids[i] = e.body.glsl1(instruction, T.F32, operand);
  };
}

/** Calls a function that computes on integers: where the module's float instructions flush denormals, it must as well. */
export function callOnIntegers(e: Emitter, callee: number, operands: readonly number[]): number {
  if (!e.flushes) return e.body.call(callee, T.F32, operands);
  const flush = (id: number) => e.body.call(runtime.flushDenormal(e.functions), T.F32, [id]);
  return flush(e.body.call(callee, T.F32, operands.map(flush)));
}

function fma(e: Emitter, i: number): void {
  const { ir, body, request } = e;
  const operands = [e.use(ir.a[i]), e.use(ir.b[i]), e.use(ir.c[i])];
  const suspects = e.guards ? suspectsOf(e, i, 3) : 0;
  if (suspects !== 0) {
    e.ids[i] = body.call(guardedArithmetic(e.functions, "fma", suspects), T.F32, operands);
  } else if (request.device.fusesFma32) e.ids[i] = body.glsl(Glsl.Fma, T.F32, operands);
  else if (request.device.float64) e.ids[i] = body.call(runtime.fusedMultiplyAdd(e.functions), T.F32, operands);
  else e.ids[i] = callOnIntegers(e, softFma(e.functions, false), operands);
}

/** Functions with an error bound, guarded where the operand or the result may be a denormal that the device loses. */
function approximately(name: Approximate, handler: Handler): Handler {
  return (e, i) => {
    const x = e.ir.a[i];
    if (!e.guards || !e.mayBeDenormal(x) && !e.mayBeDenormal(i)) return handler(e, i);
    e.ids[i] = e.body.call(approximate(e.functions, name), T.F32, [e.use(x)]);
  };
}

/** The sign bit changed: as an integer where float instructions lose denormals. */
function sign(absolute: boolean, handler: Handler): Handler {
  return (e, i) => {
    const x = e.ir.a[i];
    if (!e.guards || !e.mayBeDenormal(x)) return handler(e, i);
    e.ids[i] = writeSign(e.body, e.use(x), absolute);
  };
}

function reciprocal(e: Emitter, i: number): void {
  e.ids[i] = e.body.op2(Code.FDiv, T.F32, e.module.constant(T.F32, 0x3f800000), e.use(e.ir.a[i]));
}

/** Handlers of this file. */
export const FLOAT: HandlerTable = {
  FAdd: sumOrProduct(Code.FAdd),
  FSub: sumOrProduct(Code.FSub),
  FMul: sumOrProduct(Code.FMul),
  FFma: fma,
  FMin: minMax(false),
  FMax: minMax(true),
  FNeg: sign(false, unary(Code.FNegate)),
  FAbs: sign(true, glsl1(Glsl.FAbs)),
  FFloor: awayFromZero(Glsl.Floor),
  FCeil: awayFromZero(Glsl.Ceil),
  FTrunc: glsl1(Glsl.Trunc),
  FRndne: glsl1(Glsl.RoundEven),
  FRcp: approximately("rcp", reciprocal),
  FRsq: approximately("rsq", glsl1(Glsl.InverseSqrt)),
  FSqrt: approximately("sqrt", glsl1(Glsl.Sqrt)),
  FExp2: approximately("exp2", glsl1(Glsl.Exp2)),
  FLog2: approximately("log2", glsl1(Glsl.Log2)),
  FSin: call1((e) => runtime.revolution(e.functions, false), T.F32),
  FCos: call1((e) => runtime.revolution(e.functions, true), T.F32),
  FlushDenorm: call1((e) => runtime.flushDenormal(e.functions), T.F32),
  CvtU2F: unary(Code.ConvertUToF),
  CvtS2F: unary(Code.ConvertSToF),
  CvtF2U: call1((e) => runtime.toUnsigned(e.functions), T.U32),
  CvtF2S: call1((e) => runtime.toSigned(e.functions), T.U32),
  CvtF2HRtz: call1((e) => runtime.toHalf(e.functions, true), T.U32),
};
