/** Vector integer and bit operations of 32 and 64 bits (AMD RDNA2 ISA, sections 12.7, 12.8, 12.10). */
import { Flag } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { intSource, low24, movedSource, rawSource, writeInt, writeVector } from "./operands.ts";
import { refuse } from "./refusal.ts";
import { extractField, fieldMask, fromTop } from "./sop.ts";

/** Adds the handlers of this class. */
export function defineVectorInteger(define: Define): void {
  defineBitwise(define);
  defineAddMultiply(define);
  defineShiftsAndFields(define);
  defineMinMax(define);
  defineBytes(define);
  defineWide(define);
  defineMoves(define);
}

type Compute = (l: Lifter, a: number, b: number, c: number) => number;

/** D = f(sources) without clamp. */
function integer(define: Define, name: string, sources: 1 | 2 | 3, compute: Compute): void {
  define(name, (l, i) => {
    const a = intSource(l, i, 0);
    const b = sources > 1 ? intSource(l, i, 1) : 0;
    const c = sources > 2 ? intSource(l, i, 2) : 0;
    writeInt(l, i, compute(l, a, b, c));
  });
}

function defineBitwise(define: Define): void {
  integer(define, "v_and_b32", 2, (l, a, b) => l.ir.emit(Op.And, a, b));
  integer(define, "v_or_b32", 2, (l, a, b) => l.ir.emit(Op.Or, a, b));
  integer(define, "v_xor_b32", 2, (l, a, b) => l.ir.emit(Op.Xor, a, b));
  integer(define, "v_xnor_b32", 2, (l, a, b) => l.ir.emit(Op.Not, l.ir.emit(Op.Xor, a, b)));
  integer(define, "v_not_b32", 1, (l, a) => l.ir.emit(Op.Not, a));
  integer(define, "v_and_or_b32", 3, (l, a, b, c) => l.ir.emit(Op.Or, l.ir.emit(Op.And, a, b), c));
  integer(define, "v_or3_b32", 3, (l, a, b, c) => l.ir.emit(Op.Or, l.ir.emit(Op.Or, a, b), c));
  integer(define, "v_xor3_b32", 3, (l, a, b, c) => l.ir.emit(Op.Xor, l.ir.emit(Op.Xor, a, b), c));
  integer(define, "v_bfrev_b32", 1, (l, a) => l.ir.emit(Op.BitReverse, a));
  integer(define, "v_bcnt_u32_b32", 2, (l, a, b) => l.ir.emit(Op.IAdd, l.ir.emit(Op.BitCount, a), b));
  integer(define, "v_ffbl_b32", 1, (l, a) => l.ir.emit(Op.FindLsb, a));
  integer(define, "v_ffbh_u32", 1, (l, a) => fromTop(l, l.ir.emit(Op.FindUMsb, a)));
  integer(define, "v_ffbh_i32", 1, (l, a) => fromTop(l, l.ir.emit(Op.FindSMsb, a)));
  integer(define, "v_bfi_b32", 3, (l, a, b, c) => {
    const { ir } = l;
    return ir.emit(Op.Or, ir.emit(Op.And, a, b), ir.emit(Op.And, ir.emit(Op.Not, a), c));
  });
}

