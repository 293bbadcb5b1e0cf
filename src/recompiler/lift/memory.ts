/** What all memory instruction classes share: widths, values of several dwords, atomics. */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import { type Opcode, OPCODES } from "../../rdna/table.ts";
import { AtomicKind, hasTwoOperands, MemoryWidth, Op, Type } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import { refuse } from "./refusal.ts";

/** IR type of a value of 1..4 dwords. */
export function vectorType(dwords: number): Type {
  return [Type.U32, Type.V2, Type.V3, Type.V4][dwords - 1];
}

/** One value from 1..4 dwords. */
export function joinDwords(l: Lifter, ids: readonly number[]): number {
  if (ids.length === 1) return ids[0];
  return l.ir.append(Op.Vec, vectorType(ids.length), ids[0], ids[1], ids[2] ?? 0, ids[3] ?? 0);
}

/** The dwords of a value of 1..4 dwords. */
export function splitDwords(l: Lifter, id: number, dwords: number): number[] {
  if (dwords === 1) return [id];
  return Array.from({ length: dwords }, (_, k) => l.ir.emit(Op.Extract, id, k));
}

/** Vector registers as U32. */
export function vectorDwords(l: Lifter, first: number, dwords: number): number[] {
  return Array.from({ length: dwords }, (_, k) => l.asU(l.source(first + k)));
}

/** Coherence bit of `MemoryWidth`. */
export function coherence(instruction: Instruction): number {
  return instruction.flags & (Flag.Glc | Flag.Dlc) ? MemoryWidth.Coherent : 0;
}

/** What a load or store instruction moves, from the opcode table. */
export interface Transfer {
  /** Bytes of one element in memory. */
  readonly bytes: number;
  /** Registers that one element takes. */
  readonly dwords: number;
  /** `MemoryWidth` of one access of up to 4 bytes (or of the whole). */
  readonly width: number;
  /** Half register that 16-bit data takes: none, low or high. */
  readonly half: "none" | "low" | "high";
}

/** The transfer of an opcode with a fixed memory type. */
export function transferOf(opcode: Opcode): Transfer {
  const memory = opcode.memory!;
  const bytes = memory.bits * memory.count / 8;
  return {
    bytes,
    dwords: Math.max(1, bytes / 4),
    width: bytes | (memory.kind === "i" && bytes < 4 ? MemoryWidth.Signed : 0),
    half: opcode.words.has("d16hi") ? "high" : opcode.words.has("d16") ? "low" : "none",
  };
}

/** Puts 16 loaded bits into a half of a register and keeps the other half. */
export function intoHalf(l: Lifter, old: number, loaded: number, half: Transfer["half"]): number {
  return half === "none" ? loaded : l.ir.emit(Op.BitInsert, old, loaded, half === "high" ? 16 : 0, 16);
}

/** The 16 or 8 bits to store: the high half of the register for the *_d16_hi forms. */
export function fromHalf(l: Lifter, value: number, half: Transfer["half"]): number {
  return half === "high" ? l.ir.emit(Op.Shr, value, l.u(16)) : value;
}

const ATOMICS: Readonly<Record<string, number>> = {
  swap: AtomicKind.Swap,
  cmpswap: AtomicKind.CmpSwap,
  add: AtomicKind.Add,
  sub: AtomicKind.Sub,
  smin: AtomicKind.SMin,
  umin: AtomicKind.UMin,
  smax: AtomicKind.SMax,
  umax: AtomicKind.UMax,
  and: AtomicKind.And,
  or: AtomicKind.Or,
  xor: AtomicKind.Xor,
  inc: AtomicKind.Inc,
  dec: AtomicKind.Dec,
  fcmpswap: AtomicKind.FCmpSwap,
  fmin: AtomicKind.FMin,
  fmax: AtomicKind.FMax,
  csub: AtomicKind.SubClamp,
};

/** Names of the memory atomics that exist in all segments and with `_x2`, without prefix. */
export const ATOMIC_NAMES: readonly string[] = Object.keys(ATOMICS).filter((name) => name !== "csub");

/** The kind of a memory atomic by its name without prefix and `_x2`. */
export function atomicKind(name: string, wide: boolean): number {
  return ATOMICS[name] | (wide ? AtomicKind.Wide : 0);
}

/** A guest memory atomic: address, activity and data of the instruction's own registers. `buffer`: bits of the immediate that name one. */
export function guestAtomic(
  l: Lifter,
  i: Instruction,
  name: string,
  wide: boolean,
  address: number,
  active: number,
  buffer = 0,
): void {
  const kind = atomicKind(name, wide);
  const dwords = (wide ? 2 : 1) * (hasTwoOperands(kind) ? 2 : 1);
  const data = joinDwords(l, vectorDwords(l, i.data, dwords));
  const old = l.ir.append(Op.Atomic, wide ? Type.V2 : Type.U32, address, active, data, kind | buffer);
  if (i.dst >= 0) l.setVectors(i.dst, splitDwords(l, old, wide ? 2 : 1));
}

/** Forms that a handler may take. */
export interface Forms {
  /** On GDS. */
  readonly gds?: boolean;
  /** Into LDS. */
  readonly lds?: boolean;
  /** With a status (TFE). */
  readonly status?: boolean;
}

/** Refuses forms that no handler implements. @param taken those that this handler does */
export function refuseForms(i: Instruction, taken: Forms = {}): void {
  if (i.flags & Flag.Tfe && !taken.status) refuse("TFE (a status result) is not implemented");
  if (i.flags & Flag.Lds && !taken.lds) refuse("the form that loads into LDS is not implemented");
  if (i.flags & Flag.Gds && !taken.gds) refuse("this instruction on GDS");
}

/**
 * Writes the status that TFE (or LWE, of images) asks for to the register behind the data: 0 for success. An access that fails ends the run as a fault, so
 * that nobody sees another status.
 */
export function writeStatus(l: Lifter, i: Instruction, registers: number): void {
  if (i.flags & (Flag.Tfe | Flag.Lwe)) l.setVector(i.dst + Math.max(1, registers), l.u(0));
}

/** 64-bit constant. */
export function constant64(l: Lifter, value: bigint): number {
  const bits = BigInt.asUintN(64, value);
  return l.ir.append(Op.Const, Type.U64, Number(bits & 0xffffffffn) | 0, Number(bits >> 32n) | 0);
}

/** Zero-extended to 64 bits. */
export function extend64(l: Lifter, id: number): number {
  const { ir } = l;
  return ir.op[id] === Op.Const ? constant64(l, BigInt(ir.a[id] >>> 0)) : ir.emit(Op.Pack64, id, l.u(0));
}

/** a + constant in 64 bits. */
export function add64(l: Lifter, a: number, constant: number): number {
  return constant === 0 ? a : l.ir.emit(Op.IAdd64, a, constant64(l, BigInt(constant)));
}

/** Opcodes whose name starts with a prefix. */
export function opcodesNamed(prefix: string): Opcode[] {
  return OPCODES.filter((opcode) => opcode.name.startsWith(prefix));
}
