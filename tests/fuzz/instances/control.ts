/**
 * Instances of instructions that move the program counter, read or write hardware registers, or compute nothing: each must leave everything else as it was.
 */
import { Encoding, Operand } from "../../../src/rdna/instruction.ts";
import { NO_EFFECT } from "../../../src/rdna/no_effect.ts";
import { type Opcode, Trait } from "../../../src/rdna/table.ts";
import type { Random } from "../../support/random.ts";
import { Code } from "../code.ts";
import { exact } from "../compare.ts";
import { buffer, flat, int, smem, sop1, sopk, sopp, v } from "../encode.ts";
import { asksFor, type BatchSettings, type Check, DESTINATION, type Instance, type Source } from "../frame.ts";
import { BASE, baseOfRegion, vectorsCheck } from "./memory.ts";
import { Preparation } from "./operands.ts";

/** Instructions that branch on a condition of the wave. */
const BRANCHES = /^s_(branch|cbranch_(scc|vcc|exec)[a-z0-9]+)$/;
/** What gives and takes the program counter. */
const JUMPS = ["s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_call_b64"];
/** What reads and writes MODE. */
const MODES = ["s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32", "s_round_mode", "s_denorm_mode"];
/** What else computes nothing, or the wave's number. */
const OTHERS = ["s_barrier", "s_sethalt", "s_atc_probe", "s_atc_probe_buffer", "s_get_waveid_in_workgroup"];

/** Whether this generator makes instances of an opcode. */
export function isControlOpcode({ name, encoding }: Opcode): boolean {
  if (encoding === Encoding.Vop1 || encoding === Encoding.Ds || name === "s_version") return false;
  return BRANCHES.test(name) || [...JUMPS, ...MODES, ...OTHERS, ...NO_EFFECT].includes(name);
}

/** Whether an opcode is one of GLOBAL that addresses by lane. */
export function isLaneAddressOpcode({ encoding, segment, traits }: Opcode, { waveSize }: BatchSettings): boolean {
  // Two waves of a workgroup would write to the same place.
  return encoding === Encoding.Flat && segment === 2 && (traits & Trait.Wave) !== 0 && waveSize === 64;
}

const scalar = (register: number): Source => ({ kind: "scalar", register });

/** A random instance. */
export function controlInstance(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  const prepare = new Preparation(random, settings.waveSize);
  prepare.destinations();
  prepare.scalars(DESTINATION.scalar, DESTINATION.count);
  prepare.vcc();
  if (random.chance(0.5)) prepare.exec();
  const zero = random.chance(0.25);
  if (zero) prepare.add((code) => code.sop1("s_mov_b64", Operand.Vcc, int(0)));
  if (zero && random.chance(0.5)) prepare.add((code) => code.sop1("s_mov_b64", Operand.Exec, int(0)));
  prepare.scc();
  // What the words between a jump and its target would do.
  const register = v(DESTINATION.vector + random.below(DESTINATION.count));
  const sources = [scalar(DESTINATION.scalar), scalar(DESTINATION.scalar + 1), { kind: "scc" } as const];
  const checks: Check[] = [
    vectorsCheck(DESTINATION.vector, DESTINATION.count),
    { sources: [...sources, { kind: "mask", register: Operand.Vcc, number: false }], compare: exact },
    { sources: [{ kind: "exec", number: false }], compare: exact },
  ];
  return {
    name: opcode.name,
    form: "control",
    before: (code) => prepare.emit(code),
    words: [wordsOf(opcode, settings, random, register)],
    checks,
    lanes: false,
  };
}

function wordsOf(opcode: Opcode, settings: BatchSettings, random: Random, register: number): number[] {
  const { name, encoding } = opcode;
  if (BRANCHES.test(name)) return over(name, register);
  if (JUMPS.includes(name)) return jump(opcode, register);
  if (MODES.includes(name)) return mode(opcode, settings, random);
  const free = random.below(0x10000);
  switch (encoding) {
    case Encoding.Smem:
      return smem(opcode, { data: opcode.dst.length > 0 ? DESTINATION.scalar : 0, base: 12 });
    case Encoding.Mubuf:
      return buffer(opcode, { data: v(0), srsrc: 0 });
    case Encoding.Sopk:
      return sopk(opcode, Operand.Null, free);
    default:
      return sopp(opcode, name === "s_barrier" || name === "s_sethalt" ? 0 : free);
  }
}

