/** Instances of vector ALU instructions in all their forms: 32-bit, VOP3, VOP3P, SDWA, DPP16, DPP8. */
import { Encoding, Operand } from "../../../src/rdna/instruction.ts";
import { type Opcode, SourceClass, Trait } from "../../../src/rdna/table.ts";
import type { DataType } from "../../../src/rdna/types.ts";
import type { Random } from "../../support/random.ts";
import type { Code } from "../code.ts";
import { exact, isNan16, isNan32, partOf } from "../compare.ts";
import { dpp16, dpp8, sdwa, v, vop, vop3, vop3p } from "../encode.ts";
import {
  asksFor,
  type BatchSettings,
  type Check,
  DESTINATION,
  type Instance,
  SCALARS,
  type Source,
  type Spotlight,
} from "../frame.ts";
import { clampRefused, knownRefusals } from "../refusals.ts";
import { compareOf, isApproximate } from "./accuracy.ts";
import { Operands, Preparation } from "./operands.ts";

/** Forms of vector instructions. */
export type VectorForm = "e32" | "e64" | "sdwa" | "dpp16" | "dpp8";

/** The forms that this generator makes of an opcode; none for other instructions. */
export function vectorForms(opcode: Opcode): VectorForm[] {
  const { encoding, words, numbers } = opcode;
  if (encoding < Encoding.Vop1 || encoding > Encoding.Vopc || words.has("interp")) return [];
  if (encoding === Encoding.Vop3 || encoding === Encoding.Vop3p) return ["e64"];
  const forms: VectorForm[] = ["e32"];
  if (numbers[Encoding.Vop3] !== undefined) forms.push("e64");
  if (opcode.sdwa) forms.push("sdwa");
  if (opcode.dpp && encoding !== Encoding.Vopc) forms.push("dpp16", "dpp8");
  return forms;
}

const REFUSED_CLAMP = clampRefused(knownRefusals());

/** What instances of an opcode in a form can be told to have. EXEC is the same in all forms, so it is one form's. */
export function vectorSpotlights(opcode: Opcode, form: VectorForm): Spotlight[] {
  const [type] = opcode.dst;
  const isResult = type !== undefined && type.kind !== "mask";
  const floatResult = isResult && type.kind === "f" && type.count === 1;
  const list: Spotlight[] = [];
  if (form === vectorForms(opcode)[0] && !opcode.scalarDst) list.push("exec");
  if (form === "dpp16") list.push("rows", "edges");
  const is64 = form === "e64";
  if (form === "e32" || form === "dpp8") return list;
  if (modifiableSources(opcode) !== 0) list.push("signs");
  if (isResult && (is64 || form === "sdwa") && !REFUSED_CLAMP.has(opcode.name)) list.push("clamp");
  if (floatResult && opcode.encoding !== Encoding.Vop3p && (is64 || form === "sdwa")) list.push("omod");
  if (is64 && (opcode.words.has("opsel") || opcode.encoding === Encoding.Vop3p) && !refusesOpSel(opcode)) {
    list.push("opsel");
  }
  return list;
}

/** What the encoders share. */
interface Draft {
  opcode: Opcode;
  form: VectorForm;
  random: Random;
  pick: Operands;
  settings: BatchSettings;
  /** Operand code: vector, or scalar for v_readlane and the like; -1 for none. */
  dst: number;
  /** Lane mask destination; -1 for none. */
  sdst: number;
  /** Bits of the sources that take negate and absolute value. */
  modifiable: number;
  /** Emits what makes operands equal in some lanes. */
  mixture?: (code: Code) => void;
}

