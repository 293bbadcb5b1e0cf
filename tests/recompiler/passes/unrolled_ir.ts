/** Random IR programs as a compiler leaves them that unrolls loops: one body, written down many times, with rounds among them that are not quite as the others. */
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import type { Random } from "../../support/random.ts";

/** Bytes of a lane's own memory, and where that of all lanes is. */
export const LANE_BYTES = 1024, LANES = 8;
/** Guest address of the lanes' memory; 64 words for all lanes stand behind it. */
export const BASE = 0x10000, SHARED = BASE + LANE_BYTES * LANES;

const BINARY = [Op.IAdd, Op.ISub, Op.IMul, Op.And, Op.Or, Op.Xor, Op.UMin, Op.SMax, Op.UMulHi];
const COMPARES = [Op.IEq, Op.INe, Op.ULt, Op.ULe, Op.SLt];

/** A number of the body. */
type Source =
  | { kind: "var"; of: number }
  /** first + round * step, or first shifted by as much. */
  | { kind: "grown"; first: number; step: number; shifted: boolean }
  | { kind: "lane" | "limit" };

/** A part of the body. */
type Part =
  /** Numbers that only hang on what was before all of them, in any order. */
  | { kind: "set"; to: number[]; op: number[]; a: Source[]; b: Source[] }
  | { kind: "mask"; to: number; compare: number; a: Source; b: Source; and: boolean }
  | { kind: "if"; mask: number; body: Part[]; otherwise: Part[] }
  | { kind: "loop"; trips: Source; body: Part[] }
  | { kind: "load" | "store"; of: number; at: Source; shared: boolean; masked: number }
  | { kind: "atomic"; of: number; at: Source }
  | { kind: "vote"; to: number };

/** What a round differs in. */
interface Odd {
  readonly round: number;
  /** Counts down with each part; where it comes to zero, something else is done. */
  at: number;
  readonly kind: number;
}

const VARS = 4, MASKS = 2;

interface State {
  vars: number[];
  masks: number[];
}

/** Makes a program: rounds one behind the other, or each inside of an If at the end of the one before. */
export function unrolledIr(random: Random): Ir {
  return new Maker(random).program();
}

class Maker {
  private readonly ir = new Ir();
  private readonly lane = this.ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
  private readonly limit = this.ir.append(Op.Input, Type.U32, InputKind.UserData, 0);
  private readonly own = this.ir.emit(Op.IAdd, this.ir.emit(Op.IMul, this.lane, this.u(LANE_BYTES)), this.u(BASE));
  private state: State;
  private round = 0;
  private depth = 0;
  private odd: Odd | undefined;
  private shuffles = false;

  constructor(private readonly random: Random) {
    const { ir, lane, limit } = this;
    const yes = ir.emit(Op.ULt, lane, this.u(6));
    this.state = { vars: [lane, limit, this.u(7), ir.emit(Op.Xor, lane, limit)], masks: [yes, ir.constB(true)] };
  }

