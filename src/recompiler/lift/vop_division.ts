/**
 * The steps of correctly rounded division (AMD RDNA2 ISA, section 12.10: V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP).
 *
 * The pseudo code of the document does not divide. What the hardware does was measured by AMD on gfx1100 and gfx1201 (ROCm/rocm-systems, rocjitsu,
 * division.h): V_DIV_SCALE decides by exponent fields; V_DIV_FMAS scales by 2^64 or 2^-64 (f64: 2^128, 2^-128) by the size of its third operand,
 * in the one rounding of the multiply-add, and keeps denormal operands; V_DIV_FIXUP takes a quotient that is no number for an overflow, and keeps a
 * denormal one.
 */
import { type Instruction, Operand } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter, Pair } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { constantDouble, doubleSource, fromPair, movedDouble, toPair, writeDouble } from "./double.ts";
import { extend16, halfBitsSource, halfResult, movedHalf, writeHalf } from "./half.ts";
import { floatSource, movedSource, writeFloat } from "./operands.ts";

/** Adds the handlers of this class. */
export function defineDivision(define: Define): void {
  define("v_div_scale_f32", (l, i) => {
    l.modes.requireRounding32();
    divScale(l, i, SINGLE, [0, 1, 2].map((n) => floatSource(l, i, n)));
  });
  define("v_div_scale_f64", (l, i) => {
    l.modes.requireRounding16And64();
    divScale(l, i, DOUBLE, [0, 1, 2].map((n) => doubleSource(l, i, n)));
  });
  define("v_div_fmas_f32", (l, i) => {
    l.modes.requireRounding32();
    const [a, b, c] = [0, 1, 2].map((n) => l.asF(movedSource(l, i, n)));
    writeFloat(l, i, divFmas(l, SINGLE, Op.FFma, Op.FFmaScaled, a, b, c));
  });
  define("v_div_fmas_f64", (l, i) => {
    l.modes.requireRounding16And64();
    const [a, b, c] = [0, 1, 2].map((n) => fromPair(l, movedDouble(l, i, n)));
    writeDouble(l, i, divFmas(l, DOUBLE, Op.FFma64, Op.FFmaScaled64, a, b, c));
  });
  define("v_div_fixup_f32", (l, i) => {
    const a = l.asU(movedSource(l, i, 0));
    const [b, c] = [1, 2].map((n) => l.asU(l.modes.inspected(floatSource(l, i, n))));
    const format = { sign: 0x80000000, infinity: 0x7f800000, quiet: 0x400000, invalid: 0xffc00000 };
    writeFloat(l, i, l.asF(divFixup(l, format, a, b, c, exponentBelow(l, SINGLE, b, c))), isUnscaled(l, i));
  });
  define("v_div_fixup_f16", (l, i) => {
    const sources = [movedHalf(l, i, 0), halfBitsSource(l, i, 1), halfBitsSource(l, i, 2)];
    const [a, b, c] = sources.map((bits) => extend16(l, bits, false));
    const format = { sign: 0x8000, infinity: 0x7c00, quiet: 0x200, invalid: 0xfe00 };
    writeHalf(l, i, halfResult(l, i, divFixup(l, format, a, b, c, l.false), isUnscaled(l, i)));
  });
  define("v_div_fixup_f64", (l, i) => {
    const fixed = divFixup64(l, movedDouble(l, i, 0), doubleSource(l, i, 1), doubleSource(l, i, 2));
    writeDouble(l, i, fixed, isUnscaled(l, i));
  });
}

/** Whether no output modifier acts; in IEEE mode none does. */
function isUnscaled(l: Lifter, i: Instruction): boolean {
  return i.omod === 0 || l.request.ieee;
}

/** What the steps must know of a format, and how they compute in it. */
interface Format {
  /** Word with sign and exponent. */
  high(l: Lifter, value: number): number;
  readonly exponentAt: number;
  readonly exponentBits: number;
  /** Difference of exponents from which on the quotient is near the largest or smallest number. */
  readonly far: number;
  /** Exponent field of a numerator up to which it counts as tiny. */
  readonly tiny: number;
  /** Exponent of the scale factors. */
  readonly scale: number;
  /** Difference of exponents below which the quotient is zero. */
  readonly underflow: number;
  readonly bias: number;
  /** 2^n. */
  power(l: Lifter, n: number): number;
  readonly multiply: number;
  /** Whether two values have the same bits. */
  same(l: Lifter, a: number, b: number): number;
  nan(l: Lifter): number;
}