/** A random instance. */
export function vectorInstance(opcode: Opcode, form: VectorForm, settings: BatchSettings, random: Random): Instance {
  const { waveSize } = settings;
  const pick = new Operands(random, waveSize);
  const prepare = new Preparation(random, waveSize);
  const type = opcode.dst.find((each) => each.kind !== "mask");
  const draft: Draft = {
    opcode,
    form,
    random,
    pick,
    settings,
    dst: type === undefined
      ? -1
      : opcode.scalarDst
      ? pick.scalarDestination(1)
      : v(pick.vectorDestination(Math.max(1, type.dwords))),
    sdst: maskDestination(opcode, form, random),
    modifiable: modifiableSources(opcode),
  };
  const indirect = (opcode.traits & Trait.Indirect) !== 0;
  prepare.destinations();
  if (opcode.scalarDst || draft.sdst >= 64) prepare.scalars(DESTINATION.scalar, DESTINATION.count);
  prepare.vcc();
  prepare.scc();
  if (indirect) prepare.m0(opcode.name.includes("_2_") ? 0x0007_0007 : 7);
  const reads = (opcode.traits & Trait.ReadsExec) !== 0 || opcode.name.startsWith("v_cmpx");
  // EXEC is the same in all forms: it is the matter of one, and not where all looks at a modifier.
  const looks = asksFor(settings, "exec") || (form === vectorForms(opcode)[0] && !asksForValues(settings));
  // What lanes that are switched off give to others is the matter of FI.
  const gives = form === "dpp8" || form === "dpp16";
  if (random.chance(looks ? 0.96 : reads || gives ? 0.6 : 0.35)) prepare.exec();
  const words = encode(draft);
  return {
    name: opcode.name,
    form,
    before: (code) => {
      draft.mixture?.(code);
      prepare.emit(code);
    },
    words: words.words,
    checks: checks(draft, type, words),
    lanes: form === "dpp16" || form === "dpp8" || (opcode.traits & Trait.Lanes) !== 0,
  };
}

/** Whether a batch looks at a modifier that shows in ordinary values of sources. */
function asksForValues(settings: BatchSettings): boolean {
  return (["signs", "clamp", "omod", "opsel"] as const).some((what) => asksFor(settings, what));
}

/** The instruction, and a twin that writes the whole result elsewhere where a part of it may be a part of a NaN. */
interface Encoded {
  words: number[][];
  twin?: number;
  /** Written half of a 16-bit result: 0 or 1. */
  half?: number;
  omod: number;
}

function maskDestination(opcode: Opcode, form: VectorForm, random: Random): number {
  if (!opcode.dst.some((each) => each.kind === "mask")) return -1;
  if (opcode.name.startsWith("v_cmpx")) return Operand.Exec;
  if (form === "e32" || (form !== "e64" && opcode.encoding !== Encoding.Vopc)) return Operand.Vcc;
  return random.chance(0.3) ? Operand.Vcc : DESTINATION.scalar + 2 * random.below(4);
}

/** Negate and absolute value act on floats, and on the plain bits of v_mov_b32 and v_cndmask_b32. */
function modifiableSources({ name, src }: Opcode): number {
  const plain = name === "v_mov_b32" || name === "v_cndmask_b32";
  return src.reduce((bits, type, i) => bits | (type.kind === "f" || (plain && type.kind === "b") ? 1 << i : 0), 0);
}

function encode(d: Draft): Encoded {
  switch (d.form) {
    case "e32":
      return encode32(d);
    case "sdwa":
      return encodeSdwa(d);
    case "dpp16":
    case "dpp8":
      return encodeDpp(d);
    case "e64":
      return d.opcode.encoding === Encoding.Vop3p ? encodePacked(d) : encode64(d);
  }
}

/** Source `n` by its class. */
function source(d: Draft, n: number, vectorOnly = false): number {
  const { opcode, pick, random } = d;
  const type = opcode.src[n];
  if (type.kind === "mask") return pick.mask();
  if (opcode.traits & Trait.Indirect && (n === 0) && opcode.srcClass[0] === SourceClass.Vector) {
    return v(opcode.words.has("swap") ? DESTINATION.vector + random.below(8) : 8 + random.below(16));
  }
  if (opcode.words.has("swap")) return v(DESTINATION.vector + random.below(DESTINATION.count));
  if (vectorOnly || opcode.srcClass[n] === SourceClass.Vector) return pick.vector(type);
  if (opcode.srcClass[n] >= SourceClass.Scalar) {
    return opcode.words.has("lanes") ? laneOperand(d, n) : pick.scalar(type, false);
  }
  // Constants are the same in all threads, and many of them do not show a modifier.
  if (asksForValues(d.settings) && random.chance(0.75)) return pick.vector(type);
  return pick.source(type);
}

