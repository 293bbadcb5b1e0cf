/** Vector comparisons (AMD RDNA2 ISA, section 12.9): v_cmp writes a lane mask, v_cmpx writes EXEC. Inactive lanes give 0. */
import type { Instruction } from "../../rdna/instruction.ts";
import { VOPC_RUNS } from "../../rdna/table/vopc.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { doubleSource, movedDouble } from "./double.ts";
import { half16Source, halfFloatSource, movedHalf } from "./half.ts";
import { floatSource, intSource, movedSource, rawSource } from "./operands.ts";

type Compare = (l: Lifter, a: number, b: number) => number;

const nan = (l: Lifter, id: number) => l.ir.emit(Op.FIsNan, id);
const always: Compare = (l) => l.true;
const never: Compare = (l) => l.false;
const straight = (op: number): Compare => (l, a, b) => l.ir.emit(op, a, b);
const exchanged = (op: number): Compare => (l, a, b) => l.ir.emit(op, b, a);

const FLOAT: Readonly<Record<string, Compare>> = {
  f: never,
  lt: straight(Op.FOrdLt),
  eq: straight(Op.FOrdEq),
  le: straight(Op.FOrdLe),
  gt: exchanged(Op.FOrdLt),
  lg: straight(Op.FOrdNe),
  ge: exchanged(Op.FOrdLe),
  o: (l, a, b) => l.not(l.or(nan(l, a), nan(l, b))),
  u: (l, a, b) => l.or(nan(l, a), nan(l, b)),
  nge: straight(Op.FUnordLt),
  nlg: straight(Op.FUnordEq),
  ngt: straight(Op.FUnordLe),
  nle: exchanged(Op.FUnordLt),
  neq: straight(Op.FUnordNe),
  nlt: exchanged(Op.FUnordLe),
  tru: always,
};

function integerCompares(less: number, lessOrEqual: number): Readonly<Record<string, Compare>> {
  return {
    f: never,
    lt: straight(less),
    eq: straight(Op.IEq),
    le: straight(lessOrEqual),
    gt: exchanged(less),
    ne: straight(Op.INe),
    ge: exchanged(lessOrEqual),
    t: always,
  };
}

function wideCompares(less: number): Readonly<Record<string, Compare>> {
  return {
    f: never,
    lt: straight(less),
    eq: straight(Op.Ieq64),
    le: (l, a, b) => l.not(l.ir.emit(less, b, a)),
    gt: exchanged(less),
    ne: (l, a, b) => l.not(l.ir.emit(Op.Ieq64, a, b)),
    ge: (l, a, b) => l.not(l.ir.emit(less, a, b)),
    t: always,
  };
}

type Read = (l: Lifter, i: Instruction, n: number) => number;
const wideSource = (literal: "zero" | "sign"): Read => (l, i, n) =>
  l.pack(l.sourcePair(n === 0 ? i.src0 : i.src1, literal));
const extended = (op: number): Read => (l, i, n) => l.ir.emit(op, half16Source(l, i, n), l.u(0), l.u(16));

/** How each type is read and compared. */
const TYPES: Readonly<Record<string, readonly [read: Read, compares: Readonly<Record<string, Compare>>]>> = {
  f32: [floatSource, FLOAT],
  f16: [halfFloatSource, FLOAT],
  f64: [doubleSource, FLOAT],
  i32: [intSource, integerCompares(Op.SLt, Op.SLe)],
  u32: [intSource, integerCompares(Op.ULt, Op.ULe)],
  i16: [extended(Op.SBfe), integerCompares(Op.SLt, Op.SLe)],
  u16: [extended(Op.UBfe), integerCompares(Op.ULt, Op.ULe)],
  i64: [wideSource("sign"), wideCompares(Op.Slt64)],
  u64: [wideSource("zero"), wideCompares(Op.Ult64)],
};

/** Adds the handlers of this class. */
export function defineCompares(define: Define): void {
  for (const { type, conditions } of VOPC_RUNS) {
    for (const condition of conditions) {
      const handler = condition === "class" ? classHandler(type) : compareHandler(type, condition);
      define(`v_cmp_${condition}_${type}`, handler);
      define(`v_cmpx_${condition}_${type}`, handler);
    }
  }
}

function compareHandler(type: string, condition: string): (l: Lifter, i: Instruction) => void {
  const [read, compares] = TYPES[type];
  const compare = compares[condition];
  return (l, i) => l.setMask(i.sdst, compare(l, read(l, i, 0), read(l, i, 1)));
}

