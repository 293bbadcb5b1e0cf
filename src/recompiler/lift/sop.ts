/** Scalar arithmetic: SOP1, SOP2, SOPK and SOPC without the bitwise operations (see sop_logic.ts). AMD RDNA2 ISA, sections 12.1 to 12.4. */
import { type Instruction, Operand } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter, Pair } from "./context.ts";
import type { Define } from "./dispatch.ts";

/** Adds the handlers of this class. */
export function defineScalarArithmetic(define: Define): void {
  defineAdd(define);
  defineMinMax(define);
  defineShifts(define);
  defineFields(define);
  defineMultiply(define);
  defineBitSearch(define);
  defineCompare(define);
  defineMisc(define);
}

type Binary = (l: Lifter, a: number, b: number) => number;

/** D = f(S0, S1), and SCC = D != 0 where asked. */
function binary(define: Define, name: string, compute: Binary, setsScc: boolean): void {
  define(name, (l, i) => {
    const result = compute(l, l.scalar(i.src0), l.scalar(i.src1));
    l.setScalar(i.dst, result);
    if (setsScc) l.scc = notZero(l, result);
  });
}

function notZero(l: Lifter, id: number): number {
  return l.ir.emit(Op.INe, id, l.u(0));
}

function defineAdd(define: Define): void {
  define("s_add_u32", (l, i) => {
    const a = l.scalar(i.src0), b = l.scalar(i.src1);
    const sum = l.ir.emit(Op.IAdd, a, b);
    l.setScalar(i.dst, sum);
    l.scc = l.ir.emit(Op.ULt, sum, a);
  });
  define("s_sub_u32", (l, i) => {
    const a = l.scalar(i.src0), b = l.scalar(i.src1);
    l.setScalar(i.dst, l.ir.emit(Op.ISub, a, b));
    l.scc = l.ir.emit(Op.ULt, a, b);
  });
  define("s_add_i32", (l, i) => addSigned(l, i.dst, l.scalar(i.src0), l.scalar(i.src1)));
  define("s_addk_i32", (l, i) => addSigned(l, i.dst, l.scalar(i.dst), l.u(i.imm)));
  define("s_sub_i32", (l, i) => {
    const { ir } = l;
    const a = l.scalar(i.src0), b = l.scalar(i.src1);
    const result = ir.emit(Op.ISub, a, b);
    l.setScalar(i.dst, result);
    l.scc = ir.emit(Op.SLt, ir.emit(Op.And, ir.emit(Op.Xor, a, b), ir.emit(Op.Xor, a, result)), l.u(0));
  });
  define("s_addc_u32", (l, i) => {
    const { ir } = l;
    const a = l.scalar(i.src0), b = l.scalar(i.src1), carry = l.boolToU(l.scc);
    const part = ir.emit(Op.IAdd, a, b);
    const sum = ir.emit(Op.IAdd, part, carry);
    l.setScalar(i.dst, sum);
    l.scc = l.or(ir.emit(Op.ULt, part, a), ir.emit(Op.ULt, sum, part));
  });
  define("s_subb_u32", (l, i) => {
    const { ir } = l;
    const a = l.scalar(i.src0), b = l.scalar(i.src1), borrow = l.boolToU(l.scc);
    const part = ir.emit(Op.ISub, a, b);
    l.setScalar(i.dst, ir.emit(Op.ISub, part, borrow));
    l.scc = l.or(ir.emit(Op.ULt, a, b), ir.emit(Op.ULt, part, borrow));
  });
  binary(define, "s_absdiff_i32", (l, a, b) => absolute(l, l.ir.emit(Op.ISub, a, b)), true);
  define("s_abs_i32", (l, i) => {
    const result = absolute(l, l.scalar(i.src0));
    l.setScalar(i.dst, result);
    l.scc = notZero(l, result);
  });
  for (const shift of [1, 2, 3, 4]) {
    define(`s_lshl${shift}_add_u32`, (l, i) => {
      const { ir } = l;
      const a = l.scalar(i.src0), b = l.scalar(i.src1);
      const sum = ir.emit(Op.IAdd, ir.emit(Op.Shl, a, l.u(shift)), b);
      l.setScalar(i.dst, sum);
      // The sum is taken in more than 32 bits: bits that the shift pushes out count as carry.
      l.scc = l.or(notZero(l, ir.emit(Op.Shr, a, l.u(32 - shift))), ir.emit(Op.ULt, sum, b));
    });
  }
}

