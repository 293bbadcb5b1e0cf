/**
 * Random IR programs in the idioms of compiled code: EXEC as a mask that is narrowed, branched on, and restored; predicated vector writes;
 * scalar values that lanes share. They run in lockstep, so they are the reference for what the regions pass may do.
 */
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import type { Random } from "../../support/random.ts";

/** Vector registers of a generated program; each is stored at the end, at 4 * (register * LANES + lane). */
export const VECTORS = 4;
/** Lanes of the one workgroup, unless the program is made for more. */
export const LANES = 8;
const SCALARS = 2;
const MASKS = 3;

/** All registers: EXEC, saved masks, scalars, vectors. */
interface State {
  exec: number;
  masks: number[];
  scalars: number[];
  vectors: number[];
}

export class MaskProgram {
  readonly ir = new Ir();
  private state: State;
  private depth = 0;
  private loopDepth = 0;
  private budget = 40;

  /**
   * @param lds with LDS traffic between lanes of a wave
   * @param lanes of the workgroup
   * @param exchanges some values are those of other lanes
   */
  constructor(
    private readonly random: Random,
    private readonly lds: boolean,
    private readonly lanes = LANES,
    private readonly exchanges = false,
  ) {
    const { ir } = this;
    const lane = ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
    const vectors: number[] = [];
    for (let i = 0; i < VECTORS; i++) {
      vectors.push(
        ir.emit(Op.IAdd, ir.emit(Op.IMul, lane, ir.constU(random.below(7) + 1)), ir.constU(random.below(100))),
      );
    }
    this.state = {
      exec: ir.constB(true),
      masks: Array.from({ length: MASKS }, () => ir.constB(false)),
      scalars: Array.from({ length: SCALARS }, (_, i) => ir.constU(i)),
      vectors,
    };
    this.block();
    this.state.exec = ir.constB(true);
    this.state.vectors.forEach((value, i) => this.storeAt(i * lanes, lane, value, this.state.exec));
    this.state.scalars.forEach((value, i) => {
      if (random.chance(0.4)) this.storeAt((VECTORS + i) * lanes, lane, value, this.state.exec);
    });
    ir.emit(Op.End);
  }

  private storeAt(base: number, lane: number, value: number, active: number): void {
    const { ir } = this;
    const offset = ir.emit(Op.IAdd, ir.emit(Op.Shl, lane, ir.constU(2)), ir.constU(base * 4));
    ir.emit(Op.Store, ir.emit(Op.Pack64, offset, ir.constU(0)), active, value, 4);
  }

  private block(): void {
    const steps = 1 + this.random.below(4);
    for (let i = 0; i < steps && this.budget > 0; i++) this.step();
  }

  private step(): void {
    this.budget--;
    const { ir, random, state } = this;
    ir.currentPc += 4;
    const roll = random.below(this.depth < 3 ? 12 : 7);
    if (roll < 3) {
      this.vectorWrite();
    } else if (roll === 3) {
      const s = random.below(SCALARS);
      state.scalars[s] = ir.emit(Op.IAdd, state.scalars[s], ir.constU(1 + random.below(3)));
    } else if (roll === 4) {
      const value = random.pick(state.vectors);
      this.storeAt(
        (VECTORS + SCALARS) * this.lanes,
        ir.append(Op.Input, Type.U32, InputKind.LocalIndex),
        value,
        state.exec,
      );
    } else if (roll === 5 && this.lds) {
      this.ldsTraffic();
    } else if (roll <= 6) {
      this.predicated();
    } else if (roll <= 8) {
      this.ifRegion();
    } else if (roll === 9) {
      this.ifElseRegion();
    } else if (this.loopDepth < 2) {
      this.loop();
    }
  }

  private condition(): number {
    const { ir, random, state } = this;
    const masked = ir.emit(Op.And, random.pick(state.vectors), ir.constU(random.pick([1, 2, 3, 4, 7])));
    const compare = random.pick([Op.IEq, Op.INe, Op.ULt]);
    return ir.emit(compare, masked, ir.constU(random.below(4)));
  }

