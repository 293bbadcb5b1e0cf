import type { Ir } from "../../ir/ir.ts";
import { IfKind, Op, OPS, Type } from "../../ir/ops.ts";
import type { StructureIndex } from "../structure.ts";
import { type Algebra, type Environment, FALSE, TRUE } from "./algebra.ts";

/** What becomes of an `If` on a wave condition, see docs/architecture.md. */
export type Decision = "lane" | "flat" | "wave" | "group";

/** The parts of an `If` whose condition is `Any(b)` or its negation. */
export interface WaveIf {
  /** Value id of `b`. */
  b: number;
  /** First operation and end of the arm that is taken when a lane has `b`. */
  active: readonly [number, number];
  /** The arm that is taken when no lane has `b`; empty range when there is none. */
  skip: readonly [number, number];
  /** Operand of the Phis that belongs to the active arm: true = `a`. */
  activeIsThen: boolean;
}

/** Finds the parts of the `If` at `index`, undefined when its condition is not a test of a mask. */
export function waveIf(ir: Ir, structure: StructureIndex, index: number): WaveIf | undefined {
  if (ir.b[index] !== IfKind.Wave) return undefined;
  let condition = ir.a[index];
  let activeIsThen = true;
  while (ir.op[condition] === Op.LNot) {
    condition = ir.a[condition];
    activeIsThen = !activeIsThen;
  }
  if (ir.op[condition] !== Op.Any) return undefined;
  const middle = structure.elseOf[index];
  const end = structure.endOf[index];
  const thenArm = [index + 1, middle] as const;
  const elseArm = middle === end ? [end, end] as const : [middle + 1, end] as const;
  return {
    b: ir.a[condition],
    active: activeIsThen ? thenArm : elseArm,
    skip: activeIsThen ? elseArm : thenArm,
    activeIsThen,
  };
}

/** An edge that leaves an iteration of a loop: its number among the edges of its kind and what is known on it. */
export interface Edge {
  number: number;
  env: Environment;
}

/** Receives the ways by which a walk leaves its range. */
export interface Exits {
  onBreak(index: number, env: Environment): void;
  onContinue(index: number, env: Environment): void;
}

/** Thrown inside a parked walk: the lane cannot be parked, for this reason. */
export class NotParkable extends Error {}

/**
 * Walks ranges of the stream, computing symbols.
 *
 * A walk is *parked* when it follows a lane that has, in lane form, already gone its own way: it follows every path that the wave may take, and
 * throws {@linkcode NotParkable} when the lane would have an effect. Otherwise it is *alive*: the lane takes the path itself, lane decisions teach facts.
 */
export class Walker {
  /** Called in alive walks before an `If` with a lane or flat decision is entered. */
  beforeWaveIf: ((index: number, parts: WaveIf, env: Environment) => void) | null = null;
  /** Called in alive walks with the environment before each operation (Phis excepted). */
  visit: ((index: number, env: Environment) => void) | null = null;
  /** Called in alive walks for each Phi operand; slot = operand or edge number. */
  visitPhi: ((phi: number, slot: number, symbol: number) => void) | null = null;
  /** The `If` whose lane is parked, and the condition that must stay false. */
  private parkedAt = -1;
  private parkedOn = 0;
  /** All lanes of the wave are parked. */
  private noLanes = false;

  constructor(
    readonly ir: Ir,
    readonly structure: StructureIndex,
    readonly algebra: Algebra,
    readonly decisions: Map<number, Decision>,
    /** Whether all waves of the workgroup leave a loop alike. */
    private readonly leavesTogether: (loop: number) => boolean = () => false,
    /** Lanes that have left go through barriers of the guest with the others (guest_barriers.ts). */
    private readonly passBarriers = false,
  ) {}

  /** Runs `walk` as a parked walk for the lane that left at `index` with `b` false, alone or with all others of its wave. */
  parked(index: number, b: number, noLanes: boolean, walk: () => void): void {
    const [oldAt, oldOn, oldNoLanes] = [this.parkedAt, this.parkedOn, this.noLanes];
    [this.parkedAt, this.parkedOn, this.noLanes] = [index, b, noLanes];
    try {
      this.quietly(walk);
    } finally {
      [this.parkedAt, this.parkedOn, this.noLanes] = [oldAt, oldOn, oldNoLanes];
    }
  }

  /** Runs `walk` without telling the hooks. */
  quietly(walk: () => void): void {
    const hooks = [this.beforeWaveIf, this.visit, this.visitPhi] as const;
    [this.beforeWaveIf, this.visit, this.visitPhi] = [null, null, null];
    try {
      walk();
    } finally {
      [this.beforeWaveIf, this.visit, this.visitPhi] = hooks;
    }
  }

