/**
 * Registers named relative to M0 (AMD RDNA2 ISA, sections 12.3 and 12.8: S_MOVREL*, V_MOVREL*, V_SWAPREL). Registers are SSA values here, so an index
 * that is not known becomes a choice among all registers that it could name: a tree of selections by the bits of the index for reads, one selection
 * a register for writes.
 *
 * Out of range a source is register 0 of its kind and a destination is not written (AMD RDNA2 ISA, "Out-of-range behavior"). How many vector registers
 * a wave has is not known here, so their range ends at 256.
 */
import { type Instruction, Operand } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { rawSource } from "./operands.ts";
import { refuse } from "./refusal.ts";
import { SGPR_COUNT, Slot } from "./slots.ts";

/** Adds the handlers of this class. */
export function defineIndexed(define: Define): void {
  define("s_movrels_b32", (l, i) => l.setScalar(i.dst, readScalar(l, i.src0, wholeM0(l))));
  define("s_movrels_b64", (l, i) => {
    const index = wholeM0(l);
    l.setPair(i.dst, [readScalar(l, i.src0, index), readScalar(l, i.src0 + 1, index)]);
  });
  define("s_movreld_b32", (l, i) => writeScalar(l, i.dst, wholeM0(l), l.scalar(i.src0)));
  define("s_movreld_b64", (l, i) => {
    const [low, high] = l.scalarPair(i.src0), index = wholeM0(l);
    writeScalar(l, i.dst, index, low);
    writeScalar(l, i.dst + 1, index, high);
  });
  define("s_movrelsd_2_b32", (l, i) => {
    writeScalar(l, i.dst, destinationIndex(l), readScalar(l, i.src0, sourceIndex(l)));
  });
  define("v_movrels_b32", (l, i) => vectorMove(l, i, (id) => l.setVector(i.dst, id), wholeM0(l)));
  define("v_movreld_b32", (l, i) => {
    refuseModifiers(i);
    writeVectorAt(l, i.dst, wholeM0(l), rawSource(l, i, 0));
  });
  define("v_movrelsd_b32", (l, i) => {
    const index = wholeM0(l);
    vectorMove(l, i, (id) => writeVectorAt(l, i.dst, index, id), index);
  });
  define("v_movrelsd_2_b32", (l, i) => {
    vectorMove(l, i, (id) => writeVectorAt(l, i.dst, destinationIndex(l), id), sourceIndex(l));
  });
  define("v_swaprel_b32", (l, i) => {
    const a = readVector(l, i.dst, destinationIndex(l)), b = readVector(l, i.src0, sourceIndex(l));
    writeVectorAt(l, i.dst, destinationIndex(l), b);
    writeVectorAt(l, i.src0, sourceIndex(l), a);
  });
}

function wholeM0(l: Lifter): number {
  return l.scalar(Operand.M0);
}

/** M0[9:0]. */
function sourceIndex(l: Lifter): number {
  return l.ir.emit(Op.UBfe, l.scalar(Operand.M0), l.u(0), l.u(10));
}

/** M0[25:16]. */
function destinationIndex(l: Lifter): number {
  return l.ir.emit(Op.UBfe, l.scalar(Operand.M0), l.u(16), l.u(10));
}

/** The constant that an index is, or -1. */
function knownIndex(l: Lifter, index: number): number {
  const { ir } = l;
  if (ir.op[index] === Op.Const) return ir.a[index] >>> 0;
  const isField = ir.op[index] === Op.UBfe && ir.op[ir.a[index]] === Op.Const;
  return isField ? (ir.a[ir.a[index]] >>> ir.a[ir.b[index]]) & 0x3ff : -1;
}

function refuseModifiers(i: Instruction): void {
  if (i.extra !== 0) refuse("SDWA or DPP on a register that M0 names");
  if ((i.neg | i.abs | i.omod) !== 0) refuse("a modifier on a move");
}

function vectorMove(l: Lifter, i: Instruction, write: (id: number) => void, index: number): void {
  refuseModifiers(i);
  write(readVector(l, i.src0, index));
}

function readScalar(l: Lifter, first: number, index: number): number {
  return readAt(l, first, 0, SGPR_COUNT, index, (register) => l.scalar(register));
}

function readVector(l: Lifter, first: number, index: number): number {
  return readAt(l, first, Slot.Vgpr0, Slot.Vgpr0 + 256, index, (register) => l.asU(l.source(register)));
}

/** Register `first` + index; register `zero` where that is not below `end`. */
function readAt(
  l: Lifter,
  first: number,
  zero: number,
  end: number,
  index: number,
  read: (register: number) => number,
): number {
  const known = knownIndex(l, index);
  if (known >= 0) return read(first + known < end ? first + known : zero);
  const { ir } = l;
  let level = Array.from({ length: end - first }, (_, k) => read(first + k));
  for (let bit = 0; level.length > 1; bit++) {
    let odd = 0;
    const next: number[] = [];
    for (let k = 0; k < level.length; k += 2) {
      const a = level[k], b = level[k + 1] ?? a;
      // Registers that were never written all hold the same zero.
      if (a !== b && odd === 0) odd = bitOf(l, index, bit);
      next.push(a === b ? a : l.select(odd, b, a));
    }
    level = next;
  }
  return l.select(ir.emit(Op.ULt, index, l.u(end - first)), level[0], read(zero));
}

function bitOf(l: Lifter, index: number, bit: number): number {
  const { ir } = l;
  return ir.emit(Op.INe, ir.emit(Op.And, index, l.u(1 << bit)), l.u(0));
}

function writeScalar(l: Lifter, first: number, index: number, id: number): void {
  const known = knownIndex(l, index);
  for (let register = first; register < SGPR_COUNT; register++) {
    if (known >= 0) {
      if (register === first + known) l.setScalar(register, id);
      continue;
    }
    const here = l.ir.emit(Op.IEq, index, l.u(register - first));
    l.setScalar(register, l.select(here, id, l.scalar(register)));
  }
}

function writeVectorAt(l: Lifter, first: number, index: number, id: number): void {
  const known = knownIndex(l, index);
  for (let register = first; register < Slot.Vgpr0 + 256; register++) {
    if (known >= 0) {
      if (register === first + known) l.setVector(register, id);
      continue;
    }
    const here = l.ir.emit(Op.IEq, index, l.u(register - first));
    l.setVector(register, l.select(here, l.asU(id), l.source(register)));
  }
}
