/** Moving data between guest memory and registers: what the vector and scalar memory classes share. */
import { type Instruction, Operand } from "../../instruction.ts";
import { type Opcode, OPCODES } from "../../table.ts";
import { Access } from "../machine/memory.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { type Atomic32, type Atomic64, atomicName, ATOMICS32, ATOMICS64 } from "./atomics.ts";

/** Half of a register that narrow data takes. */
export const Half = { None: 0, Low: 1, High: 2 } as const;

/** What a load or store instruction moves, from the opcode table. */
export interface Transfer {
  /** Bytes of one element in memory. */
  readonly bytes: number;
  /** Registers of one element. */
  readonly dwords: number;
  /** Narrow loads extend the sign. */
  readonly signed: boolean;
  /** One of {@linkcode Half}. */
  readonly half: number;
}

/** The transfer of an opcode with a fixed memory type. */
export function transferOf(opcode: Opcode): Transfer {
  const type = opcode.memory!;
  const bytes = type.bits * type.count / 8;
  return {
    bytes,
    dwords: Math.max(1, bytes / 4),
    signed: type.kind === "i" && bytes < 4,
    half: halfOf(opcode),
  };
}

/** The half of its register that a D16 opcode works on. */
export function halfOf(opcode: Opcode): number {
  return opcode.words.has("d16hi") ? Half.High : opcode.words.has("d16") ? Half.Low : Half.None;
}

/** First lane of a vector register operand in the register file. */
export function vectorRow(operand: number): number {
  return (operand - Operand.Vgpr0) * LANES;
}

/** Puts loaded bits into a register, or into a half of it. */
export function loadInto(w: Wave, at: number, value: number, half: number): void {
  const { vgpr } = w;
  if (half === Half.None) vgpr[at] = value;
  else if (half === Half.Low) vgpr[at] = vgpr[at] & 0xffff0000 | value & 0xffff;
  else vgpr[at] = vgpr[at] & 0xffff | value << 16;
}

/** A narrow or 32-bit value at a place that was checked. */
export function readValue(view: DataView, offset: number, { bytes, signed }: Transfer): number {
  if (bytes >= 4) return view.getInt32(offset, true);
  if (bytes === 2) return signed ? view.getInt16(offset, true) : view.getUint16(offset, true);
  return signed ? view.getInt8(offset) : view.getUint8(offset);
}

/** Writes a narrow or 32-bit value. */
export function writeValue(view: DataView, offset: number, bytes: number, value: number): void {
  if (bytes >= 4) view.setInt32(offset, value, true);
  else if (bytes === 2) view.setInt16(offset, value, true);
  else view.setInt8(offset, value);
}

/** Alignment that stores need (loads need none): up to 4. */
export function storeAlignment(bytes: number): number {
  return Math.min(bytes, 4);
}

/** Loads one element of a lane from guest memory: zeros when the access fails. */
export function loadElement(
  w: Wave,
  i: Instruction,
  lane: number,
  transfer: Transfer,
  hi: number,
  lo: number,
  delta: number,
): boolean {
  const { memory } = w.group;
  const row = vectorRow(i.dst) + lane;
  const good = memory.locate(hi, lo, delta, transfer.bytes, Access.Read, 1, i.pc);
  const { view, offset } = memory;
  if (transfer.dwords === 1) loadInto(w, row, good ? readValue(view, offset, transfer) : 0, transfer.half);
  else {
    for (let k = 0; k < transfer.dwords; k++) {
      w.vgpr[row + k * LANES] = good ? view.getInt32(offset + k * 4, true) : 0;
    }
  }
  return good;
}

/** Stores one element of a lane to guest memory: nothing when the access fails. */
export function storeElement(
  w: Wave,
  i: Instruction,
  lane: number,
  { bytes, dwords, half }: Transfer,
  hi: number,
  lo: number,
  delta: number,
): boolean {
  const { memory } = w.group;
  const row = vectorRow(i.data) + lane;
  if (!memory.locate(hi, lo, delta, bytes, Access.Write, storeAlignment(bytes), i.pc)) return false;
  const { view, offset } = memory;
  if (dwords === 1) writeValue(view, offset, bytes, half === Half.High ? w.vgpr[row] >>> 16 : w.vgpr[row]);
  else for (let k = 0; k < dwords; k++) view.setInt32(offset + k * 4, w.vgpr[row + k * LANES], true);
  return true;
}

/** A read-modify-write of one lane: the old value goes to the destination if there is one. */
export type AtomicElement = (
  w: Wave,
  i: Instruction,
  lane: number,
  hi: number,
  lo: number,
  delta: number,
) => boolean;

const OLD_SIZE = 8;

/** The atomic of a buffer, flat or global opcode. */
export function atomicElement(opcode: Opcode): AtomicElement {
  const name = atomicName(opcode.name);
  return opcode.memory!.bits === 64 ? wide(ATOMICS64[name]) : narrow(ATOMICS32[name]);
}

function narrow(update: Atomic32): AtomicElement {
  return (w, i, lane, hi, lo, delta) => {
    const { memory } = w.group;
    const row = vectorRow(i.data) + lane;
    const good = memory.locate(hi, lo, delta, 4, Access.Read | Access.Write, 4, i.pc);
    let old = 0;
    if (good) {
      const { view, offset } = memory;
      old = view.getInt32(offset, true);
      view.setInt32(offset, update(old, w.vgpr[row], w.vgpr[row + LANES] ?? 0), true);
    }
    if (i.dst >= 0) w.vgpr[vectorRow(i.dst) + lane] = old;
    return good;
  };
}

function wide(update: Atomic64): AtomicElement {
  return (w, i, lane, hi, lo, delta) => {
    const { memory } = w.group;
    const row = vectorRow(i.data) + lane;
    const good = memory.locate(hi, lo, delta, OLD_SIZE, Access.Read | Access.Write, OLD_SIZE, i.pc);
    let old = 0n;
    if (good) {
      const { view, offset } = memory;
      old = view.getBigUint64(offset, true);
      const compare = OPCODES[i.op].src[1].count === 2 ? quadAt(w, row + 2 * LANES) : 0n;
      view.setBigUint64(offset, update(old, quadAt(w, row), compare), true);
    }
    if (i.dst >= 0) setQuadAt(w, vectorRow(i.dst) + lane, old);
    return good;
  };
}

/** Two registers of a lane as an unsigned 64-bit number. */
export function quadAt(w: Wave, at: number): bigint {
  return BigInt(w.vgpr[at + LANES] >>> 0) << 32n | BigInt(w.vgpr[at] >>> 0);
}

/** Writes two registers of a lane. */
export function setQuadAt(w: Wave, at: number, value: bigint): void {
  w.vgpr[at] = Number(BigInt.asIntN(32, value));
  w.vgpr[at + LANES] = Number(BigInt.asIntN(32, value >> 32n));
}

/** Opcodes whose mnemonic starts with a prefix. */
export function opcodesNamed(prefix: string): Opcode[] {
  return OPCODES.filter((opcode) => opcode.name.startsWith(prefix));
}
