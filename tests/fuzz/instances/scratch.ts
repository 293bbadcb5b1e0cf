/**
 * Instances on scratch memory: SCRATCH instructions, FLAT ones with addresses in the private aperture (half of the lanes; the others reach guest memory), and
 * buffer instructions with the descriptor that compilers give private memory. Each wave has an area of its own, in which lanes are interleaved.
 */
import { Encoding, Operand } from "../../../src/rdna/instruction.ts";
import { type Opcode, Trait } from "../../../src/rdna/table.ts";
import type { Random } from "../../support/random.ts";
import type { Code } from "../code.ts";
import { exact } from "../compare.ts";
import { buffer, flat, int, v } from "../encode.ts";
import { asksFor, type BatchSettings, DESTINATION, type Instance } from "../frame.ts";
import { ADDRESS, BASE, baseOfRegion, CONSTANT_BYTES, elementBytes, vectorsCheck } from "./memory.ts";
import { Preparation } from "./operands.ts";

/** Bytes of a lane's scratch memory. */
const SLOT = 32;
/** Hardware register numbers. */
const FLAT_SCRATCH_LO = 20, FLAT_SCRATCH_HI = 21;
/** V#: s[12:15]. */
const DESCRIPTOR = 12;
/** Operand code of SRC_PRIVATE_BASE. */
const PRIVATE_BASE = 237;

const isMove = ({ traits, formatCount, words }: Opcode) =>
  formatCount === 0 && !words.has("cache") && (traits & Trait.Atomic) === 0 && (traits & Trait.Wave) === 0;

/** Whether an opcode is one of SCRATCH. */
export function isScratchOpcode({ encoding, segment }: Opcode): boolean {
  return encoding === Encoding.Flat && segment === 1;
}

/** Whether an opcode can reach scratch memory through the private aperture of the flat address space. */
export function isApertureOpcode(opcode: Opcode): boolean {
  return opcode.encoding === Encoding.Flat && opcode.segment === 0 && isMove(opcode);
}

/** Whether an opcode moves up to a dword through a descriptor. */
export function isPrivateBufferOpcode(opcode: Opcode): boolean {
  return opcode.encoding === Encoding.Mubuf && isMove(opcode) && elementBytes(opcode) <= 4 &&
    opcode.memory !== undefined;
}

/** s[BASE:BASE + 1]: the wave's area; s6 is changed. */
function areaOfWave(code: Code, region: number, waveSize: 32 | 64): void {
  baseOfRegion(code, BASE, region);
  code.vop("v_readfirstlane_b32", 6, v(1));
  code.sop2("s_and_b32", 6, 6, Operand.Literal, ~(waveSize - 1));
  code.sop2("s_mul_i32", 6, 6, Operand.Literal, SLOT);
  code.sop2("s_add_u32", BASE, BASE, 6);
  code.sop2("s_addc_u32", BASE + 1, BASE + 1, int(0));
}

/** SOPK s_setreg_b32 of a whole register. */
function setRegister(code: Code, id: number, source: number): void {
  code.sopk("s_setreg_b32", source, id | 31 << 11);
}

/** What all of these have in common. */
interface Frame {
  isLoad: boolean;
  dst: number;
  data: number;
  /** Byte of the lane's memory: what registers hold, and the instruction's offset. */
  register: number;
  immediate: number;
  prepare: Preparation;
}

function frameOf(opcode: Opcode, settings: BatchSettings, random: Random): Frame {
  const { waveSize } = settings;
  const bytes = elementBytes(opcode), dwords = Math.max(1, bytes / 4);
  const place = random.below(Math.floor((SLOT - bytes) / Math.min(4, bytes)) + 1) * Math.min(4, bytes);
  const immediate = random.pick([0, place, 8, 2044]);
  const prepare = new Preparation(random, waveSize);
  prepare.destinations();
  if (asksFor(settings, "exec") || random.chance(0.25)) prepare.exec();
  return {
    isLoad: (opcode.traits & Trait.Load) !== 0,
    dst: DESTINATION.vector + random.below(DESTINATION.count - dwords + 1),
    data: v(8 + random.below(20)),
    register: place - immediate,
    immediate,
    prepare,
  };
}

function instance(
  opcode: Opcode,
  form: string,
  { isLoad, dst }: Frame,
  before: Instance["before"],
  words: number[],
): Instance {
  const dwords = opcode.dst[0]?.dwords ?? 0;
  return {
    name: opcode.name,
    form,
    before,
    words: [words],
    checks: isLoad ? [vectorsCheck(dst, Math.max(1, dwords))] : [],
    memory: { bytes: SLOT, compare: exact },
    lanes: false,
  };
}

