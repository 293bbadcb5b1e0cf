/** Vector additions and subtractions with carry masks, and the 32 x 32 + 64 multiply-adds (AMD RDNA2 ISA, VOP3B). */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { intSource, writeVector } from "./operands.ts";
import { refuse } from "./refusal.ts";

/** Adds the handlers of this class. */
export function defineCarry(define: Define): void {
  define("v_add_co_u32", (l, i) => add(l, i, false));
  define("v_add_co_ci_u32", (l, i) => add(l, i, true));
  define("v_sub_co_u32", (l, i) => subtract(l, i, false, false));
  define("v_subrev_co_u32", (l, i) => subtract(l, i, true, false));
  define("v_sub_co_ci_u32", (l, i) => subtract(l, i, false, true));
  define("v_subrev_co_ci_u32", (l, i) => subtract(l, i, true, true));
  define("v_mad_u64_u32", (l, i) => multiplyAdd(l, i, false));
  define("v_mad_i64_i32", (l, i) => multiplyAdd(l, i, true));
}

function add(l: Lifter, i: Instruction, withCarry: boolean): void {
  const { ir } = l;
  const a = intSource(l, i, 0), b = intSource(l, i, 1);
  let sum = ir.emit(Op.IAdd, a, b);
  let carry = ir.emit(Op.ULt, sum, a);
  if (withCarry) {
    const part = sum;
    sum = ir.emit(Op.IAdd, part, l.boolToU(l.mask(i.src2)));
    carry = l.or(carry, ir.emit(Op.ULt, sum, part));
  }
  write(l, i, i.flags & Flag.Clamp ? l.select(carry, l.u(-1), sum) : sum, carry);
}

function subtract(l: Lifter, i: Instruction, reversed: boolean, withBorrow: boolean): void {
  const { ir } = l;
  const x = intSource(l, i, 0), y = intSource(l, i, 1);
  const [a, b] = reversed ? [y, x] : [x, y];
  let difference = ir.emit(Op.ISub, a, b);
  let borrow = ir.emit(Op.ULt, a, b);
  if (withBorrow) {
    const part = difference, one = l.boolToU(l.mask(i.src2));
    difference = ir.emit(Op.ISub, part, one);
    borrow = l.or(borrow, ir.emit(Op.ULt, part, one));
  }
  write(l, i, i.flags & Flag.Clamp ? l.select(borrow, l.u(0), difference) : difference, borrow);
}

/** The mask is written with EXEC as it was, also where it goes to EXEC itself. */
function write(l: Lifter, i: Instruction, result: number, carry: number): void {
  writeVector(l, i, result);
  l.setMask(i.sdst, carry);
}

/** D(64) = S0 * S1 + S2(64); the mask gets the carry of the addition (its overflow in the signed form). */
function multiplyAdd(l: Lifter, i: Instruction, signed: boolean): void {
  const { ir } = l;
  if (i.flags & Flag.Clamp) refuse("clamp on this integer operation is not implemented");
  const product = ir.emit(signed ? Op.SMulWide : Op.UMulWide, intSource(l, i, 0), intSource(l, i, 1));
  const addend = l.pack(l.sourcePair(i.src2, signed ? "sign" : "zero"));
  const sum = ir.emit(Op.IAdd64, product, addend);
  const pair = l.unpack(sum);
  l.setVectors(i.dst, pair);
  if (!signed) return l.setMask(i.sdst, ir.emit(Op.Ult64, sum, addend));
  const change = (id: number) => ir.emit(Op.Xor, ir.emit(Op.Hi64, id), pair[1]);
  const overflow = ir.emit(Op.SLt, ir.emit(Op.And, change(product), change(addend)), l.u(0));
  l.setMask(i.sdst, overflow);
}
