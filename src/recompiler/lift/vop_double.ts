/** Vector f64 operations and conversions (AMD RDNA2 ISA, sections 12.8 and 12.10). */
import type { Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter, Pair } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { constantDouble, doubleSource, fromPair, toPair, writeDouble } from "./double.ts";
import { floatSource, intSource, writeFloat, writeInt } from "./operands.ts";

/** Adds the handlers of this class. */
export function defineDouble(define: Define): void {
  double(define, "v_add_f64", 2, (l, a, b) => l.ir.emit(Op.FAdd64, a, b));
  double(define, "v_mul_f64", 2, (l, a, b) => l.ir.emit(Op.FMul64, a, b));
  double(define, "v_fma_f64", 3, (l, a, b, c) => l.ir.emit(Op.FFma64, a, b, c));
  for (const [name, op] of [["v_min_f64", Op.FMin64], ["v_max_f64", Op.FMax64]] as const) {
    define(name, (l, i) => writeDouble(l, i, pick(l, op, doubleSource(l, i, 0), doubleSource(l, i, 1))));
  }
  // Reciprocals and roots are within one unit in the last place on exact hosts; the hardware's own are much coarser, and compilers refine them.
  const UNARY = {
    trunc: Op.FTrunc64,
    ceil: Op.FCeil64,
    rndne: Op.FRndne64,
    floor: Op.FFloor64,
    rcp: Op.FRcp64,
    rsq: Op.FRsq64,
    sqrt: Op.FSqrt64,
  };
  for (const [name, op] of Object.entries(UNARY)) {
    define(`v_${name}_f64`, (l, i) => writeDouble(l, i, l.ir.emit(op, doubleSource(l, i, 0))));
  }
  double(define, "v_fract_f64", 1, fraction);
  define("v_ldexp_f64", loadExponent);
  define("v_frexp_exp_i32_f64", (l, i) => writeInt(l, i, exponentOf(l, toPair(l, doubleSource(l, i, 0)))));
  define("v_frexp_mant_f64", (l, i) => writeDouble(l, i, mantissaOf(l, toPair(l, doubleSource(l, i, 0)))));
  defineConversions(define);
}

type Compute = (l: Lifter, a: number, b: number, c: number) => number;

/** D = f(sources), rounded once. */
function double(define: Define, name: string, sources: 1 | 2 | 3, compute: Compute): void {
  define(name, (l, i) => {
    l.modes.requireRounding16And64();
    const [a, b, c] = [0, 1, 2].map((n) => n < sources ? doubleSource(l, i, n) : 0);
    writeDouble(l, i, compute(l, a, b, c));
  });
}

/** min or max of two; NaNs as in v_min_f32. */
function pick(l: Lifter, op: number, a: number, b: number): number {
  const { ir } = l;
  let result = ir.emit(op, a, b);
  if (!l.request.ieee) return result;
  for (const operand of [b, a]) {
    const [low, high] = toPair(l, operand);
    const isQuiet = ir.emit(Op.INe, ir.emit(Op.And, high, l.u(0x80000)), l.u(0));
    const signalling = l.and(ir.emit(Op.FIsNan, operand), l.not(isQuiet));
    result = l.select(signalling, fromPair(l, [low, ir.emit(Op.Or, high, l.u(0x80000))]), result);
  }
  return result;
}

/** a - floor(a), below 1 (see v_fract_f32); NaN for infinities. */
function fraction(l: Lifter, a: number): number {
  const { ir } = l;
  const rest = ir.emit(Op.FAdd64, a, ir.emit(Op.FNeg64, ir.emit(Op.FFloor64, a)));
  const limit = constantDouble(l, 0x3fefffff, -1);
  return l.select(ir.emit(Op.FUnordLt, rest, limit), rest, limit);
}

/** S0 * 2^S1 with one rounding: see v_ldexp_f32. */
function loadExponent(l: Lifter, i: Instruction): void {
  const { ir } = l;
  l.modes.requireRounding16And64();
  let value = doubleSource(l, i, 0);
  const limit = (id: number, bound: number) => ir.emit(Op.SMin, ir.emit(Op.SMax, id, l.u(-bound)), l.u(bound));
  const exponent = limit(intSource(l, i, 1), 3000);
  const last = limit(exponent, 1000);
  const rest = ir.emit(Op.ISub, exponent, last);
  const second = limit(rest, 1000);
  for (const part of [ir.emit(Op.ISub, rest, second), second, last]) {
    const factor = fromPair(l, [l.u(0), ir.emit(Op.Shl, l.addConstant(part, 1023), l.u(20))]);
    value = ir.emit(Op.FMul64, value, factor);
  }
  writeDouble(l, i, value);
}

