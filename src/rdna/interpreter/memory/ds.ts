/**
 * LDS and GDS (AMD RDNA2 ISA, section 10 and 12.12; the *_src2_* opcodes of gfx10.1: AMD RDNA1 ISA). Addresses are bytes: the address register plus the
 * offset. With the GDS bit the memory is GDS: M0[31:16] is added to the address and M0[15:0] is the size. Lanes take effect in rising order.
 */
import { Flag, type Instruction, Operand } from "../../instruction.ts";
import type { Opcode } from "../../table.ts";
import { f64Value } from "../float/bits.ts";
import { add32 } from "../float/f32.ts";
import { FloatMode } from "../float/mode.ts";
import type { Define, Handler } from "../handler.ts";
import type { LocalMemory } from "../machine/local_memory.ts";
import { FaultReason } from "../machine/memory.ts";
import { refuse } from "../machine/refuse.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { bitCount } from "../vector/int_ops.ts";
import { type Atomic32, type Atomic64, ATOMICS32, ATOMICS64 } from "./atomics.ts";
import { loadInto, opcodesNamed, quadAt, readValue, setQuadAt, type Transfer, transferOf } from "./transfer.ts";
import { Half, vectorRow, writeValue } from "./transfer.ts";

/** Operations by the middle of a DS opcode's name, where it differs from that of other atomics. */
const NAMES: Readonly<Record<string, string>> = {
  min_i: "smin",
  max_i: "smax",
  min_u: "umin",
  max_u: "umax",
  min_f: "fmin",
  max_f: "fmax",
  wrxchg: "swap",
  write: "swap",
};

/** Operations of DS alone; the third argument is the second datum. */
const OWN32: Readonly<Record<string, Atomic32>> = {
  // The first datum is compared, or is the mask; the second is what is written.
  cmpst_b: (old, compare, data) => old === compare ? data : old,
  cmpst_f: (old, compare, data) => ATOMICS32.fcmpswap(old, data, compare),
  mskor: (old, mask, data) => old & ~mask | data,
  wrap: (old, limit, addend) => (old >>> 0) >= (limit >>> 0) ? old - limit | 0 : old + addend | 0,
};

const OWN64: Readonly<Record<string, Atomic64>> = {
  cmpst_b: (old, compare, data) => old === compare ? data : old,
  cmpst_f: (old, compare, data) => f64Value(old) === f64Value(compare) ? data : old,
  mskor: (old, mask, data) => old & ~mask | data,
};

/** Adds the handlers of this class. */
export function defineDs(define: Define): void {
  for (const opcode of opcodesNamed("ds_")) {
    const { name, words } = opcode;
    if (words.has("gws")) {
      define(name, (w, i) => refuse(w, i, "global wave synchronisation is not implemented"));
    } else if (name === "ds_ordered_count") {
      define(name, (w, i) => refuse(w, i, "ordered count is not implemented"));
    } else if (words.has("src2")) define(name, sourceTwo(opcode));
    else if (words.has("load")) define(name, words.has("wave") ? addTidLoad : loadHandler(opcode));
    else if (words.has("store")) define(name, words.has("wave") ? addTidStore : storeHandler(opcode));
    else if (/^ds_(append|consume)$/.test(name)) define(name, appendHandler(name === "ds_append" ? 1 : -1));
    else if (name === "ds_condxchg32_rtn_b64") define(name, conditionalExchange);
    else if (words.has("two")) define(name, exchangeTwo(opcode));
    else if (words.has("atomic")) define(name, atomicHandler(opcode));
  }
  define("ds_swizzle_b32", swizzle);
  define("ds_permute_b32", permute);
  define("ds_bpermute_b32", backwardPermute);
}

// --- addresses ---

/** The memory that an instruction works on. */
function memoryOf(w: Wave, i: Instruction): LocalMemory {
  return i.flags & Flag.Gds ? w.group.context.gds : w.group.lds;
}

/** The first address that does not exist, which every access treats as out of range. */
const NOWHERE = 0x1_0000_0000;

/** Where an access of `bytes` bytes goes: for GDS moved to its base, out of range when it does not fit its size. */
function place(w: Wave, i: Instruction, address: number, bytes: number): number {
  address >>>= 0;
  if ((i.flags & Flag.Gds) === 0) return address;
  const m0 = w.sgpr[Operand.M0];
  return address + bytes <= (m0 & 0xffff) ? (m0 >>> 16) + address : NOWHERE;
}

function addressOf(w: Wave, i: Instruction, lane: number): number {
  return w.vgpr[vectorRow(i.addr) + lane];
}

