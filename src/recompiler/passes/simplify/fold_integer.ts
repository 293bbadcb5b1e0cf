/** Folds of 32-bit integer operations, comparisons and conversions between tags. */
import { InputKind, Op, Type } from "../../ir/ops.ts";
import type { Fold, Folder } from "./folder.ts";

const { U32 } = Type;

/** Both operands constant: the result. */
function constants(compute: (a: number, b: number) => number): Fold {
  return (f, _op, _type, a, b) => f.isConst(a) && f.isConst(b) ? f.u(compute(f.ir.a[a], f.ir.a[b])) : 0;
}

/** The first fold that finds something. */
function first(...folds: readonly Fold[]): Fold {
  return (f, op, type, a, b, c, d) => {
    for (const fold of folds) {
      const found = fold(f, op, type, a, b, c, d);
      if (found !== 0) return found;
    }
    return 0;
  };
}

/** x op (constant) op (constant): one operation. */
function reassociate(combine: (x: number, y: number) => number): Fold {
  return (f, op, type, a, b) => {
    const { ir } = f;
    if (!f.isConst(b) || ir.op[a] !== op || !f.isConst(ir.b[a])) return 0;
    return f.make(op, type, ir.a[a], f.u(combine(ir.a[ir.b[a]], ir.a[b])));
  };
}

/** Unary on a constant. */
function unary(compute: (a: number) => number): Fold {
  return (f, _op, _type, a) => f.isConst(a) ? f.u(compute(f.ir.a[a])) : 0;
}

const shift = (compute: (a: number, b: number) => number): Fold =>
  first(constants(compute), (f, _op, _type, a, b) => f.is(b, 0) || f.is(a, 0) ? a : 0);

function field(signed: boolean): Fold {
  return (f, _op, _type, value, offset, count) => {
    if (f.is(count, 0)) return f.u(0);
    if (f.is(count, 32)) return value;
    if (!f.isConst(offset) || !f.isConst(count)) return 0;
    const o = f.ir.a[offset], n = f.ir.a[count];
    if (f.isConst(value)) {
      const up = f.ir.a[value] << (32 - n - o);
      return f.u(signed ? up >> (32 - n) : up >>> (32 - n));
    }
    if (!signed) {
      const found = withoutOutside(f, value, (2 ** n - 1) << o, (other) =>
        f.make(Op.UBfe, U32, other, offset, count)) ||
        (isShift(f, value, o) ? f.make(Op.And, U32, f.ir.a[value], f.u(2 ** n - 1)) : 0);
      if (found !== 0) return found;
    }
    if (o + n === 32) return f.emit(signed ? Op.Sar : Op.Shr, value, offset);
    return o === 0 && !signed ? f.emit(Op.And, value, f.u(2 ** n - 1)) : 0;
  };
}

function compare(test: (a: number, b: number) => boolean, same: boolean): Fold {
  return (f, _op, _type, a, b) => {
    if (a === b) return f.bool(same);
    return f.isConst(a) && f.isConst(b) ? f.bool(test(f.ir.a[a], f.ir.a[b])) : 0;
  };
}

/** 1 or 0 made from a Bool, compared with 0: the Bool or its opposite. */
function boolean(f: Folder, a: number, b: number, equal: boolean): number {
  const { ir } = f;
  if (!f.is(b, 0) || ir.op[a] !== Op.Select || ir.type[a] !== U32) return 0;
  const whenTrue = ir.b[a], whenFalse = ir.c[a];
  if (!f.isConst(whenTrue) || !f.isConst(whenFalse)) return 0;
  const t = (ir.a[whenTrue] === 0) === equal, e = (ir.a[whenFalse] === 0) === equal;
  return t === e ? f.bool(t) : t ? ir.a[a] : f.not(ir.a[a]);
}

const bitcast = (inverse: number, toFloat: boolean): Fold => (f, _op, _type, a) => {
  if (f.isConst(a)) return toFloat ? f.ir.constF(f.ir.a[a]) : f.u(f.ir.a[a]);
  return f.ir.op[a] === inverse ? f.ir.a[a] : 0;
};

const u = (x: number) => x >>> 0;

/** Bits that a U32 value may have set. */
export function possibleBits(f: Folder, id: number, depth = 0): number {
  const { ir } = f;
  const a = ir.a[id], b = ir.b[id];
  const of = (value: number) => depth < 4 ? possibleBits(f, value, depth + 1) : -1;
  const by = (count: number) => f.isConst(count) ? ir.a[count] & 31 : 0;
  switch (ir.op[id]) {
    case Op.Const:
      return ir.a[id];
    case Op.Input:
      // A workgroup has at most 32 waves.
      return a === InputKind.WaveId ? 31 : -1;
    case Op.And:
      return of(a) & of(b);
    case Op.Or:
    case Op.Xor:
      return of(a) | of(b);
    case Op.Shl:
      return f.isConst(b) ? of(a) << ir.a[b] : -1;
    case Op.UBfe:
      return f.isConst(ir.c[id]) && ir.a[ir.c[id]] < 32 ? 2 ** ir.a[ir.c[id]] - 1 : -1;
    case Op.Shr:
      return -1 >>> by(b);
    default:
      return -1;
  }
}

