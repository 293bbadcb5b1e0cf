import { FloatFacts } from "../ir/float_facts.ts";
import { Ir } from "../ir/ir.ts";
import { IfKind, Op, OPS, Type } from "../ir/ops.ts";
import { constantsFirst } from "./dead_code.ts";
import { Folder, IS_VALUE } from "./simplify/folder.ts";
import { UniformReads } from "./uniform_reads.ts";
import { UniformVotes } from "./uniform_votes.ts";
import { behindAliases, type PhiScan, scanPhis } from "./simplify/phi_scan.ts";

/**
 * Simplifies a program: constant folding, algebraic identities, common subexpressions, copy and condition propagation, trivial phis, constant
 * branches, phis of the wrong 32-bit type. Linear in the program's size.
 *
 * @param thorough conditions are also simplified by what their parts imply: for passes that do not look for the masks of branches any more
 * @returns a new program; the given one is not changed. Values that nobody uses any more are left to `deadCode`.
 */
export function simplify(ir: Ir, thorough = false): Ir {
  const scan = scanPhis(ir);
  if (!scan.ragged) return new Simplifier(ir, scan, [], thorough).run();
  const tidy = constantsFirst(ir);
  return new Simplifier(tidy, scanPhis(tidy), [], thorough).run();
}

/**
 * Like {@linkcode simplify}, for a program that it has gone over before: reads of the first lane, and votes, that every lane can answer become that answer.
 *
 * @param wavesHaveThreads no wave is without threads
 */
export function simplifyUniformReads(ir: Ir, wavesHaveThreads = false): Ir {
  const reads = UniformReads.wanted(ir), votes = UniformVotes.wanted(ir);
  if (!reads && !votes) return ir;
  const tidy = scanPhis(ir).ragged ? constantsFirst(ir) : ir;
  const known = [
    ...(reads ? [new UniformReads(tidy)] : []),
    ...(votes ? [new UniformVotes(tidy, wavesHaveThreads)] : []),
  ];
  return new Simplifier(tidy, scanPhis(tidy), known).run();
}

/** Operations that are replaced by what every lane knows of their result. */
type Known = Pick<UniformReads, "has" | "rewrite">;

interface IfFrame {
  readonly kind: "if";
  /** The old If. */
  readonly old: number;
  /** 0 a real branch, 1 only the then arm is kept, 2 only the else arm. */
  readonly kept: 0 | 1 | 2;
  readonly condition: number;
  /** New positions; 0 when absent. */
  readonly at: number;
  elseAt: number;
  thenEnded: boolean;
  thenValues: number[];
}

interface LoopFrame {
  readonly kind: "loop";
  readonly old: number;
  /** New LoopPhi by old LoopPhi. */
  readonly phis: Map<number, number>;
  /** New values by old ContPhi or BreakPhi, one per edge. */
  readonly edges: Map<number, number[]>;
  breakPhis: PhiPlan[];
}

/** A phi to be appended. */
interface PhiPlan {
  /** The old phi. */
  readonly phi: number;
  readonly type: Type;
  readonly values: readonly number[];
  /** Whether a cast to the old type follows. */
  readonly cast: boolean;
}

class Simplifier {
  private readonly out: Ir;
  private readonly f: Folder;
  private readonly to: Int32Array;
  private readonly frames: (IfFrame | LoopFrame)[] = [];
  private ended = false;
  /** Loop phis that are never denormal, where that matters. */
  private readonly normalPhis: Uint8Array;

  constructor(
    private readonly ir: Ir,
    private readonly scan: PhiScan,
    private readonly known: readonly Known[] = [],
    thorough = false,
  ) {
    this.out = new Ir(ir.length + 16);
    this.out.constB(true);
    this.out.constB(false);
    this.f = new Folder(this.out, ir.length + 16, thorough);
    this.to = new Int32Array(ir.length);
    const flushes = ir.op.subarray(0, ir.length).includes(Op.FlushDenorm);
    this.normalPhis = flushes ? FloatFacts.normalLoopPhis(ir) : new Uint8Array(ir.length);
  }

