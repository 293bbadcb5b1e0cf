/** Folds of f32 operations: only where the result is the same bits whatever MODE and the device do with denormals and NaNs. */
import { isDenormal } from "../../ir/float_facts.ts";
import { Op, Type } from "../../ir/ops.ts";
import { possibleBits } from "./fold_integer.ts";
import type { Fold, Folder } from "./folder.ts";

const view = new DataView(new ArrayBuffer(4));

function valueOf(bits: number): number {
  view.setInt32(0, bits);
  return view.getFloat32(0);
}

function bitsOf(value: number): number {
  view.setFloat32(0, value);
  return view.getInt32(0);
}

/** Value of the f16 number in the low half. */
function halfValue(bits: number): number {
  view.setUint16(0, bits & 0xffff);
  return view.getFloat16(0);
}

/** Not a NaN and no denormal: nothing treats it specially. */
function isPlain(bits: number): boolean {
  return !isDenormal(bits) && !Number.isNaN(valueOf(bits));
}

function constantResult(f: Folder, value: number): number {
  const bits = bitsOf(value);
  return isPlain(bits) ? f.ir.constF(bits) : 0;
}

/** Correctly rounded: for + - * of two f32 the double result rounded once more is. */
const binary = (compute: (a: number, b: number) => number): Fold => (f, _op, _type, a, b) => {
  const { ir } = f;
  if (!f.isConst(a) || !f.isConst(b) || !isPlain(ir.a[a]) || !isPlain(ir.a[b])) return 0;
  return constantResult(f, compute(valueOf(ir.a[a]), valueOf(ir.a[b])));
};

const unary = (compute: (a: number) => number): Fold => (f, _op, _type, a) =>
  f.isConst(a) && isPlain(f.ir.a[a]) ? constantResult(f, compute(valueOf(f.ir.a[a]))) : 0;

const fromInt = (compute: (a: number) => number): Fold => (f, _op, _type, a) =>
  f.isConst(a) ? f.ir.constF(bitsOf(compute(f.ir.a[a]))) : 0;

const toInt = (low: number, high: number): Fold => (f, _op, _type, a) => {
  if (!f.isConst(a)) return 0;
  const value = valueOf(f.ir.a[a]);
  return f.u(Number.isNaN(value) ? 0 : Math.min(Math.max(Math.trunc(value), low), high));
};

const words = new DataView(new ArrayBuffer(8));

function wideValueOf({ ir }: Folder, id: number): number {
  words.setInt32(0, ir.b[id]);
  words.setInt32(4, ir.a[id]);
  return words.getFloat64(0);
}

/** Comparisons of constants: f32 where MODE does not matter; f64 flushing is explicit. */
const compare = (test: (a: number, b: number) => boolean): Fold => (f, _op, _type, a, b) => {
  const { ir } = f;
  if (!f.isConst(a) || !f.isConst(b) || ir.type[a] !== ir.type[b]) return 0;
  if (ir.type[a] === Type.F64) {
    const x = wideValueOf(f, a), y = wideValueOf(f, b);
    return Number.isNaN(x) || Number.isNaN(y) ? 0 : f.bool(test(x, y));
  }
  return isPlain(ir.a[a]) && isPlain(ir.a[b]) ? f.bool(test(valueOf(ir.a[a]), valueOf(ir.a[b]))) : 0;
};

function roundEven(value: number): number {
  if (Math.abs(value) >= 2 ** 23) return value;
  const down = Math.floor(value), rest = value - down;
  const result = rest > 0.5 || (rest === 0.5 && down % 2 !== 0) ? down + 1 : down;
  return result === 0 && (value < 0 || Object.is(value, -0)) ? -0 : result;
}

/** By operation name. */
export const FLOAT_FOLDS: Readonly<Record<string, Fold>> = {
  FAdd: binary((a, b) => a + b),
  FSub: binary((a, b) => a - b),
  FMul: binary((a, b) => a * b),
  FMin: binary(Math.min),
  FMax: binary(Math.max),
  FFloor: unary(Math.floor),
  FCeil: unary(Math.ceil),
  FTrunc: unary(Math.trunc),
  FRndne: unary(roundEven),
  FNeg: (f, _o, _t, a) => f.isConst(a) ? f.ir.constF(f.ir.a[a] ^ 0x80000000) : f.ir.op[a] === Op.FNeg ? f.ir.a[a] : 0,
  FAbs: (f, _o, _t, a) => {
    const { ir } = f;
    if (f.isConst(a)) return ir.constF(ir.a[a] & 0x7fffffff);
    if (ir.op[a] === Op.FAbs) return a;
    return ir.op[a] === Op.FNeg ? f.emit(Op.FAbs, ir.a[a]) : 0;
  },
  FlushDenorm: (f, _o, _t, a) => {
    if (f.isConst(a)) return isDenormal(f.ir.a[a]) ? f.ir.constF(f.ir.a[a] & 0x80000000) : a;
    // A few bits of a register (SDWA) are a denormal always. Drivers find that out too, and then take a product for zero: see Inputs.writeZeros.
    if (f.ir.op[a] === Op.BitcastF && (possibleBits(f, f.ir.a[a]) >>> 0) < 0x800000) return f.ir.constF(0);
    return f.floats.mayBeDenormal(a) ? 0 : a;
  },
  CvtU2F: fromInt((a) => a >>> 0),
  CvtS2F: fromInt((a) => a),
  CvtH2F: (f, _o, _t, a) => {
    const value = f.isConst(a) ? halfValue(f.ir.a[a]) : NaN;
    return Number.isNaN(value) ? 0 : f.ir.constF(bitsOf(value));
  },
  CvtF2U: toInt(0, 0xffffffff),
  CvtF2S: toInt(-0x80000000, 0x7fffffff),
  FIsNan: (f, _o, _t, a) => f.isConst(a) && f.ir.type[a] === Type.F32 ? f.bool(Number.isNaN(valueOf(f.ir.a[a]))) : 0,
  FOrdEq: compare((a, b) => a === b),
  FOrdNe: compare((a, b) => a !== b),
  FOrdLt: compare((a, b) => a < b),
  FOrdLe: compare((a, b) => a <= b),
  FUnordEq: compare((a, b) => a === b),
  FUnordNe: compare((a, b) => a !== b),
  FUnordLt: compare((a, b) => a < b),
  FUnordLe: compare((a, b) => a <= b),
};
