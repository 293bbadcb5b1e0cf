/** Untyped and typed buffer instructions (AMD RDNA2 ISA, sections 8.1, 12.13, 12.14). */
import { Flag, type Instruction } from "../../instruction.ts";
import type { Opcode } from "../../table.ts";
import type { Define, Handler } from "../handler.ts";
import { Access } from "../machine/memory.ts";
import { refuse } from "../machine/refuse.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { BufferAccess } from "./buffer.ts";
import { type Format, formatOf } from "../../formats.ts";
import { COMPONENTS, readElement, writeElement } from "./formats.ts";
import { fromD16, resolveSelectors, selectedComponent, storedComponents, toD16 } from "./selectors.ts";
import { atomicElement, Half, halfOf, loadInto, opcodesNamed, readValue, storeAlignment } from "./transfer.ts";
import { type Transfer, transferOf, vectorRow, writeValue } from "./transfer.ts";
import { ldsDestination } from "./to_lds.ts";

/** Adds the handlers of this class. */
export function defineBuffers(define: Define): void {
  for (const opcode of [...opcodesNamed("buffer_"), ...opcodesNamed("tbuffer_")]) {
    if (opcode.words.has("cache")) continue;
    define(opcode.name, handlerOf(opcode));
  }
}

function handlerOf(opcode: Opcode): Handler {
  const { words, formatCount } = opcode;
  if (words.has("atomic")) return atomicHandler(opcode);
  if (formatCount > 0) return words.has("load") ? formatLoad(opcode) : formatStore(opcode);
  return words.has("load") ? loadHandler(transferOf(opcode)) : storeHandler(transferOf(opcode));
}

const access = new BufferAccess();

/** The status that TFE asks for goes to the register behind the data: 0 for success, 1 for a failed access. */
function writeStatus(w: Wave, i: Instruction, lane: number, registers: number, good: boolean): void {
  if (i.flags & Flag.Tfe) w.vgpr[vectorRow(i.dst) + registers * LANES + lane] = good ? 0 : 1;
}

function loadHandler(transfer: Transfer): Handler {
  return (w, i) => {
    w.activateExec();
    access.begin(w, i);
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      access.lane(w, lane);
      if (i.flags & Flag.Lds) loadToLds(w, i, lane, transfer);
      else loadLane(w, i, lane, transfer);
    }
  };
}

/** The dwords in range of a lane's element, one after the other; those out of range are zeros. */
function loadLane(w: Wave, i: Instruction, lane: number, transfer: Transfer): void {
  const { bytes, dwords, half } = transfer;
  const { memory } = w.group;
  const { baseHi, baseLo } = access.descriptor;
  const row = vectorRow(i.dst) + lane;
  // An element wholly in range and in one piece is one access, so that a fault reports all of it.
  if (dwords > 1 && access.isLinear && access.isWhole(bytes)) {
    const good = memory.locate(baseHi, baseLo, access.delta(0), bytes, Access.Read, 1, i.pc);
    for (let k = 0; k < dwords; k++) {
      w.vgpr[row + k * LANES] = good ? memory.view.getInt32(memory.offset + k * 4, true) : 0;
    }
    return writeStatus(w, i, lane, dwords, good);
  }
  let status = true;
  const size = Math.min(bytes, 4);
  for (let k = 0; k < dwords; k++) {
    const inRange = access.inRange(k * 4);
    const good = inRange && memory.locate(baseHi, baseLo, access.delta(k * 4), size, Access.Read, 1, i.pc);
    loadInto(w, row + k * LANES, good ? readValue(memory.view, memory.offset, transfer) : 0, half);
    status &&= good || !inRange;
  }
  writeStatus(w, i, lane, dwords, status);
}

function loadToLds(w: Wave, i: Instruction, lane: number, transfer: Transfer): void {
  const { memory, lds } = w.group;
  const { baseHi, baseLo } = access.descriptor;
  const good = access.inRange(0) &&
    memory.locate(baseHi, baseLo, access.delta(0), transfer.bytes, Access.Read, 1, i.pc);
  lds.setDword(ldsDestination(w, i, lane), good ? readValue(memory.view, memory.offset, transfer) : 0);
}

function storeHandler({ bytes, dwords, half }: Transfer): Handler {
  const size = Math.min(bytes, 4);
  return (w, i) => {
    w.activateExec();
    access.begin(w, i);
    const { memory } = w.group;
    const { baseHi, baseLo } = access.descriptor;
    // Dword by dword, as the recompiler does it; which of the overlapping stores of several lanes wins is not defined.
    for (let k = 0; k < dwords; k++) {
      const row = vectorRow(i.data) + k * LANES;
      for (let lane = 0; lane < w.size; lane++) {
        if (!w.isActive(lane)) continue;
        access.lane(w, lane);
        if (!access.inRange(k * 4)) continue;
        const to = access.delta(k * 4);
        if (!memory.locate(baseHi, baseLo, to, size, Access.Write, storeAlignment(size), i.pc)) continue;
        const value = half === Half.High ? w.vgpr[row + lane] >>> 16 : w.vgpr[row + lane];
        writeValue(memory.view, memory.offset, bytes, value);
      }
    }
  };
}

function atomicHandler(opcode: Opcode): Handler {
  const element = atomicElement(opcode);
  const bytes = opcode.memory!.bits / 8;
  return (w, i) => {
    w.activateExec();
    if (i.flags & Flag.Tfe) refuse(w, i, "TFE on an atomic");
    access.begin(w, i);
    const { baseHi, baseLo } = access.descriptor;
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      access.lane(w, lane);
      if (access.isWhole(bytes)) element(w, i, lane, baseHi, baseLo, access.delta(0));
      else if (i.dst >= 0) {
        for (let k = 0; k < bytes / 4; k++) w.vgpr[vectorRow(i.dst) + k * LANES + lane] = 0;
      }
    }
  };
}

