import { Ir } from "../ir/ir.ts";
import { IfKind, Op, OPS, Type } from "../ir/ops.ts";
import { barriersMayBePassed, isOwn } from "./guest_barriers.ts";
import { indexStructure, type StructureIndex } from "./structure.ts";
import { classifyUniformity, Uniformity } from "./uniformity.ts";

/**
 * Keeps the waves of a workgroup together where they exchange. An exchange, or a barrier that was added for a wave's lockstep, needs the whole workgroup; a
 * scalar branch is one wave's. So a construct that not all waves enter, and that has such an operation inside, is gone through by all of them: those that
 * would not be there compute as well, but load and store nothing, and what they compute is not used. Both arms of an If come one after the other; a Loop goes
 * on until its last wave has left, and those that have left keep what they took along.
 *
 * So are barriers of the guest's own that only some waves come to, where the others come to none any more (guest_barriers.ts).
 *
 * The program is left as it is (and refused later) where single lanes decide about an exchange, and where another barrier of the guest's is inside: waves may
 * come to different ones then.
 *
 * @param wavePerWorkgroup the workgroup is one wave.
 * @param packed a host subgroup is a wave: exchanges need no more than that, and all control flow is the wave's.
 */
export function keepTogether(ir: Ir, wavePerWorkgroup: boolean, packed = false): Ir {
  if (wavePerWorkgroup) return ir;
  const structure = indexStructure(ir);
  const uniformity = classifyUniformity(ir, false, structure), { value, flow } = uniformity;
  const joint = new Set<number>();
  const passed = barriersMayBePassed(ir, structure, uniformity);
  if (packed && !passed) return ir;
  const needsAll = (ir: Ir, i: number) =>
    passed && isOwn(ir, i) ||
    !packed && (OPS[ir.op[i]].exchange === true || ir.op[i] === Op.Barrier && ir.a[i] === 1);
  for (let i = 1; i < ir.length; i++) {
    if (!needsAll(ir, i) || flow[i] === Uniformity.Workgroup) continue;
    if (flow[i] === Uniformity.Lane) return ir;
    let outermost = i;
    while (flow[outermost] !== Uniformity.Workgroup) outermost = structure.parentOf[outermost];
    joint.add(outermost);
  }
  if (joint.size === 0) return ir;
  for (const construct of joint) {
    for (let i = construct; i < structure.endOf[construct]; i++) {
      const { effect } = OPS[ir.op[i]];
      if (effect === true && !needsAll(ir, i) && !ACCESSES.has(ir.op[i]) && ir.op[i] !== Op.Fence) return ir; // the guest's barrier, above all
    }
  }
  const writes = ir.op.subarray(0, ir.length).some((op) => op === Op.Store || op === Op.Atomic);
  const strict = writes ? classifyUniformity(ir, false, structure, true).value : value;
  return new Gatherer(ir, structure, joint, strict, needsAll, packed ? IfKind.Scalar : IfKind.Lane).run();
}

/** A loop that all waves go through. */
interface JointLoop {
  readonly loop: number;
  /** Value that waves take along, by BreakPhi; changes as waves leave. */
  readonly taken: Map<number, number>;
  /** Value at the continue point, by ContPhi. */
  readonly carried: Map<number, number>;
  /** Bool: the wave goes on; 0 = none has come to the continue point. */
  goesOn: number;
}

/** No wave comes here: the arm has ended. */
const NOBODY = -1;
/** All waves are here. */
const ALL = 0;

class Gatherer {
  readonly #out: Ir;
  readonly #map: Int32Array;
  /** Number of operations before each that need all. */
  readonly #needing: Int32Array;

