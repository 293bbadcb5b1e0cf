/** Folds of 64-bit operations: mostly addresses, which come as pairs of registers. */
import { Op, Type } from "../../ir/ops.ts";
import type { Fold, Folder } from "./folder.ts";

const { U64, U32 } = Type;

function valueOf(f: Folder, id: number): bigint {
  return (BigInt(f.ir.b[id] >>> 0) << 32n) | BigInt(f.ir.a[id] >>> 0);
}

function constant(f: Folder, value: bigint): number {
  const bits = BigInt.asUintN(64, value);
  return f.make(Op.Const, U64, Number(bits & 0xffffffffn) | 0, Number(bits >> 32n) | 0);
}

const binary = (compute: (a: bigint, b: bigint) => bigint): Fold => (f, _op, _type, a, b) =>
  f.isConst(a) && f.isConst(b) ? constant(f, compute(valueOf(f, a), valueOf(f, b))) : 0;

const compare = (test: (a: bigint, b: bigint) => boolean): Fold => (f, _op, _type, a, b) =>
  f.isConst(a) && f.isConst(b) ? f.bool(test(valueOf(f, a), valueOf(f, b))) : 0;

const shift = (compute: (a: bigint, b: bigint) => bigint): Fold => (f, _op, _type, a, b) => {
  if (f.is(b, 0)) return a;
  return f.isConst(a) && f.isConst(b) ? constant(f, compute(valueOf(f, a), BigInt(f.ir.a[b]))) : 0;
};

const product = (extend: (a: number) => bigint): Fold => (f, _op, _type, a, b) =>
  f.isConst(a) && f.isConst(b) ? constant(f, extend(f.ir.a[a]) * extend(f.ir.a[b])) : 0;

const isZero = (f: Folder, id: number) => f.isConst(id) && f.ir.a[id] === 0 && f.ir.b[id] === 0;

const add: Fold = (f, _op, _type, a, b) => {
  const { ir } = f;
  if (isZero(f, b)) return a;
  if (!f.isConst(b)) return 0;
  if (f.isConst(a)) return constant(f, valueOf(f, a) + valueOf(f, b));
  if (ir.op[a] !== Op.IAdd64 || !f.isConst(ir.b[a])) return 0;
  return f.make(Op.IAdd64, U64, ir.a[a], constant(f, valueOf(f, ir.b[a]) + valueOf(f, b)));
};

/**
 * Two 32-bit additions of which the upper one takes the carry of the lower one are one 64-bit addition:
 * low = x + y, high = (p + q) + (low < x ? 1 : 0).
 */
function addWithCarry(f: Folder, low: number, high: number): number {
  const { ir } = f;
  if (ir.op[low] !== Op.IAdd || ir.op[high] !== Op.IAdd) return 0;
  for (const [sum, carry] of [[ir.a[high], ir.b[high]], [ir.b[high], ir.a[high]]]) {
    if (ir.op[carry] !== Op.Select || !f.is(ir.b[carry], 1) || !f.is(ir.c[carry], 0)) continue;
    const test = ir.a[carry];
    if (ir.op[test] !== Op.ULt || ir.a[test] !== low || (ir.b[test] !== ir.a[low] && ir.b[test] !== ir.b[low])) {
      continue;
    }
    const [p, q] = ir.op[sum] === Op.IAdd ? [ir.a[sum], ir.b[sum]] : [sum, f.u(0)];
    return pairSum(f, ir.a[low], ir.b[low], p, q);
  }
  return 0;
}

/** Of the two ways to pair the halves, the one that puts halves of one 64-bit value together. */
function pairSum(f: Folder, x: number, y: number, p: number, q: number): number {
  const pack = (low: number, high: number) => f.make(Op.Pack64, U64, low, high);
  const joins = belongTogether(f, x, q) || belongTogether(f, y, p);
  const [left, right] = joins ? [pack(x, q), pack(y, p)] : [pack(x, p), pack(y, q)];
  return f.make(Op.IAdd64, U64, left, right);
}

function belongTogether(f: Folder, low: number, high: number): boolean {
  const { ir } = f;
  if (ir.op[low] === Op.Lo64 && ir.op[high] === Op.Hi64) return ir.a[low] === ir.a[high];
  if (ir.op[low] === Op.Extract && ir.op[high] === Op.Extract) {
    return ir.a[low] === ir.a[high] && ir.b[high] === ir.b[low] + 1;
  }
  return ir.op[low] === Op.Input && ir.op[high] === Op.Input && ir.b[high] === ir.b[low] + 1;
}

/** Of a constant: the constant of the other type; of its inverse: what that was made of. */
function bitcast(inverse: number, type: Type): Fold {
  return (f, _op, _type, a) => {
    const { ir } = f;
    if (f.isConst(a)) return f.make(Op.Const, type, ir.a[a], ir.b[a]);
    return ir.op[a] === inverse ? ir.a[a] : 0;
  };
}

/** By operation name. */
export const WIDE_FOLDS: Readonly<Record<string, Fold>> = {
  Pack64: (f, _op, _type, low, high) => {
    const { ir } = f;
    if (f.isConst(low) && f.isConst(high)) return f.make(Op.Const, U64, ir.a[low], ir.a[high]);
    if (ir.op[low] === Op.Lo64 && ir.op[high] === Op.Hi64 && ir.a[low] === ir.a[high]) return ir.a[low];
    return addWithCarry(f, low, high);
  },
  Lo64: (f, _op, _type, a) => f.isConst(a) ? f.u(f.ir.a[a]) : f.ir.op[a] === Op.Pack64 ? f.ir.a[a] : 0,
  Hi64: (f, _op, _type, a) => f.isConst(a) ? f.u(f.ir.b[a]) : f.ir.op[a] === Op.Pack64 ? f.ir.b[a] : 0,
  IAdd64: add,
  ISub64: binary((a, b) => a - b),
  IMul64: binary((a, b) => a * b),
  UMulWide: product((a) => BigInt(a >>> 0)),
  SMulWide: product((a) => BigInt(a)),
  Shl64: shift((a, b) => a << b),
  Shr64: shift((a, b) => a >> b),
  Sar64: shift((a, b) => BigInt.asIntN(64, a) >> b),
  Ieq64: compare((a, b) => a === b),
  Ult64: compare((a, b) => a < b),
  Slt64: compare((a, b) => BigInt.asIntN(64, a) < BigInt.asIntN(64, b)),
  Extract: (f, _op, _type, a, index) => {
    const { ir } = f;
    return ir.op[a] === Op.Vec ? [ir.a[a], ir.b[a], ir.c[a], ir.d[a]][index] : 0;
  },
  BitcastF64: bitcast(Op.BitcastU64, Type.F64),
  BitcastU64: bitcast(Op.BitcastF64, Type.U64),
};

/** Zero of a loadable type (U32 or a vector of it). */
export function zeroOf(f: Folder, type: Type): number {
  const zero = f.u(0);
  return type === U32 ? zero : f.make(Op.Vec, type, zero, zero, type >= Type.V3 ? zero : 0, type >= Type.V4 ? zero : 0);
}
