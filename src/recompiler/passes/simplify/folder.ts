import { FloatFacts } from "../../ir/float_facts.ts";
import type { Ir } from "../../ir/ir.ts";
import { MemoryWidth, Op, OPS, Type } from "../../ir/ops.ts";
import { BOOLEAN_FOLDS } from "./fold_boolean.ts";
import { FLOAT_FOLDS } from "./fold_float.ts";
import { INTEGER_FOLDS } from "./fold_integer.ts";
import { MEMORY_FOLDS } from "./fold_memory.ts";
import { WIDE_FOLDS } from "./fold_wide.ts";

/** Finds a value that equals operation `op` over new values, making at most a few simpler operations; 0 when there is none. */
export type Fold = (f: Folder, op: number, type: Type, a: number, b: number, c: number, d: number) => number;

const FOLDS: (Fold | undefined)[] = OPS.map(({ name }) =>
  INTEGER_FOLDS[name] ?? BOOLEAN_FOLDS[name] ?? FLOAT_FOLDS[name] ?? WIDE_FOLDS[name] ?? MEMORY_FOLDS[name]
);

/** Which operands of each operation are values (1 each), by op * 4 + column. */
export const IS_VALUE = new Uint8Array(OPS.length * 4);
const COMMUTES = new Uint8Array(OPS.length);
/** Pure operations: equal operands give equal results wherever both stand. Loads have rules of their own. */
const IS_PURE = new Uint8Array(OPS.length);
OPS.forEach((row, op) => {
  for (let k = 0; k < row.operands.length; k++) if (row.operands[k] === "v") IS_VALUE[op * 4 + k] = 1;
  COMMUTES[op] = row.commutes ? 1 : 0;
  IS_PURE[op] = row.effect || row.structure || row.name.includes("Phi") || row.name === "Undef" ? 0 : 1;
});

/**
 * Builds an IR with folding and common subexpressions. Scopes follow the control structure: what was made inside an arm is forgotten at its end.
 */
export class Folder {
  readonly floats: FloatFacts;
  /** Hash table of expressions: heads by hash, older entries of the same hash by id. */
  private heads: Int32Array;
  private older: Int32Array;
  private mask: number;
  /** Expressions and facts of open scopes, for undoing. */
  private readonly expressions: number[] = [];
  private readonly factIds: number[] = [];
  private readonly marks: number[] = [];
  /** What is known of Bools here: 0 nothing, 1 true, 2 false. */
  private known: Uint8Array;
  /** Changes where memory may have changed; part of a load's identity. */
  private epoch = 1;

  /**
   * @param ir the program under construction
   * @param size expected number of operations
   * @param thorough also use what conjunctions say of their parts. Passes that look for the masks of branches want those as they were written.
   */
  constructor(readonly ir: Ir, size: number, readonly thorough = false) {
    this.floats = new FloatFacts(ir);
    let slots = 64;
    while (slots < size) slots *= 2;
    this.heads = new Int32Array(slots);
    this.mask = slots - 1;
    this.older = new Int32Array(size + 64);
    this.known = new Uint8Array(size + 64);
  }

  // --- scopes and facts ---

  /** Enters an arm or a loop body. */
  open(): void {
    this.marks.push(this.expressions.length, this.factIds.length);
  }

  /** Leaves it. */
  close(): void {
    const facts = this.marks.pop()!, expressions = this.marks.pop()!;
    while (this.factIds.length > facts) this.known[this.factIds.pop()!] = 0;
    while (this.expressions.length > expressions) {
      const id = this.expressions.pop()!;
      this.heads[this.hashOf(id)] = this.older[id];
    }
  }

  /** Loads after this point do not equal loads before it. */
  memoryChanged(): void {
    this.epoch++;
  }

  /** Learns that a Bool is true or false from here to the end of the scope, and what follows from it. */
  assume(id: number, truth: boolean): void {
    const { ir } = this;
    if (ir.op[id] === Op.Const || this.factOf(id) !== 0) return;
    if (id >= this.known.length) this.known = grown(this.known, new Uint8Array(id * 2));
    this.known[id] = truth ? 1 : 2;
    this.factIds.push(id);
    const op = ir.op[id];
    if (op === Op.LNot) this.assume(ir.a[id], !truth);
    else if (op === Op.LAnd ? truth : op === Op.LOr && !truth) {
      this.assume(ir.a[id], truth);
      this.assume(ir.b[id], truth);
    } else if (op === Op.Any && !truth) this.assume(ir.a[id], false);
  }

