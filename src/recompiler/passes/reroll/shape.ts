/**
 * How the rounds of a candidate follow each other, and whether they can become the rounds of a loop.
 */
import type { Ir } from "../../ir/ir.ts";
import { Op } from "../../ir/ops.ts";
import { countUses, type StructureIndex } from "../structure.ts";
import { type Candidate, sameShape } from "./find.ts";
import { longestRun, operandsOf, type Rounds, type Run, slotsOf } from "./relate.ts";

/** Rounds to make a loop of. */
export interface Repetition {
  /** All rounds that look alike, of which `run` says which are alike. */
  readonly rounds: Rounds;
  readonly run: Run;
  /** First operation, and the one behind the last. */
  readonly from: number;
  readonly to: number;
  /**
   * Each round is all that is left of an If at the end of the one before. The If of a round is the last operation of the one before it; this is the last one's.
   * -1: rounds stand one behind the other.
   */
  readonly last: number;
  /** Where in a round these Ifs stand; the last one is the round's last operation. */
  readonly exits: readonly number[];
  /** What stands behind each of these Ifs; that of the first round. */
  readonly tail: Tail;
  /** Values of the last round that are used behind it. */
  readonly results: readonly number[];
  /** What the pc of each access that may fail grows by from round to round; 0 when there is none. */
  readonly pcStep: number;
}

/** What stands between the ends of two Ifs: phis, and disjunctions of phis with values that are there before the inner If. Both are what is handed on. */
export interface Tail {
  /** First phi. */
  readonly start: number;
  readonly phis: number;
  /** Of each phi: the disjunction that is handed on instead of it; 0 where it is the phi itself. */
  readonly sums: readonly number[];
}

/** The repetition that a candidate is, if it is one with at least `least` rounds. */
export function repetitionOf(
  ir: Ir,
  structure: StructureIndex,
  candidate: Candidate,
  least: number,
  last: Int32Array,
  mayFail: (i: number) => boolean,
): Repetition | undefined {
  const { anchor, period } = candidate;
  const around = ancestorsFrom(structure, anchor + period, anchor);
  const found = around.length > 0
    ? nestedRounds(ir, structure, around.reverse(), period, countUses(ir))
    : rowsOf(ir, structure, anchor, period, least, last);
  if (found === undefined) return undefined;
  const { rounds, tail, run, exits } = found;
  if (run.count < least) return undefined;
  const from = rounds.start + run.first * period, to = from + run.count * period;
  if (leavesRound(ir, structure, from, from + period)) return undefined;
  const nested = around.length > 0;
  const results = nested
    ? nestedResults(ir, from, to, period, structure.endOf[to - 1])
    : rowResults(last, from, to, period);
  if (results === undefined) return undefined;
  const pcStep = pcStepOf(ir, from, to, period, mayFail);
  return pcStep === undefined
    ? undefined
    : { rounds, run, from, to, last: nested ? to - 1 : -1, exits, tail, results, pcStep };
}

/** Constructs around `i` that begin at `from` or behind it, innermost first. */
function ancestorsFrom({ parentOf }: StructureIndex, i: number, from: number): number[] {
  const found: number[] = [];
  for (let p = parentOf[i]; p >= from; p = parentOf[p]) found.push(p);
  return found;
}

interface Found {
  readonly rounds: Rounds;
  readonly run: Run;
  readonly exits: readonly number[];
  readonly tail: Tail;
}