function addSigned(l: Lifter, to: number, a: number, b: number): void {
  const { ir } = l;
  const sum = ir.emit(Op.IAdd, a, b);
  l.setScalar(to, sum);
  l.scc = ir.emit(Op.SLt, ir.emit(Op.And, ir.emit(Op.Xor, a, sum), ir.emit(Op.Xor, b, sum)), l.u(0));
}

function absolute(l: Lifter, id: number): number {
  return l.ir.emit(Op.SMax, id, l.ir.emit(Op.ISub, l.u(0), id));
}

function defineMinMax(define: Define): void {
  // SCC says whether the first operand was taken. In a tie of s_min the second one is, in a tie of s_max the first one (AMD's machine-readable
  // RDNA2 ISA: S_MIN "SCC = S0 < S1", S_MAX "SCC = S0 >= S1").
  for (
    const [type, min, max, less] of [["u32", Op.UMin, Op.UMax, Op.ULt], ["i32", Op.SMin, Op.SMax, Op.SLt]] as const
  ) {
    define(`s_min_${type}`, (l, i) => {
      const a = l.scalar(i.src0), b = l.scalar(i.src1);
      l.setScalar(i.dst, l.ir.emit(min, a, b));
      l.scc = l.ir.emit(less, a, b);
    });
    define(`s_max_${type}`, (l, i) => {
      const a = l.scalar(i.src0), b = l.scalar(i.src1);
      l.setScalar(i.dst, l.ir.emit(max, a, b));
      l.scc = l.not(l.ir.emit(less, a, b));
    });
  }
}

function defineShifts(define: Define): void {
  const low5 = (l: Lifter, b: number) => l.ir.emit(Op.And, b, l.u(31));
  const low6 = (l: Lifter, b: number) => l.ir.emit(Op.And, b, l.u(63));
  binary(define, "s_lshl_b32", (l, a, b) => l.ir.emit(Op.Shl, a, low5(l, b)), true);
  binary(define, "s_lshr_b32", (l, a, b) => l.ir.emit(Op.Shr, a, low5(l, b)), true);
  binary(define, "s_ashr_i32", (l, a, b) => l.ir.emit(Op.Sar, a, low5(l, b)), true);
  binary(define, "s_bfm_b32", (l, a, b) => fieldMask(l, low5(l, a), low5(l, b)), false);
  for (const [name, op] of [["s_lshl_b64", Op.Shl64], ["s_lshr_b64", Op.Shr64], ["s_ashr_i64", Op.Sar64]] as const) {
    define(name, (l, i) => {
      const value = l.pack(l.scalarPair(i.src0, name === "s_ashr_i64" ? "sign" : "zero"));
      setWide(l, i, l.ir.emit(op, value, low6(l, l.scalar(i.src1))), true);
    });
  }
  define("s_bfm_b64", (l, i) => {
    const { ir } = l;
    const one = l.pack([l.u(1), l.u(0)]);
    const ones = ir.emit(Op.ISub64, ir.emit(Op.Shl64, one, low6(l, l.scalar(i.src0))), one);
    setWide(l, i, ir.emit(Op.Shl64, ones, low6(l, l.scalar(i.src1))), false);
  });
}

/** ((1 << count) - 1) << offset. */
export function fieldMask(l: Lifter, count: number, offset: number): number {
  const { ir } = l;
  return ir.emit(Op.Shl, ir.emit(Op.ISub, ir.emit(Op.Shl, l.u(1), count), l.u(1)), offset);
}

function setWide(l: Lifter, i: Instruction, id: number, setsScc: boolean): void {
  const pair = l.unpack(id);
  l.setPair(i.dst, pair);
  if (setsScc) l.scc = l.pairNotZero(pair);
}