function defineAddMultiply(define: Define): void {
  clamping(define, "v_add_nc_u32", Op.IAdd, false, false);
  clamping(define, "v_sub_nc_u32", Op.ISub, false, false);
  clamping(define, "v_subrev_nc_u32", Op.ISub, true, false);
  clamping(define, "v_add_nc_i32", Op.IAdd, false, true);
  clamping(define, "v_sub_nc_i32", Op.ISub, false, true);
  integer(define, "v_add3_u32", 3, (l, a, b, c) => l.ir.emit(Op.IAdd, l.ir.emit(Op.IAdd, a, b), c));
  integer(define, "v_xad_u32", 3, (l, a, b, c) => l.ir.emit(Op.IAdd, l.ir.emit(Op.Xor, a, b), c));
  integer(define, "v_mul_lo_u32", 2, (l, a, b) => l.ir.emit(Op.IMul, a, b));
  integer(define, "v_mul_lo_i32", 2, (l, a, b) => l.ir.emit(Op.IMul, a, b));
  integer(define, "v_mul_hi_u32", 2, (l, a, b) => l.ir.emit(Op.UMulHi, a, b));
  integer(define, "v_mul_hi_i32", 2, (l, a, b) => l.ir.emit(Op.SMulHi, a, b));
  for (
    const [type, mad, signed, high] of [["u32_u24", "v_mad_u32_u24", false, Op.UMulHi], [
      "i32_i24",
      "v_mad_i32_i24",
      true,
      Op.SMulHi,
    ]] as const
  ) {
    const product = (l: Lifter, op: number, a: number, b: number) =>
      l.ir.emit(op, low24(l, a, signed), low24(l, b, signed));
    integer(define, `v_mul_${type}`, 2, (l, a, b) => product(l, Op.IMul, a, b));
    integer(define, `v_mul_hi_${type}`, 2, (l, a, b) => product(l, high, a, b));
    integer(define, mad, 3, (l, a, b, c) => l.ir.emit(Op.IAdd, product(l, Op.IMul, a, b), c));
  }
  for (const [name, wrapped] of [["v_sad_u32", Op.ISub]] as const) {
    integer(define, name, 3, (l, a, b, c) => {
      const { ir } = l;
      return ir.emit(Op.IAdd, ir.emit(wrapped, ir.emit(Op.UMax, a, b), ir.emit(Op.UMin, a, b)), c);
    });
  }
}

/** Addition or subtraction; with clamp it saturates instead of wrapping. */
function clamping(define: Define, name: string, op: number, reversed: boolean, signed: boolean): void {
  define(name, (l, i) => {
    const { ir } = l;
    const x = intSource(l, i, 0), y = intSource(l, i, 1);
    const [a, b] = reversed ? [y, x] : [x, y];
    const result = ir.emit(op, a, b);
    if ((i.flags & Flag.Clamp) === 0) return writeVector(l, i, result);
    if (!signed) {
      const wraps = op === Op.IAdd ? ir.emit(Op.ULt, result, a) : ir.emit(Op.ULt, a, b);
      return writeVector(l, i, l.select(wraps, l.u(op === Op.IAdd ? -1 : 0), result));
    }
    const change = ir.emit(Op.Xor, a, result);
    const wraps = ir.emit(Op.And, change, ir.emit(Op.Xor, op === Op.IAdd ? b : a, op === Op.IAdd ? result : b));
    const bound = ir.emit(Op.Xor, ir.emit(Op.Sar, result, l.u(31)), l.u(0x80000000));
    writeVector(l, i, l.select(ir.emit(Op.SLt, wraps, l.u(0)), bound, result));
  });
}

function defineShiftsAndFields(define: Define): void {
  const low5 = (l: Lifter, a: number) => l.ir.op[a] === Op.Const ? l.u(l.ir.a[a] & 31) : l.ir.emit(Op.And, a, l.u(31));
  integer(define, "v_lshlrev_b32", 2, (l, a, b) => l.ir.emit(Op.Shl, b, low5(l, a)));
  integer(define, "v_lshrrev_b32", 2, (l, a, b) => l.ir.emit(Op.Shr, b, low5(l, a)));
  integer(define, "v_ashrrev_i32", 2, (l, a, b) => l.ir.emit(Op.Sar, b, low5(l, a)));
  integer(define, "v_lshl_add_u32", 3, (l, a, b, c) => l.ir.emit(Op.IAdd, l.ir.emit(Op.Shl, a, low5(l, b)), c));
  integer(define, "v_add_lshl_u32", 3, (l, a, b, c) => l.ir.emit(Op.Shl, l.ir.emit(Op.IAdd, a, b), low5(l, c)));
  integer(define, "v_lshl_or_b32", 3, (l, a, b, c) => l.ir.emit(Op.Or, l.ir.emit(Op.Shl, a, low5(l, b)), c));
  integer(define, "v_bfm_b32", 2, (l, a, b) => fieldMask(l, low5(l, a), low5(l, b)));
  integer(define, "v_bfe_u32", 3, (l, a, b, c) => extractField(l, Op.UBfe, a, low5(l, b), low5(l, c)));
  integer(define, "v_bfe_i32", 3, (l, a, b, c) => extractField(l, Op.SBfe, a, low5(l, b), low5(l, c)));
  // {S0, S1} >> S2[4:0], low 32 bits: the two-step left shift keeps a shift by 0 from being one by 32.
  const align = (l: Lifter, a: number, b: number, amount: number) => {
    const { ir } = l;
    const rest = ir.emit(Op.Xor, amount, l.u(31));
    return ir.emit(Op.Or, ir.emit(Op.Shr, b, amount), ir.emit(Op.Shl, ir.emit(Op.Shl, a, l.u(1)), rest));
  };
  integer(define, "v_alignbit_b32", 3, (l, a, b, c) => align(l, a, b, low5(l, c)));
  integer(define, "v_alignbyte_b32", 3, (l, a, b, c) => {
    const amount = l.ir.emit(Op.Shl, l.ir.emit(Op.And, c, l.u(3)), l.u(3));
    return align(l, a, b, amount);
  });
}