/** Whether a value is another one shifted left by `amount`. */
function isShift(f: Folder, value: number, amount: number): boolean {
  const { ir } = f;
  return ir.op[value] === Op.Shl && f.isConst(ir.b[value]) && ir.a[ir.b[value]] === amount;
}

/** Where `mask` lets nothing of one side of an Or through: what `make` makes of the other side. */
function withoutOutside(f: Folder, value: number, mask: number, make: (other: number) => number): number {
  const { ir } = f;
  if (ir.op[value] !== Op.Or) return 0;
  const a = ir.a[value], b = ir.b[value];
  if ((possibleBits(f, a) & mask) === 0) return make(b);
  return (possibleBits(f, b) & mask) === 0 ? make(a) : 0;
}
const multiplyHigh = (a: bigint, b: bigint) => Number(BigInt.asIntN(32, (a * b) >> 32n));

/** By operation name. */
export const INTEGER_FOLDS: Readonly<Record<string, Fold>> = {
  IAdd: first(constants((a, b) => a + b), (f, _o, _t, a, b) => f.is(b, 0) ? a : 0, reassociate((x, y) => x + y)),
  ISub: first(constants((a, b) => a - b), (f, _o, _t, a, b) => {
    if (f.is(b, 0)) return a;
    if (a === b) return f.u(0);
    return f.isConst(b) ? f.emit(Op.IAdd, a, f.u(-f.ir.a[b])) : 0;
  }),
  IMul: first(constants(Math.imul), (f, _o, _t, a, b) => f.is(b, 0) ? b : f.is(b, 1) ? a : 0),
  UMulHi: first(
    constants((a, b) => multiplyHigh(BigInt(u(a)), BigInt(u(b)))),
    (f, _o, _t, _a, b) => f.is(b, 0) || f.is(b, 1) ? f.u(0) : 0,
  ),
  SMulHi: constants((a, b) => multiplyHigh(BigInt(a), BigInt(b))),
  And: first(
    constants((a, b) => a & b),
    (f, _o, _t, a, b) => f.is(b, -1) || a === b ? a : f.is(b, 0) ? b : 0,
    // What a mask leaves of a narrow field.
    (f, _o, _t, a, b) => {
      if (!f.isConst(b)) return 0;
      const mask = f.ir.a[b], possible = possibleBits(f, a);
      if ((possible & mask) === 0) return f.u(0);
      return (possible & ~mask) === 0 ? a : withoutOutside(f, a, mask, (other) => f.make(Op.And, U32, other, b));
    },
    reassociate((x, y) => x & y),
  ),
  Or: first(
    constants((a, b) => a | b),
    (f, _o, _t, a, b) => f.is(b, 0) || a === b ? a : f.is(b, -1) ? b : 0,
    reassociate((x, y) => x | y),
  ),
  Xor: first(
    constants((a, b) => a ^ b),
    (f, _o, _t, a, b) => f.is(b, 0) ? a : a === b ? f.u(0) : f.is(b, -1) ? f.emit(Op.Not, a) : 0,
    reassociate((x, y) => x ^ y),
  ),
  Not: first(unary((a) => ~a), (f, _o, _t, a) => f.ir.op[a] === Op.Not ? f.ir.a[a] : 0),
  Shl: shift((a, b) => a << b),
  Shr: shift((a, b) => a >>> b),
  Sar: shift((a, b) => a >> b),
  UMin: constants((a, b) => Math.min(u(a), u(b))),
  UMax: first(constants((a, b) => Math.max(u(a), u(b))), (f, _o, _t, a, b) => f.is(b, 0) || a === b ? a : 0),
  SMin: constants((a, b) => Math.min(a, b)),
  SMax: constants((a, b) => Math.max(a, b)),
  UBfe: field(false),
  SBfe: field(true),
  BitInsert: (f, _o, _t, a, b, offset, count) => {
    const { ir } = f;
    if (!f.isConst(a) || !f.isConst(b)) return 0;
    const mask = (2 ** count - 1) << offset;
    return f.u((ir.a[a] & ~mask) | ((ir.a[b] << offset) & mask));
  },
  BitCount: unary((a) => {
    let count = 0;
    for (let x = a; x !== 0; x &= x - 1) count++;
    return count;
  }),
  FindLsb: unary((a) => a === 0 ? -1 : 31 - Math.clz32(a & -a)),
  FindUMsb: unary((a) => a === 0 ? -1 : 31 - Math.clz32(a)),
  IEq: first(compare((a, b) => a === b, true), (f, _o, _t, a, b) => boolean(f, a, b, true)),
  INe: first(compare((a, b) => a !== b, false), (f, _o, _t, a, b) => boolean(f, a, b, false)),
  ULt: first(compare((a, b) => u(a) < u(b), false), (f, _o, _t, a, b) => {
    if (f.is(b, 0) || f.is(a, -1)) return f.bool(false);
    return f.is(b, 1) ? f.emit(Op.IEq, a, f.u(0)) : 0;
  }),
  ULe: first(compare((a, b) => u(a) <= u(b), true), (f, _o, _t, a, b) => f.is(a, 0) || f.is(b, -1) ? f.bool(true) : 0),
  SLt: compare((a, b) => a < b, false),
  SLe: compare((a, b) => a <= b, true),
  BitcastU: bitcast(Op.BitcastF, false),
  BitcastF: bitcast(Op.BitcastU, true),
};