function defineFields(define: Define): void {
  for (const [name, op] of [["s_bfe_u32", Op.UBfe], ["s_bfe_i32", Op.SBfe]] as const) {
    binary(define, name, (l, a, b) => {
      const offset = l.ir.emit(Op.And, b, l.u(31));
      return extractField(l, op, a, offset, l.ir.emit(Op.UBfe, b, l.u(16), l.u(7)));
    }, true);
  }
  define("s_bfe_u64", (l, i) => wideField(l, i, Op.Shr64));
  define("s_bfe_i64", (l, i) => wideField(l, i, Op.Sar64));
  for (const [bits, width] of [["i8", 8], ["i16", 16]] as const) {
    define(
      `s_sext_i32_${bits}`,
      (l, i) => l.setScalar(i.dst, l.ir.emit(Op.SBfe, l.scalar(i.src0), l.u(0), l.u(width))),
    );
  }
  const low16 = (l: Lifter, a: number) => l.ir.emit(Op.And, a, l.u(0xffff));
  const high16 = (l: Lifter, a: number) => l.ir.emit(Op.And, a, l.u(0xffff0000));
  binary(define, "s_pack_ll_b32_b16", (l, a, b) => l.ir.emit(Op.Or, low16(l, a), l.ir.emit(Op.Shl, b, l.u(16))), false);
  binary(define, "s_pack_lh_b32_b16", (l, a, b) => l.ir.emit(Op.Or, low16(l, a), high16(l, b)), false);
  binary(
    define,
    "s_pack_hh_b32_b16",
    (l, a, b) => l.ir.emit(Op.Or, l.ir.emit(Op.Shr, a, l.u(16)), high16(l, b)),
    false,
  );
}

/** Bit field that may reach past bit 31: there it ends. */
export function extractField(l: Lifter, op: number, value: number, offset: number, count: number): number {
  const { ir } = l;
  return ir.emit(op, value, offset, ir.emit(Op.UMin, count, ir.emit(Op.ISub, l.u(32), offset)));
}

function wideField(l: Lifter, i: Instruction, shiftRight: number): void {
  const { ir } = l;
  const value = l.pack(l.scalarPair(i.src0, shiftRight === Op.Sar64 ? "sign" : "zero"));
  const control = l.scalar(i.src1);
  const shifted = ir.emit(shiftRight, value, ir.emit(Op.And, control, l.u(63)));
  const count = ir.emit(Op.UMin, ir.emit(Op.UBfe, control, l.u(16), l.u(7)), l.u(64));
  const spare = ir.emit(Op.And, ir.emit(Op.ISub, l.u(64), count), l.u(63));
  const field = l.unpack(ir.emit(shiftRight, ir.emit(Op.Shl64, shifted, spare), spare));
  const empty = ir.emit(Op.IEq, count, l.u(0));
  const pair: Pair = [l.select(empty, l.u(0), field[0]), l.select(empty, l.u(0), field[1])];
  l.setPair(i.dst, pair);
  l.scc = l.pairNotZero(pair);
}

function defineMultiply(define: Define): void {
  binary(define, "s_mul_i32", (l, a, b) => l.ir.emit(Op.IMul, a, b), false);
  binary(define, "s_mul_hi_u32", (l, a, b) => l.ir.emit(Op.UMulHi, a, b), false);
  binary(define, "s_mul_hi_i32", (l, a, b) => l.ir.emit(Op.SMulHi, a, b), false);
  define("s_mulk_i32", (l, i) => l.setScalar(i.dst, l.ir.emit(Op.IMul, l.scalar(i.dst), l.u(i.imm))));
}

