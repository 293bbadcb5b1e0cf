/** Scalar memory (AMD RDNA2 ISA, section 12.6 and "Scalar memory operations"): every lane loads the same, whatever EXEC says. */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import { MemoryWidth, Op } from "../ir/ops.ts";
import { BUFFER_SHIFT, BufferForm } from "../resources/plan.ts";
import { baseAddress } from "./buffer_address.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { add64, constant64, extend64, splitDwords, vectorType } from "./memory.ts";

const SIZES = [["", 1], ["x2", 2], ["x4", 4], ["x8", 8], ["x16", 16]] as const;

/** Adds the handlers of this class. */
export function defineScalarMemory(define: Define): void {
  for (const [suffix, dwords] of SIZES) {
    define(`s_load_dword${suffix}`, (l, i) => load(l, i, dwords, scalarAccess(l, i)));
    define(`s_buffer_load_dword${suffix}`, (l, i) => loadFromBuffer(l, i, dwords));
  }
}

/** Scalar loads see what vector stores of other workgroups wrote only with GLC, or behind s_dcache_inv. */
function width(l: Lifter, i: Instruction, bytes: number): number {
  return bytes | ((i.flags & (Flag.Glc | Flag.Dlc)) !== 0 || l.loadsAnew.has(i) ? MemoryWidth.Coherent : 0);
}

/**
 * What the wave gets of a load: where other workgroups may write meanwhile, what its first lane has loaded. Compilers count on the wave having one value,
 * and on its lanes staying together where that decides. (Graphics stages know no other workgroups.)
 */
function ofWave(l: Lifter, i: Instruction, dwords: readonly number[]): readonly number[] {
  if ((width(l, i, 0) & MemoryWidth.Coherent) === 0 || l.request.graphics !== undefined) return dwords;
  return dwords.map((dword) => l.ir.emit(Op.ReadFirstLane, dword, l.true));
}

/** Where a scalar access goes. */
export interface ScalarAccess {
  /** U64 address of byte `at`. */
  address(at: number): number;
  /** Bool: whether the dword at byte `at` is in range. */
  inRange(at: number): number;
}

/** The access of an instruction whose base is an address. Address bits 1:0 are ignored, of the base as of the offset. */
export function scalarAccess(l: Lifter, i: Instruction): ScalarAccess {
  const { ir } = l;
  const [low, high] = l.scalarPair(i.srsrc);
  let address = l.pack([alignDown(l, low), high]);
  if (i.soffset < 0) address = add64(l, address, i.imm & ~3);
  else {
    const offset = ir.emit(Op.IAdd64, extend64(l, l.scalar(i.soffset)), constant64(l, BigInt(i.imm)));
    const [offsetLow, offsetHigh] = l.unpack(offset);
    address = ir.emit(Op.IAdd64, address, l.pack([alignDown(l, offsetLow), offsetHigh]));
  }
  return { address: (at) => add64(l, address, at), inRange: () => l.true };
}

/** The access of an instruction whose base is a V#: NUM_RECORDS counts bytes where STRIDE is 0 and records of STRIDE bytes elsewhere. */
export function scalarBufferAccess(l: Lifter, i: Instruction): ScalarAccess {
  const { ir } = l;
  const word1 = l.scalar(i.srsrc + 1), records = l.scalar(i.srsrc + 2);
  const base = baseAddress(l, l.scalar(i.srsrc), word1);
  const [low, high] = l.unpack(base);
  const offset = alignDown(l, i.soffset < 0 ? l.u(i.imm) : l.addConstant(l.scalar(i.soffset), i.imm));
  const address = ir.emit(Op.IAdd64, l.pack([alignDown(l, low), high]), extend64(l, offset));
  const stride = ir.emit(Op.UBfe, word1, l.u(16), l.u(14));
  const scale = ir.emit(Op.UMax, stride, l.u(1));
  const tooLarge = ir.emit(Op.INe, ir.emit(Op.UMulHi, records, scale), l.u(0));
  const size = l.select(tooLarge, l.u(-1), ir.emit(Op.IMul, records, scale));
  return {
    address: (at) => add64(l, address, at),
    inRange: (at) => ir.emit(Op.ULt, l.addConstant(offset, at), size),
  };
}

/** Loads into consecutive registers; dwords out of range are 0. */
function load(l: Lifter, i: Instruction, dwords: number, access: ScalarAccess): void {
  const loaded: number[] = [];
  for (let at = 0; at < dwords; at += 4) {
    const count = Math.min(4, dwords - at);
    const first = access.inRange(at * 4);
    const id = l.ir.append(Op.Load, vectorType(count), access.address(at * 4), first, width(l, i, count * 4));
    ofWave(l, i, splitDwords(l, id, count)).forEach((part, k) =>
      loaded.push(k === 0 ? part : l.select(access.inRange((at + k) * 4), part, l.u(0)))
    );
  }
  loaded.forEach((id, k) => l.setScalar(i.dst + k, l.resources === undefined ? id : l.resources.value(id)));
}

/** Like {@linkcode load}; where the host knows the V# but not the offset, the buffer is one that it resolves. */
function loadFromBuffer(l: Lifter, i: Instruction, dwords: number): void {
  const { ir, resources } = l;
  const words = [0, 1, 2, 3].map((k) => l.scalar(i.srsrc + k));
  const place = i.soffset < 0 ? 0 : l.scalar(i.soffset);
  const buffer = resources === undefined || place === 0 || resources.isKnown(place)
    ? -1
    : resources.buffer(words, BufferForm.Scalar);
  if (buffer < 0) return load(l, i, dwords, scalarBufferAccess(l, i));
  const offset = alignDown(l, l.addConstant(place, i.imm));
  const loaded: number[] = [];
  for (let at = 0; at < dwords; at += 4) {
    const count = Math.min(4, dwords - at);
    const operand = width(l, i, count * 4) | ((buffer + 1) << BUFFER_SHIFT);
    const id = ir.append(Op.Load, vectorType(count), l.addConstant(offset, at * 4), l.true, operand);
    loaded.push(...ofWave(l, i, splitDwords(l, id, count)));
  }
  loaded.forEach((id, k) => l.setScalar(i.dst + k, id));
}

function alignDown(l: Lifter, id: number): number {
  const { ir } = l;
  return ir.op[id] === Op.Const ? l.u(ir.a[id] & ~3) : ir.emit(Op.And, id, l.u(~3));
}