/** A branch over an instruction. */
function over(name: string, register: number): number[] {
  const code = new Code(), end = code.label();
  code.branch(name, end);
  code.vop("v_not_b32", register, register);
  code.bind(end);
  code.vop("v_add_nc_u32", register, int(1), register);
  return code.words;
}

/** The first destination pair holds an address; a subroutine, or the words behind a jump. */
function jump(opcode: Opcode, register: number): number[] {
  const code = new Code();
  const pair = DESTINATION.scalar, other = pair + 2;
  if (opcode.name === "s_getpc_b64") return sop1(opcode, pair, 0);
  const target = code.label(), end = code.label();
  if (opcode.name === "s_call_b64") code.branch("s_call_b64", target, pair);
  else {
    code.sop1("s_getpc_b64", other, 0);
    const from = code.at;
    code.sop2("s_add_u32", other, other, Operand.Literal, 0);
    code.far(code.at - 1, from, target);
    code.sop2("s_addc_u32", other + 1, other + 1, int(0));
    code.emit(sop1(opcode, opcode.name === "s_swappc_b64" ? pair : 0, other));
  }
  code.vop("v_not_b32", register, register);
  if (opcode.name === "s_setpc_b64") {
    code.bind(target);
    code.vop("v_add_nc_u32", register, int(1), register);
    return code.words;
  }
  code.branch("s_branch", end);
  code.bind(target);
  code.vop("v_add_nc_u32", register, int(2), register);
  code.sop1("s_setpc_b64", 0, pair);
  code.bind(end);
  return code.words;
}

/** MODE as it is: its float modes, DX10_CLAMP and IEEE. */
function mode(opcode: Opcode, { floatMode, dx10Clamp, ieee }: BatchSettings, random: Random): number[] {
  const bits = floatMode | (dx10Clamp ? 0x100 : 0) | (ieee ? 0x200 : 0);
  const offset = random.below(10), size = 1 + random.below(10 - offset);
  const field = 1 | offset << 6 | size - 1 << 11;
  const value = bits >> offset & (1 << size) - 1;
  switch (opcode.name) {
    case "s_getreg_b32":
      return sopk(opcode, DESTINATION.scalar, field);
    case "s_setreg_imm32_b32":
      return [...sopk(opcode, 0, field), value];
    case "s_setreg_b32": {
      const code = new Code();
      code.sop1("s_mov_b32", DESTINATION.scalar, Operand.Literal, value);
      return [...code.words, ...sopk(opcode, DESTINATION.scalar, field)];
    }
    default:
      return sopp(opcode, opcode.name === "s_round_mode" ? floatMode & 15 : floatMode >> 4);
  }
}

/** GLOBAL by lane: a dword per lane behind the scalar base. */
export function laneAddressInstance(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  const prepare = new Preparation(random, settings.waveSize);
  const isLoad = (opcode.traits & Trait.Load) !== 0;
  const offset = random.below(1024) * 4 - 2048;
  const dst = DESTINATION.vector + random.below(DESTINATION.count), data = v(8 + random.below(24));
  prepare.destinations();
  if (asksFor(settings, "exec") || random.chance(0.5)) prepare.exec();
  return {
    name: opcode.name,
    form: "lane",
    before: (code, region) => {
      if (isLoad) {
        code.sop2("s_add_u32", BASE, 0, Operand.Literal, 2048 - offset);
        code.sop2("s_addc_u32", BASE + 1, 1, int(0));
      } else {
        baseOfRegion(code, BASE, region - offset);
        code.sop2("s_lshl_b32", 7, 4, int(8));
        code.sop2("s_add_u32", BASE, BASE, 7);
        code.sop2("s_addc_u32", BASE + 1, BASE + 1, int(0));
      }
      prepare.emit(code);
    },
    words: [flat(opcode, { dst: isLoad ? v(dst) : -1, data: isLoad ? -1 : data, saddr: BASE, offset })],
    checks: isLoad ? [vectorsCheck(dst, 1)] : [],
    memory: isLoad ? undefined : { bytes: 4, compare: exact },
    lanes: false,
  };
}