  private factOf(id: number): number {
    return id < this.known.length ? this.known[id] : 0;
  }

  /** The value, or the constant that it is known to be here. */
  resolve(id: number): number {
    const fact = this.factOf(id);
    return fact === 0 ? id : this.ir.constB(fact === 1);
  }

  // --- making operations ---

  /** A value that equals the operation. */
  make(op: number, type: Type, a = 0, b = 0, c = 0, d = 0): number {
    const { ir } = this;
    if (COMMUTES[op] === 1 && this.comesLater(a, b)) {
      const swap = a;
      a = b;
      b = swap;
    }
    const fold = FOLDS[op];
    if (fold !== undefined) {
      const folded = fold(this, op, type, a, b, c, d);
      if (folded !== 0) return ir.type[folded] === Type.Bool ? this.resolve(folded) : folded;
    }
    if (IS_PURE[op] === 0) return ir.append(op, type, a, b, c, d);
    if (op === Op.Load || op === Op.LdsLoad) {
      if (c & MemoryWidth.Coherent) return ir.append(op, type, a, b, c, d);
      d = this.epoch;
    }
    const id = this.find(op, type, a, b, c, d);
    return type === Type.Bool ? this.resolve(id) : id;
  }

  /** The operation whose result type the table fixes. */
  emit(op: number, a = 0, b = 0, c = 0): number {
    return this.make(op, OPS[op].result as Type, a, b, c);
  }

  /** Constants to the right, otherwise older values to the left, so that a op b and b op a are one. */
  private comesLater(a: number, b: number): boolean {
    const aConstant = this.ir.op[a] === Op.Const, bConstant = this.ir.op[b] === Op.Const;
    return aConstant === bConstant ? a > b : aConstant;
  }

  private find(op: number, type: Type, a: number, b: number, c: number, d: number): number {
    const { ir } = this;
    const hash = this.hash(op, type, a, b, c, d);
    for (let id = this.heads[hash]; id !== 0; id = this.older[id]) {
      if (
        ir.op[id] === op && ir.type[id] === type && ir.a[id] === a && ir.b[id] === b && ir.c[id] === c && ir.d[id] === d
      ) return id;
    }
    const id = ir.append(op, type, a, b, c, d);
    if (id >= this.older.length) this.older = grown(this.older, new Int32Array(id * 2));
    this.older[id] = this.heads[hash];
    this.heads[hash] = id;
    // What is made outside of all scopes is never forgotten.
    if (this.marks.length > 0) this.expressions.push(id);
    return id;
  }

  private hashOf(id: number): number {
    const { ir } = this;
    return this.hash(ir.op[id], ir.type[id], ir.a[id], ir.b[id], ir.c[id], ir.d[id]);
  }

  private hash(op: number, type: number, a: number, b: number, c: number, d: number): number {
    let h = Math.imul(op * 16 + type, 0x9e3779b1);
    h = Math.imul(h ^ a, 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 15) ^ b, 0xc2b2ae35);
    h = Math.imul(h ^ (h >>> 13) ^ c, 0x27d4eb2f);
    h = Math.imul(h ^ (h >>> 16) ^ d, 0x165667b1);
    return (h ^ (h >>> 15)) & this.mask;
  }

  // --- looking at values ---

  /** Whether the value is a constant. */
  isConst(id: number): boolean {
    return this.ir.op[id] === Op.Const;
  }

  /** Whether the value is the 32-bit constant with these bits. */
  is(id: number, bits: number): boolean {
    return this.ir.op[id] === Op.Const && this.ir.a[id] === (bits | 0);
  }

  /** Whether the value is the Bool constant. */
  isBool(id: number, truth: boolean): boolean {
    return this.ir.op[id] === Op.Const && this.ir.a[id] === (truth ? 1 : 0);
  }

  /** U32 constant. */
  u(bits: number): number {
    return this.ir.constU(bits);
  }

  /** Bool constant. */
  bool(truth: boolean): number {
    return this.ir.constB(truth);
  }

  /** not a. */
  not(a: number): number {
    return this.make(Op.LNot, Type.Bool, a);
  }
}

function grown<T extends Uint8Array | Int32Array>(from: T, to: T): T {
  to.set(from as never);
  return to;
}
