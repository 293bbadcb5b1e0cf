/**
 * Instances of LDS instructions. Every thread fills 16 bytes of its own at 16 * thread and, for the forms that reach far, at 8192 + 16 * thread; loads go
 * anywhere, stores and atomics to the thread's own bytes, unless the order does not matter.
 */
import { Encoding, Operand } from "../../../src/rdna/instruction.ts";
import { type Opcode, Trait } from "../../../src/rdna/table.ts";
import type { Random } from "../../support/random.ts";
import { Code } from "../code.ts";
import { exact, float32, float64 } from "../compare.ts";
import { ds, int, v } from "../encode.ts";
import { asksFor, type BatchSettings, type Check, DESTINATION, type Instance, moveMask, THREADS } from "../frame.ts";
import { ADDRESS, dataRegister, memoryCompare, vectorsCheck } from "./memory.ts";
import { Preparation } from "./operands.ts";

const SLOT = 16;
/** Where the second area begins. */
const FAR = 8192;
/** Bytes of LDS that batches with these instances have. */
export const LDS_BYTES = FAR + THREADS * SLOT;

/**
 * Whether this generator makes instances of an opcode. What works on the wave as a whole has one place for all lanes: with two waves in a workgroup the
 * order would matter.
 */
export function isLdsOpcode({ encoding, words, name, traits }: Opcode, { waveSize }: BatchSettings): boolean {
  if (encoding !== Encoding.Ds || words.has("gws") || words.has("src2") || name === "ds_ordered_count") return false;
  return waveSize === THREADS || (traits & Trait.Wave) === 0;
}

/** A random instance. */
export function ldsInstance(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  const { traits, name } = opcode;
  const prepare = new Preparation(random, settings.waveSize);
  const isLoad = (traits & Trait.Load) !== 0, isLanes = (traits & Trait.Lanes) !== 0;
  const dwords = opcode.dst[0]?.dwords ?? 0;
  const dst = DESTINATION.vector + random.below(DESTINATION.count - Math.max(1, dwords) + 1);
  const dataTypes = opcode.src.filter((type) => type.kind !== "addr");
  const data = dataTypes.map((type) => dataRegister(opcode, random, Math.max(1, type.dwords)));
  prepare.destinations();
  // Only with 0 in M0 do all sources agree where append and consume find their counter.
  if (/append|consume/.test(name)) prepare.add((code) => code.sop1("s_mov_b32", Operand.M0, int(0)));
  else prepare.m0(0x7c);
  if (asksFor(settings, "exec") || random.chance(0.3)) prepare.exec();
  const place = placeOf(opcode, asksFor(settings, "offset"), random);
  const filling = Array.from({ length: place.areas * SLOT / 16 }, () => v(8 + random.below(21)));
  // The value that is there: a comparison hardly ever meets it by chance.
  if (/cmpst/.test(name) && place.form === "own" && place.offset < SLOT && random.chance(0.6)) {
    data[0] = filling[0] + place.offset / 4;
  }
  const encoded = ds(opcode, {
    dst: dwords > 0 ? v(dst) : -1,
    addr: opcode.src[0]?.kind === "addr" ? v(ADDRESS) : -1,
    data: data[0] ?? -1,
    data1: data[1] ?? -1,
    offset: place.offset,
  });
  const before = (code: Code) => {
    // What stays in the thread's own bytes needs no barrier; each costs a device that works without threads a lot.
    if (place.reaches) code.sopp("s_barrier");
    if (!isLanes) fill(code, filling);
    place.emit(code);
    code.sopp("s_waitcnt", 0);
    if (place.reaches) code.sopp("s_barrier");
    prepare.emit(code);
  };
  const checks: Check[] = [];
  const isFloat = opcode.memory?.kind === "f";
  if (dwords > 0) {
    checks.push(vectorsCheck(dst, dwords, isFloat ? (opcode.memory!.bits === 64 ? float64 : float32) : exact));
  }
  if (!isLoad && !isLanes) checks.push({ ...vectorsCheck(56, place.areas * SLOT / 4), compare: memoryCompare(opcode) });
  // Whoever comes next must not write before all have read.
  const end = new Code();
  if (isLoad && place.reaches) end.sopp("s_barrier");
  return {
    name,
    form: place.form,
    before,
    words: [encoded, isLoad || isLanes ? end.words : readBack(settings, place)],
    checks,
    lanes: true,
  };
}

/** Writes the areas of the thread from the operands. */
function fill(code: Code, data: readonly number[]): void {
  code.vop("v_lshlrev_b32", v(ADDRESS + 1), int(4), v(0));
  data.forEach((register, k) => code.ds("ds_write_b128", { addr: v(ADDRESS + 1), data: register, offset: place16(k) }));
}