/** A SCRATCH instruction. */
export function scratchInstance(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  const f = frameOf(opcode, settings, random);
  const byScalar = random.chance(0.5);
  const before = (code: Code, region: number) => {
    areaOfWave(code, region, settings.waveSize);
    setRegister(code, FLAT_SCRATCH_LO, BASE);
    setRegister(code, FLAT_SCRATCH_HI, BASE + 1);
    if (byScalar) code.sop1("s_mov_b32", 7, Operand.Literal, f.register);
    else {
      // Lanes start at different dwords of their memory.
      const spread = elementBytes(opcode) > 4 || f.register % 4 !== 0 ? 0 : 12;
      code.vop("v_and_b32", v(ADDRESS), int(spread), v(14));
      code.vop("v_xor_b32", v(ADDRESS), Operand.Literal, v(ADDRESS), f.immediate + f.register & 12);
      code.vop("v_and_b32", v(ADDRESS), Operand.Literal, v(ADDRESS), spread === 0 ? 0 : 12);
      const rest = spread === 0 ? f.register : (f.register + f.immediate & 3) - f.immediate;
      code.vop("v_add_nc_u32", v(ADDRESS), Operand.Literal, v(ADDRESS), rest);
    }
    f.prepare.emit(code);
  };
  const words = flat(opcode, {
    dst: f.isLoad ? v(f.dst) : -1,
    data: f.isLoad ? -1 : f.data,
    addr: byScalar ? -1 : v(ADDRESS),
    saddr: byScalar ? 7 : undefined,
    offset: f.immediate,
  });
  return instance(opcode, byScalar ? "saddr" : "vaddr", f, before, words);
}

/** A FLAT instruction: odd lanes reach their scratch memory, even ones the operands (loads) or memory that is their own (stores: nothing). */
export function apertureInstance(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  const f = frameOf(opcode, settings, random);
  const bytes = elementBytes(opcode);
  const before = (code: Code, region: number) => {
    areaOfWave(code, region, settings.waveSize);
    setRegister(code, FLAT_SCRATCH_LO, BASE);
    setRegister(code, FLAT_SCRATCH_HI, BASE + 1);
    code.sop1("s_mov_b64", 6, PRIVATE_BASE);
    f.prepare.emit(code);
    // v[50:51]: the lane's memory, then for even lanes of loads the operands.
    code.vop("v_mov_b32", v(ADDRESS), Operand.Literal, -1, f.register + f.immediate);
    code.vop("v_mov_b32", v(ADDRESS + 1), 7);
    if (!f.isLoad) return;
    code.vop("v_and_b32", v(52), int(1), v(0));
    code.vop3("v_cmp_eq_u32", { dst: -1, sdst: Operand.Vcc, src: [v(52), int(0)] });
    code.vop("v_and_b32", v(53), Operand.Literal, v(14), (CONSTANT_BYTES - 1) & ~(Math.min(bytes, 4) - 1));
    code.vop("v_add_nc_u32", v(53), 0, v(53));
    code.vop("v_cndmask_b32", v(ADDRESS), v(ADDRESS), v(53));
    code.vop("v_mov_b32", v(53), 1);
    code.vop("v_cndmask_b32", v(ADDRESS + 1), v(ADDRESS + 1), v(53));
  };
  // gfx10.1 ignores the offset of a FLAT instruction.
  const words = flat(opcode, {
    dst: f.isLoad ? v(f.dst) : -1,
    data: f.isLoad ? -1 : f.data,
    addr: v(ADDRESS),
    saddr: Operand.Null,
  });
  return instance(opcode, "aperture", f, before, words);
}

/** A buffer instruction with the descriptor of private memory: ADD_TID_ENABLE and SWIZZLE_ENABLE, lanes of a wave interleaved. */
export function privateBufferInstance(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  const f = frameOf(opcode, settings, random);
  const known = random.chance(0.3), swizzles = random.chance(0.85), stride = random.pick([0, 4, 16]);
  const outOfBounds = random.pick([2, 3, 3]);
  // NUM_RECORDS of no limit, or such that some dwords are out of range.
  const records = random.pick([-1, -1, 16 * settings.waveSize, 0]);
  const word3 = 0xfac | 22 << 12 | (settings.waveSize === 64 ? 3 : 2) << 21 | 1 << 23 | outOfBounds << 28;
  const place = f.register + f.immediate, immediate = random.pick([0, place]), offen = immediate !== place;
  const before = (code: Code, region: number) => {
    areaOfWave(code, region, settings.waveSize);
    code.sop1("s_mov_b32", DESCRIPTOR, BASE);
    // The high word of the base is user data, or a constant: 3 in the frame.
    const high = (swizzles ? 1 << 31 : 0) | (swizzles ? stride : 4) << 16;
    if (known) code.sop1("s_mov_b32", DESCRIPTOR + 1, Operand.Literal, high | 3);
    else code.sop2("s_or_b32", DESCRIPTOR + 1, BASE + 1, Operand.Literal, high);
    code.sop1("s_mov_b32", DESCRIPTOR + 2, Operand.Literal, records);
    code.sop1("s_mov_b32", DESCRIPTOR + 3, Operand.Literal, word3);
    // Without swizzling records of 4 bytes follow each other: byte 0 of each.
    code.vop("v_mov_b32", v(ADDRESS), Operand.Literal, -1, swizzles ? place : 0);
    f.prepare.emit(code);
  };
  const words = buffer(opcode, {
    data: f.isLoad ? v(f.dst) : f.data,
    addr: offen ? v(ADDRESS) : -1,
    srsrc: DESCRIPTOR,
    soffset: int(0),
    offset: offen ? 0 : swizzles ? immediate : 0,
    offen,
  });
  return instance(opcode, `private ${known ? "known" : "unknown"}${swizzles ? "" : " linear"}`, f, before, words);
}