  /** Walks operations [start, end); true if the end is reached. */
  walk(start: number, end: number, env: Environment, exits: Exits): boolean {
    const ir = this.ir;
    for (let i = start; i < end; i++) {
      const op = ir.op[i];
      if (op === Op.If) {
        this.visit?.(i, env);
        if (!this.walkIf(i, env, exits)) return false;
        i = this.structure.endOf[i];
      } else if (op === Op.Loop) {
        if (!this.walkLoop(i, env)) return false;
        i = this.structure.endOf[i];
      } else if (op === Op.Break) {
        exits.onBreak(i, env.keep());
        return false;
      } else if (op === Op.Continue) {
        exits.onContinue(i, env.keep());
        return false;
      } else if (!isPhi(op)) {
        this.visit?.(i, env);
        this.evaluate(i, env);
      }
    }
    return true;
  }

  /** Sets the Phis after the EndIf at `end` to the operand of one arm. */
  phisFrom(end: number, env: Environment, from: Environment, thenArm: boolean): void {
    const ir = this.ir;
    for (let i = end + 1; i < ir.length && ir.op[i] === Op.Phi; i++) {
      const symbol = from.get(thenArm ? ir.a[i] : ir.b[i]);
      this.visitPhi?.(i, thenArm ? 0 : 1, symbol);
      env.set(i, symbol);
    }
  }

  private walkIf(index: number, env: Environment, exits: Exits): boolean {
    const { ir, structure } = this;
    const parked = this.parkedAt >= 0;
    const parts = waveIf(ir, structure, index);
    const middle = structure.elseOf[index];
    const end = structure.endOf[index];
    const hasElse = middle !== end;
    const thenEnv = env.child();
    const elseEnv = env.child();
    let takeThen = true;
    let takeElse = true;
    const decision = parts === undefined ? "wave" : this.decisions.get(index) ?? "wave";
    if (parts !== undefined && decision === "group") {
      if (!parked) this.beforeWaveIf?.(index, parts, env);
      else this.checkParked(index, env);
      // Another wave may have voted: nothing follows for this one, unless it has voted itself. What others vote for inside ends with them.
      const b = env.get(parts.b);
      const lost = this.noLanes && b === FALSE && index !== this.parkedAt;
      if (b === TRUE || lost) {
        takeThen = parts.activeIsThen !== lost;
        takeElse = !takeThen;
      }
    } else if (parts !== undefined && !parked) {
      if (decision !== "wave") this.beforeWaveIf?.(index, parts, env);
      if (decision === "flat") {
        if (!this.walk(parts.active[0], parts.active[1], env, exits)) return false;
        this.phisFrom(end, env, env, parts.activeIsThen);
        return true;
      }
      if (decision === "lane") {
        const b = env.get(parts.b);
        if (b === TRUE || b === FALSE) {
          takeThen = (b === TRUE) === parts.activeIsThen;
          takeElse = !takeThen;
        }
        thenEnv.assume(b, parts.activeIsThen ? TRUE : FALSE);
        elseEnv.assume(b, parts.activeIsThen ? FALSE : TRUE);
      }
    } else {
      if (parked) this.checkParked(index, env);
      const condition = env.get(ir.a[index]);
      takeThen = condition !== FALSE;
      takeElse = condition !== TRUE;
      thenEnv.assume(condition, TRUE);
      elseEnv.assume(condition, FALSE);
    }
    const thenFalls = takeThen && this.walk(index + 1, middle, thenEnv, exits);
    const elseFalls = takeElse && (!hasElse || this.walk(middle + 1, end, elseEnv, exits));
    if (!thenFalls && !elseFalls) return false;
    if (thenFalls !== elseFalls) {
      const from = thenFalls ? thenEnv : elseEnv;
      env.adopt(from);
      this.phisFrom(end, env, env, thenFalls);
      return true;
    }
    for (let i = end + 1; i < ir.length && ir.op[i] === Op.Phi; i++) {
      const a = thenEnv.get(ir.a[i]);
      const b = elseEnv.get(ir.b[i]);
      this.visitPhi?.(i, 0, a);
      this.visitPhi?.(i, 1, b);
      env.set(i, a === b ? a : parked ? this.algebra.fresh() : i);
    }
    return true;
  }

  private checkParked(index: number, env: Environment): void {
    if (index === this.parkedAt && env.get(this.parkedOn) !== FALSE) {
      throw new NotParkable("a lane that has left could come back");
    }
  }

