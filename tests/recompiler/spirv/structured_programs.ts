/** Random programs with nested selections and loops, breaks and continues, for comparing emitted control flow with the evaluator. */
import { IfKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import type { Random } from "../../support/random.ts";
import { Lanes } from "./programs.ts";

interface Loop {
  /** Value of the loop's result at each Break and Continue, in stream order. */
  breaks: number[];
  continues: number[];
}

/** Writes one random program: each lane mixes its input through random control flow and stores the result. */
export class StructuredProgram {
  private readonly p: Lanes;
  private readonly loops: Loop[] = [];
  private size = 0;

  constructor(private readonly random: Random, threads: number, private readonly limit = 60) {
    this.p = new Lanes(threads);
  }

  build(): Lanes {
    const { p } = this;
    const values = [p.input(2, 0), p.input(2, 1), p.index];
    this.body(values, 0);
    p.output([values[values.length - 1], this.random.pick(values)]);
    p.end();
    return p;
  }

  private emit(name: "IAdd" | "Xor" | "IMul" | "And" | "ISub", a: number, b: number): number {
    return this.p.ir.emit(Op[name], a, b);
  }

  /** A condition that differs from lane to lane. */
  private condition(values: readonly number[]): number {
    const { ir } = this.p;
    const bits = this.emit("And", this.random.pick(values), ir.constU(7));
    return ir.emit(this.random.pick([Op.ULt, Op.IEq, Op.INe]), bits, ir.constU(this.random.below(7)));
  }

  /** Appends statements; `values` grows by what they define. Returns false when the end is not reached. */
  private body(values: number[], depth: number): boolean {
    const { random } = this;
    for (let count = 1 + random.below(4); count > 0; count--) {
      this.size++;
      const kind = random.below(10);
      if (depth > 4 || this.size > this.limit || kind < 4) this.simple(values);
      else if (kind < 8) {
        if (!this.selection(values, depth)) return false;
      } else this.loop(values, depth);
    }
    return true;
  }

  private simple(values: number[]): void {
    const { random, p } = this;
    const other = random.chance(0.3) ? p.ir.constU(random.below(1000)) : random.pick(values);
    values.push(this.emit(random.pick(["IAdd", "Xor", "IMul", "ISub"]), random.pick(values), other));
  }

  /** An arm: statements, then perhaps a jump out of it. Returns the value to merge, or -1 when nothing falls out. */
  private arm(outer: readonly number[], depth: number): number {
    const values = [...outer];
    const falls = this.random.chance(0.15) ? true : this.body(values, depth + 1);
    if (!falls) return -1;
    const loop = this.loops.at(-1);
    const result = this.random.pick(values);
    if (loop !== undefined && this.random.chance(0.3)) {
      const isBreak = this.random.chance(0.5);
      (isBreak ? loop.breaks : loop.continues).push(result);
      this.p.ir.emit(isBreak ? Op.Break : Op.Continue);
      return -1;
    }
    return result;
  }

  private selection(values: number[], depth: number): boolean {
    const { ir } = this.p;
    ir.emit(Op.If, this.condition(values), IfKind.Lane);
    const yes = this.arm(values, depth);
    let no = this.random.pick(values);
    if (this.random.chance(0.6)) {
      ir.emit(Op.Else);
      no = this.arm(values, depth);
    }
    ir.emit(Op.EndIf);
    if (yes < 0 && no < 0) return false;
    if (yes >= 0 && no >= 0) values.push(ir.append(Op.Phi, Type.U32, yes, no));
    return true;
  }

  private loop(values: number[], depth: number): void {
    const { ir } = this.p;
    const loop: Loop = { breaks: [], continues: [] };
    const zero = ir.constU(0);
    ir.emit(Op.Loop);
    const counter = ir.append(Op.LoopPhi, Type.U32, zero);
    const mixed = ir.append(Op.LoopPhi, Type.U32, this.random.pick(values));
    const inner = [...values, counter, mixed];
    const rounds = this.emit("And", this.random.pick(values), ir.constU(3));
    ir.emit(Op.If, ir.emit(Op.ULe, rounds, counter), IfKind.Lane);
    loop.breaks.push(mixed);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
    const next = this.emit("IAdd", counter, ir.constU(1));
    this.loops.push(loop);
    if (this.body(inner, depth + 1)) loop.continues.push(this.random.pick(inner));
    this.loops.pop();
    ir.emit(Op.LoopCont);
    const { breaks, continues } = loop;
    ir.b[counter] = ir.append(Op.ContPhi, Type.U32, ir.pooled(continues.map(() => next)), continues.length);
    ir.b[mixed] = ir.append(Op.ContPhi, Type.U32, ir.pooled(continues), continues.length);
    ir.emit(Op.EndLoop);
    values.push(ir.append(Op.BreakPhi, Type.U32, ir.pooled(breaks), breaks.length));
  }
}