function defineMinMax(define: Define): void {
  for (const [type, min, max] of [["u32", Op.UMin, Op.UMax], ["i32", Op.SMin, Op.SMax]] as const) {
    integer(define, `v_min_${type}`, 2, (l, a, b) => l.ir.emit(min, a, b));
    integer(define, `v_max_${type}`, 2, (l, a, b) => l.ir.emit(max, a, b));
    integer(define, `v_min3_${type}`, 3, (l, a, b, c) => l.ir.emit(min, l.ir.emit(min, a, b), c));
    integer(define, `v_max3_${type}`, 3, (l, a, b, c) => l.ir.emit(max, l.ir.emit(max, a, b), c));
    integer(define, `v_med3_${type}`, 3, (l, a, b, c) => {
      const { ir } = l;
      return ir.emit(max, ir.emit(min, a, b), ir.emit(min, ir.emit(max, a, b), c));
    });
  }
  const clampTo = (l: Lifter, id: number, low: number, high: number) =>
    l.ir.emit(Op.SMin, l.ir.emit(Op.SMax, id, l.u(low)), l.u(high));
  integer(define, "v_cvt_pk_u16_u32", 2, (l, a, b) => {
    const part = (id: number) => l.ir.emit(Op.UMin, id, l.u(0xffff));
    return l.ir.emit(Op.Or, part(a), l.ir.emit(Op.Shl, part(b), l.u(16)));
  });
  integer(define, "v_cvt_pk_i16_i32", 2, (l, a, b) => {
    const part = (id: number) => clampTo(l, id, -0x8000, 0x7fff);
    return l.ir.emit(Op.Or, l.ir.emit(Op.And, part(a), l.u(0xffff)), l.ir.emit(Op.Shl, part(b), l.u(16)));
  });
}

function defineBytes(define: Define): void {
  const byte = (l: Lifter, id: number, k: number) => l.ir.emit(Op.UBfe, id, l.u(k * 8), l.u(8));
  const distance = (l: Lifter, a: number, b: number) =>
    l.ir.emit(Op.ISub, l.ir.emit(Op.UMax, a, b), l.ir.emit(Op.UMin, a, b));
  const sum = (l: Lifter, ids: number[]) => ids.reduce((x, y) => l.ir.emit(Op.IAdd, x, y));
  const sad8 = (l: Lifter, a: number, b: number) =>
    sum(l, [0, 1, 2, 3].map((k) => distance(l, byte(l, a, k), byte(l, b, k))));
  integer(define, "v_sad_u8", 3, (l, a, b, c) => l.ir.emit(Op.IAdd, sad8(l, a, b), c));
  integer(define, "v_sad_hi_u8", 3, (l, a, b, c) => l.ir.emit(Op.IAdd, l.ir.emit(Op.Shl, sad8(l, a, b), l.u(16)), c));
  integer(define, "v_sad_u16", 3, (l, a, b, c) => {
    const half = (id: number, k: number) => l.ir.emit(Op.UBfe, id, l.u(k * 16), l.u(16));
    return sum(l, [distance(l, half(a, 0), half(b, 0)), distance(l, half(a, 1), half(b, 1)), c]);
  });
  // Bytes whose reference S1 is 0 do not count.
  integer(define, "v_msad_u8", 3, (l, a, b, c) => {
    const parts = [0, 1, 2, 3].map((k) => {
      const reference = byte(l, b, k);
      return l.select(l.ir.emit(Op.IEq, reference, l.u(0)), l.u(0), distance(l, byte(l, a, k), reference));
    });
    return sum(l, [...parts, c]);
  });
  integer(define, "v_lerp_u8", 3, (l, a, b, c) => {
    const { ir } = l;
    const parts = [0, 1, 2, 3].map((k) => {
      const round = ir.emit(Op.UBfe, c, l.u(k * 8), l.u(1));
      const average = ir.emit(Op.Shr, sum(l, [byte(l, a, k), byte(l, b, k), round]), l.u(1));
      return ir.emit(Op.Shl, average, l.u(k * 8));
    });
    return parts.reduce((x, y) => ir.emit(Op.Or, x, y));
  });
  integer(define, "v_perm_b32", 3, (l, a, b, c) => {
    const parts = [0, 1, 2, 3].map((k) => l.ir.emit(Op.Shl, permuteByte(l, a, b, byte(l, c, k)), l.u(k * 8)));
    return parts.reduce((x, y) => l.ir.emit(Op.Or, x, y));
  });
}

