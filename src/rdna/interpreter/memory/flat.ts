/**
 * FLAT, GLOBAL and SCRATCH (AMD RDNA2 ISA, section 12.15 and 9 "Flat memory instructions").
 *
 * A flat address whose high word is that of an aperture means LDS, or the lane's scratch memory; anything else is guest memory. Scratch memory is
 * interleaved: dword d of lane l lies (d * lanes + l) dwords from FLAT_SCRATCH.
 */
import { Flag, type Instruction } from "../../instruction.ts";
import type { Opcode } from "../../table.ts";
import type { Define, Handler } from "../handler.ts";
import { Access, FaultReason } from "../machine/memory.ts";
import { refuse } from "../machine/refuse.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { scalar32 } from "../operands/scalar.ts";
import { atomicName, ATOMICS32, ATOMICS64 } from "./atomics.ts";
import {
  atomicElement,
  Half,
  loadElement,
  loadInto,
  opcodesNamed,
  quadAt,
  readValue,
  setQuadAt,
  storeAlignment,
  storeElement,
  type Transfer,
  transferOf,
  vectorRow,
  writeValue,
} from "./transfer.ts";
import { ldsDestination } from "./to_lds.ts";

/** Adds the handlers of this class. */
export function defineFlat(define: Define): void {
  for (const opcode of opcodesNamed("global_")) define(opcode.name, globalHandler(opcode));
  for (const opcode of opcodesNamed("flat_")) define(opcode.name, flatHandler(opcode));
  for (const opcode of opcodesNamed("scratch_")) define(opcode.name, scratchHandler(opcode));
}

/** Does one lane, at a base address plus a byte offset. */
type Element = (w: Wave, i: Instruction, lane: number, hi: number, lo: number, delta: number) => void;

/** What an opcode does to guest memory. */
function guestElement(opcode: Opcode): Element {
  if (opcode.words.has("atomic")) return atomicElement(opcode);
  const transfer = transferOf(opcode);
  if (opcode.words.has("store")) {
    return (w, i, lane, hi, lo, delta) => void storeElement(w, i, lane, transfer, hi, lo, delta);
  }
  return (w, i, lane, hi, lo, delta) => {
    if (i.flags & Flag.Lds) loadToLds(w, i, lane, transfer, hi, lo, delta);
    else loadElement(w, i, lane, transfer, hi, lo, delta);
  };
}

/** The form that loads into LDS: one dword per lane. */
function loadToLds(
  w: Wave,
  i: Instruction,
  lane: number,
  transfer: Transfer,
  hi: number,
  lo: number,
  delta: number,
): void {
  const { memory, lds } = w.group;
  const good = memory.locate(hi, lo, delta, transfer.bytes, Access.Read, 1, i.pc);
  const value = good ? readValue(memory.view, memory.offset, transfer) : 0;
  lds.setDword(ldsDestination(w, i, lane), value);
}

function globalHandler(opcode: Opcode): Handler {
  const element = guestElement(opcode);
  const addTid = opcode.words.has("wave");
  return (w, i) => {
    w.activateExec();
    const hi = i.srsrc < 0 ? 0 : scalar32(w, i, i.srsrc + 1);
    const lo = i.srsrc < 0 ? 0 : scalar32(w, i, i.srsrc);
    if (addTid && i.srsrc < 0) refuse(w, i, "without a scalar base");
    const row = i.addr < 0 ? 0 : vectorRow(i.addr);
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      if (addTid) element(w, i, lane, hi, lo, i.imm + lane * 4);
      else if (i.srsrc >= 0) element(w, i, lane, hi, lo, (w.vgpr[row + lane] >>> 0) + i.imm);
      else element(w, i, lane, w.vgpr[row + LANES + lane], w.vgpr[row + lane], i.imm);
    }
  };
}

// --- FLAT: apertures ---

function flatHandler(opcode: Opcode): Handler {
  const guest = guestElement(opcode);
  const local = localElement(opcode);
  const scratch = scratchElement(opcode);
  return (w, i) => {
    w.activateExec();
    const { apertures } = w.group.context;
    const row = vectorRow(i.addr);
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      const lo = w.vgpr[row + lane] >>> 0, hi = w.vgpr[row + LANES + lane];
      // The aperture is chosen by the address without the instruction's offset.
      if (hi === apertures.shared) local(w, i, lane, lo + i.imm);
      else if (hi === apertures.private) {
        if (opcode.words.has("atomic")) refuse(w, i, "an atomic on scratch memory");
        scratch(w, i, lane, lo + i.imm);
      } else guest(w, i, lane, hi, lo, i.imm);
    }
  };
}

