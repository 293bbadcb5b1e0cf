/** Sources and destinations of vector ALU instructions: SDWA selects, input modifiers, clamp and output modifiers (AMD RDNA2 ISA, section 6). */
import { Encoding, Extra, Flag, type Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import { refuse } from "./refusal.ts";

const SELECT_DWORD = 6;
const UNUSED_SEXT = 1, UNUSED_PRESERVE = 2;

/**
 * Source n (0..2), 32 bits as they are: SDWA part selected, no float modifiers applied.
 *
 * @param constant the bits of an inline constant, where they are not the ones that 32-bit operations see
 */
export function rawSource(l: Lifter, i: Instruction, n: number, constant = 0): number {
  const operand = n === 0 ? i.src0 : n === 1 ? i.src1 : i.src2;
  const value = () => constant || l.source(operand);
  if (i.extra === Extra.None) return value();
  if (i.extra !== Extra.Sdwa) {
    if (l.dpp === 0) refuse("DPP is not implemented for this instruction");
    return n === 0 ? l.dpp : value();
  }
  if (n > 1) return value();
  const control = n === 0 ? i.control >>> 16 : i.control >>> 24;
  const select = control & 7;
  if (select === SELECT_DWORD) return value();
  const [offset, bits] = select < 4 ? [select * 8, 8] : [(select - 4) * 16, 16];
  return l.ir.emit(control & 8 ? Op.SBfe : Op.UBfe, l.asU(value()), l.u(offset), l.u(bits));
}

/** Source n of an integer operation. */
export function intSource(l: Lifter, i: Instruction, n: number): number {
  if (((i.neg | i.abs) >> n) & 1) refuse("a float modifier (neg, abs) on an integer operand");
  return l.asU(rawSource(l, i, n));
}

/** Source n of an f32 operation: abs, then neg; denormals as MODE says. */
export function floatSource(l: Lifter, i: Instruction, n: number): number {
  const { ir } = l;
  let id = l.asF(rawSource(l, i, n));
  const absolute = (i.abs >> n) & 1, negative = (i.neg >> n) & 1;
  if (ir.op[id] === Op.Const) {
    let bits = ir.a[id];
    if (absolute) bits &= 0x7fffffff;
    if (negative) bits ^= 0x80000000;
    return l.modes.input(ir.constF(bits));
  }
  if (absolute) id = ir.emit(Op.FAbs, id);
  if (negative) id = ir.emit(Op.FNeg, id);
  return l.modes.input(id);
}

/** Source n with abs and neg, as bits: for what moves or inspects floats without computing, which flushes nothing. */
export function movedSource(l: Lifter, i: Instruction, n: number): number {
  let id = rawSource(l, i, n);
  if ((i.abs >> n) & 1) id = l.ir.emit(Op.And, l.asU(id), l.u(0x7fffffff));
  if ((i.neg >> n) & 1) id = l.ir.emit(Op.Xor, l.asU(id), l.u(0x80000000));
  return id;
}

/** Writes a 32-bit result; SDWA may put a part of it into a part of the register. */
export function writeVector(l: Lifter, i: Instruction, id: number): void {
  if (i.extra !== Extra.Sdwa || i.encoding === Encoding.Vopc) return l.setVector(i.dst, id);
  const { ir } = l;
  const select = (i.control >>> 8) & 7, unused = (i.control >>> 11) & 3;
  if (select === SELECT_DWORD) return l.setVector(i.dst, id);
  const [offset, bits] = select < 4 ? [select * 8, 8] : [(select - 4) * 16, 16];
  const mask = ((1 << bits) - 1) << offset;
  const value = l.asU(id);
  let placed: number;
  if (unused === UNUSED_SEXT) placed = ir.emit(Op.Shl, ir.emit(Op.SBfe, value, l.u(0), l.u(bits)), l.u(offset));
  else {
    placed = ir.emit(Op.And, ir.emit(Op.Shl, value, l.u(offset)), l.u(mask));
    if (unused === UNUSED_PRESERVE) {
      placed = ir.emit(Op.Or, ir.emit(Op.And, l.asU(l.source(i.dst)), l.u(~mask)), placed);
    }
  }
  l.setVector(i.dst, placed);
}

/** Writes the result of an integer operation that has no clamp of its own. */
export function writeInt(l: Lifter, i: Instruction, id: number): void {
  if (i.flags & Flag.Clamp) refuse("clamp on this integer operation is not implemented");
  if (i.omod !== 0) refuse("an output modifier on an integer operation");
  writeVector(l, i, id);
}

/**
 * Writes the result of an f32 operation: output modifier, denormals, clamp.
 *
 * @param keeps denormal results stay, whatever MODE says
 */
export function writeFloat(l: Lifter, i: Instruction, id: number, keeps = false): void {
  const { ir } = l;
  let result = keeps ? id : l.modes.result(id);
  // Output modifiers work only where MODE flushes f32 results and IEEE is off; elsewhere they are ignored. A zero becomes positive before it is scaled;
  // a number that halving makes denormal becomes a zero of its sign (measured by AMD on gfx1010, gfx1030: ROCm/rocm-systems, output_modifier.h).
  if (i.omod !== 0 && l.modes.flushesResults32 && !l.request.ieee) {
    const factor = ir.constF([0, 0x40000000, 0x40800000, 0x3f000000][i.omod]);
    const positive = ir.emit(Op.FAdd, result, ir.constF(0));
    result = l.modes.result(ir.emit(Op.FMul, positive, factor));
    if (i.omod === 3) {
      // Before any rounding: the largest number below 2^-125 does not become 2^-126.
      const bits = l.asU(positive);
      const small = ir.emit(Op.ULt, ir.emit(Op.And, bits, l.u(0x7fffffff)), l.u(0x1000000));
      result = l.select(small, l.asF(ir.emit(Op.And, bits, l.u(0x80000000))), result);
    }
  }
  if (i.flags & Flag.Clamp) result = keeps && l.modes.deviceFlushes32 ? clampBits(l, result) : clampFloat(l, result);
  writeVector(l, i, result);
}

/** To 0..1; a NaN becomes 0 with DX10_CLAMP and stays what it is without. */
function clampFloat(l: Lifter, id: number): number {
  const { ir } = l;
  const clamped = ir.emit(Op.FMin, ir.emit(Op.FMax, id, ir.constF(0)), ir.constF(0x3f800000));
  return l.request.dx10Clamp ? clamped : l.select(ir.emit(Op.FIsNan, id), id, clamped);
}

/** The same on integers, for denormals that the device would flush. */
function clampBits(l: Lifter, id: number): number {
  const { ir } = l;
  const bits = l.asU(id);
  // Numbers below zero, and NaN of either sign.
  const outside = ir.emit(Op.ULt, l.u(0x7f800000), bits);
  const clamped = l.asF(l.select(outside, l.u(0), ir.emit(Op.UMin, bits, l.u(0x3f800000))));
  return l.request.dx10Clamp ? clamped : l.select(ir.emit(Op.FIsNan, id), id, clamped);
}

/** Low 24 bits, as an unsigned or signed number. */
export function low24(l: Lifter, id: number, signed: boolean): number {
  return l.ir.emit(signed ? Op.SBfe : Op.UBfe, id, l.u(0), l.u(24));
}
