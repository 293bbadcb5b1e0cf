/**
 * Scalar stores and atomics of gfx10.1 (AMD RDNA1 ISA, section "Scalar memory"), and what else SMEM has beside loads. The wave does them once, whatever
 * EXEC says: here lane 0 does.
 */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import type { Opcode } from "../../rdna/table.ts";
import { hasTwoOperands, InputKind, MemoryWidth, Op, Type } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { atomicKind, joinDwords, opcodesNamed, splitDwords } from "./memory.ts";
import { refuse } from "./refusal.ts";
import { type ScalarAccess, scalarAccess, scalarBufferAccess } from "./smem.ts";

/** Adds the handlers of this class. */
export function defineScalarMemoryWrites(define: Define): void {
  for (const opcode of [...opcodesNamed("s_store_"), ...opcodesNamed("s_buffer_store_")]) {
    define(opcode.name, (l, i) => store(l, i, opcode));
  }
  for (const opcode of [...opcodesNamed("s_atomic_"), ...opcodesNamed("s_buffer_atomic_")]) {
    define(opcode.name, (l, i) => atomic(l, i, opcode));
  }
  define("s_get_waveid_in_workgroup", (l, i) => {
    l.setScalar(i.dst, l.ir.append(Op.Input, Type.U32, InputKind.WaveId));
  });
}

function accessOf(l: Lifter, i: Instruction, opcode: Opcode): ScalarAccess {
  return opcode.words.has("buffer") ? scalarBufferAccess(l, i) : scalarAccess(l, i);
}

/** Whether this lane does what the wave does once. */
function once(l: Lifter): number {
  // The dispatcher starts no wave without threads; here its lanes run, switched off, and must not do this.
  if (l.request.partialThreads) refuse("a scalar write in a dispatch that gives its size in threads");
  return l.ir.emit(Op.IEq, l.lane, l.u(0));
}

function scalarDwords(l: Lifter, first: number, dwords: number): number[] {
  return Array.from({ length: dwords }, (_, k) => l.scalar(first + k));
}

/** Dword by dword: a buffer may end in between. */
function store(l: Lifter, i: Instruction, opcode: Opcode): void {
  const access = accessOf(l, i, opcode);
  scalarDwords(l, i.data, opcode.memory!.dwords).forEach((value, k) => {
    const active = l.and(once(l), access.inRange(k * 4));
    l.ir.emit(Op.Store, access.address(k * 4), active, value, 4 | (i.flags & Flag.Glc ? MemoryWidth.Coherent : 0));
  });
}

function atomic(l: Lifter, i: Instruction, opcode: Opcode): void {
  const { ir } = l;
  const access = accessOf(l, i, opcode);
  const wide = opcode.memory!.bits === 64;
  const kind = atomicKind(opcode.name.replace(/^.*atomic_/, "").replace("_x2", ""), wide);
  const dwords = (wide ? 2 : 1) * (hasTwoOperands(kind) ? 2 : 1);
  let active = l.and(once(l), access.inRange(0));
  if (wide) active = l.and(active, access.inRange(4));
  const data = joinDwords(l, scalarDwords(l, i.data, dwords));
  const old = ir.append(Op.Atomic, wide ? Type.V2 : Type.U32, access.address(0), active, data, kind);
  if (i.dst < 0) return;
  splitDwords(l, old, wide ? 2 : 1).forEach((part, k) => {
    l.setScalar(i.dst + k, ir.emit(Op.ReadLane, part, l.u(0)));
  });
}