const SINGLE: Format = {
  high: (l, value) => l.asU(value),
  exponentAt: 23,
  exponentBits: 8,
  far: 96,
  tiny: 24,
  scale: 64,
  underflow: -150,
  bias: 127,
  power: (l, n) => l.ir.constF((n + 127) << 23),
  multiply: Op.FMul,
  same: (l, a, b) => l.ir.emit(Op.IEq, l.asU(a), l.asU(b)),
  nan: (l) => l.ir.constF(0x7fc00000),
};

const DOUBLE: Format = {
  high: (l, value) => toPair(l, value)[1],
  exponentAt: 20,
  exponentBits: 11,
  far: 768,
  tiny: 53,
  scale: 128,
  underflow: -1075,
  bias: 1023,
  power: (l, n) => constantDouble(l, (n + 1023) << 20),
  multiply: Op.FMul64,
  same: (l, a, b) => l.ir.emit(Op.Ieq64, l.ir.emit(Op.BitcastU64, a), l.ir.emit(Op.BitcastU64, b)),
  nan: (l) => constantDouble(l, 0x7ff80000),
};

function exponentField(l: Lifter, f: Format, value: number): number {
  return l.ir.emit(Op.UBfe, f.high(l, value), l.u(f.exponentAt), l.u(f.exponentBits));
}

/**
 * D = S0, which is the denominator S1 or the numerator S2, scaled where the quotient's steps would otherwise overflow or become denormal; the mask
 * tells V_DIV_FMAS to scale the quotient back.
 */
function divScale(l: Lifter, i: Instruction, f: Format, [value, denominator, numerator]: readonly number[]): void {
  const { ir } = l;
  const zero = f.power === DOUBLE.power ? constantDouble(l, 0) : ir.constF(0);
  const isDenominator = f.same(l, value, denominator);
  const noQuotient = l.or(ir.emit(Op.FOrdEq, denominator, zero), ir.emit(Op.FOrdEq, numerator, zero));
  const denominatorField = exponentField(l, f, denominator), numeratorField = exponentField(l, f, numerator);
  const difference = ir.emit(Op.ISub, numeratorField, denominatorField);
  const large = ir.emit(Op.SLe, l.u(f.far), difference);
  const small = ir.emit(Op.SLe, difference, l.u(-f.far));
  // The first of these that holds decides.
  const cases: readonly (readonly [condition: number, up: number, down: number, scalesBack: number])[] = [
    [large, isDenominator, l.false, l.true],
    [ir.emit(Op.IEq, denominatorField, l.u(0)), l.true, l.false, l.false],
    // Its reciprocal is denormal.
    [
      ir.emit(Op.ULe, l.u(2 * f.bias - 1), denominatorField),
      l.false,
      l.or(l.not(small), isDenominator),
      small,
    ],
    [small, l.not(isDenominator), l.false, l.true],
    [ir.emit(Op.ULe, numeratorField, l.u(f.tiny)), l.true, l.false, l.false],
  ];
  const decide = (column: 1 | 2 | 3) =>
    cases.reduceRight((rest, row) => chooseBool(l, row[0], row[column], rest), l.false);
  const factor = l.select(decide(1), f.power(l, f.scale), l.select(decide(2), f.power(l, -f.scale), f.power(l, 0)));
  const result = l.select(noQuotient, f.nan(l), ir.emit(f.multiply, value, factor));
  const scalesBack = decide(3);
  if (f === DOUBLE) writeDouble(l, i, result);
  else writeFloat(l, i, result);
  l.setMask(i.sdst, scalesBack);
}

/** condition ? a : b, for Bools. */
function chooseBool(l: Lifter, condition: number, a: number, b: number): number {
  if (a === l.true) return l.or(condition, b);
  if (a === l.false) return l.and(l.not(condition), b);
  return l.or(l.and(condition, a), l.and(l.not(condition), b));
}

/** a * b + c with one rounding, scaled where VCC says so: up for a large c, else down. */
function divFmas(l: Lifter, f: Format, plain: number, scaled: number, a: number, b: number, c: number): number {
  const { ir } = l;
  const scales = l.mask(Operand.Vcc);
  // The scaled operation keeps denormal operands even where the device flushes them.
  if (scales === l.false && (f === DOUBLE || !l.modes.deviceFlushes32)) return ir.emit(plain, a, b, c);
  const isLarge = ir.emit(Op.ULt, l.u(f.bias), exponentField(l, f, c));
  const exponent = l.select(scales, l.select(isLarge, l.u(f.scale), l.u(-f.scale)), l.u(0));
  return ir.emit(scaled, a, b, c, exponent);
}

