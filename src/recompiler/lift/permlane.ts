/**
 * v_permlane16_b32 and v_permlanex16_b32 (AMD RDNA2 ISA, section 12.10): a lane reads any lane of its own row of 16, or of the other row of its pair.
 * S1 holds the 4-bit selects of lanes 0..7 of each row, S2 those of lanes 8..15. op_sel[0] is FI, op_sel[1] BOUND_CTRL, with the meaning that they
 * have for DPP.
 */
import type { Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { isActive, lanePart, shuffle, zeroWhereInactive } from "./lane_bits.ts";

/** Adds the handlers of this class. */
export function definePermutations(define: Define): void {
  define("v_permlane16_b32", (l, i) => permute(l, i, false));
  define("v_permlanex16_b32", (l, i) => permute(l, i, true));
}

function permute(l: Lifter, i: Instruction, otherRow: boolean): void {
  const { ir } = l;
  const fetchInactive = (i.opSel & 1) !== 0, zeroBound = (i.opSel & 2) !== 0;
  const value = l.asU(l.source(i.src0));
  const row = lanePart(l, ~15);
  const base = otherRow ? ir.emit(Op.Xor, row, l.u(16)) : row;
  const from = ir.emit(Op.Or, base, select(l, l.scalar(i.src1), l.scalar(i.src2)));
  if (fetchInactive) l.setVector(i.dst, shuffle(l, value, from));
  else if (zeroBound) l.setVector(i.dst, shuffle(l, zeroWhereInactive(l, value), from));
  else {
    const old = l.source(i.dst);
    l.setVector(i.dst, l.select(isActive(l, from), shuffle(l, value, from), l.asU(old)));
  }
}

/** The 4-bit select of this lane. */
function select(l: Lifter, low: number, high: number): number {
  const { ir } = l;
  const known = (id: number) => ir.op[id] === Op.Const ? ir.a[id] : undefined;
  const first = known(low), second = known(high);
  // All lanes of a row select the same: 0 and -1 are what compilers use.
  if (first !== undefined && first === second && first === Math.imul(first & 15, 0x11111111)) return l.u(first & 15);
  const upper = ir.emit(Op.INe, lanePart(l, 8), l.u(0));
  const shift = ir.emit(Op.Shl, lanePart(l, 7), l.u(2));
  return ir.emit(Op.And, ir.emit(Op.Shr, l.select(upper, high, low), shift), l.u(15));
}
