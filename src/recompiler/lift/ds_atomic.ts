/**
 * DS atomics beyond those that the memory instructions have too (ds.ts), and the DS instructions that count or address by the lane (AMD RDNA2 ISA,
 * section 12.12; what its text leaves open is written out in the RDNA3.5 ISA, section 16.15).
 */
import { type Instruction, Operand } from "../../rdna/instruction.ts";
import type { Opcode } from "../../rdna/table.ts";
import { AtomicKind, Op, Type } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { gdsAtomic, isGds } from "./gds.ts";
import { joinDwords, opcodesNamed, refuseForms, splitDwords, vectorDwords } from "./memory.ts";
import { refuse } from "./refusal.ts";

/** How an atomic's registers become the operands of its kind: `data` alone, data1 before data, or data before data1. */
type Order = "data" | "swapped" | "both";

/** By mnemonic without the return form. */
const KINDS: Readonly<Record<string, readonly [kind: number, order: Order]>> = {
  ds_rsub_u32: [AtomicKind.RSub, "data"],
  ds_rsub_u64: [AtomicKind.RSub, "data"],
  ds_mskor_b32: [AtomicKind.MaskOr, "both"],
  ds_mskor_b64: [AtomicKind.MaskOr, "both"],
  ds_wrap_b32: [AtomicKind.Wrap, "both"],
  // Like ds_cmpst_b32: data is what memory is compared with, data1 what is written.
  ds_cmpst_f32: [AtomicKind.FCmpSwap, "swapped"],
  ds_cmpst_f64: [AtomicKind.FCmpSwap, "swapped"],
  ds_min_f32: [AtomicKind.FMin, "data"],
  ds_min_f64: [AtomicKind.FMin, "data"],
  ds_max_f32: [AtomicKind.FMax, "data"],
  ds_max_f64: [AtomicKind.FMax, "data"],
  ds_add_f32: [AtomicKind.FAdd, "data"],
};

/** Adds the handlers of this class. */
export function defineLdsAtomics(define: Define): void {
  for (const opcode of opcodesNamed("ds_")) {
    const known = KINDS[opcode.name.replace("_rtn_", "_")];
    if (known !== undefined) define(opcode.name, (l, i) => atomic(l, i, known[0], known[1], opcode.memory!.bits));
    else if (opcode.name.startsWith("ds_wrxchg2")) define(opcode.name, (l, i) => exchangeTwo(l, i, opcode));
  }
  define("ds_condxchg32_rtn_b64", conditionalExchange);
  define("ds_append", (l, i) => count(l, i, AtomicKind.Add));
  define("ds_consume", (l, i) => count(l, i, AtomicKind.Sub));
  define("ds_read_addtid_b32", (l, i) => {
    const value = l.ir.append(Op.LdsLoad, Type.U32, addressByLane(l, i), l.exec(), 4);
    l.setVector(i.dst, value);
  });
  define("ds_write_addtid_b32", (l, i) => {
    l.ir.emit(Op.LdsStore, addressByLane(l, i), l.exec(), l.asU(l.source(i.data)), 4);
  });
}

function atomic(l: Lifter, i: Instruction, kind: number, order: Order, bits: number): void {
  refuseForms(i, { gds: true });
  const dwords = bits / 32;
  const data = vectorDwords(l, i.data, dwords);
  const other = order === "data" ? [] : vectorDwords(l, i.data1, dwords);
  const operands = order === "swapped" ? [...other, ...data] : [...data, ...other];
  const address = l.addConstant(l.asU(l.source(i.addr)), i.imm & 0xffff);
  const old = isGds(i)
    ? gdsAtomic(l, address, operands, kind | flush(l, kind), dwords, l.exec())
    : ldsAtomic(l, address, l.exec(), operands, kind | flush(l, kind), dwords);
  if (i.dst >= 0) l.setVectors(i.dst, splitDwords(l, old, dwords));
}

/** LDS additions of f32 treat denormals as MODE says and round to nearest even (LLVM, SIISelLowering.cpp on LDS floating-point atomics). */
function flush(l: Lifter, kind: number): number {
  if (kind !== AtomicKind.FAdd) return 0;
  const denormals = (l.request.floatMode >> 4) & 3;
  return ((denormals & 1) === 0 ? AtomicKind.FlushInputs : 0) | ((denormals & 2) === 0 ? AtomicKind.FlushResults : 0);
}