/** Byte offsets of the elements of read2, write2 and their st64 forms. */
function elementOffset(i: Instruction, opcode: Opcode, second: boolean): number {
  const unit = opcode.memory!.bits / 8 * (opcode.words.has("st64") ? 64 : 1);
  return (second ? i.imm >>> 8 & 0xff : i.imm & 0xff) * unit;
}

// --- loads and stores ---

function loadHandler(opcode: Opcode): Handler {
  const transfer = transferOf(opcode);
  const two = opcode.words.has("two");
  return (w, i) => {
    w.activateExec();
    const memory = memoryOf(w, i);
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      // The address is read before the destination, which may be the same register, is written.
      const base = addressOf(w, i, lane);
      if (!two) loadLane(w, i, memory, lane, base + (i.imm & 0xffff), transfer, 0);
      else {
        loadLane(w, i, memory, lane, base + elementOffset(i, opcode, false), transfer, 0);
        loadLane(w, i, memory, lane, base + elementOffset(i, opcode, true), transfer, transfer.dwords);
      }
    }
  };
}

function loadLane(
  w: Wave,
  i: Instruction,
  memory: LocalMemory,
  lane: number,
  address: number,
  transfer: Transfer,
  register: number,
): void {
  const at = vectorRow(i.dst) + register * LANES + lane;
  if (transfer.bytes < 4) {
    const from = place(w, i, address, transfer.bytes);
    const value = memory.holds(from, transfer.bytes) ? readValue(memory.view, from, transfer) : 0;
    return loadInto(w, at, value, transfer.half);
  }
  for (let k = 0; k < transfer.dwords; k++) w.vgpr[at + k * LANES] = memory.dword(place(w, i, address + k * 4, 4));
}

function storeHandler(opcode: Opcode): Handler {
  const transfer = transferOf(opcode);
  const passes = opcode.words.has("two") ? 2 : 1;
  return (w, i) => {
    w.activateExec();
    const memory = memoryOf(w, i);
    // All lanes store their first element before any stores its second.
    for (let pass = 0; pass < passes; pass++) {
      const offset = passes === 1 ? i.imm & 0xffff : elementOffset(i, opcode, pass === 1);
      const row = vectorRow(pass === 0 ? i.data : i.data1);
      for (let lane = 0; lane < w.size; lane++) {
        if (w.isActive(lane)) storeLane(w, i, memory, row + lane, addressOf(w, i, lane) + offset, transfer);
      }
    }
  };
}

function storeLane(
  w: Wave,
  i: Instruction,
  memory: LocalMemory,
  at: number,
  address: number,
  { bytes, dwords, half }: Transfer,
): void {
  if (bytes < 4) {
    const to = place(w, i, address, bytes);
    if (memory.holds(to, bytes)) {
      writeValue(memory.view, to, bytes, half === Half.High ? w.vgpr[at] >>> 16 : w.vgpr[at]);
    }
    return;
  }
  for (let k = 0; k < dwords; k++) memory.setDword(place(w, i, address + k * 4, 4), w.vgpr[at + k * LANES]);
}

/** Address of the add-tid forms: the lane's number times 4, from M0[15:0] on. */
function threadAddress(w: Wave, i: Instruction, lane: number): number {
  return (w.sgpr[Operand.M0] & 0xffff) + (i.imm & 0xffff) + lane * 4;
}

function addTidLoad(w: Wave, i: Instruction): void {
  w.activateExec();
  for (let lane = 0; lane < w.size; lane++) {
    if (w.isActive(lane)) w.vgpr[vectorRow(i.dst) + lane] = memoryOf(w, i).dword(threadAddress(w, i, lane));
  }
}

function addTidStore(w: Wave, i: Instruction): void {
  w.activateExec();
  for (let lane = 0; lane < w.size; lane++) {
    if (w.isActive(lane)) memoryOf(w, i).setDword(threadAddress(w, i, lane), w.vgpr[vectorRow(i.data) + lane]);
  }
}

// --- atomics ---

/** The mode of float operations in LDS: denormals as MODE says, rounding always to nearest even. */
const ATOMIC_MODE = new FloatMode();

/** What a DS atomic does, for 32 and for 64 bits; the names end in the type of the data. */
function operation(opcode: Opcode): [Atomic32 | undefined, Atomic64 | undefined] {
  const [, name, kind, bits] = /^ds_([a-z]+)(?:_rtn|_src2)?_([uibf])(32|64)$/.exec(opcode.name)!;
  const key = name in OWN32 ? name : `${name}_${kind}` in OWN32 ? `${name}_${kind}` : undefined;
  const shared = NAMES[`${name}_${kind}`] ?? NAMES[name] ?? name;
  if (bits === "64") return [undefined, key !== undefined ? OWN64[key] : ATOMICS64[shared]];
  return [key !== undefined ? OWN32[key] : ATOMICS32[shared], undefined];
}

