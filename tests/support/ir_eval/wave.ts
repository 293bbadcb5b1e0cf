import { IfKind, Op, OPS } from "../../../src/recompiler/ir/ops.ts";
import { type LanesOf, WaveLanes } from "./lanes.ts";
import type { Structure } from "./structure.ts";
import type { LaneValue } from "./values.ts";

/** Edges taken out of a loop's body, by lane. */
interface LoopEdges {
  loop: number;
  continued: boolean[];
  broke: boolean[];
  edge: number[];
}

/** What a wave knows of its workgroup. */
export interface Workgroup extends LanesOf {
  readonly structure: Structure;
  /** What each wave says in a vote of the workgroup. */
  readonly votes: Map<Wave, boolean>;
  /** Operations executed so far, summed over waves. */
  steps: number;
  readonly maxSteps: number;
}

/** The control flow of one wave: its lanes go through the program in lockstep. */
export class Wave {
  readonly lanes: WaveLanes;
  private readonly loops: LoopEdges[] = [];

  /** `first`: the workgroup's number of the wave's first thread. */
  constructor(private readonly group: Workgroup, first: number, lanes: number) {
    this.lanes = new WaveLanes(group, first, lanes);
  }

  /** Runs the wave; stops, with the operation, at every barrier. */
  *start(): Generator<number, void> {
    const all = Array<boolean>(this.lanes.count).fill(true);
    yield* this.body(0, this.group.ir.length, all);
  }

  /** Runs operations [from, to) for the lanes of `mask`; returns the lanes that fall through. */
  private *body(from: number, to: number, mask: boolean[]): Generator<number, boolean[]> {
    const { ir, structure } = this.group;
    let i = from;
    while (i < to) {
      if (++this.group.steps > this.group.maxSteps) throw new Error("too many steps");
      switch (ir.op[i]) {
        case Op.If: {
          const middle = structure.middle[i], end = structure.end[i];
          const condition = mask.map((on, lane) => on && this.lanes.bool(ir.a[i], lane));
          if (ir.b[i] === IfKind.Scalar || ir.b[i] === IfKind.Wave) {
            const count = condition.filter((c) => c).length;
            if (count !== 0 && count !== mask.filter((m) => m).length) {
              throw this.lanes.broken(i, "lanes disagree on a uniform condition");
            }
          }
          const otherwise = mask.map((on, lane) => on && !condition[lane]);
          let thenEnds = condition, elseEnds = otherwise;
          if (condition.includes(true)) thenEnds = yield* this.body(i + 1, middle, condition);
          if (middle !== end && otherwise.includes(true)) elseEnds = yield* this.body(middle + 1, end, otherwise);
          mask = mask.map((_, lane) => thenEnds[lane] || elseEnds[lane]);
          i = this.phis(end + 1, Op.Phi, mask, (phi, lane) => thenEnds[lane] ? ir.a[phi] : ir.b[phi]);
          break;
        }
        case Op.Loop:
          mask = yield* this.loop(i, mask);
          i = structure.end[i] + 1;
          while (ir.op[i] === Op.BreakPhi || ir.op[i] === Op.Const) i++;
          break;
        case Op.Break:
        case Op.Continue: {
          const edges = this.loops.at(-1)!;
          if (edges.loop !== structure.middle[i]) throw this.lanes.broken(i, "leaves a loop that is not the innermost");
          mask.forEach((on, lane) => {
            if (!on) return;
            (ir.op[i] === Op.Break ? edges.broke : edges.continued)[lane] = true;
            edges.edge[lane] = structure.end[i];
          });
          return mask.map(() => false);
        }
        case Op.Barrier:
          if (mask.includes(true)) {
            if (mask.includes(false)) throw this.lanes.broken(i, "barrier that not all lanes reach");
            yield i;
          }
          i++;
          break;
        case Op.AnyGroup:
          if (mask.includes(true)) yield* this.voteGroup(i, mask);
          i++;
          break;
        case Op.Nop:
        case Op.Fence:
        case Op.Const:
        case Op.End:
          i++;
          break;
        default:
          if (mask.includes(true)) this.simple(i, mask);
          i++;
      }
    }
    return mask;
  }

  /** A vote of the workgroup: all waves say what they have, then all look at what was said. */
  private *voteGroup(i: number, mask: boolean[]): Generator<number, void> {
    const { ir, votes } = this.group;
    if (mask.includes(false)) throw this.lanes.broken(i, "exchange that not all lanes reach");
    votes.set(this, mask.some((_, lane) => this.lanes.bool(ir.a[i], lane)));
    yield i;
    const result = [...votes.values()].includes(true);
    yield i;
    mask.forEach((_, lane) => this.lanes.set(i, lane, result));
  }

  private *loop(loop: number, entering: boolean[]): Generator<number, boolean[]> {
    const { ir, structure } = this.group;
    const cont = structure.middle[loop], end = structure.end[loop];
    const none = () => entering.map(() => false);
    const edges: LoopEdges = { loop, continued: none(), broke: none(), edge: entering.map(() => 0) };
    this.loops.push(edges);
    let mask = entering;
    let column = ir.a;
    while (mask.includes(true)) {
      const bodyStart = this.phis(loop + 1, Op.LoopPhi, mask, (phi) => column[phi]);
      column = ir.b;
      edges.continued = none();
      const fell = yield* this.body(bodyStart, cont, mask);
      const edge = fell.map((on, lane) => on ? structure.continues[loop] : edges.edge[lane]);
      mask = fell.map((on, lane) => on || edges.continued[lane]);
      const contStart = this.phis(cont + 1, Op.ContPhi, mask, (phi, lane) => ir.pool[ir.a[phi] + edge[lane]]);
      if (contStart !== end) throw this.lanes.broken(contStart, "only ContPhi may stand between LoopCont and EndLoop");
    }
    this.loops.pop();
    this.phis(end + 1, Op.BreakPhi, edges.broke, (phi, lane) => ir.pool[ir.a[phi] + edges.edge[lane]]);
    return edges.broke;
  }

  /** Gives all phis from `i` on their new values at once; returns the first operation behind them. */
  private phis(i: number, op: number, mask: boolean[], source: (phi: number, lane: number) => number): number {
    const { ir } = this.group;
    const fresh: [number, number, LaneValue][] = [];
    for (; i < ir.length; i++) {
      if (ir.op[i] === Op.Const || ir.op[i] === Op.Nop) continue;
      if (ir.op[i] !== op) break;
      mask.forEach((on, lane) => {
        if (on) fresh.push([i, lane, this.lanes.get(source(i, lane), lane)]);
      });
    }
    for (const [phi, lane, value] of fresh) this.lanes.set(phi, lane, value);
    return i;
  }

  /** An operation without control flow, in all lanes of the mask. */
  private simple(i: number, mask: boolean[]): void {
    const { ir } = this.group;
    if (OPS[ir.op[i]].exchange) {
      if (mask.includes(false)) throw this.lanes.broken(i, "exchange that not all lanes reach");
      const results = mask.map((_, lane) => this.lanes.exchange(i, lane));
      results.forEach((value, lane) => this.lanes.set(i, lane, value));
      return;
    }
    mask.forEach((on, lane) => {
      if (!on) return;
      const result = this.lanes.one(i, lane);
      if (result !== undefined) this.lanes.set(i, lane, result);
    });
  }
}
