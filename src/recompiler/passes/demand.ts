import type { Ir } from "../ir/ir.ts";
import { MemoryWidth, Op, OPS } from "../ir/ops.ts";
import { withOperands } from "./halves.ts";
import { IS_VALUE } from "./simplify/folder.ts";

/**
 * Removes choices that nobody sees. A vector instruction writes its register as `Select(exec, new, old)`; where everybody who reads the register does so
 * under the same condition (an access that is active when `exec` holds, a choice by it, a branch on it), the old value is never seen, and the choice is
 * simply the new value.
 *
 * One scan, last operation first: each value gets the set of conditions that hold whenever anybody looks at it, which is what the sets of its users have
 * in common. What a lane computes for a value that it does not look at may change; it has no effect.
 *
 * @param conjunctions the second operand of `a and b` is only looked at where `a` holds, too
 * @returns the program without these choices, and whether it changed; `deadCode` removes what is left over
 */
export function dropUnseenChoices(ir: Ir, conjunctions = false): { ir: Ir; changed: boolean } {
  let choices = 0;
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Select) choices++;
  return choices === 0 ? { ir, changed: false } : new Demand(ir, conjunctions).run();
}

/** Conditions that a set holds at most; more are forgotten. */
const MOST = 16;
/** Sets by number: nothing is known, and nobody has looked yet. */
const NOTHING = 0, UNSEEN = -1;

class Demand {
  /** Conditions, ascending: a value's id where it is true, its complement where it is false. */
  private readonly sets: (readonly number[])[] = [[]];
  private readonly numbers = new Map<string, number>([["", NOTHING]]);
  private readonly unions = new Map<number, number>();
  private readonly meets = new Map<number, number>();
  private readonly conditionSets = new Map<number, number>();
  /** Set of each value. */
  private readonly demand: Int32Array;

  constructor(private readonly ir: Ir, private readonly conjunctions: boolean) {
    this.demand = new Int32Array(ir.length).fill(UNSEEN);
  }

  run(): { ir: Ir; changed: boolean } {
    this.scan();
    return this.rewrite();
  }

