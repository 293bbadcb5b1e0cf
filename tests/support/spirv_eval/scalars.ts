/**
 * Operations on scalars, as functions of bits (Khronos SPIR-V specification 1.5, sections 3.32.11 to 3.32.16). Where the specification leaves a result
 * undefined, it is {@linkcode POISON}: a number that no program expects.
 *
 * @module
 */
import { convertFloat, floatBits, floatValue, integerToFloat } from "./bits.ts";
import type { SpirvType } from "./parse.ts";

/** Bits of a scalar. */
export type Bits = number | bigint;
/** An operation. */
export type ScalarOperation = (...operands: never[]) => Bits;

/** Result of what is undefined. */
export const POISON = 0xbadc0de5;

/** Bits of an integer or float type; 1 of a bool. */
export function widthOf(type: SpirvType): number {
  if (type.kind === "vector") return widthOf(type.element);
  return type.kind === "int" || type.kind === "float" ? type.bits : 1;
}

/** Poison of a width. */
export function poison(width: number): Bits {
  return width === 64 ? BigInt(POISON) << 32n | BigInt(POISON) : width === 1 ? 1 : POISON % 2 ** width;
}

/** The low bits of an integer. */
export function wrap(value: bigint, width: number): Bits {
  const bits = BigInt.asUintN(width, value);
  return width === 64 ? bits : Number(bits);
}

const signed = (bits: Bits, width: number) => BigInt.asIntN(width, BigInt(bits));
const truth = (value: boolean) => value ? 1 : 0;

/** Makes an operation for the width of its result (`width`) and of its first operand (`from`). */
type Make = (width: number, from: number) => ScalarOperation;

const word = (narrow: (a: number, b: number) => number, wide: (a: bigint, b: bigint) => bigint): Make => (width) =>
  width === 32
    ? (a: number, b: number) => narrow(a, b) >>> 0
    : (a: Bits, b: Bits) => wrap(wide(BigInt(a), BigInt(b)), width);
const shift = (
  narrow: (value: number, by: number) => number,
  wide: (value: bigint, by: bigint, width: number) => bigint,
): Make =>
(width) =>
  width === 32
    ? (a: number, b: number) => b >= 32 ? POISON : narrow(a, b) >>> 0
    : (a: Bits, b: Bits) => BigInt(b) >= BigInt(width) ? poison(width) : wrap(wide(BigInt(a), BigInt(b), width), width);
const compare = (f: (a: Bits, b: Bits) => boolean): Make => () => (a: Bits, b: Bits) => truth(f(a, b));
const compareSigned = (f: (a: bigint, b: bigint) => boolean): Make => (_, from) => (a: Bits, b: Bits) =>
  truth(f(signed(a, from), signed(b, from)));
// A double holds enough bits for the second rounding to be right: 2p + 2 for sums, products, quotients and roots (53 >= 2 * 24 + 2).
const float = (f: (a: number, b: number) => number): Make => (width) => (a: Bits, b: Bits) =>
  floatBits(f(floatValue(a, width), floatValue(b, width)), width);
const compareFloat =
  (f: (a: number, b: number) => boolean, unordered: boolean): Make => (_, from) => (a: Bits, b: Bits) => {
    const x = floatValue(a, from), y = floatValue(b, from);
    return truth(Number.isNaN(x) || Number.isNaN(y) ? unordered : f(x, y));
  };
const toInteger =
  (low: (width: number) => number, high: (width: number) => number): Make => (width, from) => (a: Bits) => {
    const value = Math.trunc(floatValue(a, from));
    return value >= low(width) && value <= high(width) ? wrap(BigInt(value), width) : poison(width);
  };