/** Scalar sources of v_readlane and its kin: registers and constants; literals only where the encoding has room. */
function laneOperand({ pick, opcode, random }: Draft, n: number): number {
  if (random.chance(0.3)) return pick.inline();
  if (random.chance(0.1)) return random.pick([Operand.M0, Operand.Vcc]);
  return pick.scalarRegister(opcode.src[n]);
}

function encode32(d: Draft): Encoded {
  const { opcode, pick } = d;
  if (opcode.src.some((type) => type.kind === "mask")) pick.reserve(Operand.Vcc);
  const three = opcode.words.has("literal");
  if (three) pick.useLiteral(opcode.src[0].bits === 16 ? opcode.src[0] : opcode.src[2]);
  const equal = equalOperands(d);
  const a = equal?.[0] ?? (opcode.src.length > 0 ? source(d, 0) : -1);
  const b = equal?.[1] ?? (opcode.src.length > 1 ? source(d, 1, true) : -1);
  return { words: [vop(opcode, d.dst, a, b, pick.literal)], omod: 0 };
}

/** A modifier's bits: some of `mask` where the batch asks for the modifier; else by chance. */
function modifier({ random, settings }: Draft, what: Spotlight, chance: number, mask: number): number {
  if (mask === 0) return 0;
  if (asksFor(settings, what)) {
    for (let tries = 0; tries < 16; tries++) {
      const bits = random.u32() & mask;
      if (bits !== 0) return bits;
    }
    return mask;
  }
  return random.chance(chance) ? random.u32() & mask : 0;
}

/** What is refused says nothing of the operation: it is drawn rarely. */
function clampChance({ name }: Opcode, isFloat: boolean): number {
  return REFUSED_CLAMP.has(name) ? 0.03 : isFloat ? 0.4 : 0.2;
}

/**
 * Whether a comparison is of a register with itself: between others, equality is too rare to show that a modifier or a select is missing.
 */
function comparesWithItself({ opcode, random }: Draft): boolean {
  return (opcode.traits & Trait.Compare) !== 0 && opcode.src[1]?.kind === "f" && random.chance(0.4);
}

/** Where a register (or a pair) is that equals another one in some lanes. */
const MIXTURE = 52;

/**
 * For many comparisons, operands that are equal in half of the lanes: between others, equality is too rare to tell "less" from "less or equal", or to show
 * what inactive lanes do. Undefined for the others.
 */
function equalOperands(d: Draft): [a: number, b: number] | undefined {
  const { opcode, pick, random } = d;
  const [first, second] = opcode.src;
  if ((opcode.traits & Trait.Compare) === 0 || first.kind !== second?.kind || first.bits !== second.bits) {
    return undefined;
  }
  if (!random.chance(0.6)) return undefined;
  const one = pick.vector(first), other = pick.vector(first), mask = random.pick(MASKS);
  d.mixture = (code) => {
    for (let k = 0; k < Math.max(1, first.dwords); k++) {
      code.vop3("v_cndmask_b32", { dst: v(MIXTURE + k), src: [other + k, one + k, mask] });
    }
  };
  return random.chance(0.5) ? [one, v(MIXTURE)] : [v(MIXTURE), one];
}