function atomicHandler(opcode: Opcode): Handler {
  const floatAdd = opcode.name.startsWith("ds_add_") && opcode.name.endsWith("f32");
  const [narrow, wide] = floatAdd ? [addFloat, undefined] : operation(opcode);
  if (narrow === undefined && wide === undefined) throw new Error(`no operation for ${opcode.name}`);
  const bytes = wide !== undefined ? 8 : 4;
  return (w, i) => {
    w.activateExec();
    ATOMIC_MODE.set(w.mode.bits & ~0xf);
    const memory = memoryOf(w, i);
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      const at = checkedPlace(w, i, addressOf(w, i, lane) + (i.imm & 0xffff), bytes);
      const data = vectorRow(i.data) + lane, data1 = i.data1 < 0 ? data : vectorRow(i.data1) + lane;
      if (narrow !== undefined) {
        const old = memory.dword(at);
        memory.setDword(at, narrow(old, w.vgpr[data], w.vgpr[data1]));
        if (i.dst >= 0) w.vgpr[vectorRow(i.dst) + lane] = old;
      } else {
        const old = memory.quad(at);
        memory.setQuad(at, wide!(old, quadAt(w, data), quadAt(w, data1)));
        if (i.dst >= 0) setQuadAt(w, vectorRow(i.dst) + lane, old);
      }
    }
  };
}

function addFloat(old: number, data: number): number {
  return add32(ATOMIC_MODE, old, data);
}

/** The place of an atomic: an unaligned one is a fault and does nothing. */
function checkedPlace(w: Wave, i: Instruction, address: number, bytes: number): number {
  const at = place(w, i, address, bytes);
  if (at % bytes === 0) return at;
  w.group.memory.record(BigInt(at), bytes, FaultReason.Unaligned, i.pc);
  return NOWHERE;
}

/** Two exchanges: both old values are read before anything is written, then the first is written before the second. */
function exchangeTwo(opcode: Opcode): Handler {
  const bytes = opcode.memory!.bits / 8;
  return (w, i) => {
    w.activateExec();
    const memory = memoryOf(w, i);
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      const base = addressOf(w, i, lane);
      const first = checkedPlace(w, i, base + elementOffset(i, opcode, false), bytes);
      const second = checkedPlace(w, i, base + elementOffset(i, opcode, true), bytes);
      const data = vectorRow(i.data) + lane, data1 = vectorRow(i.data1) + lane, dst = vectorRow(i.dst) + lane;
      if (bytes === 4) {
        const [old, old1] = [memory.dword(first), memory.dword(second)];
        memory.setDword(first, w.vgpr[data]);
        memory.setDword(second, w.vgpr[data1]);
        w.vgpr[dst] = old;
        w.vgpr[dst + LANES] = old1;
      } else {
        const [old, old1] = [memory.quad(first), memory.quad(second)];
        memory.setQuad(first, quadAt(w, data));
        memory.setQuad(second, quadAt(w, data1));
        setQuadAt(w, dst, old);
        setQuadAt(w, dst + 2 * LANES, old1);
      }
    }
  };
}

/** Two neighbouring dwords, each exchanged where bit 31 of its datum is set; that bit is not stored. */
function conditionalExchange(w: Wave, i: Instruction): void {
  w.activateExec();
  const memory = memoryOf(w, i);
  for (let lane = 0; lane < w.size; lane++) {
    if (!w.isActive(lane)) continue;
    const address = addressOf(w, i, lane) + (i.imm & 0xffff) & 0xfff8;
    const data = vectorRow(i.data) + lane, dst = vectorRow(i.dst) + lane;
    const fresh = [w.vgpr[data], w.vgpr[data + LANES]];
    for (let k = 0; k < 2; k++) {
      const at = place(w, i, address + k * 4, 4);
      const old = memory.dword(at);
      if (fresh[k] < 0) memory.setDword(at, fresh[k] & 0x7fffffff);
      w.vgpr[dst + k * LANES] = old;
    }
  }
}