  private scan(): void {
    const { ir, demand } = this;
    /** What holds at the current place, and at the places around it. */
    let here: number = NOTHING;
    const around: number[] = [];
    const ends: number[] = [];
    for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.LoopPhi) this.look(ir.b[i], NOTHING);
    const opening = this.openings();
    for (let i = ir.length - 1; i > 0; i--) {
      const op = ir.op[i];
      switch (op) {
        case Op.Const:
        case Op.Nop:
          continue;
        case Op.EndIf: {
          const start = opening[i];
          around.push(here);
          ends.push(start);
          // The last arm: the else arm where there is one.
          here = this.union(here, this.holding(ir.a[start], !this.hasElse(i, opening)));
          continue;
        }
        case Op.Else:
          here = this.union(around[around.length - 1], this.holding(ir.a[ends[ends.length - 1]], true));
          continue;
        case Op.If:
          here = around.pop()!;
          ends.pop();
          this.look(ir.a[i], here);
          continue;
        case Op.LoopPhi:
          this.look(ir.a[i], NOTHING);
          continue;
        case Op.ContPhi:
        case Op.BreakPhi:
          for (let k = 0; k < ir.b[i]; k++) this.look(ir.pool[ir.a[i] + k], NOTHING);
          continue;
        case Op.Phi:
          this.look(ir.a[i], NOTHING);
          this.look(ir.b[i], NOTHING);
          continue;
        case Op.Select: {
          if (demand[i] === UNSEEN) continue;
          const seen = this.union(demand[i], here);
          this.look(ir.a[i], seen);
          this.look(ir.b[i], this.union(seen, this.holding(ir.a[i], true)));
          this.look(ir.c[i], this.union(seen, this.holding(ir.a[i], false)));
          continue;
        }
        case Op.LAnd: {
          if (!this.conjunctions || demand[i] === UNSEEN) break;
          const [first, second] = ir.op[ir.b[i]] === Op.Input ? [ir.b[i], ir.a[i]] : [ir.a[i], ir.b[i]];
          this.look(first, demand[i]);
          this.look(second, this.union(demand[i], this.holding(first, true)));
          continue;
        }
        case Op.Load:
        case Op.LdsLoad: {
          // Also of a load that nobody looks at: it may fail.
          this.look(ir.b[i], here);
          this.look(ir.a[i], this.union(here, this.holding(ir.b[i], true)));
          continue;
        }
        case Op.Export:
          this.look(ir.b[i], here);
          this.look(ir.a[i], this.union(here, this.holding(ir.b[i], true)));
          continue;
        case Op.Store:
        case Op.LdsStore:
        case Op.Atomic:
        case Op.LdsAtomic: {
          this.look(ir.b[i], here);
          const active = this.union(here, this.holding(ir.b[i], true));
          this.look(ir.a[i], active);
          this.look(ir.c[i], active);
          continue;
        }
      }
      const row = OPS[op];
      if (row.structure) continue;
      // Whatever reads other lanes reads those that are off as well.
      const special = row.exchange || row.effect;
      if (!special && demand[i] === UNSEEN) continue;
      const seen = special ? NOTHING : demand[i];
      if (IS_VALUE[op * 4] === 1) this.look(ir.a[i], seen);
      if (IS_VALUE[op * 4 + 1] === 1) this.look(ir.b[i], seen);
      if (IS_VALUE[op * 4 + 2] === 1) this.look(ir.c[i], seen);
      if (IS_VALUE[op * 4 + 3] === 1) this.look(ir.d[i], seen);
    }
  }

  /** The If of each EndIf and Else. */
  private openings(): Int32Array {
    const { ir } = this;
    const opening = new Int32Array(ir.length);
    const open: number[] = [];
    for (let i = 1; i < ir.length; i++) {
      if (ir.op[i] === Op.If) open.push(i);
      else if (ir.op[i] === Op.Else) {
        opening[i] = open[open.length - 1];
        opening[opening[i]] = i;
      } else if (ir.op[i] === Op.EndIf) opening[i] = open.pop()!;
    }
    return opening;
  }

  private hasElse(end: number, opening: Int32Array): boolean {
    return opening[opening[end]] !== 0;
  }

  private look(value: number, set: number): void {
    if (value === 0) return;
    const before = this.demand[value];
    this.demand[value] = before === UNSEEN || before === set ? set : this.meet(before, set);
  }

  private rewrite(): { ir: Ir; changed: boolean } {
    const { ir, demand } = this;
    const instead = new Int32Array(ir.length);
    let changed = false;
    for (let i = 1; i < ir.length; i++) instead[i] = i;
    for (let i = 1; i < ir.length; i++) {
      if (ir.op[i] === Op.Select && demand[i] > NOTHING) {
        const set = this.sets[demand[i]];
        if (set.includes(ir.a[i])) instead[i] = instead[ir.b[i]];
        else if (set.includes(~ir.a[i])) instead[i] = instead[ir.c[i]];
        if (instead[i] !== i) changed = true;
      }
    }
    const out = withOperands(ir, instead);
    for (let i = 1; i < ir.length; i++) {
      if ((ir.op[i] !== Op.Load && ir.op[i] !== Op.LdsLoad) || !this.onlyWhereActive(i)) continue;
      if ((out.c[i] & MemoryWidth.Speculative) === 0) changed = true;
      out.c[i] |= MemoryWidth.Speculative;
    }
    return { ir: changed ? out : ir, changed };
  }

  /** Whether a load's value is only looked at where it is active. */
  private onlyWhereActive(i: number): boolean {
    const { ir, demand } = this;
    const active = ir.b[i];
    if (ir.op[active] === Op.Const) return false;
    return demand[i] > NOTHING && this.sets[demand[i]].includes(active);
  }

  /** Everything that is known where a condition is true, or false. */
  private holding(condition: number, truth: boolean): number {
    const key = truth ? condition : ~condition;
    let number = this.conditionSets.get(key);
    if (number === undefined) {
      const found = new Set<number>();
      this.collect(condition, truth, found);
      number = this.numberOf([...found].sort((a, b) => a - b).slice(0, MOST));
      this.conditionSets.set(key, number);
    }
    return number;
  }

  private collect(condition: number, truth: boolean, found: Set<number>): void {
    const { ir } = this;
    const op = ir.op[condition];
    if (op === Op.Const || found.size >= MOST) return;
    found.add(truth ? condition : ~condition);
    if (op === Op.LNot) this.collect(ir.a[condition], !truth, found);
    else if ((op === Op.LAnd && truth) || (op === Op.LOr && !truth)) {
      this.collect(ir.a[condition], truth, found);
      this.collect(ir.b[condition], truth, found);
    }
  }

  private union(a: number, b: number): number {
    if (a === NOTHING || a === b) return b;
    if (b === NOTHING) return a;
    const key = a * 0x100_0000 + b;
    let number = this.unions.get(key);
    if (number === undefined) {
      const all = [...new Set([...this.sets[a], ...this.sets[b]])].sort((x, y) => x - y);
      this.unions.set(key, number = this.numberOf(all.slice(0, MOST)));
    }
    return number;
  }

  private meet(a: number, b: number): number {
    if (a === NOTHING || b === NOTHING) return NOTHING;
    const key = a < b ? a * 0x100_0000 + b : b * 0x100_0000 + a;
    let number = this.meets.get(key);
    if (number === undefined) {
      const other = this.sets[b];
      this.meets.set(key, number = this.numberOf(this.sets[a].filter((x) => other.includes(x))));
    }
    return number;
  }

  private numberOf(set: readonly number[]): number {
    const key = set.join();
    let number = this.numbers.get(key);
    if (number === undefined) this.numbers.set(key, number = this.sets.push(set) - 1);
    return number;
  }
}
