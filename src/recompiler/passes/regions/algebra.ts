import type { Ir } from "../../ir/ir.ts";
import { Op, OPS, Type } from "../../ir/ops.ts";

/**
 * Symbols: what the regions pass knows of a value. A non-negative symbol is the value of the IR operation with that id (in the current iteration),
 * a negative one was made during the analysis. Equal symbols mean equal values of the lane.
 */
export const TRUE = -1;
export const FALSE = -2;
const ZERO_U = -3;
const ZERO_F = -4;
const FIRST_FREE = -16;
const MAX_DEPTH = 8;

interface Definition {
  op: number;
  x: number;
  y: number;
  z: number;
}

/** Builds symbols with folding and hash-consing; knows nothing of control flow. */
export class Algebra {
  private next = FIRST_FREE;
  private readonly byKey = new Map<string, number>();
  private readonly definitions = new Map<number, Definition>();

  constructor(private readonly ir: Ir) {}

  /** A symbol about which nothing is known. */
  fresh(): number {
    return this.next--;
  }

  /** The symbol of a constant, or `id` itself. */
  canonical(id: number): number {
    const ir = this.ir;
    if (ir.op[id] !== Op.Const) return id;
    if (ir.type[id] === Type.Bool) return ir.a[id] !== 0 ? TRUE : FALSE;
    if (ir.a[id] === 0 && ir.type[id] === Type.U32) return ZERO_U;
    if (ir.a[id] === 0 && ir.type[id] === Type.F32) return ZERO_F;
    return id;
  }

  /** The symbol of zero of an IR type, fresh where there is none. */
  zero(type: number): number {
    return type === Type.U32 ? ZERO_U : type === Type.F32 ? ZERO_F : type === Type.Bool ? FALSE : this.fresh();
  }

  /** The definition of a symbol, if it is a known pure operation. */
  definition(symbol: number): Definition | undefined {
    return this.definitions.get(symbol);
  }

  /** The symbol of a pure operation over symbols (immediates as they are); `self` names a new one if the operation was not seen before. */
  make(op: number, x: number, y: number, z: number, self?: number): number {
    const folded = this.fold(op, x, y, z);
    if (folded !== undefined) return folded;
    if (OPS[op].commutes && x > y) [x, y] = [y, x];
    const key = `${op},${x},${y},${z}`;
    let symbol = this.byKey.get(key);
    if (symbol === undefined) {
      // A name is given once: a second walk of the same operation under other assumptions is another value.
      symbol = self === undefined || this.definitions.has(self) ? this.next-- : self;
      this.byKey.set(key, symbol);
      this.definitions.set(symbol, { op, x, y, z });
    }
    return symbol;
  }

  /** Replaces a Bool symbol by what `facts` say of it and of its parts. */
  resolve(symbol: number, facts: (symbol: number) => number | undefined, depth = 0): number {
    if (symbol === TRUE || symbol === FALSE) return symbol;
    const known = facts(symbol);
    if (known !== undefined) return known;
    if (depth >= MAX_DEPTH) return symbol;
    const d = this.definitions.get(symbol);
    if (d === undefined) return symbol;
    switch (d.op) {
      case Op.LNot:
      case Op.BitcastU:
      case Op.BitcastF: {
        const x = this.resolve(d.x, facts, depth + 1);
        return x === d.x ? symbol : this.make(d.op, x, 0, 0);
      }
      case Op.LAnd:
      case Op.LOr:
      case Op.LXor: {
        const x = this.resolve(d.x, facts, depth + 1);
        const y = this.resolve(d.y, facts, depth + 1);
        return x === d.x && y === d.y ? symbol : this.make(d.op, x, y, 0);
      }
      case Op.Select: {
        const x = this.resolve(d.x, facts, depth + 1);
        if (x === TRUE) return this.resolve(d.y, facts, depth + 1);
        if (x === FALSE) return this.resolve(d.z, facts, depth + 1);
        const y = this.resolve(d.y, facts, depth + 1);
        const z = this.resolve(d.z, facts, depth + 1);
        return x === d.x && y === d.y && z === d.z ? symbol : this.make(Op.Select, x, y, z);
      }
      default:
        return symbol;
    }
  }

