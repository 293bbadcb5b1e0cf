/** f64 operands and results: register pairs, modifiers, denormals as MODE says (AMD RDNA2 ISA, sections 6.2 and 12.10). */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import { Op, Type } from "../ir/ops.ts";
import type { Lifter, Pair } from "./context.ts";

const SIGN = 0x80000000;

/** The F64 constant with this high word; the low word is 0. */
export function constantDouble(l: Lifter, high: number, low = 0): number {
  return l.ir.append(Op.Const, Type.F64, low, high);
}

/** Source n, an f64 number: abs, then neg; denormals as MODE says for operands. A 32-bit literal is the high word. */
export function doubleSource(l: Lifter, i: Instruction, n: number): number {
  let pair = movedDouble(l, i, n);
  if (!l.modes.keepsInputs16) pair = flushDouble(l, pair);
  return fromPair(l, pair);
}

/** Source n with neg and abs as bits, for what inspects it without computing. */
export function movedDouble(l: Lifter, i: Instruction, n: number): Pair {
  const [low, high] = l.sourcePair(n === 0 ? i.src0 : n === 1 ? i.src1 : i.src2, "high");
  let top = high;
  if ((i.abs >> n) & 1) top = l.ir.emit(Op.And, top, l.u(~SIGN));
  if ((i.neg >> n) & 1) top = l.ir.emit(Op.Xor, top, l.u(SIGN));
  return [low, top];
}

/** The F64 value of a pair. */
export function fromPair(l: Lifter, pair: Pair): number {
  return l.ir.emit(Op.BitcastF64, l.pack(pair));
}

/** The halves of an F64 value. */
export function toPair(l: Lifter, value: number): Pair {
  return l.unpack(l.ir.emit(Op.BitcastU64, value));
}

/** Denormals become zeros of the same sign. */
function flushDouble(l: Lifter, [low, high]: Pair): Pair {
  const { ir } = l;
  const isSmall = ir.emit(Op.IEq, ir.emit(Op.And, high, l.u(0x7ff00000)), l.u(0));
  return [l.select(isSmall, l.u(0), low), l.select(isSmall, ir.emit(Op.And, high, l.u(SIGN)), high)];
}

/** Writes the result of an f64 operation: output modifier, denormals, clamp. */
export function writeDouble(l: Lifter, i: Instruction, value: number, keeps = false): void {
  const { ir, modes } = l;
  const flushed = (id: number) => modes.keepsResults16 ? id : fromPair(l, flushDouble(l, toPair(l, id)));
  let result = keeps ? value : flushed(value);
  // As for f32: only where denormal results are flushed, and not in IEEE mode; zeros become positive first.
  if (i.omod !== 0 && !modes.keepsResults16 && !l.request.ieee) {
    const factor = constantDouble(l, [0, 0x40000000, 0x40100000, 0x3fe00000][i.omod]);
    const positive = ir.emit(Op.FAdd64, result, constantDouble(l, 0));
    result = flushed(ir.emit(Op.FMul64, positive, factor));
    if (i.omod === 3) {
      const high = toPair(l, positive)[1];
      const small = ir.emit(Op.ULt, ir.emit(Op.And, high, l.u(~SIGN)), l.u(0x200000));
      result = l.select(small, fromPair(l, [l.u(0), ir.emit(Op.And, high, l.u(SIGN))]), result);
    }
  }
  if (i.flags & Flag.Clamp) {
    const clamped = ir.emit(Op.FMin64, ir.emit(Op.FMax64, result, constantDouble(l, 0)), constantDouble(l, 0x3ff00000));
    result = l.request.dx10Clamp ? clamped : l.select(ir.emit(Op.FIsNan, result), result, clamped);
  }
  l.setVectors(i.dst, toPair(l, result));
}
