/** Folds of Bool operations and selections. The patterns are those of lane masks: saved and restored EXEC, complements within EXEC. */
import { Op, Type } from "../../ir/ops.ts";
import type { Fold, Folder } from "./folder.ts";

/** Whether a is not b or b is not a. */
function opposite(f: Folder, a: number, b: number): boolean {
  const { ir } = f;
  return (ir.op[a] === Op.LNot && ir.a[a] === b) || (ir.op[b] === Op.LNot && ir.a[b] === a);
}

/** Whether `id` is `op` with `part` as an operand. */
function contains(f: Folder, id: number, op: number, part: number): boolean {
  const { ir } = f;
  return ir.op[id] === op && (ir.a[id] === part || ir.b[id] === part);
}

/** The other operand of a binary operation. */
function other(f: Folder, id: number, part: number): number {
  return f.ir.a[id] === part ? f.ir.b[id] : f.ir.a[id];
}

/** Whether a is, or is a conjunction with, the opposite of b. */
function excludes(f: Folder, a: number, b: number): boolean {
  const { ir } = f;
  return opposite(f, a, b) || (ir.op[a] === Op.LAnd && (opposite(f, ir.a[a], b) || opposite(f, ir.b[a], b)));
}

/** Conjunctions within conjunctions that are looked into, when it is to be thorough; otherwise the two operands only. */
const MOST_DEPTH = 5;

function depthOf(f: Folder): number {
  return f.thorough ? MOST_DEPTH : 1;
}

/** Whether `b` holds wherever `a` does: it is `a`, or a part of the conjunction that `a` is. */
function implies(f: Folder, a: number, b: number, depth = depthOf(f)): boolean {
  const { ir } = f;
  if (a === b) return true;
  // Operands are older than what is made of them.
  if (a < b || depth === 0 || ir.op[a] !== Op.LAnd) return false;
  return implies(f, ir.a[a], b, depth - 1) || implies(f, ir.b[a], b, depth - 1);
}

/** Whether `b` holds nowhere where `a` does. */
function contradicts(f: Folder, a: number, b: number, depth = depthOf(f)): boolean {
  const { ir } = f;
  if (opposite(f, a, b)) return true;
  if (depth === 0 || ir.op[a] !== Op.LAnd) return false;
  return contradicts(f, ir.a[a], b, depth - 1) || contradicts(f, ir.b[a], b, depth - 1);
}

/** Rules that hold with the operands either way round. */
function both(rule: (f: Folder, a: number, b: number) => number): Fold {
  return (f, _op, _type, a, b) => rule(f, a, b) || rule(f, b, a);
}

const and = both((f, a, b) => {
  const { ir } = f;
  if (f.isBool(b, true) || a === b) return a;
  if (f.isBool(b, false) || contradicts(f, a, b)) return f.bool(false);
  if (implies(f, a, b)) return a;
  if (contains(f, a, Op.LOr, b)) return b; // (x | b) & b
  if (f.thorough && ir.op[b] === Op.LAnd) {
    // a & (x & y) where a says x already
    if (implies(f, a, ir.a[b])) return f.make(Op.LAnd, Type.Bool, a, ir.b[b]);
    if (implies(f, a, ir.b[b])) return f.make(Op.LAnd, Type.Bool, a, ir.a[b]);
    if (contradicts(f, a, ir.a[b]) || contradicts(f, a, ir.b[b])) return f.bool(false);
  }
  if (ir.op[a] === Op.LOr && opposite(f, ir.a[a], b)) return f.make(Op.LAnd, Type.Bool, ir.b[a], b); // (!b | x) & b
  if (ir.op[a] === Op.LOr && opposite(f, ir.b[a], b)) return f.make(Op.LAnd, Type.Bool, ir.a[a], b);
  if (ir.op[b] === Op.LNot) {
    const inner = ir.a[b];
    if (ir.op[inner] === Op.LAnd) {
      // a & !(x & y) where a says x already
      if (a === ir.a[inner] || f.thorough && implies(f, a, ir.a[inner])) {
        return f.make(Op.LAnd, Type.Bool, a, f.not(ir.b[inner]));
      }
      if (a === ir.b[inner] || f.thorough && implies(f, a, ir.b[inner])) {
        return f.make(Op.LAnd, Type.Bool, a, f.not(ir.a[inner]));
      }
    }
    if (contains(f, inner, Op.LOr, a)) return f.bool(false); // a & !(a | x)
    // a & !(p & q) where a says !p or !q already
    if (ir.op[inner] === Op.LAnd && (excludes(f, a, ir.a[inner]) || excludes(f, a, ir.b[inner]))) return a;
  }
  return 0;
});

