/**
 * How the operands of one round relate to those of the round before: what must be the same in all rounds for them to be one loop's.
 */
import type { Ir } from "../../ir/ir.ts";
import { Op, Type } from "../../ir/ops.ts";
import { IS_VALUE } from "../simplify/folder.ts";

/** What an operand is. */
export const Relation = {
  /** The value of an operation of the same round; number = its place in the round. */
  Local: 0,
  /** The value of an operation of the round before; number = its place in the round. */
  Previous: 1,
  /** The same value in all rounds; number = its id. */
  Same: 2,
  /** A U32 constant that grows by a constant from round to round, or is shifted by one; or a U64 whose low half grows, and does not overflow. */
  Constant: 3,
} as const;

/** Operands of operation `i`, in the order of the slots. */
export function operandsOf(ir: Ir, i: number, out: number[]): void {
  const op = ir.op[i], row = op * 4;
  if (op === Op.ContPhi || op === Op.BreakPhi) {
    for (let k = 0; k < ir.b[i]; k++) out.push(ir.pool[ir.a[i] + k]);
    return;
  }
  if (IS_VALUE[row] === 1) out.push(ir.a[i]);
  if (IS_VALUE[row + 1] === 1) out.push(ir.b[i]);
  if (IS_VALUE[row + 2] === 1) out.push(ir.c[i]);
  if (IS_VALUE[row + 3] === 1) out.push(ir.d[i]);
}

/** Where rounds are: round m has the operations from start + m * period on, and `extra(m)`: operands that belong to it and stand elsewhere. */
export interface Rounds {
  readonly ir: Ir;
  readonly start: number;
  readonly period: number;
  readonly count: number;
  readonly extra?: (round: number) => readonly number[] | undefined;
}

/** Rounds that are alike. */
export interface Run {
  /** First round and number of rounds. */
  readonly first: number;
  readonly count: number;
  /** {@linkcode Relation} of each operand slot. */
  readonly relation: Uint8Array;
  readonly number: Int32Array;
  /** Of constants: what is added from round to round, or 0; by how many bits it is shifted, or 0. */
  readonly step: Int32Array;
  readonly shift: Uint8Array;
}

/** All operands of a round: of its operations, then the extra ones. */
export function slotsOf({ ir, start, period, extra }: Rounds, round: number): number[] | undefined {
  const slots: number[] = [];
  const from = start + round * period;
  for (let i = from; i < from + period; i++) operandsOf(ir, i, slots);
  if (extra === undefined) return slots;
  const more = extra(round);
  if (more === undefined) return undefined;
  for (const value of more) slots.push(value);
  return slots;
}

/** The longest run of rounds that are alike, at least two. */
export function longestRun(rounds: Rounds): Run | undefined {
  let best: Run | undefined;
  let before = slotsOf(rounds, 0), growing: Growing | undefined;
  const finish = () => {
    if (growing !== undefined && (best === undefined || growing.count > best.count)) best = growing.run();
    growing = undefined;
  };
  for (let round = 1; round < rounds.count; round++) {
    const slots = slotsOf(rounds, round);
    if (slots === undefined || before === undefined || slots.length !== before.length) finish();
    else if (growing === undefined || !growing.accepts(before, slots, round)) {
      finish();
      // A round that does not go with those before it may be the second of others.
      growing = Growing.start(rounds, before, slots, round);
    }
    before = slots;
  }
  finish();
  return best;
}

/** A run that may get longer. */
class Growing {
  count = 2;
  private readonly relation: Uint8Array;
  private readonly number: Int32Array;
  private readonly step: Int32Array;
  private readonly shift: Uint8Array;
  /** Of constants: bit 0, that they are sums; bit 1, that they are shifted. */
  private readonly modes: Uint8Array;

  private constructor(private readonly rounds: Rounds, private readonly first: number, slots: number) {
    this.relation = new Uint8Array(slots);
    this.number = new Int32Array(slots);
    this.step = new Int32Array(slots);
    this.shift = new Uint8Array(slots);
    this.modes = new Uint8Array(slots);
  }

  /** A run of round `round` and the one before, if those are alike. What the first one has from before it may be anything. */
  static start(
    rounds: Rounds,
    before: readonly number[],
    slots: readonly number[],
    round: number,
  ): Growing | undefined {
    const made = new Growing(rounds, round - 1, slots.length);
    const { start, period } = rounds;
    const here = start + round * period, previous = here - period;
    for (let s = 0; s < slots.length; s++) {
      const x = before[s], y = slots[s];
      if (y >= here && y < here + period) {
        if (x !== y - period) return undefined;
        made.relation[s] = Relation.Local;
        made.number[s] = y - here;
      } else if (y >= previous && y < here) {
        if (x >= previous) return undefined;
        made.relation[s] = Relation.Previous;
        made.number[s] = y - previous;
      } else if (x === y) {
        made.relation[s] = Relation.Same;
        made.number[s] = y;
      } else if (!made.constants(s, x, y)) return undefined;
    }
    return made;
  }

  /** Adds a round if it is like the others; else the run stays as it is. */
  accepts(before: readonly number[], slots: readonly number[], round: number): boolean {
    const { rounds: { start, period }, relation, number, modes } = this;
    const here = start + round * period, previous = here - period;
    for (let s = 0; s < slots.length; s++) {
      const y = slots[s];
      if (relation[s] === Relation.Constant) {
        if ((modes[s] & this.modesOf(s, before[s], y)) === 0) return false;
      } else {
        const expected = relation[s] === Relation.Local ? here : relation[s] === Relation.Previous ? previous : 0;
        if (y !== expected + number[s]) return false;
      }
    }
    for (let s = 0; s < slots.length; s++) {
      if (relation[s] === Relation.Constant) modes[s] &= this.modesOf(s, before[s], slots[s]);
    }
    this.count++;
    return true;
  }

  run(): Run {
    const { first, count, relation, number, modes } = this;
    const step = this.step.map((value, s) => (modes[s] & 1) !== 0 ? value : 0);
    const shift = this.shift.map((value, s) => (modes[s] & 1) !== 0 ? 0 : value);
    return { first, count, relation, number, step, shift };
  }

  /** Two different values that follow each other: whether they are constants of a row. */
  private constants(s: number, x: number, y: number): boolean {
    const { ir } = this.rounds;
    if (ir.op[x] !== Op.Const || ir.op[y] !== Op.Const) return false;
    if (ir.type[x] !== ir.type[y] || ir.type[x] !== Type.U32 && ir.type[x] !== Type.U64) return false;
    this.relation[s] = Relation.Constant;
    this.step[s] = ir.a[y] - ir.a[x];
    this.shift[s] = Math.max(0, Math.clz32(ir.a[x]) - Math.clz32(ir.a[y]));
    this.modes[s] = this.modesOf(s, x, y);
    return this.modes[s] !== 0;
  }

  /** As what a constant follows the one before it. */
  private modesOf(s: number, x: number, y: number): number {
    const { ir } = this.rounds;
    if (ir.op[y] !== Op.Const || ir.type[y] !== ir.type[x]) return 0;
    if (ir.type[y] === Type.U64) {
      const step = this.step[s];
      return ir.b[x] === ir.b[y] && step > 0 && (ir.a[x] >>> 0) + step === ir.a[y] >>> 0 ? 1 : 0;
    }
    const sum = ((ir.a[x] + this.step[s]) | 0) === ir.a[y];
    const shifted = this.shift[s] > 0 && ir.a[y] !== 0 && (ir.a[x] << this.shift[s]) === ir.a[y];
    return (sum ? 1 : 0) | (shifted ? 2 : 0);
  }
}
