/** Corruptions that change nothing, which are no mutants, and the reasons why mutants survive. */
import { NO_EFFECT } from "../../../src/rdna/no_effect.ts";
import { type Opcode, Trait } from "../../../src/rdna/table.ts";

/** Opcodes whose first two sources may be exchanged (AMD RDNA2 ISA, section 12: the operation is written with +, *, &, |, ^, min or max of both). */
const COMMUTATIVE = [
  /^[sv]_(pk_)?(add|mul|and|or|xor|xnor|nand|nor|min|max)(_|\d|3)/,
  /^[sv]_(pk_)?(add|addc|mul|min|max)_/,
  /^v_(fma|mad|fmac|mac|pk_fma|pk_fmac|pk_mad|fma_mix|fma_mixlo|fma_mixhi|fma_legacy|mad_legacy|mac_legacy|mad_mix)/,
  /^v_(med3|min3|max3|add3|or3|xor3|and_or|xad|add_lshl|add_co|dot\d|sad|div_fmas|lerp|mul_hi|mul_lo|mul_legacy)/,
  /^s_(cmp_eq|cmp_lg|addc|absdiff|addk|mulk|xnor|nand|nor|mul_hi|add)_/,
  /^v_cmpx?_(eq|ne|lg|neq|nlg|o|u|f|t|tru)_/,
];

/** Whether exchanging sources 0 and 1 changes nothing. */
export function commutes({ name }: Opcode): boolean {
  return !/_sub/.test(name) && COMMUTATIVE.some((pattern) => pattern.test(name));
}

/** Whether exchanging sources 1 and 2 changes something; it is asked only where exchanging 0 and 1 does not. */
export function swapsSources(opcode: Opcode): boolean {
  return commutes(opcode) && (opcode.traits & Trait.Compare) === 0 &&
    !/^v_(add3|or3|xor3|min3|max3|med3)/.test(opcode.name);
}

/** Opcodes that mean the same where rounding and memory are as here: the second of each pair is a name for the first. */
const SYNONYMS: readonly (readonly [RegExp, string])[] = [
  // No lane is unordered with integers, and comparisons signal nothing.
  [/^(v_cmpx?)_tru_/, "$1_t_"],
  // They differ in the exceptions that they raise.
  [/^v_rcp_iflag_f32$/, "v_rcp_f32"],
];

/** Opcodes that do nothing in straight code that all waves execute: as neighbours of what does nothing, they cannot be told from it. */
const NOTHING_ALONE = ["s_barrier", "s_sethalt", "s_sleep"];

/** Whether an opcode in another's place can be seen by no program. */
export function looksAlike(one: Opcode, other: Opcode): boolean {
  const idle = (opcode: Opcode) => meaning(opcode) === "nothing" || NOTHING_ALONE.includes(opcode.name);
  return meaning(one) === meaning(other) || (one.name !== "s_barrier" && idle(one) && idle(other));
}

/** What an opcode does, in a word: those with the same word cannot be told apart by results. */
export function meaning({ name }: Opcode): string {
  if (NO_EFFECT.includes(name) || /^v_(nop|pipeflush|clrexcp)$/.test(name)) return "nothing";
  return SYNONYMS.reduce((text, [pattern, same]) => text.replace(pattern, same), name);
}

/** A rule by which corruptions of lift entries change nothing that a program can see. */
interface Rule {
  kind: RegExp;
  pattern: RegExp;
  why: string;
}

const RULES: readonly Rule[] = [
  {
    kind: /^exec$/,
    pattern: /^v_cmpx?_f_/,
    why: "the comparison is false in all lanes, and so is what inactive lanes write",
  },
  { kind: /^(signs|sdwa)$/, pattern: /^v_cmpx?_(f|t|tru)_/, why: "the comparison does not look at its operands" },
  { kind: /^signs$/, pattern: /^v_cmpx?_[ou]_/, why: "whether a number is a NaN does not depend on its sign" },
  { kind: /^signs$/, pattern: /^v_cos_/, why: "the cosine is even" },
  { kind: /^signs$/, pattern: /^v_frexp_exp_/, why: "the exponent does not depend on the sign" },
  { kind: /^(sdwa|dpp.*)$/, pattern: /^v_movrel/, why: "the form is refused" },
];

/** Why a corruption of an entry of the lift table is none; undefined where it is one. */
export function equivalentLift({ name }: Opcode, kind: string): string | undefined {
  return RULES.find((rule) => rule.kind.test(kind) && rule.pattern.test(name))?.why;
}

/** Why mutants survive, by their names; the first pattern that fits. */
export const REASONS: readonly { pattern: RegExp; reason: string }[] = [
  {
    pattern: /^emit\/FAddOdd\/(result|neighbour)$/,
    reason: "the last bit of a sum rounded to odd counts in ties only",
  },
];

/** Why a corruption of an emitter is none; undefined where it is one. */
export function equivalentEmit(entry: string, kind: string): string | undefined {
  if (entry === "LdsLoad" && kind === "active") {
    return "what an inactive lane loads is thrown away, and LDS has an end of its own";
  }
  if ((entry === "ContPhi" || entry === "BreakPhi") && kind === "neighbour") {
    return "both have one handler, which does not look at the operation";
  }
  return undefined;
}

/** Why a mutant survives; undefined when nobody has looked. */
export function whySurvives(name: string): string | undefined {
  return REASONS.find(({ pattern }) => pattern.test(name))?.reason;
}