  run(): Ir {
    const { ir, out, to } = this;
    for (let i = 0; i < ir.length; i++) if (ir.op[i] === Op.Const) to[i] = this.constant(i);
    for (let i = 1; i < ir.length; i++) {
      const op = ir.op[i];
      if (op === Op.Const || op === Op.Nop) continue;
      out.currentPc = ir.pc[i];
      if (OPS[op].structure) i = this.structure(i);
      else if (OPS[op].effect) this.effect(i);
      else this.to[i] = this.operation(i);
    }
    return out;
  }

  private constant(i: number): number {
    const { ir, out, f } = this;
    const type = ir.type[i] as Type;
    if (type === Type.U32) return out.constU(ir.a[i]);
    if (type === Type.F32) return out.constF(ir.a[i]);
    if (type === Type.Bool) return out.constB(ir.a[i] !== 0);
    return f.make(Op.Const, type, ir.a[i], ir.b[i]);
  }

  /** The new value of an old one, at the current place. */
  private use(id: number): number {
    const value = this.to[behindAliases(this.scan.alias, id)];
    return this.out.type[value] === Type.Bool ? this.f.resolve(value) : value;
  }

  private operation(i: number): number {
    const { ir, f } = this;
    for (const known of this.known) {
      if (!known.has(i)) continue;
      const truth = this.out.constB(true);
      return known.rewrite(i, (old) => this.use(old), (old, values) => this.again(old, values), truth);
    }
    const row = ir.op[i] * 4;
    return f.make(
      ir.op[i],
      ir.type[i] as Type,
      IS_VALUE[row] === 1 ? this.use(ir.a[i]) : ir.a[i],
      IS_VALUE[row + 1] === 1 && ir.b[i] !== 0 ? this.use(ir.b[i]) : ir.b[i],
      IS_VALUE[row + 2] === 1 && ir.c[i] !== 0 ? this.use(ir.c[i]) : ir.c[i],
      IS_VALUE[row + 3] === 1 && ir.d[i] !== 0 ? this.use(ir.d[i]) : ir.d[i],
    );
  }

  /** An old pure operation once more, with other operands. */
  private again(i: number, values: readonly number[]): number {
    const { ir, f } = this;
    let next = 0;
    const operand = (k: number, old: number) => IS_VALUE[ir.op[i] * 4 + k] === 1 ? values[next++] : old;
    return f.make(
      ir.op[i],
      ir.type[i] as Type,
      operand(0, ir.a[i]),
      operand(1, ir.b[i]),
      operand(2, ir.c[i]),
      operand(3, ir.d[i]),
    );
  }

  private effect(i: number): void {
    const { ir, f } = this;
    const op = ir.op[i];
    if ((op === Op.Store || op === Op.LdsStore) && f.isBool(this.use(ir.b[i]), false)) return;
    this.to[i] = this.operation(i);
    f.memoryChanged();
  }

  /** Handles a control operation with the phis that follow it; returns the last old operation that is done. */
  private structure(i: number): number {
    const { ir, out } = this;
    switch (ir.op[i]) {
      case Op.If:
        return this.openIf(i);
      case Op.Else:
        return this.elseArm(i);
      case Op.EndIf:
        return this.closeIf(i);
      case Op.Loop:
        return this.openLoop(i);
      case Op.Break:
      case Op.Continue:
        this.leave(i);
        return i;
      case Op.LoopCont:
        return this.loopCont(i);
      case Op.EndLoop:
        return this.closeLoop(i);
      default:
        out.emit(ir.op[i]);
        return i;
    }
  }

  // --- ifs ---

