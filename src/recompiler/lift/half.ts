/** 16-bit operands (AMD RDNA2 ISA, section 6.2 "16-bit operands"): op_sel names the half of a register; on gfx10 a 16-bit result keeps the other half. */
import { Extra, type Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import { intoHalf } from "./memory.ts";
import { rawSource, writeVector } from "./operands.ts";

/** f16 patterns of the inline constants 240..248. */
const INLINE_F16 = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];

/** Source n as 16 bits in the low half (the high half is anything). Modifiers are not applied. */
export function half16Source(l: Lifter, i: Instruction, n: number): number {
  const operand = n === 0 ? i.src0 : n === 1 ? i.src1 : i.src2;
  if (operand >= 240 && operand <= 248) return l.u(INLINE_F16[operand - 240]);
  const id = l.asU(rawSource(l, i, n));
  return (i.opSel >> n) & 1 ? l.ir.emit(Op.Shr, id, l.u(16)) : id;
}

/** Source n, an f16 number, as the F32 of the same value; neg and abs applied, denormals as MODE says. */
export function halfFloatSource(l: Lifter, i: Instruction, n: number): number {
  const { ir } = l;
  let bits = half16Source(l, i, n);
  if ((i.abs >> n) & 1) bits = ir.emit(Op.And, bits, l.u(0x7fff));
  if ((i.neg >> n) & 1) bits = ir.emit(Op.Xor, bits, l.u(0x8000));
  return ir.emit(Op.CvtH2F, l.modes.keepsInputs16 ? bits : flushHalf(l, bits));
}

/** Denormal f16 bits become a zero of the same sign. */
export function flushHalf(l: Lifter, bits: number): number {
  const { ir } = l;
  const isSmall = ir.emit(Op.IEq, ir.emit(Op.And, bits, l.u(0x7c00)), l.u(0));
  return l.select(isSmall, ir.emit(Op.And, bits, l.u(0x8000)), bits);
}

/** Writes 16 result bits to the half that op_sel or SDWA names. */
export function writeHalf(l: Lifter, i: Instruction, bits: number): void {
  if (i.extra === Extra.Sdwa) return writeVector(l, i, bits);
  l.setVector(i.dst, intoHalf(l, l.asU(l.source(i.dst)), bits, i.opSel & 8 ? "high" : "low"));
}
