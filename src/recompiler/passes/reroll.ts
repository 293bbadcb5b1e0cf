import { Ir } from "../ir/ir.ts";
import { IfKind, Op, Type } from "../ir/ops.ts";
import { canonicalOrder } from "./reroll/canonical.ts";
import { type Candidate, findCandidates } from "./reroll/find.ts";
import { operandsOf, Relation } from "./reroll/relate.ts";
import { lastUses, type Repetition, repetitionOf, roundSlots } from "./reroll/shape.ts";
import { IS_VALUE } from "./simplify/folder.ts";
import { indexStructure } from "./structure.ts";

/**
 * Makes loops again of what the compiler of the program has unrolled. Rounds are alike when their operations are the same, and each operand is the value of the
 * same operation of the round itself or of the one before, the same value in all rounds, or a constant that grows evenly. Two forms are known: rounds one
 * behind the other, and rounds that are each inside of an If at the end of the one before (what becomes of a loop with an exit).
 *
 * Only rounds with control structure are looked for: where straight code is unrolled, its instructions overlap. Everything is done in the same order as
 * before, so what other passes have found out (barriers, hazards) stays as it is; this one is the last.
 *
 * @param mayFail which accesses may write the fault record. It says where they stand, so those of all rounds must be evenly spaced
 * @returns the program itself when there is nothing to do
 */
export function reroll(ir: Ir, mayFail: (ir: Ir) => MayFail): Ir {
  let constructs = 0;
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.If || ir.op[i] === Op.Loop) constructs++;
  if (constructs < LEAST_ROUNDS) return ir;
  const as = rerollAsIs(ir, mayFail);
  if (constructs < MANY) return as;
  const ordered = rerollAsIs(canonicalOrder(ir), mayFail);
  return ordered.length < as.length * BETTER ? ordered : as;
}

function rerollAsIs(ir: Ir, mayFail: (ir: Ir) => MayFail): Ir {
  for (let pass = 0; pass < PASSES; pass++) {
    const candidates = findCandidates(ir, LEAST_ROUNDS);
    if (candidates.length === 0) break;
    const fails = mayFail(ir);
    const found = repetitions(ir, candidates, fails);
    if (found.length === 0) break;
    ir = new Writer(ir, found, fails).run();
  }
  return ir;
}

/** Whether the access that an operation of a program is may write the fault record. */
export type MayFail = (i: number) => boolean;

/** Constructs from which on the program is looked at in another order, too, and how much shorter that must make it. */
const MANY = 12, BETTER = 0.9;
/** Rounds inside of rounds take more than one pass. */
const PASSES = 3;
/** Rounds that are worth a loop, and operations that it must save. */
const LEAST_ROUNDS = 6, LEAST_SAVED = 128;
/** Candidates that are looked at more closely; rounds of several constructs make one for each. */
const MOST_TRIES = 48;
/** Operations of all rounds up to which the driver is asked to unroll the loop again. */
const UNROLL = 1024;

function repetitions(ir: Ir, candidates: readonly Candidate[], mayFail: MayFail): Repetition[] {
  const structure = indexStructure(ir), last = lastUses(ir, structure);
  const found: Repetition[] = [];
  let tries = 0;
  for (const candidate of candidates) {
    const { anchor, period, rounds } = candidate;
    if (period * (rounds - 1) < LEAST_SAVED || tries === MOST_TRIES) break;
    // Whatever has been found already is larger.
    const end = anchor + (rounds - 1) * period;
    if (found.some(({ from, to }) => anchor < to && end >= from)) continue;
    tries++;
    const repetition = repetitionOf(ir, structure, candidate, LEAST_ROUNDS, last, mayFail);
    if (repetition === undefined || (repetition.run.count - 1) * period < LEAST_SAVED) continue;
    const { from, to } = repetition;
    const closes = repetition.last < 0 ? to : structure.endOf[from - 1];
    const overlaps = found.some((other) => {
      const otherEnd = other.last < 0 ? other.to : structure.endOf[other.from - 1];
      return from < otherEnd && other.from < closes;
    });
    if (overlaps) continue;
    found.push(repetition);
  }
  return found.sort((x, y) => x.from - y.from);
}

/** What nested rounds leave for the phis behind them. */
interface Behind {
  /** What each phi is where a round was not entered. */
  readonly otherwise: readonly number[];
  /** What the rounds that were entered hand on together with each phi; 0 where there is nothing. */
  readonly gathered: readonly number[];
}

/** Copies a program, with loops in the place of repetitions. */
class Writer {
  private readonly out: Ir;
  private readonly to: Int32Array;
  private readonly structure;
  private readonly backValues: { phi: number; old: number }[] = [];

  constructor(
    private readonly ir: Ir,
    private readonly repetitions: readonly Repetition[],
    private readonly mayFail: MayFail,
  ) {
    this.out = new Ir(ir.length);
    this.to = new Int32Array(ir.length);
    this.structure = indexStructure(ir);
  }