function encode64(d: Draft): Encoded {
  const { opcode, pick } = d;
  const equal = equalOperands(d);
  const src = opcode.src.map((_, n) => equal?.[n] ?? source(d, n));
  if (asksFor(d.settings, "signs") && comparesWithItself(d)) src[1] = src[0] = pick.vector(opcode.src[0]);
  const type = opcode.dst[0];
  const floatResult = type?.kind === "f" && type.count === 1;
  const opSelBits = !opcode.words.has("opsel") ? 0 : opcode.words.has("lanes") ? 3 : 8 | (1 << src.length) - 1;
  // Permuted high halves of the destination are real only where it has 16 bits.
  const narrow = type !== undefined && type.bits === 16 && type.count === 1;
  const opSel = modifier(d, "opsel", 0.6, opSelBits & (narrow ? 15 : 7));
  const omod = modifier(d, "omod", 0.2, floatResult ? 3 : 0);
  const hasResult = type !== undefined && type.kind !== "mask";
  const hasMask = opcode.dst.length > 1;
  const words = vop3(opcode, {
    dst: d.dst,
    sdst: d.sdst >= 0 && (hasMask || opcode.encoding === Encoding.Vopc) ? d.sdst : undefined,
    src,
    neg: modifier(d, "signs", 0.4, d.modifiable),
    abs: modifier(d, "signs", 0.3, hasMask ? 0 : d.modifiable),
    omod,
    clamp: modifier(d, "clamp", clampChance(opcode, floatResult), hasResult ? 1 : 0) !== 0,
    opSel,
    literal: pick.literal,
  });
  return { words: [words], half: opSel >> 3, omod };
}

/** Eighths of a register are no halves: op_sel of them is refused, so it is drawn rarely. */
function refusesOpSel({ name }: Opcode): boolean {
  return name.startsWith("v_dot8");
}

function encodePacked(d: Draft): Encoded {
  const { opcode, pick, random } = d;
  const src = opcode.src.map((_, n) => source(d, n));
  const all = (1 << src.length) - 1;
  const mix = opcode.words.has("mix");
  const float = opcode.src[0].kind === "f", refused = refusesOpSel(opcode);
  const words = vop3p(opcode, {
    dst: d.dst,
    src,
    opSel: modifier(d, "opsel", refused ? 0.1 : 0.5, all),
    opSelHi: random.chance(refused ? 0.1 : 0.5) ? random.below(8) & all | ~all & 7 : mix ? 0 : 7,
    negLo: modifier(d, "signs", 0.4, float ? all : 0),
    negHi: modifier(d, "signs", 0.4, float ? all : 0),
    clamp: modifier(d, "clamp", 0.4, 1) !== 0,
    literal: pick.literal,
  });
  return { words: [words], half: opcode.name.includes("mixhi") ? 1 : 0, omod: 0 };
}

function encodeSdwa(d: Draft): Encoded {
  const { opcode, pick, random } = d;
  if (opcode.src.some((type) => type.kind === "mask")) pick.reserve(Operand.Vcc);
  const operand = (n: number) => {
    const code = random.chance(asksForValues(d.settings) ? 0.9 : 0.75)
      ? pick.vector(opcode.src[n])
      : pick.source(opcode.src[n], false);
    return code === Operand.Literal ? pick.vector(opcode.src[n]) : code;
  };
  const two = opcode.src.length > 1 && opcode.src[1].kind !== "mask";
  const itself = comparesWithItself(d) ? pick.vector(opcode.src[0]) : -1;
  const equal = itself >= 0 ? [itself, itself] : equalOperands(d);
  const a = equal?.[0] ?? operand(0), b = equal?.[1] ?? (two ? operand(1) : -1);
  const type = opcode.dst[0];
  const isFloat = (n: number) => d.modifiable >> n & 1;
  const select = [0, 1].map((n) =>
    (random.chance(0.25) ? 6 : random.below(7)) | (!isFloat(n) && random.chance(0.4) ? 8 : 0)
  ) as [number, number];
  const floatResult = type.kind === "f" && type.count === 1;
  const omod = modifier(d, "omod", 0.2, floatResult ? 3 : 0);
  const fields = {
    select,
    neg: modifier(d, "signs", 0.4, 3 & d.modifiable),
    abs: modifier(d, "signs", 0.3, 3 & d.modifiable),
    // A part of an approximate number says nothing.
    dstSelect: random.chance(0.3) || isApproximate(opcode) ? 6 : random.below(7),
    dstUnused: random.below(3),
    clamp: modifier(d, "clamp", clampChance(opcode, floatResult), type.kind === "mask" ? 0 : 1) !== 0,
    omod,
    sdst: d.sdst === Operand.Vcc || d.sdst === Operand.Exec ? -1 : d.sdst,
  };
  const words = [sdwa(opcode, d.dst, a, b, fields)];
  const whole = fields.dstSelect === 6 && (type.bits === 32 || isApproximate(opcode));
  if (opcode.encoding === Encoding.Vopc || type.kind !== "f" || whole) {
    return { words, omod };
  }
  // The whole result goes to v48, which nothing else uses. It comes first: the instruction may overwrite its own sources.
  words.unshift(sdwa(opcode, v(TWIN), a, b, { ...fields, dstSelect: 6, dstUnused: 0 }));
  return { words, twin: TWIN, omod };
}