/** Byte offset of the k-th 16 bytes of a thread. */
function place16(k: number): number {
  const perArea = SLOT / 16;
  return Math.floor(k / perArea) * FAR + k % perArea * 16;
}

/** Reads the areas back to v56 and behind. */
function readBack({ waveSize }: BatchSettings, { reaches, areas }: Place): number[] {
  const code = new Code();
  if (reaches) code.sopp("s_barrier");
  moveMask(code, Operand.Exec, int(-1), waveSize);
  for (let k = 0; k < areas * SLOT / 16; k++) {
    code.ds("ds_read_b128", { dst: v(56 + 4 * k), addr: v(ADDRESS + 1), offset: place16(k) });
  }
  return code.words;
}

/** Where an instance goes: preparation of v50, and the instruction's offsets. */
interface Place {
  form: string;
  offset: number;
  /** Other threads' bytes, too. */
  reaches: boolean;
  /** 2 with the far area. */
  areas: 1 | 2;
  emit(code: Code): void;
}

function placeOf(opcode: Opcode, far: boolean, random: Random): Place {
  const { words, traits, name } = opcode;
  const bits = opcode.memory === undefined ? 32 : opcode.memory.bits;
  const bytes = bits / 8;
  const source = v(random.pick([8, 14, 16, 28]));
  if ((traits & Trait.Lanes) !== 0) {
    const offset = name === "ds_swizzle_b32"
      ? swizzlePattern(random)
      : random.pick([far ? 8 : 0, 4, 64, random.below(256)]);
    return {
      form: "lanes",
      offset,
      reaches: false,
      areas: 1,
      emit: (code) => code.vop("v_and_b32", v(ADDRESS), Operand.Literal, source, 0x1ff),
    };
  }
  const own = (code: Code, add = 0) => {
    code.vop("v_lshlrev_b32", v(ADDRESS), int(4), v(0));
    if (add > 0) code.vop("v_add_nc_u32", v(ADDRESS), Operand.Literal, v(ADDRESS), add);
  };
  if (words.has("two")) {
    const far = words.has("st64");
    // Both elements in the thread's bytes, or the second one in the far area (128 elements of 64 bytes, 64 of 128).
    const unit = far ? bytes * 64 : bytes;
    const half = SLOT / 2 / bytes;
    const offsets = far ? [0, FAR / unit] : [random.below(half), half + random.below(half)];
    if (random.chance(0.5)) offsets.reverse();
    return { form: "two", offset: offsets[0] | offsets[1] << 8, reaches: false, areas: far ? 2 : 1, emit: own };
  }
  if ((traits & Trait.Load) !== 0 && !words.has("wave")) {
    // Only bytes that were filled: anything else holds what an earlier workgroup left, or is out of range (from 16384 on).
    const offset = random.pick(far ? [16, 256, FAR, FAR + 256] : [0, 16, 256, FAR, FAR + 256]);
    const unit = random.chance(0.2) ? 1 : Math.min(bytes, 16);
    const outside = random.chance(0.15);
    return {
      form: outside ? "out of range" : "load",
      offset,
      reaches: true,
      areas: offset >= FAR ? 2 : 1,
      emit: (code) => {
        const mask = (outside ? 0xc1ff : 0x1ff) & ~(unit === 12 ? 3 : unit - 1);
        code.vop("v_and_b32", v(ADDRESS), Operand.Literal, source, mask);
      },
    };
  }
  const shared = /^ds_(add|sub|min|max|and|or|xor)_[uib]/.test(name) && random.chance(0.4);
  if (shared) {
    return {
      form: "shared",
      offset: far ? 16 * (1 + random.below(3)) : 0,
      reaches: true,
      areas: 1,
      emit: (code) => code.vop("v_and_b32", v(ADDRESS), int(8), v(14)),
    };
  }
  const inside = random.below(Math.floor(SLOT / Math.max(bytes, 4))) * Math.max(bytes, 4);
  const place = inside + bytes > SLOT ? 0 : inside;
  if (far && !words.has("wave")) {
    // The second half of the thread's bytes, or those in the far area.
    const half = bytes <= SLOT / 2;
    return { form: "own", offset: half ? SLOT / 2 : FAR, reaches: false, areas: half ? 1 : 2, emit: own };
  }
  const split = random.below(place + 1) & ~3;
  return { form: "own", offset: place - split, reaches: words.has("wave"), areas: 1, emit: (code) => own(code, split) };
}

/** FFT and rotation exist on gfx9 and later; quad mode has bit 15 (AMD RDNA2 ISA, DS_SWIZZLE_B32). */
function swizzlePattern(random: Random): number {
  const kind = random.below(4);
  if (kind === 0) return 0x8000 | random.below(256);
  if (kind === 1) return 0xc000 | random.below(2) << 10 | random.below(32) << 5;
  return random.below(0x8000);
}
