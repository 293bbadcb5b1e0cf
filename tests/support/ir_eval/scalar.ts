/**
 * What each lane-local operation of the IR computes, on plain values: U32 and F32 are unsigned numbers (the bits), U64 and F64 bigints (the bits).
 * Floats go through double arithmetic: + - * and sqrt of two f32 rounded to double and then to f32 are correctly rounded.
 */
import { AtomicKind } from "../../../src/recompiler/ir/ops.ts";
import { WIDE_OPERATIONS } from "./wide.ts";

const view = new DataView(new ArrayBuffer(8));

/** Value of f32 bits. */
export function f32(bits: number): number {
  view.setUint32(0, bits);
  return view.getFloat32(0);
}

/** f32 bits of a double, rounded to nearest even; every NaN gives 0x7fc00000. */
export function bits32(value: number): number {
  if (Number.isNaN(value)) return 0x7fc00000;
  view.setFloat32(0, value);
  return view.getUint32(0);
}

/** 64-bit pattern from its halves. */
export function join(low: number, high: number): bigint {
  return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
}

/** a * b + c with one rounding to f32. */
export function fma32(a: number, b: number, c: number): number {
  const product = a * b; // exact: 48 significant bits
  const sum = product + c;
  if (!Number.isFinite(sum) || sum === 0) return sum;
  // What the rounding of the double sum lost (two-sum), then round to odd, so that the rounding to f32 sees which side the exact value is on.
  const part = sum - product;
  const lost = (product - (sum - part)) + (c - part);
  if (lost === 0) return Math.fround(sum);
  view.setFloat64(0, sum);
  const bits = view.getBigUint64(0);
  if ((bits & 1n) === 0n) view.setBigUint64(0, (lost > 0) === (sum > 0) ? bits + 1n : bits - 1n);
  return Math.fround(view.getFloat64(0));
}

/** f16 bits of an f32 value. */
export function toHalf(value: number, towardZero: boolean): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = Object.is(value, -0) || value < 0 ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size === Infinity) return sign | 0x7c00;
  // Among the 31744 finite halves, the largest not above `size`.
  let low = 0, high = 0x7c00;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (halfValue(middle) <= size) low = middle;
    else high = middle;
  }
  if (towardZero) return sign | low;
  const below = halfValue(low), above = low + 1 === 0x7c00 ? 65536 : halfValue(low + 1);
  const up = size - below > above - size || (size - below === above - size && (low & 1) === 1);
  return sign | (up ? low + 1 : low);
}

/** Value of a finite or infinite positive half. */
export function halfValue(bits: number): number {
  const exponent = (bits >> 10) & 31, mantissa = bits & 0x3ff;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return mantissa === 0 ? sign * Infinity : NaN;
  return sign * (exponent === 0 ? mantissa * 2 ** -24 : (1024 + mantissa) * 2 ** (exponent - 25));
}

function roundEven(value: number): number {
  if (!Number.isFinite(value) || Math.abs(value) >= 2 ** 52) return value;
  const down = Math.floor(value), distance = value - down;
  const result = distance < 0.5 || (distance === 0.5 && down % 2 === 0) ? down : down + 1;
  return result === 0 ? (value < 0 || Object.is(value, -0) ? -0 : 0) : result;
}

function minMax(a: number, b: number, wantMax: boolean): number {
  const x = f32(a), y = f32(b);
  if (Number.isNaN(x)) return Number.isNaN(y) ? 0x7fc00000 : b;
  if (Number.isNaN(y)) return a;
  return bits32(wantMax ? Math.max(x, y) : Math.min(x, y)); // Math.min and Math.max order -0 before +0
}

function clampInt(value: number, low: number, high: number): number {
  return Number.isNaN(value) ? 0 : Math.min(Math.max(Math.trunc(value), low), high) >>> 0;
}

function flush(bits: number): number {
  return (bits & 0x7f800000) === 0 ? (bits & 0x80000000) >>> 0 : bits;
}

function revolutions(value: number, f: (x: number) => number): number {
  return Number.isFinite(value) ? f((value - Math.floor(value)) * 2 * Math.PI) : NaN;
}

const i32 = (u: number) => u | 0;
const one = (f: (a: number) => number) => ([a]: number[]) => f(a) >>> 0;
const two = (f: (a: number, b: number) => number) => ([a, b]: number[]) => f(a, b) >>> 0;
const float1 = (f: (a: number) => number) => ([a]: number[]) => bits32(f(f32(a)));
const float2 = (f: (a: number, b: number) => number) => ([a, b]: number[]) => bits32(f(f32(a), f32(b)));
const test2 = (f: (a: number, b: number) => boolean) => ([a, b]: number[]) => f(a, b);
const wide = (f: (a: bigint, b: bigint) => bigint) => ([a, b]: bigint[]) => BigInt.asUintN(64, f(a, b));

