/**
 * Scalar memory (AMD RDNA2 ISA, section 12.6; stores and atomics of gfx10.1: AMD RDNA1 ISA). EXEC does not matter. The low two bits of the base and of
 * the offset are ignored.
 */
import type { Instruction } from "../../instruction.ts";
import { type Opcode, OPCODES } from "../../table.ts";
import type { Define } from "../handler.ts";
import { Access } from "../machine/memory.ts";
import { refuse } from "../machine/refuse.ts";
import type { Wave } from "../machine/wave.ts";
import { atomicName, ATOMICS32, ATOMICS64 } from "../memory/atomics.ts";
import { BufferDescriptor } from "../memory/descriptor.ts";
import { scalar32, scalar64, setScalar32, setScalar64 } from "../operands/scalar.ts";

/** Adds the handlers of this class. */
export function defineScalarMemory(define: Define): void {
  for (const opcode of OPCODES) {
    if (!/^s_(buffer_)?(load|store|atomic|scratch)_/.test(opcode.name)) continue;
    if (opcode.words.has("scratch")) {
      define(opcode.name, (w, i) => refuse(w, i, "scalar access to scratch memory is not documented well enough"));
    } else if (opcode.words.has("load")) define(opcode.name, (w, i) => load(w, i, opcode.memory!.dwords));
    else if (opcode.words.has("store")) define(opcode.name, (w, i) => store(w, i, opcode.memory!.dwords));
    else define(opcode.name, atomic(opcode));
  }
  const clock = (w: Wave, i: Instruction) => setScalar64(w, i, i.dst, BigInt.asUintN(64, w.group.context.clock()));
  define("s_memtime", clock);
  define("s_memrealtime", clock);
  define("s_get_waveid_in_workgroup", (w, i) => setScalar32(w, i, i.dst, w.index));
  // Only address translation is prefetched.
  define("s_atc_probe", () => {});
  define("s_atc_probe_buffer", () => {});
  for (const name of ["s_dcache_discard", "s_dcache_discard_x2"]) {
    define(name, (w, i) => refuse(w, i, "throws away what was written"));
  }
}

const descriptor = new BufferDescriptor();
/** Base and offset of the current access, and the bytes that are in range from the base on. */
let baseHi = 0, baseLo = 0, offset = 0, limit = 0;

/** Works out the address; NUM_RECORDS counts bytes where STRIDE is 0 and records elsewhere. */
function address(w: Wave, i: Instruction): void {
  const register = i.soffset < 0 ? 0 : scalar32(w, i, i.soffset) >>> 0;
  if (OPCODES[i.op].words.has("buffer")) {
    descriptor.read(w, i.srsrc);
    baseHi = descriptor.baseHi;
    baseLo = descriptor.baseLo & ~3;
    offset = (register + i.imm & ~3) >>> 0;
    limit = Math.min(descriptor.records * Math.max(descriptor.stride, 1), 0xffff_ffff);
  } else {
    baseLo = scalar32(w, i, i.srsrc) & ~3;
    baseHi = scalar32(w, i, i.srsrc + 1);
    // The sum may pass 32 bits, so the low bits are cut off by division.
    offset = Math.floor((register + i.imm) / 4) * 4;
    limit = Infinity;
  }
}

/** Dwords of `count` that are in range from `at` on. */
function inRange(at: number, count: number): number {
  return Math.max(0, Math.min(count, Math.ceil((limit - at) / 4)));
}

/** Pieces of up to four dwords are loaded, each checked on its own. */
function load(w: Wave, i: Instruction, dwords: number): void {
  address(w, i);
  const { memory } = w.group;
  const [hi, lo, start] = [baseHi, baseLo, offset];
  for (let at = 0; at < dwords; at += 4) {
    const count = Math.min(4, dwords - at);
    const good = inRange(start + at * 4, count);
    const found = good > 0 && memory.locate(hi, lo, start + at * 4, good * 4, Access.Read, 1, i.pc);
    const view = memory.view, place = memory.offset;
    for (let k = 0; k < count; k++) {
      setScalar32(w, i, register(i.dst, at + k), found && k < good ? view.getInt32(place + k * 4, true) : 0);
    }
  }
}

/** Register k of a tuple; NULL stands for a tuple of any size. */
function register(first: number, k: number): number {
  return first === 125 ? first : first + k;
}

function store(w: Wave, i: Instruction, dwords: number): void {
  address(w, i);
  const { memory } = w.group;
  for (let k = 0; k < inRange(offset, dwords); k++) {
    if (!memory.locate(baseHi, baseLo, offset + k * 4, 4, Access.Write, 4, i.pc)) continue;
    memory.view.setInt32(memory.offset, scalar32(w, i, register(i.data, k)), true);
  }
}

function atomic(opcode: Opcode): (w: Wave, i: Instruction) => void {
  const name = atomicName(opcode.name);
  const bytes = opcode.memory!.bits / 8;
  const compares = opcode.src[1].count === 2;
  return (w, i) => {
    address(w, i);
    const { memory } = w.group;
    const good = inRange(offset, bytes / 4) === bytes / 4 &&
      memory.locate(baseHi, baseLo, offset, bytes, Access.Read | Access.Write, bytes, i.pc);
    const view = memory.view, place = memory.offset;
    if (bytes === 4) {
      const old = good ? view.getInt32(place, true) : 0;
      const compare = compares ? scalar32(w, i, i.data + 1) : 0;
      if (good) view.setInt32(place, ATOMICS32[name](old, scalar32(w, i, i.data), compare), true);
      if (i.dst >= 0) setScalar32(w, i, i.dst, old);
    } else {
      const old = good ? view.getBigUint64(place, true) : 0n;
      const compare = compares ? scalar64(w, i, i.data + 2) : 0n;
      if (good) view.setBigUint64(place, ATOMICS64[name](old, scalar64(w, i, i.data), compare), true);
      if (i.dst >= 0) setScalar64(w, i, i.dst, old);
    }
  };
}