interface Parts {
  /** Exponent field. */
  readonly field: number;
  /** The 52 bits of the fraction, U64. */
  readonly fraction: number;
  /** Number of the highest set bit of the fraction; anything for 0. */
  readonly highest: number;
  readonly isZero: number;
  /** Infinity or NaN. */
  readonly isSpecial: number;
}

function parts(l: Lifter, [low, high]: Pair): Parts {
  const { ir } = l;
  const field = ir.emit(Op.UBfe, high, l.u(20), l.u(11));
  const upper = ir.emit(Op.And, high, l.u(0xfffff));
  const noUpper = ir.emit(Op.IEq, upper, l.u(0));
  const highest = l.select(
    noUpper,
    ir.emit(Op.FindUMsb, low),
    ir.emit(Op.IAdd, ir.emit(Op.FindUMsb, upper), l.u(32)),
  );
  return {
    field,
    fraction: l.pack([low, upper]),
    highest,
    isZero: l.and(ir.emit(Op.IEq, field, l.u(0)), l.and(noUpper, ir.emit(Op.IEq, low, l.u(0)))),
    isSpecial: ir.emit(Op.IEq, field, l.u(0x7ff)),
  };
}

/** n of a = m * 2^n with |m| in 0.5..1; 0 for zero, infinity and NaN. */
function exponentOf(l: Lifter, a: Pair): number {
  const { ir } = l;
  const { field, highest, isZero, isSpecial } = parts(l, a);
  const denormal = ir.emit(Op.ISub, highest, l.u(1073));
  const normal = ir.emit(Op.ISub, field, l.u(1022));
  const exponent = l.select(ir.emit(Op.IEq, field, l.u(0)), denormal, normal);
  return l.select(l.or(isZero, isSpecial), l.u(0), exponent);
}

/** m of the same; zero, infinity and NaN stay. */
function mantissaOf(l: Lifter, a: Pair): number {
  const { ir } = l;
  const { field, fraction, highest, isZero, isSpecial } = parts(l, a);
  // The implicit bit falls off the end of the fraction.
  const shift = ir.emit(Op.And, ir.emit(Op.ISub, l.u(52), highest), l.u(63));
  const [low, upper] = l.unpack(ir.emit(Op.Shl64, fraction, shift));
  const isDenormal = ir.emit(Op.IEq, field, l.u(0));
  const rest = ir.emit(Op.And, l.select(isDenormal, upper, a[1]), l.u(0xfffff));
  const signAndField = ir.emit(Op.Or, ir.emit(Op.And, a[1], l.u(0x80000000)), l.u(0x3fe00000));
  const stays = l.or(isZero, isSpecial);
  return fromPair(l, [
    l.select(stays, a[0], l.select(isDenormal, low, a[0])),
    l.select(stays, a[1], ir.emit(Op.Or, rest, signAndField)),
  ]);
}

function defineConversions(define: Define): void {
  // Every f32, i32 and u32 number is an f64 number.
  define("v_cvt_f64_f32", (l, i) => writeDouble(l, i, l.ir.emit(Op.CvtF2D, floatSource(l, i, 0))));
  define("v_cvt_f64_i32", (l, i) => writeDouble(l, i, l.ir.emit(Op.CvtS2D, intSource(l, i, 0))));
  define("v_cvt_f64_u32", (l, i) => writeDouble(l, i, l.ir.emit(Op.CvtU2D, intSource(l, i, 0))));
  define("v_cvt_f32_f64", (l, i) => {
    l.modes.requireRounding32();
    writeFloat(l, i, l.ir.emit(Op.CvtD2F, doubleSource(l, i, 0)));
  });
  for (const [name, op] of [["v_cvt_i32_f64", Op.CvtD2S], ["v_cvt_u32_f64", Op.CvtD2U]] as const) {
    define(name, (l, i) => {
      writeInt(l, i, l.ir.emit(op, doubleSource(l, i, 0)));
    });
  }
}
