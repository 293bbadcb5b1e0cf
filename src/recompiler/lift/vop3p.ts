/**
 * Packed operations on two halves, dot products, mixed-precision multiply-adds (AMD RDNA2 ISA, section 12.11).
 *
 * op_sel names the half of each source that goes into the low result, op_sel_hi the one for the high result; neg_lo and neg_hi negate them.
 */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import {
  clampHalf,
  extend16,
  flushHalf,
  halfInput,
  halvesSource,
  highHalf,
  joinHalves,
  lowHalf,
  writeHalfFloat,
} from "./half.ts";
import { intSource, writeFloat } from "./operands.ts";
import { refuse } from "./refusal.ts";
import { pickHalf } from "./vop_half.ts";
import { saturate16, subtractUnsigned } from "./vop_int16.ts";

/** Adds the handlers of this class. */
export function definePacked(define: Define): void {
  definePackedFloat(define);
  definePackedInteger(define);
  defineDots(define);
  defineMixed(define);
}

// --- f16 ---

function definePackedFloat(define: Define): void {
  packedFloat(define, "v_pk_add_f16", 2, (l, a, b) => l.ir.emit(Op.HAdd, a, b, 2));
  packedFloat(define, "v_pk_mul_f16", 2, (l, a, b) => l.ir.emit(Op.HMul, a, b, 2));
  packedFloat(define, "v_pk_fma_f16", 3, (l, a, b, c) => l.ir.emit(Op.HFma, a, b, c, 2));
  for (const [name, op] of [["v_pk_min_f16", Op.FMin], ["v_pk_max_f16", Op.FMax]] as const) {
    define(name, (l, i) => {
      const [a, b] = [packedFloatSource(l, i, 0), packedFloatSource(l, i, 1)];
      const low = pickHalf(l, op, lowHalf(l, a), lowHalf(l, b));
      writeHalves(l, i, joinHalves(l, low, pickHalf(l, op, highHalf(l, a), highHalf(l, b))));
    });
  }
  // A 32-bit encoding: halves stay where they are, nothing is negated.
  define("v_pk_fmac_f16", (l, i) => {
    l.modes.requireRounding16And64();
    const inputs = [halvesSource(l, i, 0, true), halvesSource(l, i, 1, true), l.asU(l.source(i.dst))];
    const [a, b, c] = inputs.map((id) => bothHalves(l, id, halfInput));
    writeHalves(l, i, l.ir.emit(Op.HFma, a, b, c, 2));
  });
}

function packedFloat(
  define: Define,
  name: string,
  sources: 2 | 3,
  compute: (l: Lifter, a: number, b: number, c: number) => number,
): void {
  define(name, (l, i) => {
    l.modes.requireRounding16And64();
    const [a, b, c] = [0, 1, 2].map((n) => n < sources ? packedFloatSource(l, i, n) : 0);
    writeHalves(l, i, compute(l, a, b, c));
  });
}

/** Source n with its halves where the result's are, negated, denormals as MODE says. */
function packedFloatSource(l: Lifter, i: Instruction, n: number): number {
  const { ir } = l;
  let bits = packedSource(l, i, n, true);
  const signs = ((i.neg >> n) & 1 ? 0x8000 : 0) | ((i.abs >> n) & 1 ? 0x80000000 : 0);
  if (signs !== 0) bits = ir.emit(Op.Xor, bits, l.u(signs));
  return bothHalves(l, bits, halfInput);
}

/** Source n as a pair of halves, chosen by op_sel and op_sel_hi. */
function packedSource(l: Lifter, i: Instruction, n: number, float: boolean): number {
  const bits = halvesSource(l, i, n, float);
  const low = (i.opSel >> n) & 1, high = (i.opSelHi >> n) & 1;
  if (low === 0 && high === 1) return bits;
  const half = (which: number) => which === 1 ? highHalf(l, bits) : lowHalf(l, bits);
  return joinHalves(l, half(low), half(high));
}

/** Applies a change of one half to both; nothing where it changes nothing. */
function bothHalves(l: Lifter, bits: number, change: (l: Lifter, half: number) => number): number {
  const low = lowHalf(l, bits);
  const changed = change(l, low);
  if (changed === low) return bits;
  return joinHalves(l, changed, change(l, highHalf(l, bits)));
}

/** Writes a pair of f16 results: denormals, clamp. */
function writeHalves(l: Lifter, i: Instruction, bits: number): void {
  let result = l.modes.keepsResults16 ? bits : bothHalves(l, bits, flushHalf);
  if (i.flags & Flag.Clamp) result = bothHalves(l, result, clampHalf);
  l.setVector(i.dst, result);
}

// --- 16-bit integers ---

type HalfCompute = (l: Lifter, a: number, b: number, c: number, clamp: boolean) => number;

