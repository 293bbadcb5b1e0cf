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
 * @param thorough follow conditions through phis, loops, conjunctions and quads, too; takes several scans where there are loops
 * @returns the program without these choices, and whether it changed; `deadCode` removes what is left over
 */
export function dropUnseenChoices(ir: Ir, thorough = false): { ir: Ir; changed: boolean } {
  let choices = 0;
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Select) choices++;
  return choices === 0 ? { ir, changed: false } : new Demand(ir, thorough).run();
}

/** Conditions that a set holds at most; of more, the oldest are forgotten: choices are mostly by those of the innermost branch. */
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
  private readonly opening: Int32Array;

  constructor(private readonly ir: Ir, private readonly thorough: boolean) {
    this.opening = this.openings();
    this.demand = new Int32Array(ir.length).fill(UNSEEN);
  }

  run(): { ir: Ir; changed: boolean } {
    this.scan();
    return this.rewrite();
  }

  /** What a value's phi of a loop passes on to the round before: found out by supposing that nobody looks, until that is so. */
  private readonly suspected = new Map<number, number>();

  private scan(): void {
    const { ir, demand, suspected } = this;
    if (!this.thorough) return this.scanOnce();
    for (let stable = false; !stable;) {
      demand.fill(UNSEEN);
      this.scanOnce();
      stable = true;
      for (let i = 1; i < ir.length; i++) {
        if (ir.op[i] !== Op.LoopPhi) continue;
        const before = suspected.get(i) ?? UNSEEN, now = this.knownBefore(demand[i], this.loopOf(i));
        // Never more than before: sets that are cut to MOST may gain conditions when others lose some, and this would not end.
        const found = before === UNSEEN ? now : now === UNSEEN ? before : this.meet(before, now);
        if (found === before) continue;
        suspected.set(i, found);
        stable = false;
      }
    }
  }

  /** The Loop that a LoopPhi stands behind. */
  private loopOf(phi: number): number {
    const { ir } = this;
    while (ir.op[phi] !== Op.Loop) phi--;
    return phi;
  }

  /** The conditions of a set that are known before operation `place`. */
  private knownBefore(set: number, place: number): number {
    return set <= NOTHING ? set : this.numberOf(this.sets[set].filter((c) => (c < 0 ? ~c : c) < place));
  }

  private scanOnce(): void {
    this.looks.length = 0;
    const { ir, demand, opening, thorough } = this;
    /** What holds at the current place, and at the places around it. */
    let here: number = NOTHING;
    const around: number[] = [];
    const ends: number[] = [];
    for (let i = 1; i < ir.length; i++) {
      if (ir.op[i] !== Op.LoopPhi) continue;
      const set = thorough ? this.suspected.get(i) ?? UNSEEN : NOTHING;
      if (set !== UNSEEN) this.lookAt(i, 1, set);
    }
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
          this.lookAt(i, 0, here);
          continue;
        case Op.LoopPhi:
          if (!thorough) this.lookAt(i, 0, NOTHING);
          else if (demand[i] !== UNSEEN) this.lookAt(i, 0, this.knownBefore(demand[i], this.loopOf(i)));
          continue;
        case Op.ContPhi:
        case Op.BreakPhi:
          if (thorough) {
            if (demand[i] === UNSEEN) continue;
            const set = this.knownBefore(demand[i], opening[i]);
            for (let k = 0; k < ir.b[i]; k++) this.look(ir.pool[ir.a[i] + k], set);
            continue;
          }
          for (let k = 0; k < ir.b[i]; k++) this.look(ir.pool[ir.a[i] + k], NOTHING);
          continue;
        case Op.Phi:
          if (thorough) {
            if (demand[i] === UNSEEN) continue;
            const set = this.knownBefore(demand[i], opening[i]);
            this.lookAt(i, 0, this.union(set, this.holding(ir.a[opening[i]], true)));
            this.lookAt(i, 1, this.union(set, this.holding(ir.a[opening[i]], false)));
            continue;
          }
          this.lookAt(i, 0, NOTHING);
          this.lookAt(i, 1, NOTHING);
          continue;
        case Op.Select: {
          if (demand[i] === UNSEEN) continue;
          const seen = this.union(demand[i], here);
          this.lookAt(i, 0, seen);
          this.lookAt(i, 1, this.union(seen, this.holding(ir.a[i], true)));
          this.lookAt(i, 2, this.union(seen, this.holding(ir.a[i], false)));
          continue;
        }
        case Op.LAnd: {
          if (!thorough || demand[i] === UNSEEN) break;
          const [first, second] = ir.op[ir.b[i]] === Op.Input ? [ir.b[i], ir.a[i]] : [ir.a[i], ir.b[i]];
          this.look(first, demand[i]);
          this.look(second, this.union(demand[i], this.holding(first, true)));
          continue;
        }
        case Op.QuadShuffle:
          if (!thorough) break;
          // The other lanes of the quad look at it where a condition holds that they share.
          if (demand[i] !== UNSEEN) this.lookAt(i, 0, this.sharedByQuad(demand[i]));
          continue;
        case Op.Load:
        case Op.LdsLoad: {
          // Also of a load that nobody looks at: it may fail.
          this.lookAt(i, 1, here);
          this.lookAt(i, 0, this.union(here, this.holding(ir.b[i], true)));
          continue;
        }
        case Op.Export:
          this.lookAt(i, 1, here);
          this.lookAt(i, 0, this.union(here, this.holding(ir.b[i], true)));
          continue;
        case Op.Store:
        case Op.LdsStore:
        case Op.Atomic:
        case Op.LdsAtomic: {
          this.lookAt(i, 1, here);
          const active = this.union(here, this.holding(ir.b[i], true));
          this.lookAt(i, 0, active);
          this.lookAt(i, 2, active);
          continue;
        }
      }
      const row = OPS[op];
      if (row.structure) continue;
      // Whatever reads other lanes reads those that are off as well.
      const special = row.exchange || row.effect;
      if (!special && demand[i] === UNSEEN) continue;
      const seen = special ? NOTHING : demand[i];
      if (IS_VALUE[op * 4] === 1) this.lookAt(i, 0, seen);
      if (IS_VALUE[op * 4 + 1] === 1) this.lookAt(i, 1, seen);
      if (IS_VALUE[op * 4 + 2] === 1) this.lookAt(i, 2, seen);
      if (IS_VALUE[op * 4 + 3] === 1) this.lookAt(i, 3, seen);
    }
  }

  /** The If of each EndIf, Else and Phi; the Loop of each ContPhi and BreakPhi. An If has its Else. */
  private openings(): Int32Array {
    const { ir } = this;
    const opening = new Int32Array(ir.length);
    const open: number[] = [], loops: number[] = [];
    let closed = 0, left = 0;
    for (let i = 1; i < ir.length; i++) {
      if (ir.op[i] === Op.Loop) loops.push(i);
      else if (ir.op[i] === Op.EndLoop) left = loops.pop()!;
      else if (ir.op[i] === Op.ContPhi) opening[i] = loops[loops.length - 1];
      else if (ir.op[i] === Op.BreakPhi) opening[i] = left;
      else if (ir.op[i] === Op.Phi) opening[i] = closed;
      else if (ir.op[i] === Op.If) open.push(i);
      else if (ir.op[i] === Op.Else) {
        opening[i] = open[open.length - 1];
        opening[opening[i]] = i;
      } else if (ir.op[i] === Op.EndIf) opening[i] = closed = open.pop()!;
    }
    return opening;
  }

  private hasElse(end: number, opening: Int32Array): boolean {
    return opening[opening[end]] !== 0;
  }

  /** Operand `k` of operation `i` is looked at. */
  private lookAt(i: number, k: number, set: number): void {
    const value = column(this.ir, k)[i];
    if (this.ir.op[value] === Op.Select && set > NOTHING) this.looks.push(i, k, set);
    this.look(value, set);
  }

  /** What looks at choices in the last scan: operation, operand, set. */
  private readonly looks: number[] = [];

  private look(value: number, set: number): void {
    if (value === 0 || (this.thorough && this.isImpossible(set))) return;
    const before = this.demand[value];
    this.demand[value] = before === UNSEEN || before === set ? set : this.meet(before, set);
  }

  private readonly impossible = new Map<number, boolean>();

  /** Whether a set holds a condition and its opposite: nobody looks there. */
  private isImpossible(set: number): boolean {
    let found = this.impossible.get(set);
    if (found === undefined) {
      const conditions = new Set(this.sets[set]);
      found = this.sets[set].some((c) => conditions.has(~c));
      this.impossible.set(set, found);
    }
    return found;
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
    // One reader may look where only one of the values is chosen, though others look elsewhere, too.
    for (let k = 0; k < this.looks.length; k += 3) {
      const [user, operand, set] = [this.looks[k], this.looks[k + 1], this.looks[k + 2]];
      const old = column(ir, operand)[user], value = instead[this.chosenIn(this.sets[set], old)];
      if (value === instead[old]) continue;
      column(out, operand)[user] = value;
      changed = true;
    }
    // Registers as they were before anything was written to them: still operands, and nobody looks at them.
    for (let i = 1; this.thorough && i < ir.length; i++) {
      if (ir.op[i] !== Op.Input || demand[i] !== UNSEEN || !this.isOperand(i)) continue;
      [out.op[i], out.a[i], out.b[i]] = [Op.Const, 0, 0];
      changed = true;
    }
    for (let i = 1; i < ir.length; i++) {
      if ((ir.op[i] !== Op.Load && ir.op[i] !== Op.LdsLoad) || !this.onlyWhereActive(i)) continue;
      if ((out.c[i] & MemoryWidth.Speculative) === 0) changed = true;
      out.c[i] |= MemoryWidth.Speculative;
    }
    return { ir: changed ? out : ir, changed };
  }

  /** What a choice is where conditions hold; the choice itself where they do not say. */
  private chosenIn(set: readonly number[], value: number): number {
    const { ir } = this;
    while (ir.op[value] === Op.Select) {
      if (set.includes(ir.a[value])) value = ir.b[value];
      else if (set.includes(~ir.a[value])) value = ir.c[value];
      else break;
    }
    return value;
  }

  /** Whether a load's value is only looked at where it is active. */
  private onlyWhereActive(i: number): boolean {
    const { ir, demand } = this;
    const active = ir.b[i];
    if (ir.op[active] === Op.Const) return false;
    return demand[i] > NOTHING && this.sets[demand[i]].includes(active);
  }

  /** Whether a value is an operand of anything. */
  private isOperand(value: number): boolean {
    const { ir } = this;
    for (let i = 1; i < ir.length; i++) {
      const row = ir.op[i] * 4;
      if (IS_VALUE[row] === 1 && ir.a[i] === value) return true;
      if (IS_VALUE[row + 1] === 1 && ir.b[i] === value) return true;
      if (IS_VALUE[row + 2] === 1 && ir.c[i] === value) return true;
      if (IS_VALUE[row + 3] === 1 && ir.d[i] === value) return true;
      if (ir.op[i] !== Op.ContPhi && ir.op[i] !== Op.BreakPhi) continue;
      for (let k = 0; k < ir.b[i]; k++) if (ir.pool[ir.a[i] + k] === value) return true;
    }
    return false;
  }

  /** Everything that is known where a condition is true, or false. */
  private holding(condition: number, truth: boolean): number {
    const key = truth ? condition : ~condition;
    let number = this.conditionSets.get(key);
    if (number === undefined) {
      const found = new Set<number>();
      this.collect(condition, truth, found);
      number = this.numberOf(newest([...found]));
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

  /** The conditions of a set that are the same in all lanes of a quad. */
  private sharedByQuad(set: number): number {
    if (set <= NOTHING) return set;
    const { ir } = this;
    return this.numberOf(this.sets[set].filter((c) => ir.op[c < 0 ? ~c : c] === Op.QuadAny));
  }

  private union(a: number, b: number): number {
    if (a === NOTHING || a === b) return b;
    if (b === NOTHING) return a;
    const key = a * 0x100_0000 + b;
    let number = this.unions.get(key);
    if (number === undefined) {
      const all = [...new Set([...this.sets[a], ...this.sets[b]])];
      this.unions.set(key, number = this.numberOf(newest(all)));
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

function column(ir: Ir, k: number): Int32Array {
  return k === 0 ? ir.a : k === 1 ? ir.b : k === 2 ? ir.c : ir.d;
}

/** At most {@linkcode MOST} of some conditions, ascending. */
function newest(conditions: number[]): number[] {
  if (conditions.length > MOST) {
    conditions.sort((x, y) => (y < 0 ? ~y : y) - (x < 0 ? ~x : x));
    conditions.length = MOST;
  }
  return conditions.sort((x, y) => x - y);
}
