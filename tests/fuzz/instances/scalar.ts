/** Instances of scalar ALU instructions: SOP1, SOP2, SOPC, SOPK. */
import { Encoding, Operand } from "../../../src/rdna/instruction.ts";
import { type Opcode, Trait } from "../../../src/rdna/table.ts";
import type { Random } from "../../support/random.ts";
import { exact } from "../compare.ts";
import { sop1, sop2, sopc, sopk } from "../encode.ts";
import { type BatchSettings, type Check, DESTINATION, type Instance, SCALARS, type Source } from "../frame.ts";
import { Operands, Preparation } from "./operands.ts";

/** Whether this generator makes instances of an opcode. */
export function isScalarOpcode({ encoding, traits, words }: Opcode): boolean {
  if (encoding > Encoding.Sopc) return false;
  if (traits & (Trait.Branch | Trait.Wait | Trait.HwReg | Trait.Pc)) return false;
  return !words.has("privileged");
}

/** A random instance. */
export function scalarInstance(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  const { waveSize } = settings;
  const pick = new Operands(random, waveSize);
  const prepare = new Preparation(random, waveSize);
  const src = opcode.src, words = opcode.dst[0]?.dwords ?? 0;
  const indirect = (opcode.traits & Trait.Indirect) !== 0;
  let dst = words === 0 ? 0 : pick.scalarDestination(words);
  if (words > 0 && !indirect && random.chance(0.2)) dst = random.pick(words > 1 ? SPECIAL_PAIRS : SPECIAL);
  prepare.scalars(DESTINATION.scalar, DESTINATION.count);
  prepare.vcc();
  if (indirect) prepare.m0(3);
  else if (random.chance(0.3)) prepare.m0(0xffffffff);
  if (random.chance(0.3)) prepare.exec();
  prepare.scc();
  let a = 0, b = 0;
  if (src.length > 0) {
    if (opcode.srcClass[0] === 3 && indirect) a = random.pick([16, 20, 24, 32]);
    else a = pick.scalar(src[0]);
  }
  if (src.length > 1) b = pick.scalar(src[1]);
  // Equal operands tell "less" from "less or equal".
  if (opcode.name.startsWith("s_cmp_") && random.chance(0.4)) b = a;
  const equal = opcode.name.startsWith("s_cmpk_") && random.chance(0.5) ? random.below(0x8000) : -1;
  if (equal >= 0) prepare.add((code) => code.sopk("s_movk_i32", Operand.Vcc, equal));
  const encoded = encode(opcode, dst, a, b, pick, random, equal);
  return {
    name: opcode.name,
    form: "scalar",
    before: (code) => prepare.emit(code),
    words: [encoded],
    checks: checks(opcode, dst, words, indirect),
    lanes: false,
  };
}

const SPECIAL = [Operand.Vcc, Operand.VccHi, Operand.M0, Operand.Exec, Operand.ExecHi, Operand.Null];
const SPECIAL_PAIRS = [Operand.Vcc, Operand.Exec, Operand.Null];

function encode(
  opcode: Opcode,
  dst: number,
  a: number,
  b: number,
  pick: Operands,
  random: Random,
  equal: number,
): number[] {
  switch (opcode.encoding) {
    case Encoding.Sop2:
      return sop2(opcode, dst, a, b, pick.literal);
    case Encoding.Sop1:
      return sop1(opcode, dst, a, pick.literal);
    case Encoding.Sopc:
      return sopc(opcode, a, b, pick.literal);
    default: {
      if (equal >= 0) return sopk(opcode, Operand.Vcc, equal);
      const immediate = random.pick([0, 1, 0xffff, 0x7fff, 0x8000, random.below(64), random.below(0x10000)]);
      return sopk(opcode, opcode.dst.length > 0 ? dst : random.pick([...SCALARS.integer, 27, Operand.Vcc]), immediate);
    }
  }
}

function checks(opcode: Opcode, dst: number, words: number, indirect: boolean): Check[] {
  const scalar = (register: number): Source => ({ kind: "scalar", register });
  const sources: Source[] = [{ kind: "scc" }];
  if (indirect) { for (let k = 0; k < 8; k++) sources.push(scalar(DESTINATION.scalar + k), scalar(16 + k)); }
  if (opcode.traits & Trait.WritesExec || (dst >= Operand.Exec && words > 0)) {
    sources.push({ kind: "exec", number: true });
  }
  if (words > 0 && dst < Operand.Exec) {
    for (let k = 0; k < words; k++) sources.push(scalar(dst + k));
  }
  if (opcode.traits & Trait.WritesExec) sources.push(scalar(Operand.Vcc));
  return [{ sources, compare: exact }];
}