  program(): Ir {
    const { random, ir } = this;
    const body = this.parts(3 + random.below(6), 0);
    const rounds = 6 + random.below(18), nested = random.below(3) === 0;
    const exit: Part & { kind: "mask" } = {
      kind: "mask",
      to: random.below(MASKS),
      compare: random.pick(COMPARES),
      a: this.source(),
      b: random.chance(0.5) ? { kind: "limit" } : this.source(),
      and: random.chance(0.5),
    };
    if (random.chance(0.5)) this.odd = { round: random.below(rounds), at: random.below(12), kind: random.below(6) };
    if (random.chance(0.2)) this.odd = { round: rounds - 1, at: random.below(8), kind: random.below(6) };
    this.shuffles = random.chance(0.4);
    const kept = random.chance(0.1) ? random.below(rounds) : -1;
    let keptValue = -1;
    const before: (State & { gone: number })[] = [];
    const gathers = random.chance(0.5);
    const inLoop = random.chance(0.2);
    let loopPhis: number[] = [], counter = 0;
    if (inLoop) {
      ir.emit(Op.Loop);
      counter = ir.append(Op.LoopPhi, Type.U32, this.u(0));
      loopPhis = this.state.vars.map((value) => ir.append(Op.LoopPhi, Type.U32, value));
      this.state.vars = [...loopPhis];
    }
    for (this.round = 0; this.round < rounds; this.round++) {
      if (nested) {
        const was = this.state.masks[exit.to];
        this.part(exit);
        const goes = this.state.masks[exit.to];
        const gone = gathers ? ir.emit(Op.LAnd, was, ir.emit(Op.LNot, goes)) : 0;
        this.depth = 1;
        before.push({ vars: [...this.state.vars], masks: [...this.state.masks], gone });
        ir.emit(Op.If, goes, IfKind.Lane);
      }
      this.list(body);
      if (this.round === kept) keptValue = this.state.vars[random.below(VARS)];
    }
    if (keptValue >= 0) this.write(900, keptValue);
    if (random.chance(0.5)) this.part({ kind: "store", of: 1, at: { kind: "lane" }, shared: true, masked: 1 });
    this.depth = 0;
    while (nested && before.length > 0) {
      const { vars, masks, gone } = before.pop()!;
      ir.emit(Op.EndIf);
      const inner = this.state;
      this.state = {
        vars: inner.vars.map((value, k) => value === vars[k] ? value : ir.append(Op.Phi, Type.U32, value, vars[k])),
        masks: inner.masks.map((value, k) =>
          value === masks[k] ? value : ir.append(Op.Phi, Type.Bool, value, masks[k])
        ),
      };
      if (gathers) this.state.masks[exit.to] = ir.emit(Op.LOr, this.state.masks[exit.to], gone);
    }
    if (inLoop) {
      const next = ir.emit(Op.IAdd, counter, this.u(1));
      ir.emit(Op.If, ir.emit(Op.ULe, this.u(2), next), IfKind.Scalar);
      ir.emit(Op.Break);
      const edges = [...this.state.vars, ...this.state.masks];
      ir.emit(Op.EndIf);
      ir.emit(Op.LoopCont);
      ir.emit(Op.EndLoop);
      ir.b[counter] = next;
      loopPhis.forEach((phi, k) => ir.b[phi] = this.state.vars[k]);
      const after = edges.map((value) => ir.append(Op.BreakPhi, ir.type[value] as Type, ir.pooled([value]), 1));
      this.state = { vars: after.slice(0, VARS), masks: after.slice(VARS) };
    }
    // Not all are looked at, so the last rounds lose something.
    this.state.vars.forEach((value, k) => {
      if (random.chance(0.7)) this.write(904 + 4 * k, value);
    });
    this.state.masks.forEach((value, k) => {
      if (random.chance(0.7)) {
        this.write(940 + 4 * k, ir.append(Op.Select, Type.U32, value, this.u(1), this.u(2)));
      }
    });
    ir.emit(Op.End);
    for (let i = 1; i < ir.length; i++) ir.pc[i] = i * 4;
    return deadCode(ir);
  }

  private u(bits: number): number {
    return this.ir.constU(bits);
  }

  private write(offset: number, value: number): void {
    const { ir } = this;
    const address = ir.emit(Op.Pack64, ir.emit(Op.IAdd, this.own, this.u(offset)), this.u(0));
    ir.emit(Op.Store, address, ir.constB(true), value, 4);
  }

  // --- the body ---

  private source(): Source {
    const { random } = this;
    if (random.chance(0.5)) return { kind: "var", of: random.below(VARS) };
    if (random.chance(0.2)) return { kind: random.pick(["lane", "limit"]) };
    const shifted = random.chance(0.2);
    const big = random.chance(0.2);
    return {
      kind: "grown",
      first: big ? random.pick([0x7ffffffc, 0xfffffff0, 0x80000000]) | 0 : random.below(40),
      step: shifted ? 1 + random.below(3) : random.pick([0, 1, 2, 3, 4, 5, 8, 12, -1, -4, 0x40000000, 0x80000000 | 0]),
      shifted,
    };
  }