/** A float taken apart for the class test. */
interface Classified {
  /** Grows with the magnitude; NaNs above infinity. */
  readonly size: number;
  readonly isNegative: number;
  readonly infinity: number;
  readonly smallestNormal: number;
  readonly quiet: number;
}

const CLASSIFY: Readonly<Record<string, (l: Lifter, i: Instruction) => Classified>> = {
  f32: (l, i) => {
    const bits = l.asU(movedSource(l, i, 0));
    const size = l.ir.emit(Op.And, bits, l.u(0x7fffffff));
    const isNegative = l.ir.emit(Op.SLt, bits, l.u(0));
    return { size, isNegative, infinity: 0x7f800000, smallestNormal: 0x00800000, quiet: 0x7fc00000 };
  },
  f16: (l, i) => {
    const bits = movedHalf(l, i, 0);
    const size = l.ir.emit(Op.And, bits, l.u(0x7fff));
    const isNegative = l.ir.emit(Op.INe, l.ir.emit(Op.And, bits, l.u(0x8000)), l.u(0));
    return { size, isNegative, infinity: 0x7c00, smallestNormal: 0x0400, quiet: 0x7e00 };
  },
  f64: (l, i) => {
    // The high word without its sign, and one bit for all of the low word.
    const [low, high] = movedDouble(l, i, 0);
    const rest = l.boolToU(l.ir.emit(Op.INe, low, l.u(0)));
    const size = l.ir.emit(Op.Or, l.ir.emit(Op.Shl, high, l.u(1)), rest);
    const isNegative = l.ir.emit(Op.SLt, high, l.u(0));
    return { size, isNegative, infinity: 0xffe00000, smallestNormal: 0x00200000, quiet: 0xfff00000 };
  },
};

function classHandler(type: string): (l: Lifter, i: Instruction) => void {
  const classify = CLASSIFY[type];
  return (l, i) => l.setMask(i.sdst, isOfClass(l, classify(l, i), l.asU(rawSource(l, i, 1))));
}

/**
 * Whether a float is of one of the classes in `mask`: bits 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 -normal, 4 -denormal, 5 -0, 6 +0,
 * 7 +denormal, 8 +normal, 9 +infinity (AMD RDNA2 ISA, V_CMP_CLASS_F32). Denormals count as what they are, whatever MODE says.
 */
function isOfClass(l: Lifter, float: Classified, mask: number): number {
  const { ir } = l;
  const { size, isNegative, infinity, smallestNormal, quiet: firstQuiet } = float;
  const below = (limit: number) => ir.emit(Op.ULt, size, l.u(limit));
  if (ir.op[mask] === Op.Const) {
    const wanted = ir.a[mask];
    let result = l.false;
    const both = (negativeBit: number, positiveBit: number, test: () => number) => {
      const n = (wanted >> negativeBit) & 1, p = (wanted >> positiveBit) & 1;
      if (n && p) result = l.or(result, test());
      else if (n) result = l.or(result, l.and(isNegative, test()));
      else if (p) result = l.or(result, l.and(l.not(isNegative), test()));
    };
    const signalling = wanted & 1, quiet = wanted & 2;
    if (signalling && quiet) result = ir.emit(Op.ULt, l.u(infinity), size);
    else if (signalling) result = l.and(ir.emit(Op.ULt, l.u(infinity), size), below(firstQuiet));
    else if (quiet) result = l.not(below(firstQuiet));
    both(2, 9, () => ir.emit(Op.IEq, size, l.u(infinity)));
    both(3, 8, () => l.and(below(infinity), l.not(below(smallestNormal))));
    both(4, 7, () => l.and(below(smallestNormal), ir.emit(Op.INe, size, l.u(0))));
    both(5, 6, () => ir.emit(Op.IEq, size, l.u(0)));
    return result;
  }
  const finite = l.select(below(smallestNormal), l.select(ir.emit(Op.IEq, size, l.u(0)), l.u(6), l.u(7)), l.u(8));
  const positive = l.select(below(infinity), finite, l.u(9));
  const signed = l.select(isNegative, ir.emit(Op.ISub, l.u(11), positive), positive);
  const nanClass = l.select(below(firstQuiet), l.u(0), l.u(1));
  const number = l.select(ir.emit(Op.ULt, l.u(infinity), size), nanClass, signed);
  return ir.emit(Op.INe, ir.emit(Op.And, ir.emit(Op.Shr, mask, number), l.u(1)), l.u(0));
}