function definePackedInteger(define: Define): void {
  const low4 = (l: Lifter, id: number) => l.ir.emit(Op.And, id, l.u(15));
  const modular = (compute: HalfCompute, signed: boolean): HalfCompute => (l, a, b, c, clamp) => {
    const result = compute(l, a, b, c, clamp);
    return clamp ? saturate16(l, result, signed) : result;
  };
  const add: HalfCompute = (l, a, b) => l.ir.emit(Op.IAdd, a, b);
  const subtract: HalfCompute = (l, a, b) => l.ir.emit(Op.ISub, a, b);
  const multiplyAdd: HalfCompute = (l, a, b, c) => l.ir.emit(Op.IAdd, l.ir.emit(Op.IMul, a, b), c);
  const straight = (op: number): HalfCompute => (l, a, b) => l.ir.emit(op, a, b);
  packedInteger(define, "v_pk_add_i16", 2, true, modular(add, true));
  packedInteger(define, "v_pk_sub_i16", 2, true, modular(subtract, true));
  packedInteger(define, "v_pk_mad_i16", 3, true, modular(multiplyAdd, true));
  packedInteger(define, "v_pk_add_u16", 2, false, modular(add, false));
  packedInteger(define, "v_pk_mad_u16", 3, false, modular(multiplyAdd, false));
  packedInteger(define, "v_pk_sub_u16", 2, false, (l, a, b, _c, clamp) => subtractUnsigned(l, a, b, clamp));
  unclamped(define, "v_pk_mul_lo_u16", false, straight(Op.IMul));
  unclamped(define, "v_pk_min_i16", true, straight(Op.SMin));
  unclamped(define, "v_pk_max_i16", true, straight(Op.SMax));
  unclamped(define, "v_pk_min_u16", false, straight(Op.UMin));
  unclamped(define, "v_pk_max_u16", false, straight(Op.UMax));
  unclamped(define, "v_pk_lshlrev_b16", false, (l, a, b) => l.ir.emit(Op.Shl, b, low4(l, a)));
  unclamped(define, "v_pk_lshrrev_b16", false, (l, a, b) => l.ir.emit(Op.Shr, b, low4(l, a)));
  unclamped(define, "v_pk_ashrrev_i16", true, (l, a, b) => l.ir.emit(Op.Sar, b, low4(l, a)));
}

function unclamped(define: Define, name: string, signed: boolean, compute: HalfCompute): void {
  packedInteger(define, name, 2, signed, (l, a, b, c, clamp) => {
    if (clamp) refuse("clamp on this integer operation is not implemented");
    return compute(l, a, b, c, clamp);
  });
}

function packedInteger(define: Define, name: string, sources: 2 | 3, signed: boolean, compute: HalfCompute): void {
  define(name, (l, i) => {
    refuseNegation(i);
    const pairs = [0, 1, 2].map((n) => n < sources ? packedSource(l, i, n, false) : 0);
    const clamp = (i.flags & Flag.Clamp) !== 0;
    const half = (part: (l: Lifter, id: number) => number) => {
      const [a, b, c] = pairs.map((id, n) => n < sources ? extend16(l, part(l, id), signed) : 0);
      return compute(l, a, b, c, clamp);
    };
    l.setVector(i.dst, joinHalves(l, half(lowHalf), half(highHalf)));
  });
}

function refuseNegation(i: Instruction): void {
  if (i.neg !== 0 || i.abs !== 0) refuse("neg_lo or neg_hi on integers");
}

// --- dot products ---

function defineDots(define: Define): void {
  for (
    const [name, bits, signed] of [
      ["v_dot2_i32_i16", 16, true],
      ["v_dot2_u32_u16", 16, false],
      ["v_dot4_i32_i8", 8, true],
      ["v_dot4_u32_u8", 8, false],
      ["v_dot8_i32_i4", 4, true],
      ["v_dot8_u32_u4", 4, false],
    ] as const
  ) {
    define(name, (l, i) => {
      refuseNegation(i);
      if (bits < 16 && (i.opSel !== 0 || (i.opSelHi !== 7 && i.opSelHi !== 0))) {
        refuse("op_sel on a dot product of bytes or nibbles");
      }
      const wide = bits === 16;
      const a = wide ? packedSource(l, i, 0, false) : intBits(l, i, 0);
      const b = wide ? packedSource(l, i, 1, false) : intBits(l, i, 1);
      l.setVector(i.dst, dot(l, a, b, intBits(l, i, 2), bits, signed, (i.flags & Flag.Clamp) !== 0));
    });
  }
  define("v_dot4c_i32_i8", (l, i) => {
    const a = intSource(l, i, 0), b = intSource(l, i, 1);
    l.setVector(i.dst, dot(l, a, b, l.asU(l.source(i.dst)), 8, true, false));
  });
}

function intBits(l: Lifter, i: Instruction, n: number): number {
  return halvesSource(l, i, n, false);
}