/** Rounds that are nested in each other: `if (a) { ...; if (b) { ...; if (c) { ... } } }`. `ifs` are those of one round, outermost first. */
function nestedRounds(
  ir: Ir,
  structure: StructureIndex,
  ifs: readonly number[],
  period: number,
  uses: Int32Array,
): Found | undefined {
  const { parentOf, elseOf, endOf } = structure;
  const offsets = ifs.map((at) => at - ifs[0]);
  if (offsets[offsets.length - 1] >= period) return undefined;
  /** The If number `n` from that at `first` on. */
  const ifOf = (first: number, n: number) =>
    first + Math.floor(n / offsets.length) * period + offsets[n % offsets.length];
  const hasRound = (first: number) => {
    if (first < 1 || first + period >= ir.length) return false;
    for (let n = 0; n <= offsets.length; n++) {
      const at = ifOf(first, n);
      if (ir.op[at] !== Op.If || elseOf[at] !== endOf[at]) return false;
      if (n > 0 && (parentOf[at] !== ifOf(first, n - 1) || tailOf(ir, parentOf[at], at, structure) === undefined)) {
        return false;
      }
    }
    return true;
  };
  const follows = (first: number) => {
    if (!hasRound(first)) return false;
    for (let i = first; i < first + period; i++) if (!sameShape(ir, i, i + period)) return false;
    return true;
  };
  // Shapes are compared with those of the round behind, so the last round may be any.
  let first = ifs[0], count = 0;
  while (follows(first - period)) first -= period;
  for (let at = first; follows(at); at += period) count++;
  const end = first + count * period;
  if (count > 0 && hasRound(end) && sameShape(ir, end, end + period)) count++;
  if (count < 2) return undefined;
  const tail = tailOf(ir, first, ifOf(first, 1), structure)!;
  /** What stands behind the If number `n` of a round, if it is what stands behind the others. */
  const tailBehind = (from: number, n: number): Tail | undefined => {
    const found = tailOf(ir, ifOf(from, n - 1), ifOf(from, n), structure);
    const alike = found !== undefined && found.phis === tail.phis &&
      found.sums.every((sum, k) => (sum === 0) === (tail.sums[k] === 0));
    return alike ? found : undefined;
  };
  /** What the phis behind the Ifs of a round are where those are not entered, and what is put together with them. */
  const extra = (round: number): number[] | undefined => {
    const values: number[] = [];
    for (let n = 1; n <= offsets.length; n++) {
      const behind = tailBehind(first + round * period, n);
      if (behind === undefined) return undefined;
      for (let k = 0; k < behind.phis; k++) values.push(ir.b[behind.start + k]);
      behind.sums.forEach((sum, k) => {
        if (sum !== 0) values.push(ir.a[sum] === behind.start + k ? ir.b[sum] : ir.a[sum]);
      });
    }
    return values;
  };
  const rounds: Rounds = { ir, start: first + 1, period, count, extra };
  const run = longestRun(rounds);
  if (run === undefined) return undefined;
  // Phis of all Ifs but the last take what is handed on from the next one, and nobody else looks at that.
  const from = first + run.first * period;
  for (let n = 1; n <= run.count * offsets.length; n++) {
    const outer = tailBehind(from, n)!, inner = n < run.count * offsets.length ? tailBehind(from, n + 1)! : undefined;
    for (let k = 0; k < tail.phis; k++) {
      if (inner !== undefined && ir.a[outer.start + k] !== (inner.sums[k] || inner.start + k)) return undefined;
      if (outer.sums[k] !== 0 && uses[outer.start + k] !== 1) return undefined;
    }
  }
  const exits = [...offsets.slice(1), period].map((offset) => offset - 1);
  return { rounds, run, exits, tail: tailBehind(from, 1)! };
}

/** What stands between the ends of two Ifs; undefined when it is no {@linkcode Tail}. */
function tailOf(ir: Ir, outer: number, inner: number, { endOf }: StructureIndex): Tail | undefined {
  const start = endOf[inner] + 1;
  let at = start;
  while (ir.op[at] === Op.Phi) at++;
  const phis = at - start, sums: number[] = new Array(phis).fill(0);
  for (; at < endOf[outer] && ir.op[at] === Op.LOr; at++) {
    const a = ir.a[at], b = ir.b[at];
    const phi = a >= start ? a : b, other = a >= start ? b : a;
    if (phi < start || phi >= start + phis || sums[phi - start] !== 0) return undefined;
    if (other > inner && ir.op[other] !== Op.Const) return undefined;
    sums[phi - start] = at;
  }
  return at === endOf[outer] ? { start, phis, sums } : undefined;
}

/** Places in a round where it is tried to begin one. */
const PLACES = 12;

/** Rounds one behind the other, in one arm or body. */
function rowsOf(
  ir: Ir,
  structure: StructureIndex,
  anchor: number,
  period: number,
  least: number,
  last: Int32Array,
): Found | undefined {
  const { parentOf } = structure;
  let x = anchor, y = anchor + period;
  while (parentOf[x] !== parentOf[y]) [x, y] = [parentOf[x], parentOf[y]];
  const parent = parentOf[x];
  // The stretch of operations that are as the ones a round before or behind them, and do not leave the arm.
  const inside = (i: number) => i > parent && i < ir.length && !leavesArm(ir, structure, i, parent);
  let low = x, high = x;
  while (inside(low - 1) && inside(low - 1 + period) && sameShape(ir, low - 1, low - 1 + period)) low--;
  while (inside(high) && inside(high + period) && sameShape(ir, high, high + period)) high++;
  high += period;
  let best: Found | undefined, carried = Infinity, tried = 0;
  for (let start = low; start < low + period && start + least * period <= high && tried < PLACES; start++) {
    if (parentOf[start] !== parent || !beginsRound(ir, start)) continue;
    tried++;
    let count = Math.floor((high - start) / period);
    // Phis of the last construct that the other rounds' do not have must stay right behind it.
    const behind = ir.op[start + count * period];
    if (behind === Op.Phi || behind === Op.BreakPhi) count--;
    if (count < least) continue;
    const rounds: Rounds = { ir, start, period, count };
    const run = longestRun(rounds);
    if (run === undefined || run.count < least) continue;
    const from = start + run.first * period;
    const results = rowResults(last, from, from + run.count * period, period);
    if (results === undefined) continue;
    const cost = results.length + new Set(run.number.filter((_, s) => run.relation[s] === 1)).size - run.count;
    if (cost >= carried) continue;
    carried = cost;
    best = { rounds, run, exits: [], tail: { start: 0, phis: 0, sums: [] } };
  }
  return best;
}