  private walkLoop(loop: number, env: Environment): boolean {
    const { ir, structure } = this;
    const parked = this.parkedAt >= 0;
    const cont = structure.contOf[loop];
    // A phi starts with an assumption: in a parked walk that it keeps its initial value, in an alive one that a known truth stays.
    const assumed: number[] = [];
    const generalised = new Set<number>();
    let body = loop + 1;
    for (; ir.op[body] === Op.LoopPhi; body++) {
      const initial = env.get(ir.a[body]);
      this.visitPhi?.(body, 0, initial);
      assumed.push(parked || initial === TRUE || initial === FALSE ? initial : body);
    }
    for (;;) {
      const iteration = env.child();
      assumed.forEach((symbol, k) => iteration.set(loop + 1 + k, symbol));
      const { breaks, continues } = this.walkBody(loop, body, cont, iteration);
      let stable = true;
      assumed.forEach((symbol, k) => {
        const phi = loop + 1 + k;
        if (continues.length === 0) return;
        const next = this.backSymbol(phi, continues);
        if (next === symbol || symbol === phi || generalised.has(phi)) return;
        stable = false;
        generalised.add(phi);
        assumed[k] = parked ? this.algebra.fresh() : phi;
      });
      if (!stable) continue;
      if (this.noLanes && continues.length > 0 && !this.leavesTogether(loop)) {
        throw new NotParkable("a loop in the region might not end in a wave without lanes");
      }
      if (breaks.length === 0) return false;
      for (let i = structure.endOf[loop] + 1; i < ir.length && ir.op[i] === Op.BreakPhi; i++) {
        env.set(i, this.edgeSymbol(i, breaks) ?? (parked ? this.algebra.fresh() : i));
      }
      return true;
    }
  }

  /** Walks one iteration of a loop's body and collects its edges; the falling end counts as the last continue edge. */
  walkBody(loop: number, start: number, cont: number, env: Environment): { breaks: Edge[]; continues: Edge[] } {
    const breaks: Edge[] = [];
    const continues: Edge[] = [];
    const { edgeOf, continueCount } = this.structure;
    const falls = this.walk(start, cont, env, {
      onBreak: (at, e) => breaks.push({ number: edgeOf[at], env: e }),
      onContinue: (at, e) => continues.push({ number: edgeOf[at], env: e }),
    });
    if (falls) continues.push({ number: continueCount[loop], env });
    return { breaks, continues };
  }

  /** The symbol that a LoopPhi gets at the end of an iteration, or a fresh one where the edges differ. */
  backSymbol(phi: number, continues: readonly Edge[]): number {
    const { ir } = this;
    const operand = ir.b[phi];
    const symbol = ir.op[operand] === Op.ContPhi && operand > phi
      ? this.edgeSymbol(operand, continues)
      : agree(continues.map((edge) => edge.env.get(operand)));
    const result = symbol ?? this.algebra.fresh();
    this.visitPhi?.(phi, 1, result);
    return result;
  }

  /** The symbol of a ContPhi or BreakPhi, undefined where the edges differ. */
  edgeSymbol(phi: number, edges: readonly Edge[]): number | undefined {
    const { ir } = this;
    return agree(edges.map(({ number, env }) => {
      const symbol = env.get(ir.pool[ir.a[phi] + number]);
      this.visitPhi?.(phi, number, symbol);
      return symbol;
    }));
  }

  private evaluate(i: number, env: Environment): void {
    const { ir, algebra } = this;
    const op = ir.op[i];
    const row = OPS[op];
    const parked = this.parkedAt >= 0;
    if (row.structure || op === Op.Fence) return;
    if (row.effect) {
      if (!parked) return;
      if (op === Op.Barrier) {
        if (this.passBarriers) return;
        throw new NotParkable("a barrier in the region");
      }
      if (env.get(ir.b[i]) !== FALSE) throw new NotParkable(`${row.name} may be executed by a lane that is off`);
      if (row.result !== Type.Void) env.set(i, algebra.fresh());
      return;
    }
    switch (op) {
      case Op.Nop:
      case Op.Const:
      case Op.Undef:
      case Op.Input:
        return;
      case Op.Any:
        if (env.get(ir.a[i]) === TRUE) env.set(i, TRUE);
        else if (this.noLanes && env.get(ir.a[i]) === FALSE) env.set(i, FALSE);
        else if (parked) env.set(i, algebra.fresh());
        return;
      case Op.Load:
      case Op.LdsLoad:
        if (env.get(ir.b[i]) === FALSE) env.set(i, algebra.zero(ir.type[i]));
        else if (parked) env.set(i, algebra.fresh());
        return;
    }
    if (row.exchange) {
      if (parked) env.set(i, algebra.fresh());
      return;
    }
    const kinds = row.operands;
    const operand = (k: number, raw: number) => kinds[k] === "v" ? env.get(raw) : raw;
    // A repeated operation of a later iteration with unchanged operands is the same value; other types of equal operands never meet here.
    const symbol = algebra.make(
      op,
      operand(0, ir.a[i]),
      operand(1, ir.b[i]),
      kinds.length > 2
        ? (kinds.length > 3 ? pack(operand(2, ir.c[i]), operand(3, ir.d[i]), algebra) : operand(2, ir.c[i]))
        : 0,
      parked ? undefined : i,
    );
    if (symbol !== i) env.set(i, symbol);
  }
}

/** Two symbols as one, for operations with four operands. */
function pack(c: number, d: number, algebra: Algebra): number {
  return algebra.make(Op.Vec, c, d, 0);
}

function agree(symbols: number[]): number | undefined {
  return symbols.length > 0 && symbols.every((s) => s === symbols[0]) ? symbols[0] : undefined;
}

function isPhi(op: number): boolean {
  return op === Op.Phi || op === Op.LoopPhi || op === Op.ContPhi || op === Op.BreakPhi;
}