function number(bits: number | bigint): number {
  if (typeof bits === "number") return f32(bits);
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}
const compare = (f: (a: number, b: number) => boolean) => ([a, b]: (number | bigint)[]) => f(number(a), number(b));
const unordered = (a: number, b: number) => Number.isNaN(a) || Number.isNaN(b);

function signBits(value: number): number {
  // Highest bit that differs from the sign bit.
  const folded = (value < 0 ? ~value : value) >>> 0;
  return folded === 0 ? 0xffffffff : 31 - Math.clz32(folded);
}

/** One function per operation name; operands in order. */
export const OPERATIONS: Record<string, (operands: never[]) => boolean | number | bigint> = {
  IAdd: two((a, b) => a + b),
  ISub: two((a, b) => a - b),
  IMul: two(Math.imul),
  UMulHi: two((a, b) => Number((BigInt(a) * BigInt(b)) >> 32n)),
  SMulHi: two((a, b) => Number((BigInt(i32(a)) * BigInt(i32(b))) >> 32n)),
  And: two((a, b) => a & b),
  Or: two((a, b) => a | b),
  Xor: two((a, b) => a ^ b),
  Not: one((a) => ~a),
  Shl: two((a, b) => a << checkShift(b)),
  Shr: two((a, b) => a >>> checkShift(b)),
  Sar: two((a, b) => i32(a) >> checkShift(b)),
  UMin: two((a, b) => Math.min(a, b)),
  UMax: two((a, b) => Math.max(a, b)),
  SMin: two((a, b) => Math.min(i32(a), i32(b))),
  SMax: two((a, b) => Math.max(i32(a), i32(b))),
  UBfe: ([value, offset, count]: number[]) =>
    Number((BigInt(value) >> BigInt(offset)) & ((1n << BigInt(checkField(offset, count))) - 1n)),
  SBfe: ([value, offset, count]: number[]) =>
    Number(BigInt.asUintN(32, BigInt.asIntN(checkField(offset, count), BigInt(value) >> BigInt(offset)))),
  BitCount: one((a) => a.toString(2).replaceAll("0", "").length),
  BitReverse: one((a) => parseInt([...a.toString(2).padStart(32, "0")].reverse().join(""), 2)),
  FindLsb: one((a) => a === 0 ? -1 : 31 - Math.clz32(a & -a)),
  FindUMsb: one((a) => a === 0 ? -1 : 31 - Math.clz32(a)),
  FindSMsb: one((a) => signBits(i32(a))),
  IEq: test2((a, b) => a === b),
  INe: test2((a, b) => a !== b),
  ULt: test2((a, b) => a < b),
  ULe: test2((a, b) => a <= b),
  SLt: test2((a, b) => i32(a) < i32(b)),
  SLe: test2((a, b) => i32(a) <= i32(b)),
  FOrdEq: compare((a, b) => a === b),
  FOrdNe: compare((a, b) => a < b || a > b),
  FOrdLt: compare((a, b) => a < b),
  FOrdLe: compare((a, b) => a <= b),
  FUnordEq: compare((a, b) => a === b || unordered(a, b)),
  FUnordNe: compare((a, b) => a !== b),
  FUnordLt: compare((a, b) => a < b || unordered(a, b)),
  FUnordLe: compare((a, b) => a <= b || unordered(a, b)),
  FIsNan: ([a]: (number | bigint)[]) => Number.isNaN(number(a)),
  Ieq64: ([a, b]: bigint[]) => a === b,
  Ult64: ([a, b]: bigint[]) => a < b,
  Slt64: ([a, b]: bigint[]) => BigInt.asIntN(64, a) < BigInt.asIntN(64, b),
  LAnd: ([a, b]: boolean[]) => a && b,
  LOr: ([a, b]: boolean[]) => a || b,
  LXor: ([a, b]: boolean[]) => a !== b,
  LNot: ([a]: boolean[]) => !a,
  BitcastU: one((a) => a),
  BitcastF: one((a) => a),
  FAdd: float2((a, b) => a + b),
  FSub: float2((a, b) => a - b),
  FMul: float2((a, b) => a * b),
  FFma: ([a, b, c]: number[]) => bits32(fma32(f32(a), f32(b), f32(c))),
  FMin: two((a, b) => minMax(a, b, false)),
  FMax: two((a, b) => minMax(a, b, true)),
  FNeg: one((a) => a ^ 0x80000000),
  FAbs: one((a) => a & 0x7fffffff),
  FFloor: float1(Math.floor),
  FCeil: float1(Math.ceil),
  FTrunc: float1(Math.trunc),
  FRndne: float1(roundEven),
  FRcp: float1((a) => 1 / a),
  FRsq: float1((a) => 1 / Math.sqrt(a)),
  FSqrt: float1(Math.sqrt),
  FExp2: float1((a) => 2 ** a),
  FLog2: float1(Math.log2),
  FSin: float1((a) => revolutions(a, Math.sin)),
  FCos: float1((a) => revolutions(a, Math.cos)),
  FlushDenorm: one(flush),
  CvtU2F: ([a]: number[]) => bits32(a),
  CvtS2F: ([a]: number[]) => bits32(i32(a)),
  CvtF2U: one((a) => clampInt(f32(a), 0, 0xffffffff)),
  CvtF2S: one((a) => clampInt(f32(a), -0x80000000, 0x7fffffff)),
  CvtF2H: one((a) => toHalf(f32(a), false)),
  CvtF2HRtz: one((a) => toHalf(f32(a), true)),
  CvtH2F: ([a]: number[]) => bits32(halfValue(a & 0xffff)),
  Pack64: ([low, high]: number[]) => join(low, high),
  Lo64: ([a]: bigint[]) => Number(a & 0xffffffffn),
  Hi64: ([a]: bigint[]) => Number(a >> 32n),
  IAdd64: wide((a, b) => a + b),
  ISub64: wide((a, b) => a - b),
  IMul64: wide((a, b) => a * b),
  UMulWide: ([a, b]: number[]) => BigInt(a) * BigInt(b),
  SMulWide: ([a, b]: number[]) => BigInt.asUintN(64, BigInt(i32(a)) * BigInt(i32(b))),
  Shl64: ([a, b]: never[]) => BigInt.asUintN(64, (a as bigint) << BigInt(checkShift(b, 64))),
  Shr64: ([a, b]: never[]) => (a as bigint) >> BigInt(checkShift(b, 64)),
  Sar64: ([a, b]: never[]) => BigInt.asUintN(64, BigInt.asIntN(64, a) >> BigInt(checkShift(b, 64))),
  BitcastF64: ([a]: bigint[]) => a,
  BitcastU64: ([a]: bigint[]) => a,
  ...WIDE_OPERATIONS,
};

