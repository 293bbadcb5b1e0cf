/**
 * Instances of instructions that access guest memory: FLAT, GLOBAL, SMEM, buffers. Loads read the operands of all threads, which nothing writes; stores and
 * atomics work on memory of their own, where no two threads touch the same place, unless the order does not matter.
 */
import { Encoding, Operand } from "../../../src/rdna/instruction.ts";
import { type Opcode, Trait } from "../../../src/rdna/table.ts";
import type { Random } from "../../support/random.ts";
import type { Code } from "../code.ts";
import { exact, float32, float64 } from "../compare.ts";
import { flat, int, smem, v } from "../encode.ts";
import {
  asksFor,
  type BatchSettings,
  type Check,
  type Compare,
  DESTINATION,
  type Instance,
  type Source,
  THREADS,
} from "../frame.ts";
import { Preparation } from "./operands.ts";

/** Bytes at s[0:1] that hold operands whatever the number of groups. */
export const CONSTANT_BYTES = 4096;
/** Bytes of a thread's memory. */
const SLOT = 32;
/** Scalar registers of the frame that these instances use: base, V#. */
export const BASE = 10;
/** Vector registers that these instances use for addresses. */
export const ADDRESS = 50;

/** Whether this generator makes instances of an opcode. */
export function isMemoryOpcode({ encoding, segment, words, traits }: Opcode, { waveSize }: BatchSettings): boolean {
  if (encoding === Encoding.Smem) {
    // Two waves of a workgroup would both change the one place of a scalar atomic.
    if (words.has("atomic") && waveSize !== THREADS) return false;
    return !words.has("cache") && !words.has("clock") && !words.has("waveid") && !words.has("scratch");
  }
  return encoding === Encoding.Flat && segment !== 1 && (traits & Trait.Wave) === 0;
}

/** A random instance. */
export function memoryInstance(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  return opcode.encoding === Encoding.Smem
    ? scalarMemory(opcode, settings, random)
    : vectorMemory(opcode, settings, random);
}

/** Atomics whose order does not matter when their result is not returned. */
export function commutes(name: string): boolean {
  return /atomic_(add|sub|smin|umin|smax|umax|and|or|xor)(_x2)?$/.test(name);
}

/** Bytes of one element of an access. */
export function elementBytes(opcode: Opcode): number {
  return opcode.memory!.bits * opcode.memory!.count / 8;
}

/** How memory is compared after an access: floats of minimum and maximum by value. */
export function memoryCompare(opcode: Opcode): Compare {
  if (opcode.memory?.kind !== "f") return exact;
  const one = opcode.memory.bits === 64 ? float64 : float32, step = opcode.memory.bits / 32;
  return (actual, expected, at, words) => {
    for (let k = 0; k < words; k += step) if (!one(actual, expected, at + k, step)) return false;
    return true;
  };
}

/** A check of consecutive vector registers. */
export function vectorsCheck(first: number, count: number, compare: Compare = exact): Check {
  const sources = Array.from({ length: count }, (_, k): Source => ({ kind: "vector", register: first + k }));
  return { sources, compare };
}

/** s[register:register+1] = output base + offset. */
export function baseOfRegion(code: Code, register: number, offset: number): void {
  code.sop2("s_add_u32", register, 2, Operand.Literal, offset);
  code.sop2("s_addc_u32", register + 1, 3, int(0));
}

/** The registers of the data of an atomic: twice for compare-and-swap. */
function dataDwords(opcode: Opcode): number {
  return opcode.src.filter((type) => type.kind !== "addr").reduce((sum, type) => sum + type.dwords, 0);
}

/** Data registers: f64 operands for f64, integers else; compare-and-swap hits now and then because memory holds the same specials. */
export function dataRegister(opcode: Opcode, random: Random, dwords: number): number {
  if (opcode.memory?.kind === "f") return v(opcode.memory.bits === 64 ? 24 : random.pick([8, 10, 12]));
  return v(8 + random.below(25 - dwords));
}

