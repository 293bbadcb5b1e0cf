/** Merged groups (stages/group.ts): what is in the registers when a wave starts, exports, and the request for space. */
import { Flag, type Instruction, Operand } from "../../../rdna/instruction.ts";
import { GROUP_ADDRESS } from "../../abi.ts";
import { InputKind, Op, Type } from "../../ir/ops.ts";
import { ExportTarget } from "../../stages/export_targets.ts";
import {
  exportOffset,
  GROUP_RECORDS,
  GROUP_SGPRS,
  GROUP_USER_DATA,
  GROUP_VGPRS,
  type GroupLayout,
  knownRegisters,
} from "../../stages/group.ts";
import type { Lifter } from "../context.ts";
import { splitDwords, vectorType } from "../memory.ts";
import { refuse } from "../refusal.ts";
import { Slot } from "../slots.ts";

/** The SGPR with the wave's place in scratch memory. */
const SCRATCH_SGPR = 5;
const HIGH = Number(GROUP_ADDRESS >> 32n);

/** Loads the registers: user data, those of the wave, those of the thread. */
export function fillGroupRegisters(l: Lifter, layout: GroupLayout): void {
  const { ir, request } = l;
  const load = (at: number, dwords: number) =>
    splitDwords(l, ir.append(Op.Load, vectorType(dwords), at, l.true, 4 * dwords), dwords);
  const wave = ir.emit(Op.Shl, ir.append(Op.Input, Type.U32, InputKind.WaveId), l.u(Math.log2(4 * GROUP_SGPRS)));
  for (let s = 0; s < GROUP_SGPRS; s += 4) {
    load(place(l, layout, layout.scalars + 4 * s, wave), 4).forEach((word, k) => l.setScalar(s + k, word));
  }
  const pushed = Math.min(request.userSgprCount, GROUP_USER_DATA);
  for (let s = 0; s < pushed; s++) {
    l.setScalar(GROUP_SGPRS + s, ir.append(Op.Input, Type.U32, InputKind.UserData, s));
  }
  for (let s = GROUP_USER_DATA; s < request.userSgprCount; s += 4) {
    const dwords = Math.min(4, request.userSgprCount - s);
    load(ir.emit(Op.Pack64, l.u(4 * (s - GROUP_USER_DATA)), l.u(HIGH)), dwords).forEach((word, k) =>
      l.setScalar(GROUP_SGPRS + s + k, word)
    );
  }
  for (const [sgpr, value] of knownRegisters(request)) l.setScalar(sgpr, l.u(value));
  if (request.scratch) l.setScalar(SCRATCH_SGPR, ir.append(Op.Input, Type.U32, InputKind.ScratchOffset));
  for (let v = 0; v < GROUP_VGPRS; v++) {
    const [word] = load(place(l, layout, layout.vectors + v * layout.threads * 4, thread(l, 4)), 1);
    l.state.set(Slot.Vgpr0 + v, word);
  }
}

/** An export: words of the group's record, in the active lanes. */
export function exportGroup(l: Lifter, i: Instruction, layout: GroupLayout): void {
  const target = i.dim, exec = l.exec();
  if (i.flags & Flag.Compr) refuse("a compressed export in a merged group");
  const sources = [i.src0, i.src1, i.src2, i.src3];
  const word = (k: number) => l.asU(l.source(sources[k]));
  if (target === ExportTarget.Primitive) {
    if (i.mode !== 1) refuse("a primitive export of another form than one word");
    l.ir.emit(Op.Store, place(l, layout, layout.primitives, thread(l, 4)), exec, word(0), 4);
    return;
  }
  if (target === ExportTarget.Null) return;
  const isPosition = target >= ExportTarget.Position0 && target < ExportTarget.Position0 + 4;
  if (!isPosition && target < ExportTarget.Param0) refuse(`export target ${target} in a merged group`);
  const offset = exportOffset(layout, target), lane = thread(l, 16);
  if (i.mode === 15) {
    const vector = l.ir.append(Op.Vec, Type.V4, word(0), word(1), word(2), word(3));
    l.ir.emit(Op.Store, place(l, layout, offset, lane), exec, vector, 16);
    return;
  }
  for (let k = 0; k < 4; k++) {
    if (i.mode >> k & 1) l.ir.emit(Op.Store, place(l, layout, offset + 4 * k, lane), exec, word(k), 4);
  }
}

/** MSG_GS_ALLOC_REQ: the wave sends it once, whatever EXEC says. */
export function allocateGroup(l: Lifter, layout: GroupLayout): void {
  const once = l.ir.emit(Op.IEq, l.lane, l.u(0));
  l.ir.emit(Op.Store, place(l, layout, layout.allocation), once, l.scalar(Operand.M0), 4);
}

/** Address of a byte of the group's record; the window is smaller than 4 GiB. */
function place(l: Lifter, layout: GroupLayout, offset: number, more?: number): number {
  const { ir } = l;
  const group = ir.append(Op.Input, Type.U32, InputKind.WorkgroupId, 0);
  const record = ir.emit(Op.IMul, group, l.u(layout.bytes));
  const start = more === undefined ? record : ir.emit(Op.IAdd, record, more);
  return ir.emit(Op.Pack64, l.addConstant(start, GROUP_RECORDS + offset), l.u(HIGH));
}

/** The thread's number in the group, in units of `bytes`. */
function thread(l: Lifter, bytes: number): number {
  const index = l.ir.append(Op.Input, Type.U32, InputKind.LocalIndex, 0);
  return l.ir.emit(Op.Shl, index, l.u(Math.log2(bytes)));
}