  constructor(
    private readonly ir: Ir,
    private readonly structure: StructureIndex,
    private readonly joint: ReadonlySet<number>,
    /** Uniformity when no load is trusted. */
    private readonly strict: Uint8Array,
    /** Whether all invocations of the workgroup must come to an operation. */
    needsAll: (ir: Ir, i: number) => boolean,
    /** Kind of branches that waves go around what they are not there for. */
    private readonly around: number,
  ) {
    this.#out = new Ir(ir.length * 2);
    this.#map = new Int32Array(ir.length);
    this.#needing = new Int32Array(ir.length + 1);
    for (let i = 1; i < ir.length; i++) this.#needing[i + 1] = this.#needing[i] + (needsAll(ir, i) ? 1 : 0);
  }

  run(): Ir {
    const { ir } = this;
    for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Const) this.#map[i] = this.#out.copyConstant(ir, i);
    this.#copy(1, ir.length);
    return this.#out;
  }

  /** Copies [start, end) as it is, but for joint constructs. */
  #copy(start: number, end: number): void {
    const { ir, structure } = this;
    const out = this.#out, map = this.#map;
    const loops: number[] = [];
    for (let i = start; i < end; i++) {
      const op = ir.op[i];
      if (op === Op.Const) continue;
      out.currentPc = ir.pc[i];
      if (this.joint.has(i)) {
        if (op === Op.If) this.#if(i, ALL, null);
        else this.#loop(i, ALL);
        i = this.#phisEnd(structure.endOf[i]) - 1;
        continue;
      }
      if (op === Op.LoopPhi) {
        map[i] = out.append(op, ir.type[i] as Type, map[ir.a[i]], 0);
        loops.push(i);
      } else map[i] = this.#operation(i);
    }
    for (const phi of loops) out.b[map[phi]] = map[ir.b[phi]];
  }

  /** Appends a copy of an operation. @param active replaces operand b */
  #operation(i: number, active?: number): number {
    const { ir } = this;
    const out = this.#out, map = this.#map;
    const kinds = OPS[ir.op[i]].operands;
    if (kinds[0] === "p") {
      const values = Array.from({ length: ir.b[i] }, (_, k) => map[ir.pool[ir.a[i] + k]]);
      return out.append(ir.op[i], ir.type[i] as Type, out.pooled(values), values.length);
    }
    const operand = (k: number, value: number) => kinds[k] === "v" ? map[value] : value;
    return out.append(
      ir.op[i],
      ir.type[i] as Type,
      operand(0, ir.a[i]),
      active ?? operand(1, ir.b[i]),
      operand(2, ir.c[i]),
      operand(3, ir.d[i]),
    );
  }

  /** Writes [start, end) for waves that may not be here. @param here Bool id, or ALL @returns the same of the end */
  #gather(start: number, end: number, here: number, loop: JointLoop | null): number {
    const { ir, structure } = this;
    const out = this.#out, map = this.#map;
    for (let i = start; i < end; i++) {
      const op = ir.op[i];
      if (op === Op.Const || op === Op.Nop) continue;
      out.currentPc = ir.pc[i];
      switch (op) {
        case Op.If:
          if (this.#mustGather(i, loop)) {
            here = this.#if(i, here, loop);
            if (here === NOBODY) return NOBODY;
          } else this.#alone(i, here);
          i = this.#phisEnd(structure.endOf[i]) - 1;
          break;
        case Op.Loop:
          if (this.#mustGather(i, loop)) this.#loop(i, here);
          else this.#alone(i, here);
          i = this.#phisEnd(structure.endOf[i]) - 1;
          break;
        case Op.Break:
          this.#leave(loop!, here, structure.edgeOf[i]);
          return NOBODY;
        case Op.Continue:
          this.#goOn(loop!, here, structure.edgeOf[i]);
          return NOBODY;
        default:
          map[i] = here !== ALL && ACCESSES.has(op)
            ? this.#operation(i, this.#and(here, map[ir.b[i]]))
            : this.#operation(i);
      }
    }
    return here;
  }

  #mustGather(i: number, loop: JointLoop | null): boolean {
    const end = this.structure.endOf[i];
    return this.#needing[end] - this.#needing[i] > 0 || this.#leaves(i, loop);
  }

  /** A construct in which nobody is needed, as it is, for the waves that are here. */
  #alone(i: number, here: number): void {
    const { ir, structure } = this;
    const out = this.#out, map = this.#map;
    const close = structure.endOf[i], end = this.#phisEnd(close);
    if (here === ALL) return this.#copy(i, end);
    const phis: number[] = [];
    for (let k = close + 1; k < end; k++) if (ir.op[k] === Op.Phi || ir.op[k] === Op.BreakPhi) phis.push(k);
    out.emit(Op.If, here, this.around);
    this.#copy(i, end);
    if (phis.length > 0) out.emit(Op.Else);
    const nothing = phis.map((k) => out.append(Op.Undef, ir.type[k] as Type));
    out.emit(Op.EndIf);
    phis.forEach((k, n) => map[k] = out.append(Op.Phi, ir.type[k] as Type, map[k], nothing[n]));
  }

  /** Both arms one after the other. Returns the waves that come out. */
  #if(i: number, here: number, loop: JointLoop | null): number {
    const { ir, structure } = this;
    const out = this.#out, map = this.#map;
    const middle = structure.elseOf[i], close = structure.endOf[i];
    const condition = this.#agreed(ir.a[i]);
    const not = out.emit(Op.LNot, condition);
    const first = this.#gather(i + 1, middle, this.#and(here, condition), loop);
    const otherwise = this.#and(here, not);
    const second = middle === close ? otherwise : this.#gather(middle + 1, close, otherwise, loop);
    for (let k = close + 1; k < this.#phisEnd(close); k++) {
      if (ir.op[k] === Op.Const) continue;
      const a = map[ir.a[k]], b = map[ir.b[k]];
      map[k] = a === b ? a : out.append(Op.Select, ir.type[k] as Type, condition, a, b);
    }
    if (first === NOBODY) return second;
    if (second === NOBODY) return first;
    return this.#leaves(i, loop) ? out.emit(Op.LOr, first, second) : here;
  }

  /** Whether waves leave the loop or its round from inside. */
  #leaves(i: number, loop: JointLoop | null): boolean {
    const { ir, structure } = this;
    if (loop === null) return false;
    for (let k = i; k < structure.endOf[i]; k++) {
      if ((ir.op[k] === Op.Break || ir.op[k] === Op.Continue) && structure.loopOf[k] === loop.loop) return true;
    }
    return false;
  }

  /** Round after round until the last wave has left. */
  #loop(i: number, here: number): void {
    const { ir, structure } = this;
    const out = this.#out, map = this.#map;
    const cont = structure.contOf[i], close = structure.endOf[i];
    const phis: number[] = [], breakPhis: number[] = [], contPhis: number[] = [];
    const entering = here === ALL ? out.constB(true) : here;
    for (let k = close + 1; k < this.#phisEnd(close); k++) if (ir.op[k] === Op.BreakPhi) breakPhis.push(k);
    for (let k = cont + 1; k < close; k++) if (ir.op[k] === Op.ContPhi) contPhis.push(k);
    const nothing = breakPhis.map((k) => out.append(Op.Undef, ir.type[k] as Type));
    out.emit(Op.Loop);
    const alive = out.append(Op.LoopPhi, Type.Bool, entering, 0);
    let start = i + 1;
    for (; ir.op[start] === Op.LoopPhi || ir.op[start] === Op.Const; start++) {
      if (ir.op[start] === Op.Const) continue;
      map[start] = out.append(Op.LoopPhi, ir.type[start] as Type, map[ir.a[start]], 0);
      phis.push(start);
    }
    const takenPhis = breakPhis.map((k, n) => out.append(Op.LoopPhi, ir.type[k] as Type, nothing[n], 0));
    const state: JointLoop = {
      loop: i,
      taken: new Map(breakPhis.map((k, n) => [k, takenPhis[n]])),
      carried: new Map(),
      goesOn: 0,
    };
    const falls = this.#gather(start, cont, alive, state);
    if (falls !== NOBODY) this.#goOn(state, falls, structure.continueCount[i]);
    out.currentPc = ir.pc[close];
    const goesOn = state.goesOn === 0 ? out.constB(false) : state.goesOn;
    const nobody = out.emit(Op.LNot, out.emit(Op.AnyGroup, goesOn));
    out.emit(Op.If, nobody, IfKind.Scalar);
    out.emit(Op.Break);
    out.emit(Op.EndIf);
    out.emit(Op.LoopCont);
    out.emit(Op.EndLoop);
    for (const k of contPhis) map[k] = state.carried.get(k) ?? 0;
    out.b[alive] = goesOn;
    for (const phi of phis) out.b[map[phi]] = ir.b[phi] === 0 ? 0 : map[ir.b[phi]];
    takenPhis.forEach((phi, n) => out.b[phi] = state.taken.get(breakPhis[n])!);
    for (const k of breakPhis) {
      map[k] = out.append(Op.BreakPhi, ir.type[k] as Type, out.pooled([state.taken.get(k)!]), 1);
    }
  }

  /** Waves leave the loop: they take their values along. */
  #leave(loop: JointLoop, here: number, edge: number): void {
    const { ir } = this;
    for (const [phi, before] of loop.taken) {
      loop.taken.set(phi, this.#chosen(here, this.#map[ir.pool[ir.a[phi] + edge]], before, ir.type[phi] as Type));
    }
  }

  /** Waves come to the continue point by one of its edges. */
  #goOn(loop: JointLoop, here: number, edge: number): void {
    const { ir, structure } = this;
    const out = this.#out;
    for (let k = structure.contOf[loop.loop] + 1; k < structure.endOf[loop.loop]; k++) {
      if (ir.op[k] !== Op.ContPhi || edge >= ir.b[k]) continue;
      const value = this.#map[ir.pool[ir.a[k] + edge]], before = loop.carried.get(k);
      loop.carried.set(k, before === undefined ? value : this.#chosen(here, value, before, ir.type[k] as Type));
    }
    loop.goesOn = loop.goesOn === 0 ? here : out.emit(Op.LOr, loop.goesOn, here);
  }

  #chosen(here: number, value: number, before: number, type: Type): number {
    if (value === before || here === ALL) return value;
    return this.#out.append(Op.Select, type, here, value, before);
  }

  #and(here: number, condition: number): number {
    return here === ALL ? condition : this.#out.emit(Op.LAnd, here, condition);
  }

  /**
   * The condition of a branch, the same in the whole wave: where it depends on loads, another workgroup may have written between those of two lanes, so the
   * wave takes its first lane's.
   */
  #agreed(condition: number): number {
    const out = this.#out, id = this.#map[condition];
    if (this.strict[condition] !== Uniformity.Lane) return id;
    const one = out.constU(1), zero = out.constU(0);
    return out.emit(Op.INe, out.emit(Op.ReadLane, out.append(Op.Select, Type.U32, id, one, zero), zero), zero);
  }

  /** Behind the phis that follow an EndIf or EndLoop. */
  #phisEnd(close: number): number {
    const { ir } = this;
    const phi = ir.op[close] === Op.EndIf ? Op.Phi : Op.BreakPhi;
    let end = close + 1, at = end;
    for (; ir.op[at] === phi || ir.op[at] === Op.Const || ir.op[at] === Op.Nop; at++) {
      if (ir.op[at] === phi) end = at + 1;
    }
    return end;
  }
}

/** Accesses, with the condition in operand b. */
const ACCESSES: ReadonlySet<number> = new Set([Op.Load, Op.Store, Op.Atomic, Op.LdsLoad, Op.LdsStore, Op.LdsAtomic]);