  private parts(count: number, depth: number): Part[] {
    return Array.from({ length: count }, (_, k) => this.randomPart(depth, k === 0));
  }

  private randomPart(depth: number, wantsIf: boolean): Part {
    const { random } = this;
    const mask = random.below(MASKS), of = random.below(VARS);
    const at: Source = random.chance(0.6)
      ? { kind: "grown", first: random.below(30), step: random.pick([0, 1, 2, 4, 7]), shifted: false }
      : { kind: "var", of: random.below(VARS) };
    switch (wantsIf && depth === 0 ? 5 : random.below(11)) {
      case 0:
      case 1: {
        const to = Array.from({ length: VARS }, (_, k) => k).filter(() => random.chance(0.6));
        const op = to.map(() => random.pick(BINARY));
        return { kind: "set", to, op, a: to.map(() => this.source()), b: to.map(() => this.source()) };
      }
      case 2:
      case 3:
        return {
          kind: "mask",
          to: mask,
          compare: random.pick(COMPARES),
          a: this.source(),
          b: this.source(),
          and: random.chance(0.4),
        };
      case 4:
      case 5:
        if (depth < 2) {
          return {
            kind: "if",
            mask,
            body: this.parts(1 + random.below(3), depth + 1),
            otherwise: random.chance(0.4) ? this.parts(random.below(3), depth + 1) : [],
          };
        }
        break;
      case 6:
        if (depth < 2) return { kind: "loop", trips: this.source(), body: this.parts(1 + random.below(2), depth + 1) };
        break;
      case 7:
        return { kind: "atomic", of, at };
      case 8:
        if (depth === 0) return { kind: "vote", to: mask };
    }
    return { kind: random.pick(["load", "store"]), of, at, shared: random.chance(0.5), masked: random.below(3) };
  }

  // --- one round of it ---

  private value(source: Source): number {
    switch (source.kind) {
      case "var":
        return this.state.vars[source.of];
      case "lane":
        return this.lane;
      case "limit":
        return this.limit;
      case "grown": {
        const { first, step, shifted } = source, { round } = this;
        if (shifted) return this.u(step * round > 31 ? 0 : first << (step * round));
        return this.u((first + Math.imul(step, round)) | 0);
      }
    }
  }

  private list(parts: readonly Part[]): void {
    for (const part of parts) {
      const { odd } = this;
      if (odd !== undefined && odd.round === this.round && odd.at-- === 0) {
        if (odd.kind === 0) continue;
        if (odd.kind === 1) this.state.vars[0] = this.ir.emit(Op.Not, this.state.vars[0]);
        if (odd.kind === 2) this.state.vars = [...this.state.vars.slice(1), this.state.vars[0]];
        if (odd.kind === 3) this.state.vars[1] = this.u(this.round * this.round + 77);
        if (odd.kind === 4) this.state.masks.reverse();
        if (odd.kind === 5) this.part({ kind: "store", of: 0, at: { kind: "lane" }, shared: true, masked: 0 });
      }
      this.part(part);
    }
  }