  private vectorWrite(): void {
    const { ir, random, state } = this;
    const other = random.chance(0.3) ? random.pick(state.scalars) : random.pick(state.vectors);
    let value = ir.emit(random.pick([Op.IAdd, Op.Xor, Op.ISub]), random.pick(state.vectors), other);
    if (this.exchanges && random.chance(0.3)) {
      const lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
      value = ir.emit(
        Op.Shuffle,
        value,
        ir.emit(Op.Xor, lane, ir.constU(1 + random.below(Math.min(this.lanes, 32) - 1))),
      );
    }
    const v = random.below(VECTORS);
    state.vectors[v] = ir.append(Op.Select, Type.U32, state.exec, value, state.vectors[v]);
  }

  private ldsTraffic(): void {
    const { ir, random, state } = this;
    const lane = ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
    ir.emit(Op.LdsStore, ir.emit(Op.Shl, lane, ir.constU(2)), state.exec, random.pick(state.vectors), 4);
    const within = ir.constU(Math.min(this.lanes, 32) - 1);
    const neighbour = ir.emit(
      Op.Or,
      ir.emit(Op.And, lane, ir.emit(Op.Not, within)),
      ir.emit(Op.And, ir.emit(Op.IAdd, lane, ir.constU(1 + random.below(7))), within),
    );
    const v = random.below(VECTORS);
    const read = ir.append(Op.LdsLoad, Type.U32, ir.emit(Op.Shl, neighbour, ir.constU(2)), state.exec, 4);
    state.vectors[v] = ir.append(Op.Select, Type.U32, state.exec, read, state.vectors[v]);
  }

  /** Narrow EXEC, work, restore: no branch. */
  private predicated(): void {
    const saved = this.state.exec;
    this.state.exec = this.ir.emit(Op.LAnd, saved, this.condition());
    this.vectorWrite();
    this.vectorWrite();
    this.state.exec = saved;
  }

  private wave(mask: number, whenAny: boolean): void {
    const any = this.ir.emit(Op.Any, mask);
    this.ir.emit(Op.If, whenAny ? any : this.ir.emit(Op.LNot, any), IfKind.Wave);
  }

  private ifRegion(): void {
    const { ir, random } = this;
    const slot = random.below(MASKS);
    const saved = this.state.exec;
    const condition = this.condition();
    if (random.chance(0.5)) this.state.masks[slot] = saved;
    this.state.exec = ir.emit(Op.LAnd, saved, condition);
    const before = copy(this.state);
    this.wave(this.state.exec, true);
    this.depth++;
    this.block();
    this.depth--;
    ir.emit(Op.EndIf);
    this.join(this.state, before);
    this.state.exec = random.chance(0.5) && this.state.masks[slot] === saved ? this.state.masks[slot] : saved;
  }

  /** s_and_saveexec / s_xor / s_or_saveexec form. */
  private ifElseRegion(): void {
    const { ir } = this;
    const saved = this.state.exec;
    this.state.exec = ir.emit(Op.LAnd, saved, this.condition());
    const other = ir.emit(Op.LXor, this.state.exec, saved);
    for (const mask of [this.state.exec, other]) {
      this.state.exec = mask;
      const before = copy(this.state);
      this.wave(mask, true);
      this.depth++;
      this.block();
      this.depth--;
      ir.emit(Op.EndIf);
      this.join(this.state, before);
    }
    this.state.exec = saved;
  }