  private fold(op: number, x: number, y: number, z: number): number | undefined {
    switch (op) {
      case Op.LNot:
        if (x === TRUE) return FALSE;
        if (x === FALSE) return TRUE;
        return this.operandIf(x, Op.LNot);
      case Op.LAnd:
        if (x === FALSE || y === FALSE || this.opposite(x, y)) return FALSE;
        if (x === TRUE || this.contains(y, x, Op.LAnd)) return y;
        if (y === TRUE || x === y || this.contains(x, y, Op.LAnd)) return x;
        if (this.contains(x, y, Op.LOr)) return y;
        if (this.contains(y, x, Op.LOr)) return x;
        return undefined;
      case Op.LOr:
        if (x === TRUE || y === TRUE || this.opposite(x, y)) return TRUE;
        if (x === FALSE || this.contains(y, x, Op.LOr)) return y;
        if (y === FALSE || x === y || this.contains(x, y, Op.LOr)) return x;
        if (this.contains(x, y, Op.LAnd)) return y;
        if (this.contains(y, x, Op.LAnd)) return x;
        return undefined;
      case Op.LXor:
        if (x === y) return FALSE;
        if (x === FALSE) return y;
        if (y === FALSE) return x;
        if (x === TRUE) return this.make(Op.LNot, y, 0, 0);
        if (y === TRUE) return this.make(Op.LNot, x, 0, 0);
        return undefined;
      case Op.Select:
        if (x === TRUE || y === z) return y;
        if (x === FALSE) return z;
        return undefined;
      case Op.BitcastU:
        if (x === ZERO_F) return ZERO_U;
        return this.operandIf(x, Op.BitcastF);
      case Op.BitcastF:
        if (x === ZERO_U) return ZERO_F;
        return this.operandIf(x, Op.BitcastU);
      case Op.Lo64:
        return this.operandIf(x, Op.Pack64);
      case Op.Hi64: {
        const d = this.definitions.get(x);
        return d !== undefined && d.op === Op.Pack64 ? d.y : undefined;
      }
      case Op.And:
        return x === y || y === ZERO_U ? y : x === ZERO_U ? x : undefined;
      case Op.Or:
        return x === y || x === ZERO_U ? y : y === ZERO_U ? x : undefined;
      default:
        return undefined;
    }
  }

  private operandIf(symbol: number, op: number): number | undefined {
    const d = this.definitions.get(symbol);
    return d !== undefined && d.op === op ? d.x : undefined;
  }

  private opposite(x: number, y: number): boolean {
    return this.operandIf(x, Op.LNot) === y || this.operandIf(y, Op.LNot) === x;
  }

  /** Whether `symbol` is the operation `op` with `part` as one of its two operands. */
  private contains(symbol: number, part: number, op: number): boolean {
    const d = this.definitions.get(symbol);
    return d !== undefined && d.op === op && (d.x === part || d.y === part);
  }
}

/** What is known at one point: symbols of IR values and truths of Bool symbols, layered over outer points. */
export class Environment {
  private readonly values = new Map<number, number>();
  private readonly facts = new Map<number, number>();
  /** This point and the points around it, innermost first. */
  private readonly layers: readonly Environment[];
  /** Of a point that was kept: the facts of then, its own and those around it. */
  private kept: ReadonlyMap<number, number> | null = null;

  constructor(private readonly algebra: Algebra, outer: Environment | null) {
    this.layers = outer === null ? [this] : [this, ...outer.layers];
  }

  /** A point that starts with everything known here. */
  child(): Environment {
    return new Environment(this.algebra, this);
  }

  /** This point for later: what is learned around it from now on (behind a conditional exit, say) is not known at it. */
  keep(): Environment {
    const copy = new Environment(this.algebra, this);
    const facts = new Map<number, number>();
    for (let k = this.layers.length - 1; k >= 0; k--) {
      const { kept, facts: own } = this.layers[k];
      for (const [symbol, truth] of kept ?? own) facts.set(symbol, truth);
    }
    copy.kept = facts;
    return copy;
  }

  /** The symbol of IR value `id`, facts applied. */
  get(id: number): number {
    let symbol: number | undefined;
    for (const layer of this.layers) {
      symbol = layer.values.get(id);
      if (symbol !== undefined) break;
    }
    return this.algebra.resolve(symbol ?? this.algebra.canonical(id), this.lookup);
  }

  /** Says that IR value `id` is `symbol`. */
  set(id: number, symbol: number): void {
    this.values.set(id, symbol);
  }

  /** Learns that Bool `symbol` is TRUE or FALSE, and what follows for its parts. */
  assume(symbol: number, truth: number): void {
    if (symbol === TRUE || symbol === FALSE) return;
    this.facts.set(symbol, truth);
    const d = this.algebra.definition(symbol);
    if (d === undefined) return;
    if (d.op === Op.LNot) this.assume(d.x, truth === TRUE ? FALSE : TRUE);
    else if ((d.op === Op.LAnd && truth === TRUE) || (d.op === Op.LOr && truth === FALSE)) {
      this.assume(d.x, truth);
      this.assume(d.y, truth);
    }
  }

  /** Takes over what `other`, a child, has learned. */
  adopt(other: Environment): void {
    for (const [symbol, truth] of other.facts) this.facts.set(symbol, truth);
    for (const [id, symbol] of other.values) this.values.set(id, symbol);
  }

  private readonly lookup = (symbol: number): number | undefined => {
    for (const layer of this.layers) {
      const truth = layer.facts.get(symbol) ?? layer.kept?.get(symbol);
      if (truth !== undefined || layer.kept !== null) return truth;
    }
    return undefined;
  };
}