const TWIN = 48;

function encodeDpp(d: Draft): Encoded {
  const { opcode, pick, random, form, settings } = d;
  const a = pick.vector(opcode.src[0]);
  const b = opcode.src.length > 1 && opcode.src[1].kind !== "mask" ? pick.vector(opcode.src[1]) : -1;
  const fetchInactive = random.chance(0.2);
  if (form === "dpp8") return { words: [dpp8(opcode, d.dst, a, b, random.below(1 << 24), fetchInactive)], omod: 0 };
  const rows = asksFor(settings, "rows"), edges = asksFor(settings, "edges");
  // Lanes beyond the edge of a row read nothing: BOUND_CTRL tells what they do.
  const shifts = [0x101 + random.below(15), 0x111 + random.below(15)];
  const control = random.pick(
    edges ? shifts : [random.below(256), ...shifts, 0x121 + random.below(15), 0x140, 0x141, 0x150 + random.below(32)],
  );
  // Some of the first two rows are there: waves of 32 lanes have no more.
  const some = () =>
    rows ? random.below(4) << 2 | 1 + random.below(3) : edges || random.chance(0.6) ? 15 : random.below(16);
  const words = dpp16(opcode, d.dst, a, b, {
    control,
    rowMask: some(),
    bankMask: some(),
    boundCtrl: random.chance(0.5),
    fetchInactive,
    neg: modifier(d, "signs", 0.3, 3 & d.modifiable),
    abs: modifier(d, "signs", 0.2, 3 & d.modifiable),
  });
  return { words: [words], omod: 0 };
}

function checks(d: Draft, type: DataType | undefined, encoded: Encoded): Check[] {
  const { opcode, random } = d;
  const list: Check[] = [];
  const plain = (...sources: Source[]) => list.push({ sources, compare: exact });
  const number = random.chance(0.3);
  if (d.sdst === Operand.Exec) plain({ kind: "exec", number });
  else if (d.sdst >= 0) plain({ kind: "mask", register: d.sdst, number });
  if (type === undefined) return list;
  if (opcode.scalarDst) plain({ kind: "scalar", register: d.dst });
  else if (opcode.traits & Trait.Indirect || opcode.words.has("swap")) {
    for (let k = 0; k < DESTINATION.count; k++) plain({ kind: "vector", register: DESTINATION.vector + k });
  } else list.push(resultCheck(d, type, encoded));
  return list;
}

function resultCheck(d: Draft, type: DataType, encoded: Encoded): Check {
  const first = d.dst - Operand.Vgpr0;
  const sources: Source[] = Array.from(
    { length: Math.max(1, type.dwords) },
    (_, k) => ({ kind: "vector", register: first + k }),
  );
  if (encoded.twin !== undefined) {
    sources.push({ kind: "vector", register: encoded.twin });
    return { sources, compare: partOf(type.bits === 16 ? isNan16 : isNan32) };
  }
  return { sources, compare: compareOf(d.opcode, type, encoded.half ?? 0, d.settings) };
}

/** Scalar operand registers that hold lane masks. */
export const MASKS = [...SCALARS.wide, ...SCALARS.double];
