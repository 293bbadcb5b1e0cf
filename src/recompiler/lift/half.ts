/**
 * 16-bit operands and results (AMD RDNA2 ISA, section 6.2 "16-bit operands"): op_sel names the half of a register; on gfx10 a 16-bit result keeps
 * the other half (LLVM, GCNSubtarget::zeroesHigh16BitsOfDest).
 *
 * Half values travel as U32 whose low half counts; the upper half is anything.
 */
import { Extra, Flag, type Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import { rawSource, writeVector } from "./operands.ts";
import { refuse } from "./refusal.ts";

/** f16 patterns of the inline constants 240..248. */
const INLINE_F16 = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];

/**
 * The 32 bits of source n in an instruction on halves. Inline integers are sign-extended to 32 bits; an inline float is the f16 number with a zero
 * above it for an f16 instruction, and the f32 number for one on integers (LLVM, AMDGPUBaseInfo.cpp, getInlineEncodingV216).
 */
export function halvesSource(l: Lifter, i: Instruction, n: number, float: boolean): number {
  const operand = n === 0 ? i.src0 : n === 1 ? i.src1 : i.src2;
  if (!float || operand < 240 || operand > 248) return l.asU(rawSource(l, i, n));
  return l.asU(rawSource(l, i, n, l.u(INLINE_F16[operand - 240])));
}

/** The low half of a value, which may have been put together from halves just before. */
export function lowHalf(l: Lifter, id: number): number {
  const { ir } = l;
  while (ir.op[id] === Op.BitInsert && ir.d[id] === 16) id = ir.c[id] === 0 ? ir.b[id] : ir.a[id];
  return id;
}

/** The upper half of a value, moved to the low one. */
export function highHalf(l: Lifter, id: number): number {
  const { ir } = l;
  while (ir.op[id] === Op.BitInsert && ir.d[id] === 16 && ir.c[id] === 0) id = ir.a[id];
  if (ir.op[id] === Op.BitInsert && ir.d[id] === 16 && ir.c[id] === 16) return ir.b[id];
  if (ir.op[id] === Op.Const) return l.u(ir.a[id] >>> 16);
  return ir.emit(Op.Shr, id, l.u(16));
}

/** A register from its two halves. */
export function joinHalves(l: Lifter, low: number, high: number): number {
  return l.ir.emit(Op.BitInsert, low, high, 16, 16);
}

function halfOf(l: Lifter, i: Instruction, n: number, float: boolean): number {
  const bits = halvesSource(l, i, n, float);
  return (i.opSel >> n) & 1 ? highHalf(l, bits) : lowHalf(l, bits);
}

/** Source n, 16 bits of an integer operation. */
export function half16Source(l: Lifter, i: Instruction, n: number): number {
  return halfOf(l, i, n, false);
}

/** Source n, 16 bits of an integer operation, extended to 32. */
export function int16Source(l: Lifter, i: Instruction, n: number, signed: boolean): number {
  return extend16(l, half16Source(l, i, n), signed);
}

/** A half extended to 32 bits. */
export function extend16(l: Lifter, bits: number, signed: boolean): number {
  return l.ir.emit(signed ? Op.SBfe : Op.UBfe, bits, l.u(0), l.u(16));
}

/** Source n, an f16 number, as bits; neg and abs applied, denormals as MODE says for operands. */
export function halfBitsSource(l: Lifter, i: Instruction, n: number): number {
  return halfInput(l, movedHalf(l, i, n));
}

/** Source n, an f16 number, with neg and abs, for what inspects it without computing. */
export function movedHalf(l: Lifter, i: Instruction, n: number): number {
  const { ir } = l;
  let bits = halfOf(l, i, n, true);
  if ((i.abs >> n) & 1) bits = ir.emit(Op.And, bits, l.u(0x7fff));
  if ((i.neg >> n) & 1) bits = ir.emit(Op.Xor, bits, l.u(0x8000));
  return bits;
}

/** The same as the F32 of the same value. */
export function halfFloatSource(l: Lifter, i: Instruction, n: number): number {
  return l.ir.emit(Op.CvtH2F, halfBitsSource(l, i, n));
}

/** An f16 operand as an operation sees it. */
export function halfInput(l: Lifter, bits: number): number {
  return l.modes.keepsInputs16 ? bits : flushHalf(l, bits);
}

/** Denormal f16 bits become a zero of the same sign. */
export function flushHalf(l: Lifter, bits: number): number {
  const { ir } = l;
  const isSmall = ir.emit(Op.IEq, ir.emit(Op.And, bits, l.u(0x7c00)), l.u(0));
  return l.select(isSmall, ir.emit(Op.And, bits, l.u(0x8000)), bits);
}

/** Output modifier, denormals as MODE says for results, clamp: what happens to the f16 result of an operation. */
export function halfResult(l: Lifter, i: Instruction, bits: number, keeps = false): number {
  const { ir, modes } = l;
  let result = keeps || modes.keepsResults16 ? bits : flushHalf(l, bits);
  // As for f32: only where denormal results are flushed, and not in IEEE mode; zeros become positive first.
  if (i.omod !== 0 && !modes.keepsResults16 && !l.request.ieee) {
    const factor = l.u([0, 0x4000, 0x4400, 0x3800][i.omod]);
    const positive = ir.emit(Op.HAdd, result, l.u(0), 1);
    result = flushHalf(l, ir.emit(Op.HMul, positive, factor, 1));
    if (i.omod === 3) {
      const small = ir.emit(Op.ULt, ir.emit(Op.And, positive, l.u(0x7fff)), l.u(0x800));
      result = l.select(small, ir.emit(Op.And, positive, l.u(0x8000)), result);
    }
  }
  return i.flags & Flag.Clamp ? clampHalf(l, result) : result;
}

/** To 0..1; a NaN becomes 0 with DX10_CLAMP and stays what it is without. */
export function clampHalf(l: Lifter, bits: number): number {
  const { ir } = l;
  const number = extend16(l, bits, false);
  const one = l.u(0x3c00), above = ir.emit(Op.UMin, number, one);
  // Bits of the numbers below zero, and of NaN with either sign.
  const clamped = l.select(ir.emit(Op.ULt, l.u(0x7fff), number), l.u(0), above);
  const isNan = ir.emit(Op.ULt, l.u(0x7c00), ir.emit(Op.And, number, l.u(0x7fff)));
  return l.select(isNan, l.request.dx10Clamp ? l.u(0) : number, clamped);
}

/** Writes an f16 result. */
export function writeHalfFloat(l: Lifter, i: Instruction, bits: number, high?: boolean): void {
  writeHalf(l, i, halfResult(l, i, bits), high);
}

/** Writes a 16-bit result that has no clamp of its own. */
export function writeHalfInt(l: Lifter, i: Instruction, bits: number): void {
  if (i.flags & Flag.Clamp) refuse("clamp on this integer operation is not implemented");
  if (i.omod !== 0) refuse("an output modifier on an integer operation");
  writeHalf(l, i, bits);
}

/** Writes 16 result bits to the half that op_sel or SDWA names, or to the one that `high` says. */
export function writeHalf(l: Lifter, i: Instruction, bits: number, high = (i.opSel & 8) !== 0): void {
  if (i.extra === Extra.Sdwa) return writeVector(l, i, extend16(l, bits, false));
  const old = l.asU(l.source(i.dst));
  l.setVector(i.dst, high ? joinHalves(l, old, bits) : l.ir.emit(Op.BitInsert, old, bits, 0, 16));
}