/** Whether the quotient of c and b is too small for any number. */
function exponentBelow(l: Lifter, f: Format, b: number, c: number): number {
  const { ir } = l;
  const difference = ir.emit(Op.ISub, exponentField(l, f, c), exponentField(l, f, b));
  return ir.emit(Op.SLt, difference, l.u(f.underflow));
}

/** Bits of a small format, as numbers. */
interface SmallFormat {
  readonly sign: number;
  readonly infinity: number;
  readonly quiet: number;
  /** 0 / 0. */
  readonly invalid: number;
}

/** The quotient a of numerator c and denominator b, corrected for zeros, infinities, NaNs and underflow; all as bits. */
function divFixup(l: Lifter, f: SmallFormat, a: number, b: number, c: number, underflows: number): number {
  const { ir } = l;
  const sign = ir.emit(Op.And, ir.emit(Op.Xor, b, c), l.u(f.sign));
  const [sizeA, sizeB, sizeC] = [a, b, c].map((id) => ir.emit(Op.And, id, l.u(f.sign - 1)));
  const is = (size: number, bits: number) => ir.emit(Op.IEq, size, l.u(bits));
  const isNan = (size: number) => ir.emit(Op.ULt, l.u(f.infinity), size);
  const quiet = (id: number) => ir.emit(Op.Or, id, l.u(f.quiet));
  const signed = (size: number) => ir.emit(Op.Or, sign, size);
  return cases(l, [
    [isNan(sizeC), () => quiet(c)],
    [isNan(sizeB), () => quiet(b)],
    [
      l.or(l.and(is(sizeB, 0), is(sizeC, 0)), l.and(is(sizeB, f.infinity), is(sizeC, f.infinity))),
      () => l.u(f.invalid),
    ],
    [l.or(is(sizeB, 0), is(sizeC, f.infinity)), () => signed(l.u(f.infinity))],
    [l.or(l.or(is(sizeB, f.infinity), is(sizeC, 0)), underflows), () => sign],
    // Infinite or NaN.
    [ir.emit(Op.ULe, l.u(f.infinity), sizeA), () => signed(l.u(f.infinity))],
  ], () => signed(sizeA));
}

function divFixup64(l: Lifter, quotient: Pair, b: number, c: number): number {
  const { ir } = l;
  const [pairB, pairC] = [b, c].map((id) => toPair(l, id));
  const high = ir.emit(Op.And, quotient[1], l.u(0x7fffffff));
  const sign = ir.emit(Op.And, ir.emit(Op.Xor, pairB[1], pairC[1]), l.u(0x80000000));
  const zero = constantDouble(l, 0), infinity = constantDouble(l, 0x7ff00000);
  const [sizeB, sizeC] = [b, c].map((id) => ir.emit(Op.FAbs64, id));
  const is = (size: number, value: number) => ir.emit(Op.FOrdEq, size, value);
  const quiet = ([low, high]: readonly [number, number]) => fromPair(l, [low, ir.emit(Op.Or, high, l.u(0x80000))]);
  const signed = (lowWord: number, highWord: number) => fromPair(l, [lowWord, ir.emit(Op.Or, sign, highWord)]);
  const overflow = () => signed(l.u(0), l.u(0x7ff00000));
  return cases(l, [
    [ir.emit(Op.FIsNan, c), () => quiet(pairC)],
    [ir.emit(Op.FIsNan, b), () => quiet(pairB)],
    [
      l.or(l.and(is(sizeB, zero), is(sizeC, zero)), l.and(is(sizeB, infinity), is(sizeC, infinity))),
      () => constantDouble(l, 0xfff80000),
    ],
    [l.or(is(sizeB, zero), is(sizeC, infinity)), overflow],
    [
      l.or(l.or(is(sizeB, infinity), is(sizeC, zero)), exponentBelow(l, DOUBLE, b, c)),
      () => signed(l.u(0), l.u(0)),
    ],
    [ir.emit(Op.ULe, l.u(0x7ff00000), high), overflow],
  ], () => signed(quotient[0], high));
}

/** The value of the first case that holds. */
function cases(
  l: Lifter,
  list: readonly (readonly [condition: number, value: () => number])[],
  otherwise: () => number,
): number {
  return list.reduceRight((rest, [condition, value]) => l.select(condition, value(), rest), otherwise());
}