/** The operations by name. */
export const SCALAR_OPERATIONS: Readonly<Record<string, Make>> = {
  OpIAdd: word((a, b) => a + b, (a, b) => a + b),
  OpISub: word((a, b) => a - b, (a, b) => a - b),
  OpIMul: word((a, b) => Math.imul(a, b), (a, b) => a * b),
  OpUDiv: (width) => (a: Bits, b: Bits) => BigInt(b) === 0n ? poison(width) : wrap(BigInt(a) / BigInt(b), width),
  OpUMod: (width) => (a: Bits, b: Bits) => BigInt(b) === 0n ? poison(width) : wrap(BigInt(a) % BigInt(b), width),
  OpBitwiseAnd: word((a, b) => a & b, (a, b) => a & b),
  OpBitwiseOr: word((a, b) => a | b, (a, b) => a | b),
  OpBitwiseXor: word((a, b) => a ^ b, (a, b) => a ^ b),
  OpNot: (width) => (a: Bits) => wrap(~BigInt(a), width),
  OpShiftLeftLogical: shift((a, b) => a << b, (a, b) => a << b),
  OpShiftRightLogical: shift((a, b) => a >>> b, (a, b) => a >> b),
  OpShiftRightArithmetic: shift((a, b) => a >> b, (a, b, width) => BigInt.asIntN(width, a) >> b),
  OpBitFieldInsert: (width) => (base: Bits, insert: Bits, offset: number, count: number) => {
    if (offset + count > width) return poison(width);
    const mask = ((1n << BigInt(count)) - 1n) << BigInt(offset);
    return wrap(BigInt(base) & ~mask | BigInt(insert) << BigInt(offset) & mask, width);
  },
  OpBitFieldUExtract: (width) => (base: Bits, offset: number, count: number) =>
    offset + count > width ? poison(width) : wrap(BigInt.asUintN(count, BigInt(base) >> BigInt(offset)), width),
  OpBitFieldSExtract: (width) => (base: Bits, offset: number, count: number) =>
    offset + count > width ? poison(width) : wrap(BigInt.asIntN(count, BigInt(base) >> BigInt(offset)), width),
  OpBitReverse: (width) => (a: Bits) =>
    wrap(BigInt("0b" + [...BigInt(a).toString(2).padStart(width, "0")].reverse().join("")), width),
  OpBitCount: () => (a: Bits) => BigInt(a).toString(2).replaceAll("0", "").length,
  OpLogicalAnd: () => (a: number, b: number) => a & b,
  OpLogicalOr: () => (a: number, b: number) => a | b,
  OpLogicalNot: () => (a: number) => 1 - a,
  OpLogicalNotEqual: () => (a: number, b: number) => a ^ b,
  OpIEqual: compare((a, b) => a === b),
  OpINotEqual: compare((a, b) => a !== b),
  OpULessThan: compare((a, b) => a < b),
  OpULessThanEqual: compare((a, b) => a <= b),
  OpUGreaterThanEqual: compare((a, b) => a >= b),
  OpSLessThan: compareSigned((a, b) => a < b),
  OpSLessThanEqual: compareSigned((a, b) => a <= b),
  OpFAdd: float((a, b) => a + b),
  OpFSub: float((a, b) => a - b),
  OpFMul: float((a, b) => a * b),
  OpFDiv: float((a, b) => a / b),
  OpFNegate: (width) => (a: Bits) => wrap(BigInt(a) ^ 1n << BigInt(width - 1), width),
  OpIsNan: (_, from) => (a: Bits) => truth(Number.isNaN(floatValue(a, from))),
  OpFOrdEqual: compareFloat((a, b) => a === b, false),
  OpFUnordEqual: compareFloat((a, b) => a === b, true),
  OpFOrdNotEqual: compareFloat((a, b) => a !== b, false),
  OpFUnordNotEqual: compareFloat((a, b) => a !== b, true),
  OpFOrdLessThan: compareFloat((a, b) => a < b, false),
  OpFUnordLessThan: compareFloat((a, b) => a < b, true),
  OpFOrdGreaterThan: compareFloat((a, b) => a > b, false),
  OpFOrdLessThanEqual: compareFloat((a, b) => a <= b, false),
  OpFUnordLessThanEqual: compareFloat((a, b) => a <= b, true),
  OpFOrdGreaterThanEqual: compareFloat((a, b) => a >= b, false),
  OpConvertFToU: toInteger(() => 0, (width) => 2 ** width - 1),
  OpConvertFToS: toInteger((width) => -(2 ** (width - 1)), (width) => 2 ** (width - 1) - 1),
  OpConvertUToF: (width) => (a: Bits) => integerToFloat(BigInt(a), width),
  OpConvertSToF: (width, from) => (a: Bits) => integerToFloat(signed(a, from), width),
  OpUConvert: (width) => (a: Bits) => wrap(BigInt(a), width),
  OpSConvert: (width, from) => (a: Bits) => wrap(signed(a, from), width),
  OpFConvert: (width, from) => (a: Bits) => convertFloat(a, from, width),
  OpConvertUToPtr: () => (a: bigint) => a,
};