  private part(part: Part): void {
    const { ir, state, random } = this;
    switch (part.kind) {
      case "set": {
        const values: number[] = [];
        const order = part.to.map((_, k) => k);
        if (this.shuffles && random.chance(0.3)) order.reverse();
        for (const k of order) {
          const a = this.value(part.a[k]), b = this.value(part.b[k]);
          const swap = this.shuffles && random.chance(0.2) && part.op[k] !== Op.ISub;
          values[k] = swap ? ir.emit(part.op[k], b, a) : ir.emit(part.op[k], a, b);
        }
        part.to.forEach((to, k) => state.vars[to] = values[k]);
        return;
      }
      case "mask": {
        const value = ir.emit(part.compare, this.value(part.a), this.value(part.b));
        state.masks[part.to] = part.and ? ir.emit(Op.LAnd, state.masks[part.to], value) : value;
        return;
      }
      case "vote":
        // Exchanges need the whole wave.
        if (this.depth === 0) state.masks[part.to] = ir.emit(Op.Any, state.masks[part.to]);
        return;
      case "if":
        return this.branch(part);
      case "loop":
        return this.loop(part);
      case "load":
      case "store": {
        const word = ir.emit(Op.And, this.value(part.at), this.u(63));
        const base = part.shared ? this.u(SHARED) : this.own;
        const address = ir.emit(Op.IAdd, ir.emit(Op.Shl, word, this.u(2)), base);
        const full = ir.emit(Op.Pack64, address, this.u(0));
        const active = part.masked < MASKS ? state.masks[part.masked] : ir.constB(true);
        if (part.kind === "load") state.vars[part.of] = ir.append(Op.Load, Type.U32, full, active, 4);
        else ir.emit(Op.Store, full, active, state.vars[part.of], 4);
        return;
      }
      case "atomic": {
        const word = ir.emit(Op.And, this.value(part.at), this.u(63));
        const address = ir.emit(Op.IAdd, ir.emit(Op.Shl, word, this.u(2)), this.u(SHARED));
        const full = ir.emit(Op.Pack64, address, this.u(0));
        state.vars[part.of] = ir.emit(Op.Atomic, full, ir.constB(true), state.vars[part.of], 2);
      }
    }
  }

  private branch(part: Part & { kind: "if" }): void {
    const { ir } = this;
    const before = this.state;
    ir.emit(Op.If, before.masks[part.mask], IfKind.Lane);
    const arm = (list: readonly Part[]) => {
      this.state = { vars: [...before.vars], masks: [...before.masks] };
      this.depth++;
      this.list(list);
      this.depth--;
      return this.state;
    };
    const first = arm(part.body);
    if (part.otherwise.length > 0) ir.emit(Op.Else);
    const second = arm(part.otherwise);
    ir.emit(Op.EndIf);
    const join = (type: Type) => (value: number, k: number) => {
      const other = (type === Type.U32 ? second.vars : second.masks)[k];
      return value === other ? value : ir.append(Op.Phi, type, value, other);
    };
    const vars = first.vars.map(join(Type.U32));
    this.state = { vars, masks: first.masks.map(join(Type.Bool)) };
  }

  private loop(part: Part & { kind: "loop" }): void {
    const { ir } = this;
    const trips = ir.emit(Op.And, this.value(part.trips), this.u(3));
    ir.emit(Op.Loop);
    const counter = ir.append(Op.LoopPhi, Type.U32, this.u(0));
    const vars = this.state.vars.map((value) => ir.append(Op.LoopPhi, Type.U32, value));
    const masks = this.state.masks.map((value) => ir.append(Op.LoopPhi, Type.Bool, value));
    this.state = { vars: [...vars], masks: [...masks] };
    ir.emit(Op.If, ir.emit(Op.ULe, trips, counter), IfKind.Lane);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
    const edges = [...vars, ...masks];
    this.depth++;
    this.list(part.body);
    this.depth--;
    const next = ir.emit(Op.IAdd, counter, this.u(1));
    ir.emit(Op.LoopCont);
    ir.emit(Op.EndLoop);
    ir.b[counter] = next;
    vars.forEach((phi, k) => ir.b[phi] = this.state.vars[k]);
    masks.forEach((phi, k) => ir.b[phi] = this.state.masks[k]);
    const after = edges.map((value) => ir.append(Op.BreakPhi, ir.type[value] as Type, ir.pooled([value]), 1));
    this.state = { vars: after.slice(0, VARS), masks: after.slice(VARS) };
  }
}
