/**
 * DS instructions with the GDS bit (AMD RDNA2 ISA, section 10). GDS is memory that the driver puts behind guest addresses which no guest window can have
 * (abi.ts, GDS_ADDRESS). M0[31:16] is added to the address, M0[15:0] is the size; what does not fit reads 0 and writes nothing, dword by dword.
 */
import { GDS_BYTES } from "../../rdna/gds.ts";
import { Flag, type Instruction, Operand } from "../../rdna/instruction.ts";
import { GDS_ADDRESS } from "../abi.ts";
import { AtomicKind, MemoryWidth, Op, Type } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import { constant64, extend64, joinDwords, vectorType } from "./memory.ts";

/** Whether an instruction works on GDS. */
export function isGds(i: Instruction): boolean {
  return (i.flags & Flag.Gds) !== 0;
}

/** Guest address of an access, and where it is done. */
function placeOf(l: Lifter, address: number, bytes: number): { at: number; fits: number } {
  const { ir } = l;
  const m0 = l.scalar(Operand.M0);
  const size = ir.emit(Op.And, m0, l.u(0xffff)), base = ir.emit(Op.Shr, m0, l.u(16));
  // address + bytes <= size, without a carry.
  const inSize = l.and(
    ir.emit(Op.ULe, l.u(bytes), size),
    ir.emit(Op.ULe, address, l.addConstant(size, -bytes)),
  );
  const place = ir.emit(Op.IAdd, base, address);
  return {
    at: ir.emit(Op.IAdd64, constant64(l, GDS_ADDRESS), extend64(l, place)),
    fits: l.and(inSize, ir.emit(Op.ULe, place, l.u(GDS_BYTES - bytes))),
  };
}

/** Loads an element where `active`; a register for each dword. */
export function gdsLoad(l: Lifter, address: number, dwords: number, width: number, active: number): number[] {
  const bytes = Math.min(4, width & MemoryWidth.BytesMask);
  const one = bytes < 4 ? width : 4;
  return Array.from({ length: dwords }, (_, k) => {
    const { at, fits } = placeOf(l, l.addConstant(address, k * 4), bytes);
    return l.ir.append(Op.Load, vectorType(1), at, l.and(active, fits), one | MemoryWidth.Coherent);
  });
}

/** Stores the dwords of an element where `active`. */
export function gdsStore(l: Lifter, address: number, values: readonly number[], width: number, active: number): void {
  const bytes = Math.min(4, width & MemoryWidth.BytesMask);
  values.forEach((value, k) => {
    const { at, fits } = placeOf(l, l.addConstant(address, k * 4), bytes);
    l.ir.emit(Op.Store, at, l.and(active, fits), value, bytes | MemoryWidth.Coherent);
  });
}

/** An atomic where `active`; the old value is 0 elsewhere, and where it does not fit. */
export function gdsAtomic(
  l: Lifter,
  address: number,
  operands: readonly number[],
  kind: number,
  dwords: number,
  active: number,
): number {
  const { at, fits } = placeOf(l, address, dwords * 4);
  const wide = dwords === 2;
  return l.ir.append(
    Op.Atomic,
    wide ? Type.V2 : Type.U32,
    at,
    l.and(active, fits),
    joinDwords(l, operands),
    kind | (wide ? AtomicKind.Wide : 0),
  );
}