function ldsAtomic(
  l: Lifter,
  address: number,
  active: number,
  operands: readonly number[],
  kind: number,
  dwords: number,
): number {
  const type = dwords === 2 ? Type.V2 : Type.U32;
  const flags = kind | (dwords === 2 ? AtomicKind.Wide : 0);
  return l.ir.append(Op.LdsAtomic, type, address, active, joinDwords(l, operands), flags);
}

/** Two exchanges at two offsets. Both places are read before either is written, so of two equal ones the second datum stays. */
function exchangeTwo(l: Lifter, i: Instruction, opcode: Opcode): void {
  refuseForms(i);
  const dwords = opcode.memory!.bits / 32;
  const unit = dwords * 4 * (opcode.words.has("st64") ? 64 : 1);
  const base = l.asU(l.source(i.addr));
  const first = i.imm & 0xff, second = (i.imm >> 8) & 0xff;
  const swap = (offset: number, data: number) => {
    const address = l.addConstant(base, offset * unit);
    const old = ldsAtomic(l, address, l.exec(), vectorDwords(l, data, dwords), AtomicKind.Swap, dwords);
    return splitDwords(l, old, dwords);
  };
  const low = swap(first, first === second ? i.data1 : i.data);
  l.setVectors(i.dst, [...low, ...(first === second ? low : swap(second, i.data1))]);
}

/** Two dwords at an address that is rounded down to 8: each is replaced by its datum's low 31 bits where the datum's top bit is set. */
function conditionalExchange(l: Lifter, i: Instruction): void {
  const { ir } = l;
  refuseForms(i);
  const base = ir.emit(Op.And, l.addConstant(l.asU(l.source(i.addr)), i.imm & 0xffff), l.u(0xfff8));
  const old = vectorDwords(l, i.data, 2).map((datum, k) => {
    const mask = ir.emit(Op.Sar, datum, l.u(31));
    const bits = ir.emit(Op.And, ir.emit(Op.And, datum, l.u(0x7fffffff)), mask);
    return ldsAtomic(l, l.addConstant(base, k * 4), l.exec(), [mask, bits], AtomicKind.MaskOr, 1);
  });
  l.setVectors(i.dst, old);
}

/** Adds or subtracts the number of active lanes, once, and gives all of them what was there before. */
function count(l: Lifter, i: Instruction, kind: number): void {
  const { ir } = l;
  refuseForms(i, { gds: true });
  const active = l.exec();
  const lanes = [Operand.Exec, ...(l.wave64 ? [Operand.ExecHi] : [])].map((register) =>
    ir.emit(Op.BitCount, l.scalar(register))
  );
  const first = ir.emit(Op.ReadFirstLane, l.lane, active);
  const chosen = l.and(active, ir.emit(Op.IEq, l.lane, first));
  const total = lanes.reduce((x, y) => ir.emit(Op.IAdd, x, y));
  // On GDS, M0 is base and size as for all other instructions.
  const old = isGds(i)
    ? gdsAtomic(l, l.u(i.imm & 0xffff), [total], kind, 1, chosen)
    : ldsAtomic(l, l.addConstant(appendBase(l), i.imm & 0xffff), chosen, [total], kind, 1);
  l.setVector(i.dst, ir.emit(Op.ReadFirstLane, old, active));
}

/**
 * The RDNA3.5 ISA has the base in M0[31:16] and a size in M0[15:0]; LLVM (llvm.amdgcn.ds.append) puts the address itself into M0. Only 0 means the same
 * to both.
 */
function appendBase(l: Lifter): number {
  const m0 = l.scalar(Operand.M0);
  if (l.ir.op[m0] !== Op.Const || l.ir.a[m0] !== 0) {
    refuse("M0 is not known to be 0: whether its upper half or its lower half is the base address, sources disagree");
  }
  return l.u(0);
}

/** Offset plus M0[15:0] plus four bytes a lane. */
function addressByLane(l: Lifter, i: Instruction): number {
  const { ir } = l;
  refuseForms(i);
  const base = ir.emit(Op.And, l.scalar(Operand.M0), l.u(0xffff));
  return l.addConstant(ir.emit(Op.IAdd, ir.emit(Op.Shl, l.lane, l.u(2)), base), i.imm & 0xffff);
}