const minmax = (name: "min" | "max"): Make => (width) => (a: Bits, b: Bits) => {
  const x = floatValue(a, width), y = floatValue(b, width);
  return Number.isNaN(x) ? b : Number.isNaN(y) ? a : floatBits(Math[name](x, y), width);
};
const clamp: Make = (width) => {
  const low = minmax("max")(width, width), high = minmax("min")(width, width);
  return (a: Bits, min: Bits, max: Bits) => high(low(a as never, min as never) as never, max as never);
};
const unary = (f: (a: number) => number): Make => (width) => (a: Bits) => floatBits(f(floatValue(a, width)), width);
const choose = (f: (a: bigint, b: bigint) => boolean, isSigned: boolean): Make => (width) => (a: Bits, b: Bits) =>
  (isSigned ? f(signed(a, width), signed(b, width)) : f(BigInt(a), BigInt(b))) ? a : b;

/** To the nearest integer, ties to even. */
function roundEven(value: number): number {
  const down = Math.floor(value), rest = value - down;
  const result = rest < 0.5 || rest === 0.5 && down % 2 === 0 ? down : down + 1;
  return result === 0 ? (Object.is(value, -0) || value < 0 ? -0 : 0) : result;
}

/** Instructions of GLSL.std.450 by number (Khronos "SPIR-V Extended Instructions for GLSL"). */
export const GLSL_OPERATIONS: ReadonlyMap<number, Make> = new Map(
  [
    [2, unary((a) => Number.isFinite(a) ? roundEven(a) : a)],
    [3, unary(Math.trunc)],
    [4, (width) => (a: Bits) => wrap(BigInt(a) & ~(1n << BigInt(width - 1)), width)],
    [8, unary(Math.floor)],
    [9, unary(Math.ceil)],
    [13, unary(Math.sin)],
    [14, unary(Math.cos)],
    [29, unary((a) => 2 ** a)],
    [30, unary(Math.log2)],
    [31, unary(Math.sqrt)],
    [32, unary((a) => 1 / Math.sqrt(a))],
    [38, choose((a, b) => a < b, false)],
    [39, choose((a, b) => a < b, true)],
    [41, choose((a, b) => a > b, false)],
    [42, choose((a, b) => a > b, true)],
    [
      73,
      () => (a: Bits) =>
        BigInt(a) === 0n ? 0xffff_ffff : BigInt(a).toString(2).length - 1 - BigInt(a).toString(2).lastIndexOf("1"),
    ],
    [74, () => (a: number) => a === 0 || a === 0xffff_ffff ? 0xffff_ffff : 31 - Math.clz32(a >= 2 ** 31 ? ~a : a)],
    [75, () => (a: number) => a === 0 ? 0xffff_ffff : 31 - Math.clz32(a)],
    [37, minmax("min")],
    [40, minmax("max")],
    [43, clamp],
    [79, minmax("min")],
    [80, minmax("max")],
    [81, clamp],
  ] satisfies [number, Make][],
);
