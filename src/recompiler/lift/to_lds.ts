/**
 * Loads that go to LDS instead of a register (AMD RDNA2 ISA, section 8.1.10 "Memory buffer load to LDS"): a dword a lane, at M0[15:0], plus the instruction's
 * offset, plus four bytes a lane.
 */
import { Flag, type Instruction, Operand } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import { refuse } from "./refusal.ts";

/** Whether an instruction is of this form. */
export function isToLds(i: Instruction): boolean {
  return (i.flags & Flag.Lds) !== 0;
}

/** Writes what each active lane has loaded, a dword. */
export function storeToLds(l: Lifter, i: Instruction, value: number): void {
  const { ir } = l;
  if (i.imm < 0) refuse("the form that loads into LDS, with a negative offset");
  const base = ir.emit(Op.And, l.scalar(Operand.M0), l.u(0xffff));
  const address = l.addConstant(ir.emit(Op.IAdd, base, ir.emit(Op.Shl, l.lane, l.u(2))), i.imm);
  ir.emit(Op.LdsStore, address, l.exec(), value, 4);
}
