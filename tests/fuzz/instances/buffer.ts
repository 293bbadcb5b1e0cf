/**
 * Instances of buffer instructions: raw, structured and swizzled descriptors, all ways of range checking, formats. Loads read the operands; stores and
 * atomics go to memory of their own, one record per thread.
 */
import { Encoding, Operand } from "../../../src/rdna/instruction.ts";
import { type Opcode, Trait } from "../../../src/rdna/table.ts";
import type { Random } from "../../support/random.ts";
import { Code } from "../code.ts";
import { exact, float32, float64 } from "../compare.ts";
import { buffer, int, v } from "../encode.ts";
import { asksFor, type BatchSettings, DESTINATION, type Instance, THREADS } from "../frame.ts";
import {
  ADDRESS,
  BASE,
  baseOfRegion,
  commutes,
  dataRegister,
  elementBytes,
  memoryCompare,
  vectorsCheck,
} from "./memory.ts";
import { Preparation } from "./operands.ts";

/** Bytes of a record, which is a thread's memory. */
const RECORD = 32;
/** V#: s[12:15]. */
const DESCRIPTOR = 12;
/** High word of all data addresses of the frame. */
const DATA_HIGH = 3;

/** Whether this generator makes instances of an opcode. */
export function isBufferOpcode({ encoding, words }: Opcode): boolean {
  return (encoding === Encoding.Mubuf || encoding === Encoding.Mtbuf) && !words.has("cache");
}

/** A descriptor without its base. */
interface Descriptor {
  stride: number;
  records: number;
  swizzle: boolean;
  /** Bits of word 3. */
  word3: number;
}

/** Numbers of all buffer formats (AMD RDNA2 ISA, unified formats). */
const FORMATS = Array.from({ length: 77 }, (_, k) => k + 1);

/** What an instance does, chosen before anything is emitted. */
interface Plan {
  isLoad: boolean;
  /** Vector registers of index and offset: present or not. */
  idxen: boolean;
  offen: boolean;
  glc: boolean;
  /** Lanes update the same places. */
  shared: boolean;
  /** Some lanes leave the buffer. */
  outside: boolean;
  immediate: number;
  scalarOffset: number;
  /** Register that index and offset of loads come from. */
  source: number;
  descriptor: Descriptor;
  /** Word 3 is not known when the program is recompiled. */
  unknown: boolean;
}

function randomPlan(opcode: Opcode, settings: BatchSettings, random: Random): Plan {
  const { traits, name, formatCount } = opcode;
  const isLoad = (traits & Trait.Load) !== 0, isAtomic = (traits & Trait.Atomic) !== 0;
  const bytes = formatCount > 0 ? 16 : elementBytes(opcode);
  const glc = isAtomic ? random.chance(0.6) : random.chance(0.2);
  const shared = isAtomic && !glc && commutes(name) && random.chance(0.3);
  const idxen = !shared && random.chance(0.5), far = asksFor(settings, "offset");
  // A place within the record that the element fits in.
  const unit = isAtomic ? bytes : Math.min(bytes, 4);
  const place = random.below(Math.floor((RECORD - bytes) / unit) + 1) * unit;
  const descriptor = randomDescriptor(settings, random, idxen, isLoad);
  // Interleaved records reach far.
  const near = descriptor.swizzle;
  return {
    isLoad,
    idxen,
    offen: shared || (!idxen && !isLoad) || far || random.chance(0.5),
    glc,
    shared,
    outside: !near && random.chance(0.25),
    immediate: isLoad ? random.pick([0, 4, 16, 64, near ? 8 : 2044, random.below(64) * unit]) : shared ? 0 : place,
    scalarOffset: far ? 64 + 64 * random.below(3) : random.chance(0.4) ? 64 * random.below(4) : 0,
    source: v(random.pick([14, 15, 16, 17, 18, 28])),
    descriptor,
    unknown: formatCount > 0 && !descriptor.swizzle && isGood(descriptor.word3) && random.chance(0.4),
  };
}

/** One record per thread for stores; loads have any stride. */
function randomDescriptor(settings: BatchSettings, random: Random, idxen: boolean, isLoad: boolean): Descriptor {
  const threads = settings.groups * THREADS;
  const swizzle = idxen && random.chance(0.3);
  const stride = isLoad ? random.pick([0, 4, 16, 32, 48]) : idxen ? RECORD : random.pick([0, RECORD]);
  const outOfBounds = idxen || stride > 0 ? random.below(4) : random.pick([1, 2, 3]);
  const byRecords = outOfBounds === 0 || outOfBounds === 1;
  // Structured checks of an access without index compare the offset with the stride: nearly all of a store's lanes are outside.
  const whole = byRecords ? (isLoad ? 24 : threads) : isLoad ? random.pick([256, 1024]) : threads * RECORD;
  const records = random.pick([whole, whole, whole >> 1, random.chance(0.2) ? 0 : whole]);
  const indexStride = random.below(4), addTid = isLoad && random.chance(0.1);
  const selectors = random.chance(0.7) ? 0xfac : random.pick([0xb58, 0x924, 0x20c, 0xfac]);
  const word3 = selectors | random.pick(FORMATS) << 12 | indexStride << 21 | (addTid ? 1 << 23 : 0) | outOfBounds << 28;
  return { stride, records, swizzle, word3 };
}