/** Sum of the products of the parts, plus c; with clamp saturated to 32 bits, else modulo 2^32. */
function dot(l: Lifter, a: number, b: number, c: number, bits: number, signed: boolean, clamp: boolean): number {
  const { ir } = l;
  if (!clamp) return ir.emit(Op.DotParts, a, b, c, bits | (signed ? 0x100 : 0));
  const part = (id: number, k: number) => ir.emit(signed ? Op.SBfe : Op.UBfe, id, l.u(k * bits), l.u(bits));
  const products = Array.from({ length: 32 / bits }, (_, k) => ir.emit(Op.IMul, part(a, k), part(b, k)));
  // The exact sum needs up to 34 bits.
  const wide = (id: number) => ir.emit(Op.Pack64, id, signed ? ir.emit(Op.Sar, id, l.u(31)) : l.u(0));
  const sum = [...products, c].map(wide).reduce((x, y) => ir.emit(Op.IAdd64, x, y));
  const [low, high] = l.unpack(sum);
  if (!signed) return l.select(ir.emit(Op.INe, high, l.u(0)), l.u(-1), low);
  const fits = ir.emit(Op.IEq, high, ir.emit(Op.Sar, low, l.u(31)));
  const bound = ir.emit(Op.Xor, ir.emit(Op.Sar, high, l.u(31)), l.u(0x7fffffff));
  return l.select(fits, low, bound);
}

// --- mixed precision ---

function defineMixed(define: Define): void {
  define("v_fma_mix_f32", (l, i) => {
    l.modes.requireRounding32();
    const [a, b, c] = [0, 1, 2].map((n) => mixedSource(l, i, n));
    writeFloat(l, i, l.ir.emit(Op.FFma, a, b, c));
  });
  // The exact sum is rounded to f16 once (measured on the hardware by others: 8.4 million sums; rocjitsu computes it so too).
  for (const [name, high] of [["v_fma_mixlo_f16", false], ["v_fma_mixhi_f16", true]] as const) {
    define(name, (l, i) => {
      if (l.modes.truncates16) return writeHalfFloat(l, i, truncatedSum(l, i), high);
      l.modes.requireRounding16And64();
      writeHalfFloat(l, i, i.opSelHi === 7 ? halfSum(l, i) : mixedSum(l, i), high);
    });
  }
}

function halfSum(l: Lifter, i: Instruction): number {
  const { ir } = l;
  const [a, b, c] = [0, 1, 2].map((n) => {
    let bits = mixedHalf(l, i, n);
    if ((i.abs >> n) & 1) bits = ir.emit(Op.And, bits, l.u(0x7fff));
    return (i.neg >> n) & 1 ? ir.emit(Op.Xor, bits, l.u(0x8000)) : bits;
  });
  return ir.emit(Op.HFma, a, b, c, 1);
}

function mixedSum(l: Lifter, i: Instruction): number {
  const { ir } = l;
  const [a, b, c] = [0, 1, 2].map((n) => mixedSource(l, i, n));
  return ir.emit(Op.CvtF2H, ir.emit(Op.FFmaOdd, a, b, c));
}

/** The sum rounded toward zero: rounded to odd in f32 first, which never crosses a number of f16. A sum that f32 cannot hold is no infinity. */
function truncatedSum(l: Lifter, i: Instruction): number {
  const { ir } = l, infinity = ir.constF(0x7f80_0000);
  const sources = [0, 1, 2].map((n) => mixedSource(l, i, n));
  const sum = ir.emit(Op.FFmaOdd, sources[0], sources[1], sources[2]);
  const finite = sources.reduce((all, x) => l.and(all, ir.emit(Op.FOrdLt, ir.emit(Op.FAbs, x), infinity)), l.true);
  const overflows = l.and(finite, ir.emit(Op.FOrdEq, ir.emit(Op.FAbs, sum), infinity));
  const most = ir.emit(Op.Or, ir.emit(Op.And, l.asU(sum), l.u(0x8000_0000 | 0)), l.u(0x7f7f_ffff));
  return ir.emit(Op.CvtF2HRtz, l.asF(l.select(overflows, most, l.asU(sum))));
}

/** Source n, the half that op_sel names, denormals as MODE says. */
function mixedHalf(l: Lifter, i: Instruction, n: number): number {
  // An inline float is the f16 number, in the low half: what compilers count on (Mesa's ACO emits 1.0 with op_sel_hi for an f16 one).
  const bits = halvesSource(l, i, n, true);
  return halfInput(l, (i.opSel >> n) & 1 ? highHalf(l, bits) : lowHalf(l, bits));
}

/** Source n: f32, or with op_sel_hi the half that op_sel names. neg_hi is the absolute value here. */
function mixedSource(l: Lifter, i: Instruction, n: number): number {
  const { ir } = l;
  const operand = n === 0 ? i.src0 : n === 1 ? i.src1 : i.src2;
  const isHalf = (i.opSelHi >> n) & 1;
  let value = isHalf ? ir.emit(Op.CvtH2F, mixedHalf(l, i, n)) : l.asF(l.source(operand));
  if ((i.abs >> n) & 1) value = ir.emit(Op.FAbs, value);
  if ((i.neg >> n) & 1) value = ir.emit(Op.FNeg, value);
  return l.modes.input(value);
}
