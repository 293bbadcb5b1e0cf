/** Corruptions that change nothing, which are no mutants, and the reasons why mutants survive. */
import { type Opcode, Trait } from "../../../src/rdna/table.ts";

/** Opcodes whose first two sources may be exchanged (AMD RDNA2 ISA, section 12: the operation is written with +, *, &, |, ^, min or max of both). */
const COMMUTATIVE = [
  /^[sv]_(pk_)?(add|mul|and|or|xor|xnor|nand|nor|min|max)(_|\d|3)/,
  /^[sv]_(pk_)?(add|addc|mul|min|max)_/,
  /^v_(fma|mad|fmac|mac|pk_fma|pk_fmac|pk_mad|fma_mix|fma_mixlo|fma_mixhi|fma_legacy|mad_legacy|mac_legacy|mad_mix)/,
  /^v_(med3|min3|max3|add3|or3|xor3|and_or|xad|add_lshl|add_co|dot\d|sad|lerp|mul_hi|mul_lo|mul_legacy)/,
  /^s_(cmp_eq|cmp_lg|addc|absdiff|addk|mulk|xnor|nand|nor|mul_hi|add)_/,
  /^v_cmpx?_(eq|ne|lg|neq|nlg|o|u|f|t|tru)_/,
];

/** Whether exchanging sources 0 and 1 changes nothing. */
export function commutes({ name }: Opcode): boolean {
  return !/_sub|sad_hi/.test(name) && COMMUTATIVE.some((pattern) => pattern.test(name));
}

/** Whether exchanging sources 1 and 2 changes something; it is asked only where exchanging 0 and 1 does not. */
export function swapsSources(opcode: Opcode): boolean {
  return commutes(opcode) && (opcode.traits & Trait.Compare) === 0 &&
    !/^v_(add3|or3|xor3|min3|max3|med3)/.test(opcode.name);
}

/** Why mutants survive, by their names; the first pattern that fits. */
export const REASONS: readonly { pattern: RegExp; reason: string }[] = [
  {
    pattern: /^emit\/LdsLoad\/active$/,
    reason: "what an inactive lane loads is thrown away, and LDS has an end of its own",
  },
  { pattern: /^emit\/FAddOdd\/result$/, reason: "the last bit of a sum rounded to odd counts in ties only" },
  { pattern: /^lift\/v_mov(rel|re).*\/(clamp|sdwa|dpp.*)$/, reason: "the form is refused" },
  {
    pattern: /^lift\/v_dot8.*\/(clamp|operands12|result|exec)$/,
    reason: "the suite's instances have op_sel, which is refused",
  },
  {
    pattern: /^lift\/.*\/exec$/,
    reason: "the suite draws it once or twice, with all lanes active or all results equal",
  },
  {
    pattern: /^lift\/.*\/(result|neighbour|operands..)$/,
    reason: "the suite draws it once or twice, where this changes nothing (few lanes active, equal operands)",
  },
];

/** Why a mutant survives; undefined when nobody has looked. */
export function whySurvives(name: string): string | undefined {
  return REASONS.find(({ pattern }) => pattern.test(name))?.reason;
}