/** Whether word 3 asks for nothing that is refused: a reserved selector, the fourth component of three, ADD_TID_ENABLE. */
function isGood(word3: number): boolean {
  const selectors = [0, 3, 6, 9].map((at) => word3 >>> at & 7), format = word3 >>> 12 & 0x7f;
  const hasThree = (format >= 30 && format <= 43) || (format >= 72 && format <= 74);
  return (word3 & 1 << 23) === 0 && selectors.every((s) => s !== 2 && s !== 3 && !(hasThree && s === 7));
}

/** Emits the descriptor and the address registers. */
function emitPlace(code: Code, plan: Plan, region: number): void {
  const { isLoad, idxen, offen, outside, shared, source, descriptor, unknown } = plan;
  if (isLoad) {
    code.sop2("s_add_u32", BASE, 0, Operand.Literal, 1024);
    code.sop2("s_addc_u32", BASE + 1, 1, int(0));
  } else baseOfRegion(code, BASE, region - plan.scalarOffset);
  code.sop1("s_mov_b32", DESCRIPTOR, BASE);
  const word1 = DATA_HIGH | descriptor.stride << 16 | (descriptor.swizzle ? 1 << 31 : 0);
  code.sop1("s_mov_b32", DESCRIPTOR + 1, Operand.Literal, word1);
  code.sop1("s_mov_b32", DESCRIPTOR + 2, Operand.Literal, descriptor.records);
  if (unknown) {
    // No workgroup has so high a number.
    code.sop2("s_lshr_b32", 7, 4, int(31));
    code.sop2("s_or_b32", DESCRIPTOR + 3, 7, Operand.Literal, descriptor.word3);
  } else code.sop1("s_mov_b32", DESCRIPTOR + 3, Operand.Literal, descriptor.word3);
  code.sopk("s_movk_i32", SCALAR_OFFSET, plan.scalarOffset);
  if (idxen) {
    if (isLoad) code.vop("v_and_b32", v(ADDRESS), Operand.Literal, source, outside ? 0xff : 0x1f);
    else code.vop("v_mov_b32", v(ADDRESS), v(1));
  }
  if (!offen) return;
  const register = v(ADDRESS + (idxen ? 1 : 0));
  if (isLoad) code.vop("v_and_b32", register, Operand.Literal, source, outside ? 0x7fc : 0x3c);
  else if (shared) code.vop("v_and_b32", register, int(0x18), v(14));
  else if (idxen) code.vop("v_mov_b32", register, int(0));
  else code.vop("v_lshlrev_b32", register, int(5), v(1));
}

/** SGPR of the scalar offset. */
const SCALAR_OFFSET = 6;

/** A random instance. */
export function bufferInstance(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  const prepare = new Preparation(random, settings.waveSize);
  const isAtomic = (opcode.traits & Trait.Atomic) !== 0;
  const plan = randomPlan(opcode, settings, random);
  const dwords = opcode.dst[0]?.dwords ?? 0;
  const dataDwords = opcode.src.filter((type) => type.kind !== "addr").reduce((sum, type) => sum + type.dwords, 0);
  const wide = Math.max(1, dwords, dataDwords);
  const dst = DESTINATION.vector + random.below(DESTINATION.count - wide + 1);
  const data = dataRegister(opcode, random, Math.max(1, dataDwords));
  // A returning atomic gives its data register the old value: the data go there first.
  const inPlace = isAtomic && plan.glc;
  prepare.destinations();
  if (asksFor(settings, "exec") || random.chance(0.25)) prepare.exec();
  const before = (code: Code, region: number) => {
    emitPlace(code, plan, region);
    prepare.emit(code);
  };
  const moves: number[] = [];
  if (inPlace) {
    const code = new Code();
    for (let k = 0; k < dataDwords; k++) code.vop("v_mov_b32", v(dst + k), data + k);
    moves.push(...code.words);
  }
  const words = buffer(opcode, {
    data: plan.isLoad || inPlace ? v(dst) : data,
    addr: plan.idxen || plan.offen ? v(ADDRESS) : -1,
    srsrc: DESCRIPTOR,
    soffset: plan.scalarOffset === 0 && random.chance(0.5) ? int(0) : SCALAR_OFFSET,
    offset: plan.immediate,
    offen: plan.offen,
    idxen: plan.idxen,
    glc: plan.glc,
    format: random.pick(
      plan.unknown ? FORMATS.filter((n) => isGood(plan.descriptor.word3 & 0xfff | n << 12)) : FORMATS,
    ),
  });
  const isFloat = opcode.memory?.kind === "f";
  const returned = isFloat ? (opcode.memory!.bits === 64 ? float64 : float32) : exact;
  const form = [plan.idxen ? "idxen" : "", plan.offen ? "offen" : "", plan.glc ? "glc" : ""];
  return {
    name: opcode.name,
    form: form.filter((word) => word !== "").join(" "),
    before,
    words: [[...moves, ...words]],
    checks: plan.isLoad || inPlace ? [vectorsCheck(dst, inPlace ? dataDwords : dwords, returned)] : [],
    memory: plan.isLoad ? undefined : { bytes: RECORD, compare: memoryCompare(opcode) },
    lanes: false,
  };
}