const or = both((f, a, b) => {
  const { ir } = f;
  if (f.isBool(b, false) || a === b) return a;
  if (f.isBool(b, true) || opposite(f, a, b)) return f.bool(true);
  if (contains(f, a, Op.LOr, b)) return a;
  if (contains(f, a, Op.LAnd, b)) return b;
  if (ir.op[a] === Op.LAnd) {
    const [x, y] = [ir.a[a], ir.b[a]];
    if (opposite(f, x, b)) return f.make(Op.LOr, Type.Bool, y, b); // (!b & y) | b
    if (opposite(f, y, b)) return f.make(Op.LOr, Type.Bool, x, b);
    if (ir.op[b] === Op.LAnd) {
      // (x & y) | (x & !y)
      if (contains(f, b, Op.LAnd, x) && opposite(f, y, other(f, b, x))) return x;
      if (contains(f, b, Op.LAnd, y) && opposite(f, x, other(f, b, y))) return y;
    }
  }
  return 0;
});

const xor = both((f, a, b) => {
  if (f.isBool(b, false)) return a;
  if (f.isBool(b, true)) return f.not(a);
  if (a === b) return f.bool(false);
  if (opposite(f, a, b)) return f.bool(true);
  if (contains(f, a, Op.LAnd, b)) return f.make(Op.LAnd, Type.Bool, b, f.not(other(f, a, b))); // (b & x) ^ b
  return 0;
});

const not: Fold = (f, _op, _type, a) => {
  const { ir } = f;
  if (f.isConst(a)) return f.bool(ir.a[a] === 0);
  if (ir.op[a] === Op.LNot) return ir.a[a];
  // Comparisons stay as they are: the mask rules above see complements by their LNot.
  return 0;
};

const select: Fold = (f, _op, type, condition, a, b) => {
  const { ir } = f;
  if (a === b) return a;
  if (f.isConst(condition)) return ir.a[condition] === 1 ? a : b;
  if (ir.op[condition] === Op.LNot) return f.make(Op.Select, type, ir.a[condition], b, a);
  if (ir.op[a] === Op.Select) {
    if (ir.a[a] === condition || f.thorough && implies(f, condition, ir.a[a])) {
      return f.make(Op.Select, type, condition, ir.b[a], b);
    }
    if (f.thorough && contradicts(f, condition, ir.a[a])) return f.make(Op.Select, type, condition, ir.c[a], b);
  }
  if (ir.op[b] === Op.Select && (ir.a[b] === condition || f.thorough && implies(f, ir.a[b], condition))) {
    return f.make(Op.Select, type, condition, a, ir.c[b]);
  }
  if (type !== Type.Bool) return 0;
  if (f.isBool(a, true) || a === condition) return f.make(Op.LOr, Type.Bool, condition, b);
  if (f.isBool(b, false) || b === condition) return f.make(Op.LAnd, Type.Bool, condition, a);
  if (f.isBool(a, false)) return f.make(Op.LAnd, Type.Bool, f.not(condition), b);
  if (f.isBool(b, true)) return f.make(Op.LOr, Type.Bool, f.not(condition), a);
  return 0;
};

/** By operation name. BallotLo and BallotHi of `true` depend on which lanes exist. */
export const BOOLEAN_FOLDS: Readonly<Record<string, Fold>> = {
  LAnd: and,
  LOr: or,
  LXor: xor,
  LNot: not,
  Select: select,
  Any: (f, _o, _t, a) => f.isConst(a) || f.ir.op[a] === Op.Any ? a : 0,
  BallotLo: (f, _o, _t, a) => f.isBool(a, false) ? f.u(0) : 0,
  BallotHi: (f, _o, _t, a) => f.isBool(a, false) ? f.u(0) : 0,
};