/** New memory contents of an atomic operation on 32 or 64 bits. `compare` is the second operand of kinds that have two. */
export function atomic(kind: number, size: 32 | 64, old: bigint, data: bigint, compare: bigint): bigint {
  const signed = (v: bigint) => BigInt.asIntN(size, v);
  const less = (a: bigint, b: bigint) => number(size === 32 ? Number(a) : a) < number(size === 32 ? Number(b) : b);
  switch (kind & AtomicKind.Mask) {
    case AtomicKind.Swap:
      return data;
    case AtomicKind.CmpSwap:
      return old === compare ? data : old;
    case AtomicKind.Add:
      return BigInt.asUintN(size, old + data);
    case AtomicKind.Sub:
      return BigInt.asUintN(size, old - data);
    case AtomicKind.SMin:
      return signed(data) < signed(old) ? data : old;
    case AtomicKind.UMin:
      return data < old ? data : old;
    case AtomicKind.SMax:
      return signed(data) > signed(old) ? data : old;
    case AtomicKind.UMax:
      return data > old ? data : old;
    case AtomicKind.And:
      return old & data;
    case AtomicKind.Or:
      return old | data;
    case AtomicKind.Xor:
      return old ^ data;
    case AtomicKind.Inc:
      return old >= data ? 0n : old + 1n;
    case AtomicKind.Dec:
      return old === 0n || old > data ? data : old - 1n;
    case AtomicKind.FMin:
      return less(data, old) ? data : old;
    case AtomicKind.FMax:
      return less(old, data) ? data : old;
    case AtomicKind.FAdd: {
      const flushed = (bits: bigint) => f32(kind & AtomicKind.FlushInputs ? flush(Number(bits)) : Number(bits));
      const sum = bits32(flushed(old) + flushed(data));
      return BigInt(kind & AtomicKind.FlushResults ? flush(sum) : sum);
    }
    case AtomicKind.RSub:
      return BigInt.asUintN(size, data - old);
    case AtomicKind.MaskOr:
      return (old & ~data) | compare;
    case AtomicKind.Wrap:
      return BigInt.asUintN(size, old >= data ? old - data : old + compare);
    case AtomicKind.SubClamp:
      return old >= data ? old - data : 0n;
    case AtomicKind.FCmpSwap:
      return number(size === 32 ? Number(old) : old) === number(size === 32 ? Number(compare) : compare) ? data : old;
    default:
      throw new Error(`unknown atomic ${kind}`);
  }
}

function checkShift(amount: number, size = 32): number {
  if (amount >= size) throw new Error(`shift amount ${amount} is not below ${size}`);
  return amount;
}

function checkField(offset: number, count: number): number {
  if (offset > 31 || count > 32 || offset + count > 32) throw new Error(`bit field ${offset}+${count} is out of range`);
  return count;
}