function vectorMemory(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  const prepare = new Preparation(random, settings.waveSize);
  const isLoad = (opcode.traits & Trait.Load) !== 0, isAtomic = (opcode.traits & Trait.Atomic) !== 0;
  const bytes = elementBytes(opcode);
  const dwords = opcode.dst[0]?.dwords ?? 0;
  const glc = isAtomic ? random.chance(/cmpswap/.test(opcode.name) ? 0.9 : 0.6) : random.chance(0.2);
  const shared = isAtomic && !glc && commutes(opcode.name) && random.chance(0.4);
  const hasBase = opcode.segment === 2 && random.chance(0.6);
  const far = asksFor(settings, "offset");
  const immediate = opcode.segment === 2 && (far || random.chance(0.6)) ? random.below(0x1000) - 0x800 : 0;
  // Loads may be unaligned, of two bytes and more.
  const unaligned = isLoad && random.chance(0.3);
  const unit = isLoad ? (unaligned ? 1 : Math.min(bytes, 4)) : bytes;
  const offset = isLoad && !unaligned ? immediate & ~3 : immediate & ~7;
  const dst = DESTINATION.vector + random.below(DESTINATION.count - Math.max(1, dwords) + 1);
  const data = isLoad ? -1 : dataRegister(opcode, random, Math.max(1, dataDwords(opcode)));
  const source = v(random.pick([14, 15, 16, 17, 28, 30])), place = random.below(Math.floor(SLOT / bytes)) * bytes;
  prepare.destinations();
  if (asksFor(settings, "exec") || random.chance(0.25)) prepare.exec();
  const before = (code: Code, region: number) => {
    // v50: offset of the lane; s[10:11]: base, less the immediate.
    if (isLoad) {
      code.sop2("s_add_u32", BASE, 0, Operand.Literal, 2048 - offset);
      code.sop2("s_addc_u32", BASE + 1, 1, int(0));
      code.vop("v_and_b32", v(ADDRESS), Operand.Literal, source, (CONSTANT_BYTES - 1) & ~(unit - 1));
    } else {
      baseOfRegion(code, BASE, region - offset);
      if (shared) code.vop("v_and_b32", v(ADDRESS), Operand.Literal, v(14), 0x18 & ~(bytes - 1));
      else {
        code.vop3("v_lshlrev_b32", { dst: v(ADDRESS), src: [int(5), v(1)] });
        code.vop("v_add_nc_u32", v(ADDRESS), int(place), v(ADDRESS));
      }
    }
    if (!hasBase) {
      code.vop("v_mov_b32", v(ADDRESS + 2), BASE);
      code.vop("v_mov_b32", v(ADDRESS + 1), BASE + 1);
      code.vop3("v_add_co_u32", { dst: v(ADDRESS), sdst: Operand.Vcc, src: [v(ADDRESS), v(ADDRESS + 2)] });
      code.vop("v_add_co_ci_u32", v(ADDRESS + 1), int(0), v(ADDRESS + 1));
    }
    prepare.emit(code);
  };
  const seen = Math.max(1, dwords);
  const returned = opcode.memory?.kind === "f" ? (opcode.memory.bits === 64 ? float64 : float32) : exact;
  return {
    name: opcode.name,
    form: [hasBase ? "saddr" : "vaddr", glc ? "glc" : "", unaligned ? "unaligned" : ""].filter((x) => x).join(" "),
    before,
    words: [
      flat(opcode, {
        dst: isLoad || glc ? v(dst) : -1,
        addr: v(ADDRESS),
        data,
        saddr: hasBase ? BASE : undefined,
        offset,
        glc,
      }),
    ],
    checks: isLoad || glc ? [vectorsCheck(dst, seen, returned)] : [],
    memory: isLoad ? undefined : { bytes: SLOT, compare: memoryCompare(opcode) },
    lanes: false,
  };
}

/** V# of raw bytes with base s[10:11] (the high word is a constant of the frame). */
export function rawDescriptor(code: Code, register: number, records: number): void {
  code.sop1("s_mov_b32", register, BASE);
  code.sop1("s_mov_b32", register + 1, Operand.Literal, 3);
  code.sop1("s_mov_b32", register + 2, Operand.Literal, records);
  code.sop1("s_mov_b32", register + 3, Operand.Literal, 0x31016fac);
}

/** Scalar memory. Stores and atomics go to one place per workgroup: waves of a workgroup of several must not see each other's order. */
function scalarMemory(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  const prepare = new Preparation(random, settings.waveSize);
  const isLoad = (opcode.traits & Trait.Load) !== 0, isAtomic = (opcode.traits & Trait.Atomic) !== 0;
  const isBuffer = opcode.words.has("buffer");
  const dwords = opcode.dst[0]?.dwords ?? opcode.src[1]?.dwords ?? 1;
  const glc = isAtomic && random.chance(0.8);
  const wide = Math.max(dwords, isAtomic ? opcode.src[1].dwords : 0);
  const alignment = wide > 2 ? 4 : wide;
  const places = Math.floor((DESTINATION.count - wide) / alignment) + 1;
  const register = DESTINATION.scalar + random.below(places) * alignment;
  const bytes = isAtomic ? elementBytes(opcode) : 4;
  const immediate = isBuffer ? random.below(64) * bytes : (random.below(128) - 64) * bytes;
  const soffset = asksFor(settings, "offset") || random.chance(0.4) ? 6 : undefined;
  const offsetSource = random.pick([22, 23, 24]),
    records = random.pick([0x10000, 0x10000, 0x10000, 0x200, 0x200, 0x40, 0]);
  prepare.scalars(DESTINATION.scalar, DESTINATION.count);
  const before = (code: Code, region: number) => {
    prepare.emit(code);
    if (isLoad) {
      code.sop2("s_add_u32", BASE, 0, Operand.Literal, 2048);
      code.sop2("s_addc_u32", BASE + 1, 1, int(0));
    } else {
      baseOfRegion(code, BASE, region + 512);
      // The workgroup's threads have 64 * 32 bytes; a quarter of them is used.
      code.sop2("s_lshl_b32", 7, 4, int(11));
      code.sop2("s_add_u32", BASE, BASE, 7);
      code.sop2("s_addc_u32", BASE + 1, BASE + 1, int(0));
    }
    if (soffset !== undefined) {
      code.sop2(
        "s_and_b32",
        soffset,
        offsetSource,
        Operand.Literal,
        isLoad ? 0x3fc : 0xf8,
      );
    }
    if (isBuffer) rawDescriptor(code, 12, records);
    prepareScc(code);
  };
  const words = smem(opcode, { data: register, base: isBuffer ? 12 : BASE, offset: immediate, soffset, glc });
  const returns = isLoad || glc;
  return {
    name: opcode.name,
    form: [soffset === undefined ? "" : "soffset", glc ? "glc" : ""].filter((x) => x).join(" "),
    before,
    words: [words],
    checks: returns
      ? [{
        sources: Array.from({ length: dwords }, (_, k): Source => ({ kind: "scalar", register: register + k })),
        compare: exact,
      }]
      : [],
    memory: isLoad ? undefined : { bytes: SLOT, compare: exact },
    lanes: false,
  };
}

/** SCC is zero afterwards: carries of the preparation must not count. */
function prepareScc(code: Code): void {
  code.sopc("s_cmp_lg_u32", int(0), int(0));
}
