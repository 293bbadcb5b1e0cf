/** Random IR programs that obey the grammar and always end: nested branches and loops with phis, breaks and continues, memory, masks. */
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, OPS, Type } from "../../../src/recompiler/ir/ops.ts";
import type { Random } from "../../support/random.ts";

/** Words that a program stores per lane, at OUTPUT + lane * OUTPUT_WORDS * 4. */
export const OUTPUT_WORDS = 8;
/** Where it stores them. */
export const OUTPUT = 0x7000_0000;
/** 64 words that it may read and write on the way, shared by the lanes. */
export const SCRATCH = 0x7100_0000;

const BINARY = "IAdd ISub IMul UMulHi SMulHi And Or Xor UMin UMax SMin SMax".split(" ");
const SHIFTS = "Shl Shr Sar".split(" ");
const COMPARES = "IEq INe ULt ULe SLt SLe".split(" ");
const LOGIC = "LAnd LOr LXor".split(" ");
const FLOATS = "FAdd FSub FMul FMin FMax".split(" ");
const opOf = (name: string) => (Op as Record<string, number>)[name];

/** Values in scope by type, and which of them are the same in all lanes. */
class Scope {
  readonly values: { id: number; type: Type; uniform: boolean }[];

  constructor(outer?: Scope) {
    this.values = outer === undefined ? [] : [...outer.values];
  }

  add(id: number, type: Type, uniform: boolean): number {
    this.values.push({ id, type, uniform });
    return id;
  }
}

/** Makes a program of about `size` operations. */
export function randomIr(random: Random, size: number): Ir {
  return new Generator(random).program(size);
}

class Generator {
  private readonly ir = new Ir();
  private budget = 0;
  private depth = 0;

  constructor(private readonly random: Random) {}

  program(size: number): Ir {
    const { ir } = this;
    this.budget = size;
    const scope = new Scope();
    const lane = ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
    scope.add(lane, Type.U32, false);
    for (const bits of [0, 1, 0xffffffff, 7]) scope.add(ir.constU(bits), Type.U32, true);
    for (const bits of [0, 0x3f800000, 0xc0200000]) scope.add(ir.constF(bits), Type.F32, true);
    scope.add(ir.append(Op.Input, Type.U32, InputKind.UserData, 0), Type.U32, true);
    scope.add(ir.constB(true), Type.Bool, true);
    scope.add(ir.constB(false), Type.Bool, true);
    scope.add(ir.emit(Op.ULt, lane, ir.constU(3)), Type.Bool, false);
    this.body(scope, null);
    for (let k = 0; k < OUTPUT_WORDS; k++) {
      const value = this.asU(this.pick(scope, this.random.pick([Type.U32, Type.F32, Type.Bool])), scope);
      const at = ir.emit(Op.IAdd, ir.emit(Op.Shl, lane, ir.constU(5)), ir.constU(OUTPUT + k * 4));
      ir.emit(Op.Store, ir.emit(Op.Pack64, at, ir.constU(0)), ir.constB(true), value, 4);
    }
    ir.emit(Op.End);
    return ir;
  }

  private pick(scope: Scope, type: Type, uniform = false): number {
    const fitting = scope.values.filter((v) => v.type === type && (!uniform || v.uniform));
    // Recent values more often.
    const from = this.random.chance(0.6) ? Math.max(0, fitting.length - 6) : 0;
    return fitting[from + this.random.below(fitting.length - from)].id;
  }

  private isUniform(scope: Scope, ...ids: number[]): boolean {
    return ids.every((id) => scope.values.some((v) => v.id === id && v.uniform) || this.ir.op[id] === Op.Const);
  }

  private asU(id: number, scope: Scope): number {
    const { ir } = this;
    if (ir.type[id] === Type.U32) return id;
    const result = ir.type[id] === Type.F32
      ? ir.emit(Op.BitcastU, id)
      : ir.append(Op.Select, Type.U32, id, ir.constU(1), ir.constU(0));
    return scope.add(result, Type.U32, this.isUniform(scope, id));
  }

  /** @param loop phi slots of the innermost loop, null outside of loops. @returns whether the end is reached. */
  private body(scope: Scope, loop: LoopState | null): boolean {
    const { random } = this;
    const steps = 2 + random.below(6);
    for (let k = 0; k < steps && this.budget > 0; k++) {
      const kind = random.below(10);
      if (kind === 0 && this.depth < 4) this.branch(scope, loop);
      else if (kind === 1 && this.depth < 3) this.loop(scope);
      else if (kind === 2) this.memory(scope);
      else this.simple(scope);
    }
    if (loop !== null && this.depth > loop.depth && random.chance(0.4)) {
      this.leave(scope, loop, random.chance(0.5));
      return false;
    }
    return true;
  }

  private simple(scope: Scope): void {
    const { ir, random } = this;
    this.budget--;
    const u = () => this.pick(scope, Type.U32),
      b = () => this.pick(scope, Type.Bool),
      f = () => this.pick(scope, Type.F32);
    const add = (type: Type, op: string, ...operands: number[]) => {
      const [x, y, z] = operands;
      scope.add(ir.append(opOf(op), type, x, y ?? 0, z ?? 0), type, this.isUniform(scope, ...operands));
    };
    switch (random.below(12)) {
      case 0:
      case 1:
        return add(Type.U32, random.pick(BINARY), u(), u());
      case 2:
        return add(Type.U32, random.pick(SHIFTS), u(), ir.constU(random.below(32)));
      case 3:
      case 4:
        return add(Type.Bool, random.pick(COMPARES), u(), u());
      case 5:
      case 6:
        return add(Type.Bool, random.pick(LOGIC), b(), b());
      case 7:
        return add(Type.Bool, "LNot", b());
      case 8: {
        const type = random.pick([Type.U32, Type.F32, Type.Bool]);
        return add(type, "Select", b(), this.pick(scope, type), this.pick(scope, type));
      }
      case 9:
        return add(Type.F32, random.pick(FLOATS), f(), f());
      case 10:
        return random.chance(0.5) ? add(Type.F32, "BitcastF", u()) : add(Type.U32, "BitcastU", f());
      default: {
        const offset = random.below(32);
        return add(
          Type.U32,
          random.pick(["UBfe", "SBfe"]),
          u(),
          ir.constU(offset),
          ir.constU(random.below(33 - offset)),
        );
      }
    }
  }