/** Does one lane, at a byte address of LDS or scratch memory. */
type LocalElement = (w: Wave, i: Instruction, lane: number, address: number) => void;

/** What a FLAT opcode does to LDS: as the DS instruction of the same kind. */
function localElement(opcode: Opcode): LocalElement {
  if (opcode.words.has("atomic")) return localAtomic(opcode);
  const transfer = transferOf(opcode);
  const { bytes, dwords, half } = transfer;
  if (opcode.words.has("store")) {
    return (w, i, lane, address) => {
      const { lds } = w.group;
      const at = vectorRow(i.data) + lane;
      address >>>= 0;
      if (bytes >= 4) { for (let k = 0; k < dwords; k++) lds.setDword(address + k * 4, w.vgpr[at + k * LANES]); }
      else if (lds.holds(address, bytes)) {
        writeValue(lds.view, address, bytes, half === Half.High ? w.vgpr[at] >>> 16 : w.vgpr[at]);
      }
    };
  }
  return (w, i, lane, address) => {
    const { lds } = w.group;
    const at = vectorRow(i.dst) + lane;
    address >>>= 0;
    if (bytes >= 4) { for (let k = 0; k < dwords; k++) w.vgpr[at + k * LANES] = lds.dword(address + k * 4); }
    else loadInto(w, at, lds.holds(address, bytes) ? readValue(lds.view, address, transfer) : 0, half);
  };
}

function localAtomic(opcode: Opcode): LocalElement {
  const name = atomicName(opcode.name);
  const wide = opcode.memory!.bits === 64;
  const compares = opcode.src[1].count === 2;
  const bytes = wide ? 8 : 4;
  return (w, i, lane, address) => {
    const { lds, memory } = w.group;
    address >>>= 0;
    if (address % bytes !== 0) {
      memory.record(BigInt(address), bytes, FaultReason.Unaligned, i.pc);
      address = 0x1_0000_0000;
    }
    const data = vectorRow(i.data) + lane;
    if (wide) {
      const old = lds.quad(address);
      lds.setQuad(address, ATOMICS64[name](old, quadAt(w, data), compares ? quadAt(w, data + 2 * LANES) : 0n));
      if (i.dst >= 0) setQuadAt(w, vectorRow(i.dst) + lane, old);
    } else {
      const old = lds.dword(address);
      lds.setDword(address, ATOMICS32[name](old, w.vgpr[data], compares ? w.vgpr[data + LANES] : 0));
      if (i.dst >= 0) w.vgpr[vectorRow(i.dst) + lane] = old;
    }
  };
}

// --- SCRATCH ---

function scratchHandler(opcode: Opcode): Handler {
  const element = scratchElement(opcode);
  return (w, i) => {
    w.activateExec();
    if (i.flags & Flag.Lds) refuse(w, i, "the form that loads from scratch memory into LDS");
    const base = i.srsrc < 0 ? 0 : scalar32(w, i, i.srsrc);
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      const vector = i.addr < 0 ? 0 : w.vgpr[vectorRow(i.addr) + lane];
      element(w, i, lane, base + vector + i.imm);
    }
  };
}

/** Byte offset from FLAT_SCRATCH of byte `address` of a lane's scratch memory. */
function interleaved(w: Wave, lane: number, address: number): number {
  address >>>= 0;
  return (address - address % 4) * w.size + lane * 4 + address % 4;
}

/** Every dword has its own place; narrower data must not cross a dword. */
function scratchElement(opcode: Opcode): LocalElement {
  if (opcode.words.has("atomic")) return () => {};
  const transfer = transferOf(opcode);
  const { bytes, dwords, half } = transfer;
  const size = Math.min(bytes, 4);
  const store = opcode.words.has("store");
  return (w, i, lane, address) => {
    const { memory } = w.group;
    const [lo, hi] = w.flatScratch;
    if ((address & 3) + size > 4) refuse(w, i, "an access to scratch memory that crosses a dword");
    const at = vectorRow(store ? i.data : i.dst) + lane;
    for (let k = 0; k < dwords; k++) {
      const delta = interleaved(w, lane, address + k * 4);
      const access = store ? Access.Write : Access.Read;
      const good = memory.locate(hi, lo, delta, size, access, store ? storeAlignment(size) : 1, i.pc);
      const register = at + k * LANES;
      if (!store) loadInto(w, register, good ? readValue(memory.view, memory.offset, transfer) : 0, half);
      else if (good) {
        const value = half === Half.High ? w.vgpr[register] >>> 16 : w.vgpr[register];
        writeValue(memory.view, memory.offset, bytes, value);
      }
    }
  };
}
