/**
 * FLAT instructions of programs that ask where LDS and scratch memory lie in the flat address space (SRC_SHARED_BASE, SRC_PRIVATE_BASE, SH_MEM_BASES): each
 * access goes to guest memory, to LDS or to scratch memory by the high word of its address, without the instruction's offset. Other programs cannot make
 * such addresses: to them they are addresses of guest memory, where nothing is mapped.
 */
import { ApertureOperand, APERTURES } from "../../rdna/apertures.ts";
import type { Instruction } from "../../rdna/instruction.ts";
import { opcodeId } from "../../rdna/table.ts";
import { AtomicKind, hasTwoOperands, Op, Type } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import {
  coherence,
  fromHalf,
  intoHalf,
  joinDwords,
  splitDwords,
  type Transfer,
  vectorDwords,
  vectorType,
} from "./memory.ts";
import { scratchLoad, scratchStore } from "./scratch.ts";

const GETREG = opcodeId("s_getreg_b32"), SH_MEM_BASES_ID = 15;

/** Whether an instruction reads the place of an aperture. */
function readsAperture({ op, imm, src0, src1, src2 }: Instruction): boolean {
  if (op === GETREG) return (imm & 63) === SH_MEM_BASES_ID;
  return [src0, src1, src2].some((s) => s >= ApertureOperand.SharedBase && s <= ApertureOperand.PrivateLimit);
}

/** Whether a program can know the apertures. */
export function knowsApertures(instructions: readonly Instruction[]): boolean {
  return instructions.some(readsAperture);
}

/** The three ways of a FLAT access. */
interface Ways {
  /** Bool each: active, and going there. */
  readonly guest: number;
  readonly shared: number;
  readonly private: number;
  /** U32: byte address in LDS or in the lane's scratch memory. */
  readonly local: number;
}

function waysOf(l: Lifter, i: Instruction, offset: number): Ways {
  const { ir } = l;
  const [low, high] = l.sourcePair(i.addr);
  const isShared = ir.emit(Op.IEq, high, l.u(APERTURES.shared));
  const isPrivate = ir.emit(Op.IEq, high, l.u(APERTURES.private));
  const exec = l.exec();
  return {
    guest: l.and(exec, l.not(l.or(isShared, isPrivate))),
    shared: l.and(exec, isShared),
    private: l.and(exec, isPrivate),
    local: l.addConstant(low, offset),
  };
}

/** A FLAT load. @param address of guest memory, U64 @param offset the instruction's */
export function flatLoad(l: Lifter, i: Instruction, transfer: Transfer, address: number, offset: number): void {
  const { ir } = l;
  const { bytes, dwords, width, half } = transfer;
  const ways = waysOf(l, i, offset);
  const guest = splitDwords(
    l,
    ir.append(Op.Load, vectorType(dwords), address, ways.guest, width | coherence(i)),
    dwords,
  );
  const local = Array.from(
    { length: dwords },
    (_, k) => ir.append(Op.LdsLoad, Type.U32, l.addConstant(ways.local, k * 4), ways.shared, bytes < 4 ? width : 4),
  );
  const own = scratchLoad(l, i, transfer, ways.local, ways.private);
  const parts = guest.map((part, k) => l.select(ways.shared, local[k], l.select(ways.private, own[k], part)));
  if (half === "none") l.setVectors(i.dst, parts);
  else l.setVector(i.dst, intoHalf(l, l.asU(l.source(i.dst)), parts[0], half));
}

/** A FLAT store. */
export function flatStore(l: Lifter, i: Instruction, transfer: Transfer, address: number, offset: number): void {
  const { ir } = l;
  const { bytes, dwords, width, half } = transfer;
  const ways = waysOf(l, i, offset);
  const values = vectorDwords(l, i.data, dwords).map((value) => fromHalf(l, value, half));
  ir.emit(Op.Store, address, ways.guest, joinDwords(l, values), width | coherence(i));
  values.forEach((value, k) => {
    ir.emit(Op.LdsStore, l.addConstant(ways.local, k * 4), ways.shared, value, bytes < 4 ? width : 4);
  });
  scratchStore(l, i, transfer, ways.local, ways.private);
}

/** A FLAT atomic. One on scratch memory is an access to guest memory where nothing is mapped. */
export function flatAtomic(l: Lifter, i: Instruction, kind: number, address: number, offset: number): void {
  const { ir } = l;
  const ways = waysOf(l, i, offset);
  const wide = (kind & AtomicKind.Wide) !== 0;
  const type = wide ? Type.V2 : Type.U32;
  const data = joinDwords(l, vectorDwords(l, i.data, (wide ? 2 : 1) * (hasTwoOperands(kind) ? 2 : 1)));
  const guest = ir.append(Op.Atomic, type, address, l.or(ways.guest, ways.private), data, kind);
  const local = ir.append(Op.LdsAtomic, type, ways.local, ways.shared, data, kind);
  if (i.dst < 0) return;
  const [a, b] = [local, guest].map((id) => splitDwords(l, id, wide ? 2 : 1));
  l.setVectors(i.dst, a.map((part, k) => l.select(ways.shared, part, b[k])));
}