  private memory(scope: Scope): void {
    const { ir, random } = this;
    this.budget -= 4;
    const at = ir.emit(
      Op.Or,
      ir.emit(Op.Shl, ir.emit(Op.And, this.pick(scope, Type.U32), ir.constU(63)), ir.constU(2)),
      ir.constU(SCRATCH),
    );
    const address = ir.emit(Op.Pack64, at, ir.constU(0));
    const active = this.pick(scope, Type.Bool);
    // A value from memory is never called uniform: other lanes may write between the lanes' reads.
    if (random.chance(0.5)) scope.add(ir.append(Op.Load, Type.U32, address, active, 4), Type.U32, false);
    else ir.emit(Op.Store, address, active, this.pick(scope, Type.U32), 4);
  }

  private branch(scope: Scope, loop: LoopState | null): void {
    const { ir, random } = this;
    const uniform = random.chance(0.3);
    const condition = this.pick(scope, Type.Bool, uniform);
    ir.emit(Op.If, condition, uniform ? IfKind.Scalar : IfKind.Lane);
    this.depth++;
    const then = new Scope(scope);
    const thenFalls = this.body(then, loop);
    let other = scope;
    let elseFalls = true;
    if (random.chance(0.6)) {
      ir.emit(Op.Else);
      other = new Scope(scope);
      elseFalls = this.body(other, loop);
    }
    this.depth--;
    ir.emit(Op.EndIf);
    if (!thenFalls && !elseFalls) {
      // What follows would be unreachable: an empty loop around nothing is not wanted either, so the caller's body just ends here.
      throw new Unreachable();
    }
    if (!thenFalls || !elseFalls) return;
    this.strayConstant();
    const phis: [number, Type][] = [];
    for (let k = random.below(4); k > 0; k--) {
      const type = random.pick([Type.U32, Type.F32, Type.Bool]);
      phis.push([ir.append(Op.Phi, type, this.pick(then, type), this.pick(other, type)), type]);
    }
    for (const [phi, type] of phis) scope.add(phi, type, false);
  }

  private loop(scope: Scope): void {
    const { ir, random } = this;
    const types = Array.from({ length: 1 + random.below(3) }, () => random.pick([Type.U32, Type.F32, Type.Bool]));
    const initial = types.map((type) => this.pick(scope, type));
    const trips = 1 + random.below(4);
    ir.emit(Op.Loop);
    this.strayConstant();
    this.depth++;
    const inner = new Scope(scope);
    const counter = ir.append(Op.LoopPhi, Type.U32, ir.constU(0));
    const phis = types.map((type, k) => ir.append(Op.LoopPhi, type, initial[k]));
    inner.add(counter, Type.U32, false);
    phis.forEach((phi, k) => inner.add(phi, types[k], false));
    const state: LoopState = { depth: this.depth, counter, types, continues: [], breaks: [] };
    const limit = random.chance(0.5) ? ir.constU(trips) : ir.emit(Op.And, this.pick(inner, Type.U32), ir.constU(3));
    const done = ir.emit(Op.ULe, limit, counter);
    ir.emit(Op.If, done, IfKind.Lane);
    this.leave(inner, state, true);
    ir.emit(Op.EndIf);
    if (this.body(inner, state)) state.continues.push(this.edge(inner, state));
    this.depth--;
    ir.emit(Op.LoopCont);
    [counter, ...phis].forEach((phi, k) => {
      const values = state.continues.map((edge) => edge[k]);
      ir.b[phi] = values.length === 0
        ? ir.a[phi]
        : ir.append(Op.ContPhi, ir.type[phi] as Type, ir.pooled(values), values.length);
    });
    ir.emit(Op.EndLoop);
    this.strayConstant();
    types.forEach((type, k) => {
      const values = state.breaks.map((edge) => edge[k + 1]);
      scope.add(ir.append(Op.BreakPhi, type, ir.pooled(values), values.length), type, false);
    });
  }

  /** Constants may stand anywhere, also where phis are expected. */
  private strayConstant(): void {
    if (this.random.chance(0.2)) this.ir.constU(this.random.u32());
  }

  private leave(scope: Scope, loop: LoopState, isBreak: boolean): void {
    const edge = this.edge(scope, loop);
    (isBreak ? loop.breaks : loop.continues).push(edge);
    this.ir.emit(isBreak ? Op.Break : Op.Continue);
  }

  private edge(scope: Scope, loop: LoopState): number[] {
    const next = this.ir.emit(Op.IAdd, loop.counter, this.ir.constU(1));
    return [next, ...loop.types.map((type) => this.pick(scope, type))];
  }
}

interface LoopState {
  depth: number;
  counter: number;
  types: Type[];
  continues: number[][];
  breaks: number[][];
}

/** Both arms of a branch leave the loop: the generator gives such a program up. */
export class Unreachable extends Error {}

/** Operations of a program by name, for statistics. */
export function countOps(ir: Ir, name: keyof typeof Op): number {
  let count = 0;
  for (let i = 0; i < ir.length; i++) if (OPS[ir.op[i]].name === name) count++;
  return count;
}