// --- formats ---

/** The format of an access: the instruction's for typed buffers, else the descriptor's. */
function accessFormat(w: Wave, i: Instruction, opcode: Opcode): Format {
  const number = opcode.name.startsWith("t") ? i.mode : access.descriptor.format;
  const format = formatOf(number);
  if (format === undefined) refuse(w, i, `the data format ${number} is reserved or not supported`);
  return format;
}

function formatLoad(opcode: Opcode): Handler {
  const count = opcode.formatCount;
  const half = halfOf(opcode);
  return (w, i) => {
    w.activateExec();
    access.begin(w, i);
    const format = accessFormat(w, i, opcode);
    const selected = resolveSelectors(w, i, access.descriptor.dstSel, format, (1 << count) - 1);
    if (i.flags & Flag.Lds && half !== Half.None) refuse(w, i, "the form that loads 16 bits into LDS");
    const { memory } = w.group;
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      access.lane(w, lane);
      const inRange = access.isWhole(format.bytes);
      const good = inRange && locateElement(w, i, format.bytes);
      if (good) readElement(format, memory.view, memory.offset);
      else COMPONENTS.fill(0);
      if (i.flags & Flag.Lds) {
        w.group.lds.setDword(ldsDestination(w, i, lane), selectedComponent(selected[0], format));
        continue;
      }
      writeComponents(w, i, lane, count, half, selected, format);
      const registers = half === Half.None ? count : count + 1 >> 1;
      writeStatus(w, i, lane, registers, good || !inRange);
    }
  };
}

/** Leaves the place of a lane's element in the memory's view and offset; an interleaved one is collected first. */
function locateElement(w: Wave, i: Instruction, bytes: number): boolean {
  if (!access.isLinear) return gather(w, i, bytes);
  const { baseHi, baseLo } = access.descriptor;
  return w.group.memory.locate(baseHi, baseLo, access.delta(0), bytes, Access.Read, 1, i.pc);
}

const GATHERED = new DataView(new ArrayBuffer(16));

/** Collects the interleaved dwords of an element into one place. */
function gather(w: Wave, i: Instruction, bytes: number): boolean {
  const { memory } = w.group;
  const { baseHi, baseLo } = access.descriptor;
  const size = Math.min(bytes, 4);
  for (let at = 0; at < bytes; at += 4) {
    if (!memory.locate(baseHi, baseLo, access.delta(at), size, Access.Read, 1, i.pc)) return false;
    for (let k = 0; k < size; k++) GATHERED.setUint8(at + k, memory.view.getUint8(memory.offset + k));
  }
  memory.view = GATHERED;
  memory.offset = 0;
  return true;
}

function writeComponents(
  w: Wave,
  i: Instruction,
  lane: number,
  count: number,
  half: number,
  selected: Int8Array,
  format: Format,
): void {
  const row = vectorRow(i.dst) + lane;
  for (let c = 0; c < count; c++) {
    const value = selectedComponent(selected[c], format);
    if (half === Half.None) w.vgpr[row + c * LANES] = value;
    else if (half === Half.High) loadInto(w, row, toD16(value, format), half);
    else {
      // Packed pairs; an unpaired last component leaves the high half zero.
      const at = row + (c >> 1) * LANES;
      const bits = toD16(value, format);
      w.vgpr[at] = c & 1 ? w.vgpr[at] & 0xffff | bits << 16 : bits;
    }
  }
}

function formatStore(opcode: Opcode): Handler {
  const count = opcode.formatCount;
  const half = halfOf(opcode);
  return (w, i) => {
    w.activateExec();
    access.begin(w, i);
    const format = accessFormat(w, i, opcode);
    const { memory } = w.group;
    const { baseHi, baseLo } = access.descriptor;
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      access.lane(w, lane);
      if (!access.isWhole(format.bytes)) continue;
      readComponents(w, i, lane, count, half, format);
      storedComponents(access.descriptor.dstSel, (1 << count) - 1);
      const alignment = Math.min(4, format.bytes & -format.bytes);
      if (access.isLinear || format.bytes <= 4) {
        if (!memory.locate(baseHi, baseLo, access.delta(0), format.bytes, Access.Write, alignment, i.pc)) continue;
        writeElement(format, memory.view, memory.offset);
      } else {
        writeElement(format, GATHERED, 0);
        for (let at = 0; at < format.bytes; at += 4) {
          if (!memory.locate(baseHi, baseLo, access.delta(at), 4, Access.Write, 4, i.pc)) continue;
          memory.view.setInt32(memory.offset, GATHERED.getInt32(at, true), true);
        }
      }
    }
  };
}

/** The components to store: 32-bit registers, packed halves, or the high half of the first register. */
function readComponents(w: Wave, i: Instruction, lane: number, count: number, half: number, format: Format): void {
  const row = vectorRow(i.data) + lane;
  for (let c = 0; c < count; c++) {
    if (half === Half.None) COMPONENTS[c] = w.vgpr[row + c * LANES];
    else {
      const shift = half === Half.High || c & 1 ? 16 : 0;
      COMPONENTS[c] = fromD16(w.vgpr[row + (c >> 1) * LANES] >>> shift & 0xffff, format);
    }
  }
}
