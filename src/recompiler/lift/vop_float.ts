/** Vector f32 operations (AMD RDNA2 ISA, sections 12.7, 12.8, 12.10). */
import type { Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { floatSource, intSource, writeFloat } from "./operands.ts";

/** Adds the handlers of this class. */
export function defineFloat(define: Define): void {
  defineArithmetic(define);
  defineFused(define);
  defineUnfused(define);
  defineMinMax(define);
  defineRounding(define);
  defineTranscendental(define);
  define("v_ldexp_f32", loadExponent);
}

type Compute = (l: Lifter, a: number, b: number, c: number) => number;

/** D = f(sources), rounded once. */
function float(define: Define, name: string, sources: 1 | 2 | 3, compute: Compute): void {
  define(name, (l, i) => {
    l.modes.requireRounding32();
    writeFloat(l, i, computeOf(l, i, sources, compute));
  });
}

function computeOf(l: Lifter, i: Instruction, sources: 1 | 2 | 3, compute: Compute): number {
  const a = floatSource(l, i, 0);
  const b = sources > 1 ? floatSource(l, i, 1) : 0;
  const c = sources > 2 ? floatSource(l, i, 2) : 0;
  return compute(l, a, b, c);
}

function defineArithmetic(define: Define): void {
  float(define, "v_add_f32", 2, (l, a, b) => l.ir.emit(Op.FAdd, a, b));
  float(define, "v_sub_f32", 2, (l, a, b) => l.ir.emit(Op.FSub, a, b));
  float(define, "v_subrev_f32", 2, (l, a, b) => l.ir.emit(Op.FSub, b, a));
  float(define, "v_mul_f32", 2, (l, a, b) => l.ir.emit(Op.FMul, a, b));
  float(define, "v_mul_legacy_f32", 2, (l, a, b) => legacyProduct(l, a, b));
  // a - floor(a), but never 1: LLVM (AMDGPUCodeGenPrepare) takes it for min(a - floor(a), 1 - 2^-24). NaN for infinities.
  float(define, "v_fract_f32", 1, (l, a) => {
    const { ir } = l;
    const rest = ir.emit(Op.FSub, a, ir.emit(Op.FFloor, a)), limit = ir.constF(0x3f7fffff);
    return l.select(ir.emit(Op.FUnordLt, rest, limit), rest, limit);
  });
}

/** Zero times anything is +0. */
function legacyProduct(l: Lifter, a: number, b: number): number {
  const { ir } = l;
  const zero = ir.constF(0);
  const anyZero = l.or(ir.emit(Op.FOrdEq, a, zero), ir.emit(Op.FOrdEq, b, zero));
  return l.select(anyZero, zero, ir.emit(Op.FMul, a, b));
}

/** Fused multiply-adds. v_fmac adds to the destination; the order of operands in *mk and *ak is the decoder's. */
function defineFused(define: Define): void {
  const fused: Compute = (l, a, b, c) => l.ir.emit(Op.FFma, a, b, c);
  for (const name of ["v_fma_f32", "v_fmamk_f32", "v_fmaak_f32"]) float(define, name, 3, fused);
  float2WithDestination(define, "v_fmac_f32", fused);
  const legacy: Compute = (l, a, b, c) => {
    const { ir } = l;
    const zero = ir.constF(0);
    const anyZero = l.or(ir.emit(Op.FOrdEq, a, zero), ir.emit(Op.FOrdEq, b, zero));
    return l.select(anyZero, ir.emit(Op.FAdd, zero, c), ir.emit(Op.FFma, a, b, c));
  };
  float(define, "v_fma_legacy_f32", 3, legacy);
  float2WithDestination(define, "v_fmac_legacy_f32", legacy);
}

function float2WithDestination(define: Define, name: string, compute: Compute): void {
  define(name, (l, i) => {
    l.modes.requireRounding32();
    const a = floatSource(l, i, 0), b = floatSource(l, i, 1);
    writeFloat(l, i, compute(l, a, b, l.modes.input(l.asF(l.source(i.dst)))));
  });
}

/** gfx10.1's v_mad and v_mac round after the multiplication and again after the addition, and flush denormals whatever MODE says. */
function defineUnfused(define: Define): void {
  const unfused = (product: Compute): Compute => (l, ...operands) => {
    const flushed = (id: number) => l.modes.flushedAlways(id);
    const [a, b, c] = operands.map(flushed);
    return flushed(l.ir.emit(Op.FAdd, flushed(product(l, a, b, 0)), c));
  };
  const plain = unfused((l, a, b) => l.ir.emit(Op.FMul, a, b));
  const legacy = unfused((l, a, b) => legacyProduct(l, a, b));
  for (const name of ["v_mad_f32", "v_madmk_f32", "v_madak_f32"]) float(define, name, 3, plain);
  float2WithDestination(define, "v_mac_f32", plain);
  float(define, "v_mad_legacy_f32", 3, legacy);
  float2WithDestination(define, "v_mac_legacy_f32", legacy);
}

function defineMinMax(define: Define): void {
  for (const [name, op] of [["min", Op.FMin], ["max", Op.FMax]] as const) {
    minMax(define, `v_${name}_f32`, 2, (l, a, b) => pick(l, op, a, b));
    minMax(define, `v_${name}3_f32`, 3, (l, a, b, c) => pick(l, op, pick(l, op, a, b), c));
  }
  minMax(define, "v_med3_f32", 3, (l, a, b, c) => {
    const { ir } = l;
    const median = ir.emit(Op.FMax, ir.emit(Op.FMin, a, b), ir.emit(Op.FMin, ir.emit(Op.FMax, a, b), c));
    const nans = [a, b, c].map((id) => ir.emit(Op.FIsNan, id));
    // With a NaN among the operands the result is that of v_min3.
    return l.select(nans.reduce((x, y) => l.or(x, y), l.false), pick(l, Op.FMin, pick(l, Op.FMin, a, b), c), median);
  });
}

function minMax(define: Define, name: string, sources: 2 | 3, compute: Compute): void {
  define(name, (l, i) => writeFloat(l, i, computeOf(l, i, sources, compute)));
}

/** min or max of two. In IEEE mode a signalling NaN is the result itself, made quiet; otherwise any NaN loses against a number. */
function pick(l: Lifter, op: number, a: number, b: number): number {
  const { ir } = l;
  let result = ir.emit(op, a, b);
  if (!l.request.ieee) return result;
  for (const operand of [b, a]) {
    if (!l.facts.mayBeSignalling(operand)) continue;
    const bits = l.asU(operand);
    const size = ir.emit(Op.And, bits, l.u(0x7fffffff));
    const signalling = ir.emit(Op.ULt, ir.emit(Op.ISub, size, l.u(0x7f800001)), l.u(0x3fffff));
    result = l.select(signalling, l.asF(ir.emit(Op.Or, bits, l.u(0x400000))), result);
  }
  return result;
}

function defineRounding(define: Define): void {
  for (
    const [name, op] of [["floor", Op.FFloor], ["ceil", Op.FCeil], ["trunc", Op.FTrunc], ["rndne", Op.FRndne]] as const
  ) {
    define(`v_${name}_f32`, (l, i) => writeFloat(l, i, l.ir.emit(op, floatSource(l, i, 0))));
  }
}

/** Results are within the hardware's own error bounds, not bit-exact. */
function defineTranscendental(define: Define): void {
  const OPERATIONS = {
    v_exp_f32: Op.FExp2,
    v_log_f32: Op.FLog2,
    v_rcp_f32: Op.FRcp,
    v_rcp_iflag_f32: Op.FRcp,
    v_rsq_f32: Op.FRsq,
    v_sqrt_f32: Op.FSqrt,
    v_sin_f32: Op.FSin,
    v_cos_f32: Op.FCos,
  };
  for (const [name, op] of Object.entries(OPERATIONS)) {
    define(name, (l, i) => writeFloat(l, i, l.ir.emit(op, floatSource(l, i, 0))));
  }
}

/** S0 * 2^S1 with one rounding. */
function loadExponent(l: Lifter, i: Instruction): void {
  const { ir } = l;
  l.modes.requireRounding32();
  let value = floatSource(l, i, 0);
  let rest = intSource(l, i, 1);
  // Three factors within 2^-100..2^100. The remainder comes first: if it or the second step rounds, the last step (by 2^-100) gives zero anyway.
  const limit = (id: number) => ir.emit(Op.SMin, ir.emit(Op.SMax, id, l.u(-100)), l.u(100));
  const last = limit(rest);
  rest = ir.emit(Op.ISub, limit300(l, rest), last);
  const second = limit(rest);
  const first = ir.emit(Op.ISub, rest, second);
  for (const exponent of [first, second, last]) {
    const factor = l.asF(ir.emit(Op.Shl, l.addConstant(exponent, 127), l.u(23)));
    value = ir.emit(Op.FMul, value, factor);
  }
  writeFloat(l, i, value);
}

/** Beyond +-300 every further factor changes nothing. */
function limit300(l: Lifter, id: number): number {
  return l.ir.emit(Op.SMin, l.ir.emit(Op.SMax, id, l.u(-300)), l.u(300));
}