/** Whether an operation ends or divides the arm or body of `parent`. */
function leavesArm(ir: Ir, { parentOf, openingOf }: StructureIndex, i: number, parent: number): boolean {
  const op = ir.op[i];
  if (op === Op.EndIf || op === Op.EndLoop) return openingOf[i] <= parent;
  if (op === Op.End || op === Op.Export || op === Op.Valid) return true;
  if (parentOf[i] !== parent) return false;
  return op === Op.Else || op === Op.LoopCont || op === Op.Break || op === Op.Continue || op === Op.LoopPhi ||
    op === Op.Const;
}

/** A round begins with a construct, or behind one: the places between are as good. */
function beginsRound(ir: Ir, i: number): boolean {
  const op = ir.op[i], before = ir.op[i - 1];
  if (op === Op.Phi || op === Op.BreakPhi || op === Op.EndIf || op === Op.EndLoop || op === Op.Else) return false;
  return op === Op.If || op === Op.Loop || op === Op.Barrier || before === Op.Phi || before === Op.BreakPhi ||
    before === Op.EndIf || before === Op.EndLoop || before === Op.Barrier || before === Op.LdsStore ||
    before === Op.Store;
}

/** Whether a jump of a round leaves a loop around it. */
function leavesRound(ir: Ir, { loopOf }: StructureIndex, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    if ((ir.op[i] === Op.Break || ir.op[i] === Op.Continue) && loopOf[i] < from) return true;
    if (ir.op[i] === Op.Const || ir.op[i] === Op.Input || ir.op[i] === Op.Undef) return true;
  }
  return false;
}

/** Where each value is used last; a value that goes round a loop is used at its end. */
export function lastUses(ir: Ir, { endOf }: StructureIndex): Int32Array {
  const last = new Int32Array(ir.length), slots: number[] = [], loops: number[] = [];
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] === Op.Loop) loops.push(endOf[i]);
    else if (ir.op[i] === Op.EndLoop) loops.pop();
    slots.length = 0;
    operandsOf(ir, i, slots);
    const at = ir.op[i] === Op.LoopPhi ? loops[loops.length - 1] : i;
    for (const value of slots) if (last[value] < at) last[value] = at;
  }
  return last;
}

/** The values of the last of some rounds in a row that are used behind them; undefined when there are such of others. */
function rowResults(last: Int32Array, from: number, to: number, period: number): number[] | undefined {
  for (let value = from; value < to - period; value++) if (last[value] >= to) return undefined;
  const used: number[] = [];
  for (let value = to - period; value < to; value++) if (last[value] >= to) used.push(value);
  return used;
}

/**
 * The values of the last of some nested rounds that are used inside of it; undefined when there are such of others. Nothing else can use them but phis, which
 * belong to the rounds.
 */
function nestedResults(ir: Ir, from: number, to: number, period: number, end: number): number[] | undefined {
  const used = new Set<number>(), slots: number[] = [];
  for (let i = to; i < end; i++) operandsOf(ir, i, slots);
  // What goes into the innermost phis from inside.
  for (let phi = end + 1; ir.op[phi] === Op.Phi; phi++) slots.push(ir.a[phi]);
  for (const value of slots) {
    if (value < from || value >= to) continue;
    if (value < to - period) return undefined;
    used.add(value);
  }
  return [...used].sort((x, y) => x - y);
}

/** See {@linkcode Repetition.pcStep}; undefined where it differs, where an access may fail in some rounds only, or is in a loop that was made already. */
function pcStepOf(
  ir: Ir,
  from: number,
  to: number,
  period: number,
  mayFail: (i: number) => boolean,
): number | undefined {
  let step: number | undefined;
  for (let i = from; i < from + period; i++) {
    const fails = mayFail(i);
    for (let later = i + period; later < to; later += period) if (mayFail(later) !== fails) return undefined;
    if (!fails) continue;
    if (ir.pcAdded.has(i)) return undefined;
    step ??= ir.pc[i + period] - ir.pc[i];
    for (let later = i + period; later < to; later += period) {
      if (ir.pc[later] - ir.pc[later - period] !== step) return undefined;
    }
  }
  return step ?? 0;
}

/** The operands of round `round` of the run's rounds, see {@linkcode slotsOf}. */
export function roundSlots({ rounds, run }: Repetition, round: number): number[] {
  return slotsOf(rounds, run.first + round)!;
}