  private openIf(i: number): number {
    const { ir, out, f, scan } = this;
    const condition = this.use(ir.a[i]);
    if (f.isConst(condition)) {
      const kept = out.a[condition] !== 0 ? 1 : 2;
      // Where the dropped arm leaves a loop, the branch stays: dropping it would change the loop's edges.
      if ((scan.leaves[i] & (kept === 1 ? 2 : 1)) === 0 && (scan.leaves[i] & kept) === 0) {
        this.frames.push({ kind: "if", old: i, kept, condition, at: 0, elseAt: 0, thenEnded: false, thenValues: [] });
        if (kept === 1) return i;
        const middle = scan.middle[i];
        return middle === 0 ? scan.end[i] - 1 : middle - 1;
      }
    }
    const at = out.emit(Op.If, condition, ir.b[i]);
    this.frames.push({ kind: "if", old: i, kept: 0, condition, at, elseAt: 0, thenEnded: false, thenValues: [] });
    f.open();
    f.assume(condition, true);
    return i;
  }

  private elseArm(i: number): number {
    const { out, f, scan } = this;
    const frame = this.frames.at(-1) as IfFrame;
    if (frame.kept === 1) {
      frame.thenValues = this.armValues(frame, this.ir.a);
      return scan.end[frame.old] - 1;
    }
    if (frame.kept === 2) return i;
    this.endThenArm(frame);
    frame.elseAt = out.emit(Op.Else);
    f.open();
    f.assume(frame.condition, false);
    return i;
  }

  private endThenArm(frame: IfFrame): void {
    frame.thenEnded = this.ended;
    if (!this.ended) frame.thenValues = this.armValues(frame, this.ir.a);
    this.ended = false;
    this.f.close();
  }

  /** The inputs of the phis behind the If, as they are at the end of an arm. */
  private armValues(frame: IfFrame, column: Int32Array): number[] {
    const { ir, scan } = this;
    const values: number[] = [];
    for (let phi = scan.end[frame.old] + 1; ir.op[phi] === Op.Phi; phi++) {
      values.push(scan.alias[phi] === 0 ? this.use(column[phi]) : 0);
    }
    return values;
  }

  private closeIf(i: number): number {
    const { ir, out, f, scan } = this;
    const frame = this.frames.pop() as IfFrame;
    const last = this.lastPhi(i, Op.Phi);
    if (frame.kept !== 0) {
      const values = frame.kept === 1 && scan.middle[frame.old] !== 0
        ? frame.thenValues
        : this.armValues(frame, frame.kept === 1 ? ir.a : ir.b);
      values.forEach((value, k) => this.to[i + 1 + k] = value);
      return last;
    }
    const hasElse = frame.elseAt !== 0;
    let elseValues: number[] = [];
    let elseEnded = false;
    if (hasElse) {
      elseEnded = this.ended;
      if (!elseEnded) elseValues = this.armValues(frame, ir.b);
      this.ended = false;
      f.close();
    } else {
      this.endThenArm(frame);
      // Without an else arm its values are those from before, of a lane for which the condition is false.
      f.open();
      f.assume(frame.condition, false);
      elseValues = this.armValues(frame, ir.b);
      f.close();
    }
    this.finishIf(frame, i, elseValues, frame.thenEnded, elseEnded);
    if (frame.thenEnded && elseEnded) this.ended = true;
    else if (frame.thenEnded) f.assume(frame.condition, false);
    else if (elseEnded) f.assume(frame.condition, true);
    out.currentPc = ir.pc[i];
    return last;
  }

  private finishIf(frame: IfFrame, i: number, elseValues: number[], thenEnded: boolean, elseEnded: boolean): void {
    const { ir, out, f, scan } = this;
    const joins: { phi: number; a: number; b: number }[] = [];
    const isWave = ir.b[frame.old] === IfKind.Wave;
    if (!thenEnded && !elseEnded) {
      for (let k = 0; k < elseValues.length; k++) {
        const phi = i + 1 + k;
        if (scan.alias[phi] !== 0) continue;
        const a = frame.thenValues[k], b = elseValues[k];
        if (a === b) this.to[phi] = a;
        else joins.push({ phi, a, b });
      }
    }
    if (frame.elseAt !== 0 && this.isEmpty(frame.elseAt, out.length)) {
      out.op[frame.elseAt] = Op.Nop;
      frame.elseAt = 0;
    }
    // A branch around nothing is a selection. Wave branches stay: a selection would pin their vote.
    const before = (id: number) => id < frame.at || f.isConst(id);
    const early: typeof joins = [], late: typeof joins = [];
    for (const join of joins) (!isWave && before(join.a) && before(join.b) ? early : late).push(join);
    if (late.length === 0 && !thenEnded && !elseEnded && frame.elseAt === 0 && this.isEmpty(frame.at, out.length)) {
      out.op[frame.at] = Op.Nop;
    } else {
      this.emitPhis(
        Op.EndIf,
        this.planPhis(late.map(({ phi, a, b }) => ({ phi, values: [a, b] }))),
        (type, [a, b]) => out.append(Op.Phi, type, a, b),
      );
    }
    for (const { phi, a, b } of early) this.to[phi] = f.make(Op.Select, ir.type[phi] as Type, frame.condition, a, b);
  }