function defineBitSearch(define: Define): void {
  const unary = (name: string, compute: (l: Lifter, a: number) => number, setsScc = false) =>
    define(name, (l, i) => {
      const result = compute(l, l.scalar(i.src0));
      l.setScalar(i.dst, result);
      if (setsScc) l.scc = notZero(l, result);
    });
  unary("s_brev_b32", (l, a) => l.ir.emit(Op.BitReverse, a));
  unary("s_bcnt1_i32_b32", (l, a) => l.ir.emit(Op.BitCount, a), true);
  unary("s_bcnt0_i32_b32", (l, a) => l.ir.emit(Op.BitCount, l.ir.emit(Op.Not, a)), true);
  unary("s_ff1_i32_b32", (l, a) => l.ir.emit(Op.FindLsb, a));
  unary("s_ff0_i32_b32", (l, a) => l.ir.emit(Op.FindLsb, l.ir.emit(Op.Not, a)));
  unary("s_flbit_i32_b32", (l, a) => fromTop(l, l.ir.emit(Op.FindUMsb, a)));
  unary("s_flbit_i32", (l, a) => fromTop(l, l.ir.emit(Op.FindSMsb, a)));
  define("s_brev_b64", (l, i) => {
    const [low, high] = l.scalarPair(i.src0);
    l.setPair(i.dst, [l.ir.emit(Op.BitReverse, high), l.ir.emit(Op.BitReverse, low)]);
  });
  const count = (l: Lifter, i: Instruction, pair: Pair) => {
    const { ir } = l;
    const result = ir.emit(Op.IAdd, ir.emit(Op.BitCount, pair[0]), ir.emit(Op.BitCount, pair[1]));
    l.setScalar(i.dst, result);
    l.scc = notZero(l, result);
  };
  define("s_bcnt1_i32_b64", (l, i) => count(l, i, l.scalarPair(i.src0)));
  define("s_bcnt0_i32_b64", (l, i) => count(l, i, notPair(l, l.scalarPair(i.src0))));
  define("s_ff1_i32_b64", (l, i) => l.setScalar(i.dst, lowestOfPair(l, l.scalarPair(i.src0))));
  define("s_ff0_i32_b64", (l, i) => l.setScalar(i.dst, lowestOfPair(l, notPair(l, l.scalarPair(i.src0)))));
  define("s_flbit_i32_b64", (l, i) => {
    const { ir } = l;
    const [low, high] = l.scalarPair(i.src0);
    const inLow = fromTop(l, ir.emit(Op.FindUMsb, low));
    const both = l.select(ir.emit(Op.SLt, inLow, l.u(0)), inLow, l.addConstant(inLow, 32));
    l.setScalar(i.dst, l.select(notZero(l, high), fromTop(l, ir.emit(Op.FindUMsb, high)), both));
  });
  define("s_flbit_i32_i64", (l, i) => {
    const { ir } = l;
    // Of the value xor its sign, the highest set bit is the highest bit that differs from the sign.
    const [low, high] = l.scalarPair(i.src0, "sign");
    const sign = ir.emit(Op.Sar, high, l.u(31));
    const x: Pair = [ir.emit(Op.Xor, low, sign), ir.emit(Op.Xor, high, sign)];
    const inLow = fromTop(l, ir.emit(Op.FindUMsb, x[0]));
    const both = l.select(ir.emit(Op.SLt, inLow, l.u(0)), inLow, l.addConstant(inLow, 32));
    l.setScalar(i.dst, l.select(notZero(l, x[1]), fromTop(l, ir.emit(Op.FindUMsb, x[1])), both));
  });
}

/** Bit number counted from the most significant bit; -1 stays -1. */
export function fromTop(l: Lifter, fromBottom: number): number {
  const { ir } = l;
  return l.select(ir.emit(Op.SLt, fromBottom, l.u(0)), fromBottom, ir.emit(Op.ISub, l.u(31), fromBottom));
}

function notPair(l: Lifter, pair: Pair): Pair {
  return [l.ir.emit(Op.Not, pair[0]), l.ir.emit(Op.Not, pair[1])];
}

function lowestOfPair(l: Lifter, [low, high]: Pair): number {
  const { ir } = l;
  const inHigh = ir.emit(Op.FindLsb, high);
  const fromHigh = l.select(ir.emit(Op.SLt, inHigh, l.u(0)), inHigh, l.addConstant(inHigh, 32));
  return l.select(notZero(l, low), ir.emit(Op.FindLsb, low), fromHigh);
}

/** Comparisons by name: operation and whether operands are exchanged and the result is inverted. */
const COMPARE = {
  eq: [Op.IEq, Op.IEq, false],
  lg: [Op.INe, Op.INe, false],
  gt: [Op.SLt, Op.ULt, true],
  ge: [Op.SLe, Op.ULe, true],
  lt: [Op.SLt, Op.ULt, false],
  le: [Op.SLe, Op.ULe, false],
} as const;