  /** A loop that lanes leave one by one; sometimes with a `continue` in the middle, sometimes with a shared counter. */
  private loop(): void {
    const { ir, random } = this;
    const saved = this.state.exec;
    const trips = ir.constU(2 + random.below(5));
    this.loopDepth++;
    this.depth++;
    // The running mask is kept apart from EXEC, so that lanes can skip the rest of an iteration.
    const entry = { ...copy(this.state), running: saved, counter: ir.constU(0) };
    ir.emit(Op.Loop);
    const phiOf = (value: number) => ir.append(Op.LoopPhi, ir.type[value] as Type, value);
    const phis = mapState(entry, phiOf);
    const running = phiOf(entry.running);
    const counter = phiOf(entry.counter);
    this.state = copy(phis);
    this.state.exec = running;
    this.block();
    const next = ir.emit(Op.IAdd, counter, ir.constU(1));
    const edges: { state: State; running: number }[] = [];
    if (random.chance(0.4)) {
      // Lanes that meet the condition continue; the others go on.
      const again = ir.emit(Op.LAnd, this.condition(), ir.emit(Op.ULt, next, trips));
      const stay = ir.emit(Op.LAnd, this.state.exec, ir.emit(Op.LNot, again));
      this.state.exec = stay;
      this.wave(stay, false);
      edges.push({ state: copy(this.state), running });
      ir.emit(Op.Continue);
      ir.emit(Op.EndIf);
      this.block();
    }
    const leave = ir.emit(Op.LOr, ir.emit(Op.ULe, trips, next), this.condition());
    const remaining = ir.emit(Op.LAnd, running, ir.emit(Op.LNot, ir.emit(Op.LAnd, leave, this.state.exec)));
    const out = copy(this.state);
    this.wave(remaining, false);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
    if (random.chance(0.3)) {
      this.state.exec = ir.emit(Op.LAnd, this.state.exec, remaining);
      this.vectorWrite();
    }
    edges.push({ state: copy(this.state), running: remaining });
    ir.emit(Op.LoopCont);
    const contPhi = (values: number[]) =>
      values.every((v) => v === values[0]) && edges.length === 1
        ? values[0]
        : ir.append(Op.ContPhi, ir.type[values[0]] as Type, ir.pooled(values), values.length);
    const backs = mapStates(edges.map((e) => e.state), contPhi);
    const backRunning = contPhi(edges.map((e) => e.running));
    const backCounter = contPhi(edges.map(() => next));
    setBacks(ir, phis, backs);
    ir.b[running] = backRunning;
    ir.b[counter] = backCounter;
    ir.emit(Op.EndLoop);
    this.state = mapState(out, (value) => ir.append(Op.BreakPhi, ir.type[value] as Type, ir.pooled([value]), 1));
    this.state.exec = saved;
    this.loopDepth--;
    this.depth--;
  }

  private join(thenState: State, elseState: State): void {
    const { ir } = this;
    const phi = (a: number, b: number) => a === b ? a : ir.append(Op.Phi, ir.type[a] as Type, a, b);
    this.state = mapStates([thenState, elseState], ([a, b]) => phi(a, b));
  }
}

function copy(state: State): State {
  return mapState(state, (value) => value);
}

function mapState(state: State, f: (value: number) => number): State {
  return {
    exec: f(state.exec),
    masks: state.masks.map(f),
    scalars: state.scalars.map(f),
    vectors: state.vectors.map(f),
  };
}

function mapStates(states: State[], f: (values: number[]) => number): State {
  const list = (pick: (s: State) => number[]) => pick(states[0]).map((_, i) => f(states.map((s) => pick(s)[i])));
  return {
    exec: f(states.map((s) => s.exec)),
    masks: list((s) => s.masks),
    scalars: list((s) => s.scalars),
    vectors: list((s) => s.vectors),
  };
}

function setBacks(ir: Ir, phis: State, backs: State): void {
  ir.b[phis.exec] = backs.exec;
  phis.masks.forEach((phi, i) => ir.b[phi] = backs.masks[i]);
  phis.scalars.forEach((phi, i) => ir.b[phi] = backs.scalars[i]);
  phis.vectors.forEach((phi, i) => ir.b[phi] = backs.vectors[i]);
}