  /** Whether nothing but constants stands between two new positions. */
  private isEmpty(after: number, end: number): boolean {
    for (let i = after + 1; i < end; i++) if (this.out.op[i] !== Op.Const && this.out.op[i] !== Op.Nop) return false;
    return true;
  }

  /**
   * Decides the types of phis: where all inputs are casts from the other 32-bit type (or constants), the phi gets that type, and the cast comes
   * after it. May make constants, so it is done before the construct ends.
   */
  private planPhis(list: readonly { phi: number; values: readonly number[] }[]): PhiPlan[] {
    return list.map(({ phi, values }) => {
      const type = this.ir.type[phi] as Type;
      const bare = this.withoutCasts(type, values);
      return bare === null
        ? { phi, type, values, cast: false }
        : { phi, type: otherTag(type), values: bare, cast: true };
    });
  }

  /** Appends the end of a construct and the phis right behind it. */
  private emitPhis(
    end: number,
    plans: readonly PhiPlan[],
    append: (type: Type, values: readonly number[]) => number,
  ): void {
    this.out.emit(end);
    const made = plans.map(({ type, values }) => append(type, values));
    plans.forEach(({ phi, cast, type }, k) => {
      this.to[phi] = cast ? this.f.emit(type === Type.F32 ? Op.BitcastU : Op.BitcastF, made[k]) : made[k];
    });
  }

  private withoutCasts(type: Type, values: readonly number[]): number[] | null {
    if (type !== Type.U32 && type !== Type.F32) return null;
    const { out } = this;
    const cast = type === Type.U32 ? Op.BitcastU : Op.BitcastF;
    if (!values.some((id) => out.op[id] === cast)) return null;
    if (!values.every((id) => out.op[id] === cast || out.op[id] === Op.Const)) return null;
    return values.map((id) => this.uncast(id));
  }

  /** The value with the other 32-bit type. */
  private uncast(id: number): number {
    const { out, f } = this;
    return f.emit(out.type[id] === Type.U32 ? Op.BitcastF : Op.BitcastU, id);
  }

  private lastPhi(i: number, op: number): number {
    while (i + 1 < this.ir.length && this.ir.op[i + 1] === op) i++;
    return i;
  }

  // --- loops ---

  private openLoop(i: number): number {
    const { ir, out, f, scan } = this;
    const last = this.lastPhi(i, Op.LoopPhi);
    const frame: LoopFrame = { kind: "loop", old: i, phis: new Map(), edges: new Map(), breakPhis: [] };
    const initial: number[] = [];
    for (let phi = i + 1; phi <= last; phi++) {
      if (scan.alias[phi] !== 0) initial.push(0);
      else initial.push(scan.retyped[phi] === 1 ? this.uncast(this.use(ir.a[phi])) : this.use(ir.a[phi]));
    }
    f.memoryChanged();
    out.emit(Op.Loop);
    f.open();
    this.frames.push(frame);
    for (let phi = i + 1; phi <= last; phi++) {
      const value = initial[phi - i - 1];
      if (value !== 0) frame.phis.set(phi, this.to[phi] = out.append(Op.LoopPhi, out.type[value] as Type, value));
    }
    for (const [phi, made] of frame.phis) {
      if (this.normalPhis[phi] === 1 && scan.retyped[phi] === 0) f.floats.declareNeverDenormal(made);
      if (scan.retyped[phi] === 1) this.to[phi] = this.uncast(made);
    }
    return last;
  }