/**
 * Byte of {S0, S1} that a selector of v_perm_b32 names: 0..3 bytes of S1, 4..7 bytes of S0, 8..11 the sign of S1[15], S1[31], S0[15], S0[31]
 * spread over the byte, 12 zero, above 0xff (AMD RDNA2 ISA, V_PERM_B32).
 */
function permuteByte(l: Lifter, a: number, b: number, selector: number): number {
  const { ir } = l;
  const fromA = ir.emit(Op.INe, ir.emit(Op.And, selector, l.u(4)), l.u(0));
  const signFromA = ir.emit(Op.INe, ir.emit(Op.And, selector, l.u(2)), l.u(0));
  const shift = ir.emit(Op.Shl, ir.emit(Op.And, selector, l.u(3)), l.u(3));
  const plain = ir.emit(Op.And, ir.emit(Op.Shr, l.select(fromA, a, b), shift), l.u(0xff));
  const signShift = ir.emit(Op.Or, ir.emit(Op.Shl, ir.emit(Op.And, selector, l.u(1)), l.u(4)), l.u(15));
  const signBit = ir.emit(Op.And, ir.emit(Op.Shr, l.select(signFromA, a, b), signShift), l.u(1));
  const sign = l.select(ir.emit(Op.INe, signBit, l.u(0)), l.u(0xff), l.u(0));
  const special = l.select(ir.emit(Op.IEq, selector, l.u(12)), l.u(0), l.u(0xff));
  const upper = l.select(ir.emit(Op.ULt, selector, l.u(12)), sign, special);
  return l.select(ir.emit(Op.ULt, selector, l.u(8)), plain, upper);
}

function defineWide(define: Define): void {
  for (
    const [name, op] of [["v_lshlrev_b64", Op.Shl64], ["v_lshrrev_b64", Op.Shr64], ["v_ashrrev_i64", Op.Sar64]] as const
  ) {
    define(name, (l, i) => {
      const amount = l.ir.emit(Op.And, intSource(l, i, 0), l.u(63));
      const value = l.pack(l.sourcePair(i.src1, name === "v_ashrrev_i64" ? "sign" : "zero"));
      l.setVectors(i.dst, l.unpack(l.ir.emit(op, value, amount)));
    });
  }
}

function defineMoves(define: Define): void {
  define("v_mov_b32", (l, i) => {
    if ((i.neg | i.abs) & 1) refuse("a float modifier (neg, abs) on v_mov_b32");
    if (i.flags & Flag.Clamp || i.omod !== 0) refuse("clamp or an output modifier on v_mov_b32");
    writeVector(l, i, rawSource(l, i, 0));
  });
  define("v_cndmask_b32", (l, i) => {
    if (i.flags & Flag.Clamp || i.omod !== 0) refuse("clamp or an output modifier on v_cndmask_b32");
    const condition = l.mask(i.src2);
    writeVector(l, i, l.select(condition, movedSource(l, i, 1), movedSource(l, i, 0)));
  });
  define("v_swap_b32", (l, i) => {
    const a = l.source(i.dst), b = l.source(i.src0);
    l.setVector(i.dst, b);
    l.setVector(i.src0, a);
  });
}