function defineCompare(define: Define): void {
  for (const [name, [signedOp, unsignedOp, exchanged]] of Object.entries(COMPARE)) {
    for (const [type, op] of [["i32", signedOp], ["u32", unsignedOp]] as const) {
      const compare = (l: Lifter, a: number, b: number) => l.ir.emit(op, exchanged ? b : a, exchanged ? a : b);
      define(`s_cmp_${name}_${type}`, (l, i) => {
        l.scc = compare(l, l.scalar(i.src0), l.scalar(i.src1));
      });
      define(`s_cmpk_${name}_${type}`, (l, i) => {
        l.scc = compare(l, l.scalar(i.src0), l.u(type === "u32" ? i.imm & 0xffff : i.imm));
      });
    }
  }
  define("s_cmp_eq_u64", (l, i) => {
    l.scc = l.not(pairsDiffer(l, i));
  });
  define("s_cmp_lg_u64", (l, i) => {
    l.scc = pairsDiffer(l, i);
  });
  for (const bit of [0, 1]) {
    define(`s_bitcmp${bit}_b32`, (l, i) => {
      const amount = l.ir.emit(Op.And, l.scalar(i.src1), l.u(31));
      l.scc = bitIs(l, bit, l.ir.emit(Op.Shr, l.scalar(i.src0), amount));
    });
    define(`s_bitcmp${bit}_b64`, (l, i) => {
      const amount = l.ir.emit(Op.And, l.scalar(i.src1), l.u(63));
      l.scc = bitIs(l, bit, l.ir.emit(Op.Lo64, l.ir.emit(Op.Shr64, l.pack(l.scalarPair(i.src0)), amount)));
    });
  }
}

function pairsDiffer(l: Lifter, i: Instruction): number {
  const { ir } = l;
  const a = l.scalarPair(i.src0), b = l.scalarPair(i.src1);
  return l.pairNotZero([ir.emit(Op.Xor, a[0], b[0]), ir.emit(Op.Xor, a[1], b[1])]);
}

function bitIs(l: Lifter, bit: number, shifted: number): number {
  return l.ir.emit(bit === 0 ? Op.IEq : Op.INe, l.ir.emit(Op.And, shifted, l.u(1)), l.u(0));
}

function defineMisc(define: Define): void {
  define("s_cmovk_i32", (l, i) => l.setScalar(i.dst, l.select(l.scc, l.u(i.imm), l.scalar(i.dst))));
  for (const bit of [0, 1]) {
    define(`s_bitset${bit}_b32`, (l, i) => {
      const one = l.ir.emit(Op.Shl, l.u(1), l.ir.emit(Op.And, l.scalar(i.src0), l.u(31)));
      l.setScalar(i.dst, setBit(l, bit, l.scalar(i.dst), one));
    });
    define(`s_bitset${bit}_b64`, (l, i) => {
      const amount = l.ir.emit(Op.And, l.scalar(i.src0), l.u(63));
      const one = l.unpack(l.ir.emit(Op.Shl64, l.pack([l.u(1), l.u(0)]), amount));
      const old = l.scalarPair(i.dst);
      l.setPair(i.dst, [setBit(l, bit, old[0], one[0]), setBit(l, bit, old[1], one[1])]);
    });
  }
  define("s_getpc_b64", (l, i) => programCounter(l, i));
  // What is left of a call that the control flow graph has resolved: the return address.
  define("s_swappc_b64", (l, i) => programCounter(l, i));
  define("s_call_b64", (l, i) => programCounter(l, i));
}

function setBit(l: Lifter, bit: number, old: number, one: number): number {
  return bit === 1 ? l.ir.emit(Op.Or, old, one) : l.ir.emit(Op.And, old, l.ir.emit(Op.Not, one));
}

/** The address of the next instruction, sign-extended from 48 bits (LLVM's AMDGPU back end relies on that before gfx12). */
function programCounter(l: Lifter, i: Instruction): void {
  const next = l.request.codeAddress + BigInt(i.pc + i.size * 4);
  const address = BigInt.asUintN(64, BigInt.asIntN(48, next));
  if (i.dst !== Operand.Null) l.setPair(i.dst, [l.u(Number(address & 0xffffffffn)), l.u(Number(address >> 32n))]);
}