  private leave(i: number): void {
    const { ir, out } = this;
    const frame = this.innermostLoop();
    const isBreak = ir.op[i] === Op.Break;
    const first = isBreak ? this.scan.end[frame.old] : this.scan.middle[frame.old];
    this.edge(frame, first + 1, isBreak ? Op.BreakPhi : Op.ContPhi, this.scan.middle[i]);
    out.emit(ir.op[i]);
    this.ended = true;
  }

  private innermostLoop(): LoopFrame {
    return this.frames.findLast((frame) => frame.kind === "loop") as LoopFrame;
  }

  /** Notes the inputs of a loop's phis at one edge. */
  private edge(frame: LoopFrame, firstPhi: number, op: number, number: number): void {
    const { ir, scan } = this;
    for (let phi = firstPhi; ir.op[phi] === op; phi++) {
      if (scan.alias[phi] !== 0) continue;
      let list = frame.edges.get(phi);
      if (list === undefined) frame.edges.set(phi, list = []);
      const value = this.use(ir.pool[ir.a[phi] + number]);
      list.push(scan.retyped[phi] === 1 ? this.uncast(value) : value);
    }
  }

  private loopCont(i: number): number {
    const { ir, out, scan } = this;
    const frame = this.innermostLoop();
    const last = this.lastPhi(i, Op.ContPhi);
    if (!this.ended) {
      for (let phi = i + 1; phi <= last; phi++) {
        if (scan.alias[phi] === 0) {
          this.edge(frame, i + 1, Op.ContPhi, ir.b[phi] - 1);
          break;
        }
      }
    }
    this.ended = false;
    // Values that the loop phis take from the body directly.
    const direct = new Map<number, number>();
    for (const phi of frame.phis.keys()) {
      const next = behindAliases(scan.alias, ir.b[phi]);
      if (ir.op[next] === Op.ContPhi && next > i && next <= last) continue;
      direct.set(phi, scan.retyped[phi] === 1 ? this.uncast(this.use(next)) : this.use(next));
    }
    frame.breakPhis = this.planPhis(this.breakPhis(frame));
    out.emit(Op.LoopCont);
    for (let phi = i + 1; phi <= last; phi++) {
      const values = frame.edges.get(phi);
      if (values !== undefined) {
        this.to[phi] = out.append(Op.ContPhi, out.type[values[0]] as Type, out.pooled(values), values.length);
      }
    }
    for (const [phi, made] of frame.phis) {
      out.b[made] = direct.get(phi) ?? this.to[behindAliases(scan.alias, ir.b[phi])];
    }
    return last;
  }

  /** The phis behind a loop that are needed; the others get their values. */
  private breakPhis(frame: LoopFrame): { phi: number; values: number[] }[] {
    const { ir, f, scan } = this;
    const list: { phi: number; values: number[] }[] = [];
    for (let phi = scan.end[frame.old] + 1; ir.op[phi] === Op.BreakPhi; phi++) {
      const values = frame.edges.get(phi);
      if (values === undefined) continue;
      if (values.every((value) => value === values[0]) && (f.isConst(values[0]) || values[0] < this.startOf(frame))) {
        this.to[phi] = values[0];
      } else list.push({ phi, values });
    }
    return list;
  }

  private closeLoop(i: number): number {
    const { out, f } = this;
    const frame = this.frames.pop() as LoopFrame;
    const last = this.lastPhi(i, Op.BreakPhi);
    f.close();
    f.memoryChanged();
    const append = (type: Type, values: readonly number[]) =>
      out.append(Op.BreakPhi, type, out.pooled(values), values.length);
    this.emitPhis(Op.EndLoop, frame.breakPhis, append);
    this.ended = false;
    return last;
  }

  /** New position of the loop: values before it can be used behind it. */
  private startOf(frame: LoopFrame): number {
    for (const made of frame.phis.values()) return made;
    return 0;
  }
}

function otherTag(type: Type): Type {
  return type === Type.F32 ? Type.U32 : Type.F32;
}