/** The second operand lies in memory, at an offset in dwords that the instruction or (offset bit 15) the upper address bits give. */
function sourceTwo(opcode: Opcode): Handler {
  const floatAdd = opcode.name === "ds_add_src2_f32";
  const [narrow, wide] = floatAdd ? [addFloat, undefined] : operation(opcode);
  const bytes = wide !== undefined ? 8 : 4;
  return (w, i) => {
    w.activateExec();
    ATOMIC_MODE.set(w.mode.bits & ~0xf);
    const memory = memoryOf(w, i);
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      const address = addressOf(w, i, lane);
      // 15 bits with sign each.
      const distance = i.imm & 0x8000 ? address >> 17 : i.imm << 17 >> 17;
      const base = i.imm & 0x8000 ? address & 0xffff : address;
      const at = checkedPlace(w, i, base, bytes), from = checkedPlace(w, i, base + distance * 4, bytes);
      if (narrow !== undefined) memory.setDword(at, narrow(memory.dword(at), memory.dword(from), 0));
      else memory.setQuad(at, wide!(memory.quad(at), memory.quad(from), 0n));
    }
  };
}

/** One addition for the whole wave: the number of lanes in EXEC. Every active lane gets the old value. */
function appendHandler(sign: number): Handler {
  return (w, i) => {
    w.activateExec();
    const m0 = w.sgpr[Operand.M0];
    const gds = (i.flags & Flag.Gds) !== 0;
    const memory = memoryOf(w, i);
    // LDS: M0[15:0] is the base (LLVM, llvm.amdgcn.ds.append); GDS: see `place`.
    const at = checkedPlace(w, i, (gds ? 0 : m0 & 0xffff) + (i.imm & 0xffff), 4);
    const count = bitCount(w.activeLo) + bitCount(w.activeHi);
    if (count === 0) return;
    const old = memory.dword(at);
    memory.setDword(at, old + sign * count | 0);
    for (let lane = 0; lane < w.size; lane++) if (w.isActive(lane)) w.vgpr[vectorRow(i.dst) + lane] = old;
  };
}

// --- exchanges between lanes, which use no memory ---

const VALUES = new Int32Array(LANES);

/** Writes {@linkcode VALUES} to the destination of the active lanes. */
function writeValues(w: Wave, i: Instruction): void {
  const row = vectorRow(i.dst);
  for (let lane = 0; lane < w.size; lane++) if (w.isActive(lane)) w.vgpr[row + lane] = VALUES[lane];
}

/** Lane that lane n of 32 reads, by the 16-bit offset (AMD RDNA2 ISA, DS_SWIZZLE_B32). */
function swizzledLane(offset: number, n: number): number {
  if (offset >= 0xe000) {
    // FFT: the reversed lane number, shifted by as many bits as the mask has, and the masked bits of the number.
    const mask = offset & 0x1f;
    let reversed = 0;
    for (let bit = 0; bit < 5; bit++) reversed |= (n >> bit & 1) << 4 - bit;
    return reversed >> bitCount(mask) | n & mask;
  }
  if (offset >= 0xc000) {
    const mask = offset & 0x1f;
    const rotation = (offset >> 5 & 0x1f) * (offset & 0x400 ? -1 : 1);
    return n & mask | n + rotation & 0x1f & ~mask;
  }
  if (offset >= 0x8000) return n & ~3 | offset >> (n & 3) * 2 & 3;
  return (n & offset & 0x1f | offset >> 5 & 0x1f) ^ offset >> 10 & 0x1f;
}

/** Lanes outside EXEC read as zero. */
function swizzle(w: Wave, i: Instruction): void {
  w.activateExec();
  const row = vectorRow(i.addr);
  for (let lane = 0; lane < w.size; lane++) {
    const from = lane & 32 | swizzledLane(i.imm & 0xffff, lane & 31);
    VALUES[lane] = w.isActive(from) ? w.vgpr[row + from] : 0;
  }
  writeValues(w, i);
}

/** Lane that an address names: within the lane's own half of the wave. */
function namedLane(w: Wave, i: Instruction, lane: number): number {
  return lane & 32 | addressOf(w, i, lane) + (i.imm & 0xffff) >>> 2 & 31;
}

/** Active lanes send; of several senders the highest lane wins; what nobody sends to becomes zero. */
function permute(w: Wave, i: Instruction): void {
  w.activateExec();
  VALUES.fill(0);
  for (let lane = 0; lane < w.size; lane++) {
    if (w.isActive(lane)) VALUES[namedLane(w, i, lane)] = w.vgpr[vectorRow(i.data) + lane];
  }
  writeValues(w, i);
}

/** Lanes fetch; from lanes outside EXEC they get zero. */
function backwardPermute(w: Wave, i: Instruction): void {
  w.activateExec();
  for (let lane = 0; lane < w.size; lane++) {
    const from = namedLane(w, i, lane);
    VALUES[lane] = w.isActive(from) ? w.vgpr[vectorRow(i.data) + from] : 0;
  }
  writeValues(w, i);
}