  run(): Ir {
    const { ir, out, to, structure } = this;
    out.resources = ir.resources;
    for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Const) to[i] = out.copyConstant(ir, i);
    // Constants stand in front, so that another pass finds rounds without any between.
    for (const repetition of this.repetitions) this.constants(repetition);
    let next = 0;
    /** Ends of the Ifs that hold what is left of nested rounds. */
    const tails = new Map<number, { repetition: Repetition; behind: Behind }>();
    for (let i = 1; i < ir.length; i++) {
      const repetition = this.repetitions[next];
      if (repetition !== undefined && i === repetition.from) {
        next++;
        const behind = this.loop(repetition);
        if (repetition.last >= 0) tails.set(structure.endOf[repetition.last], { repetition, behind });
        i = repetition.to - 1;
        continue;
      }
      const tail = tails.get(i);
      if (tail !== undefined) {
        i = this.closeTail(i, tail.repetition, tail.behind);
        continue;
      }
      if (ir.op[i] === Op.Const || ir.op[i] === Op.Nop) continue;
      out.currentPc = ir.pc[i];
      const slots: number[] = [];
      operandsOf(ir, i, slots);
      to[i] = this.copy(i, slots.map((value) => to[value]));
      if (ir.op[i] === Op.LoopPhi) this.backValues.push({ phi: to[i], old: ir.b[i] });
      if (ir.pcAdded.has(i)) out.pcAdded.set(to[i], to[ir.pcAdded.get(i)!]);
    }
    for (const { phi, old } of this.backValues) out.b[phi] = to[old];
    return out;
  }

  /** An operation with other operands. */
  private copy(i: number, values: readonly number[]): number {
    const { ir, out } = this;
    const op = ir.op[i], type = ir.type[i] as Type;
    if (op === Op.ContPhi || op === Op.BreakPhi) return out.append(op, type, out.pooled(values), values.length);
    let next = 0;
    const operand = (k: number, old: number) => IS_VALUE[op * 4 + k] === 1 ? values[next++] : old;
    return out.append(op, type, operand(0, ir.a[i]), operand(1, ir.b[i]), operand(2, ir.c[i]), operand(3, ir.d[i]));
  }

  /** Writes the loop; returns what stands behind nested rounds. */
  private loop(repetition: Repetition): Behind {
    const { ir, out, to } = this;
    const { rounds: { period }, run, from, last, exits, tail, results, pcStep } = repetition;
    const { relation, number, step, shift, count } = run;
    const initial = roundSlots(repetition, 0);
    const total = initial.length;
    out.currentPc = ir.pc[from];
    const unknown = new Map<number, number>();
    if (exits.length > 1) {
      for (const old of results) {
        const type = ir.type[old];
        if (!unknown.has(type)) unknown.set(type, out.append(Op.Undef, type as Type));
      }
    }
    out.append(Op.Loop, 0, count * period <= UNROLL ? 1 : 0);
    const round = out.append(Op.LoopPhi, Type.U32, out.constU(0));
    // What a round has from the one before.
    const carried = new Map<string, { phi: number; place: number }>();
    const values = new Int32Array(total);
    for (let s = 0; s < total; s++) {
      if (relation[s] !== Relation.Previous) continue;
      const key = `${number[s]},${initial[s]}`;
      let entry = carried.get(key);
      if (entry === undefined) {
        const phi = out.append(Op.LoopPhi, ir.type[from + number[s]] as Type, to[initial[s]]);
        carried.set(key, entry = { phi, place: number[s] });
      }
      values[s] = entry.phi;
    }
    // Disjunctions behind nested rounds are gathered on the way in.
    const gathering = tail.sums.map((sum) => sum === 0 ? 0 : out.append(Op.LoopPhi, Type.Bool, out.constB(false)));
    const gathered: number[][] = gathering.map(() => []);
    const behindEach = tail.phis + gathering.filter((phi) => phi !== 0).length,
      extra = total - exits.length * behindEach;
    const grown = new Map<string, number>();
    for (let s = 0; s < total; s++) {
      if (relation[s] === Relation.Same) values[s] = to[number[s]];
      if (relation[s] !== Relation.Constant) continue;
      const key = `${initial[s]},${step[s]},${shift[s]}`;
      let value = grown.get(key);
      if (value === undefined) {
        value = this.evenly(round, ir.a[initial[s]], step[s], shift[s]);
        if (ir.type[initial[s]] === Type.U64) value = out.emit(Op.Pack64, value, out.constU(ir.b[initial[s]]));
        grown.set(key, value);
      }
      values[s] = value;
    }
    // The access word of faults holds the pc in dwords from bit 10 on (fault_record.ts).
    let pcAdded = 0;
    const body = new Int32Array(period), slots: number[] = [], inner: { phi: number; slot: number }[] = [];
    if (pcStep !== 0) pcAdded = this.evenly(round, 0, pcStep << 8, 0);
    const valueOf = (s: number) => relation[s] === Relation.Local ? body[number[s]] : values[s];
    let slot = 0;
    for (let place = 0; place < period; place++) {
      const i = from + place;
      out.currentPc = ir.pc[i];
      slots.length = 0;
      operandsOf(ir, i, slots);
      const operands = slots.map((_, k) => valueOf(slot + k));
      const exit = exits.indexOf(place);
      if (exit >= 0) {
        let part = extra + exit * behindEach + tail.phis;
        for (let k = 0; k < tail.phis; k++) {
          if (gathering[k] === 0) continue;
          const before = exit === 0 ? gathering[k] : gathered[k][exit - 1];
          gathered[k].push(out.emit(Op.LOr, before, valueOf(part++)));
        }
        this.leave(out.emit(Op.LNot, operands[0]), ir.b[i]);
      } else {
        if (ir.op[i] === Op.LoopPhi) inner.push({ phi: out.length, slot: slot + 1 });
        body[place] = this.copy(i, operands);
        if (pcAdded !== 0 && this.mayFail(i)) out.pcAdded.set(body[place], pcAdded);
      }
      slot += slots.length;
    }
    for (const { phi, slot } of inner) out.b[phi] = valueOf(slot);
    const following = out.emit(Op.IAdd, round, out.constU(1));
    this.leave(out.emit(Op.ULe, out.constU(count), following), IfKind.Scalar);
    out.emit(Op.LoopCont);
    out.emit(Op.EndLoop);
    out.b[round] = following;
    for (const { phi, place } of carried.values()) out.b[phi] = body[place];
    gathering.forEach((phi, k) => {
      if (phi !== 0) out.b[phi] = gathered[k][exits.length - 1];
    });
    /** A phi behind the loop of what a value is at each of its exits, the last of which is that after all rounds. */
    const after = (edges: number[]) =>
      out.append(Op.BreakPhi, out.type[edges[0]] as Type, out.pooled(edges), edges.length);
    const start = repetition.to - period;
    const outputs = results.map((old) => {
      const place = old - start, value = body[place];
      // Nobody looks at what has not been reached.
      return [old, after([...exits.map((exit) => place < exit ? value : unknown.get(ir.type[old])!), value])];
    });
    const otherwise: number[] = [];
    for (let k = 0; k < tail.phis; k++) {
      const edges = exits.map((_, n) => valueOf(extra + n * behindEach + k));
      otherwise.push(after([...edges, edges[edges.length - 1]]));
    }
    const together = gathered.map((edges) => edges.length === 0 ? 0 : after([...edges, edges[edges.length - 1]]));
    const whole = last < 0 ? 0 : after([...exits.map(() => out.constB(false)), out.constB(true)]);
    for (const [old, value] of outputs) to[old] = value;
    if (last >= 0) out.emit(Op.If, whole, ir.b[last]);
    return { otherwise, gathered: together };
  }

  /** Makes the constants that {@linkcode loop} needs. */
  private constants(repetition: Repetition): void {
    const { ir, out } = this;
    const { run: { relation, step, shift, count }, pcStep } = repetition;
    for (const bits of [0, 1, count]) out.constU(bits);
    out.constB(false);
    out.constB(true);
    const initial = roundSlots(repetition, 0);
    for (let s = 0; s < initial.length; s++) {
      if (relation[s] !== Relation.Constant) continue;
      out.constU(ir.a[initial[s]]);
      if (ir.type[initial[s]] === Type.U64) out.constU(ir.b[initial[s]]);
      out.constU(shift[s] > 0 ? shift[s] : factorOf(step[s]));
    }
    if (pcStep !== 0) out.constU(factorOf(pcStep << 8));
  }

  private leave(condition: number, kind: number): void {
    const { out } = this;
    out.emit(Op.If, condition, kind);
    out.emit(Op.Break);
    out.emit(Op.EndIf);
  }

  /** A constant that grows by `step` each round, or is shifted by `shift` bits. */
  private evenly(round: number, first: number, step: number, shift: number): number {
    const { out } = this;
    if (shift > 0) {
      const bits = shift === 1 ? round : out.emit(Op.IMul, round, out.constU(shift));
      return out.emit(Op.Shl, out.constU(first), bits);
    }
    const factor = out.constU(factorOf(step));
    const value = step === 1 ? round : out.emit(isPower(step) ? Op.Shl : Op.IMul, round, factor);
    return first === 0 ? value : out.emit(Op.IAdd, value, out.constU(first));
  }

  /** The end of what is left of nested rounds, and of all their Ifs but the outermost. */
  private closeTail(i: number, { from, tail }: Repetition, { otherwise, gathered }: Behind): number {
    const { ir, out, to, structure } = this;
    out.currentPc = ir.pc[i];
    out.emit(Op.EndIf);
    // Behind the outermost of these Ifs that is gone stands what the others only hand on.
    const phis = otherwise.map((value, k) => out.append(Op.Phi, out.type[value] as Type, to[ir.a[i + 1 + k]], value));
    phis.forEach((phi, k) => {
      to[tail.start + k] = phi;
      if (tail.sums[k] !== 0) to[tail.sums[k]] = out.emit(Op.LOr, phi, gathered[k]);
    });
    return structure.endOf[from - 1] - 1;
  }
}

function isPower(step: number): boolean {
  return step !== 0 && (step & (step - 1)) === 0;
}

/** What the number of the round is shifted by, or multiplied with, to grow by `step`. */
function factorOf(step: number): number {
  return isPower(step) ? 31 - Math.clz32(step) : step;
}
