/** Scalar ALU with one or two sources (AMD RDNA2 ISA, sections 12.1, 12.3, 12.4). */
import { type Instruction, Operand } from "../../instruction.ts";
import type { Define } from "../handler.ts";
import { refuse } from "../machine/refuse.ts";
import type { Wave } from "../machine/wave.ts";
import { scalar32, scalar64, setScalar32, setScalar64 } from "../operands/scalar.ts";
import { bitCount, bitReverse, findHigh, findHighSigned, findLow } from "../vector/int_ops.ts";

const MASK64 = (1n << 64n) - 1n;

/** Computes a result; operations with an SCC of their own leave it in {@linkcode carry}. */
type Op32 = (a: number, b: number, scc: number) => number;
type Op64 = (a: bigint, b: bigint) => bigint;

/** SCC of the operations whose SCC is no test for zero. */
let carry = 0;

const u32 = (a: number) => a >>> 0;

function sum(exact: number): number {
  carry = exact > 0xffff_ffff || exact < 0 ? 1 : 0;
  return exact | 0;
}

function signedSum(exact: number): number {
  carry = exact !== (exact | 0) ? 1 : 0;
  return exact | 0;
}

/** Chooses `a` when the condition holds; SCC says so. */
function choose(condition: boolean, a: number, b: number): number {
  carry = condition ? 1 : 0;
  return condition ? a : b;
}

/** SOP2 whose SCC is {@linkcode carry}. */
const WITH_CARRY: Readonly<Record<string, Op32>> = {
  s_add_u32: (a, b) => sum(u32(a) + u32(b)),
  s_sub_u32: (a, b) => sum(u32(a) - u32(b)),
  s_add_i32: (a, b) => signedSum(a + b),
  s_sub_i32: (a, b) => signedSum(a - b),
  s_addc_u32: (a, b, scc) => sum(u32(a) + u32(b) + scc),
  s_subb_u32: (a, b, scc) => sum(u32(a) - u32(b) - scc),
  // SCC says that the first source was taken: of equal ones s_max takes the first, s_min the second.
  s_min_i32: (a, b) => choose(a < b, a, b),
  s_min_u32: (a, b) => choose(u32(a) < u32(b), a, b),
  s_max_i32: (a, b) => choose(a >= b, a, b),
  s_max_u32: (a, b) => choose(u32(a) >= u32(b), a, b),
  s_lshl1_add_u32: (a, b) => sum(u32(a) * 2 + u32(b)),
  s_lshl2_add_u32: (a, b) => sum(u32(a) * 4 + u32(b)),
  s_lshl3_add_u32: (a, b) => sum(u32(a) * 8 + u32(b)),
  s_lshl4_add_u32: (a, b) => sum(u32(a) * 16 + u32(b)),
};

/** SOP2 whose SCC says that the result is not zero. */
const TESTED: Readonly<Record<string, Op32>> = {
  s_lshl_b32: (a, b) => a << b,
  s_lshr_b32: (a, b) => a >>> b,
  s_ashr_i32: (a, b) => a >> b,
  s_bfe_u32: (a, b) => extract(a, b, false),
  s_bfe_i32: (a, b) => extract(a, b, true),
  s_absdiff_i32: (a, b) => Math.abs(a - b | 0),
};

/** SOP2 that leaves SCC alone. */
const PLAIN: Readonly<Record<string, Op32>> = {
  s_cselect_b32: (a, b, scc) => scc ? a : b,
  s_bfm_b32: (a, b) => (1 << (a & 31)) - 1 << (b & 31),
  s_mul_i32: (a, b) => Math.imul(a, b),
  s_mul_hi_u32: (a, b) => Number(BigInt.asIntN(32, BigInt(u32(a)) * BigInt(u32(b)) >> 32n)),
  s_mul_hi_i32: (a, b) => Number(BigInt.asIntN(32, BigInt(a) * BigInt(b) >> 32n)),
  s_pack_ll_b32_b16: (a, b) => a & 0xffff | b << 16,
  s_pack_lh_b32_b16: (a, b) => a & 0xffff | b & 0xffff0000,
  s_pack_hh_b32_b16: (a, b) => a >>> 16 | b & 0xffff0000,
};

/** Bit operations that exist in 32 and 64 bits, on bigints of that width. */
const LOGIC: Readonly<Record<string, Op64>> = {
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  andn2: (a, b) => a & ~b,
  orn2: (a, b) => a | ~b,
  nand: (a, b) => ~(a & b),
  nor: (a, b) => ~(a | b),
  xnor: (a, b) => ~(a ^ b),
};

/** offset 4:0, width 22:16; what lies above bit 31 is zeros or the sign. */
function extract(a: number, b: number, signed: boolean): number {
  const offset = b & 31, width = b >>> 16 & 0x7f;
  const shifted = signed ? a >> offset : a >>> offset;
  if (width >= 32) return shifted;
  if (width === 0) return 0;
  return signed ? shifted << 32 - width >> 32 - width : shifted & (1 << width) - 1;
}

function extract64(a: bigint, b: bigint, signed: boolean): bigint {
  const offset = b & 63n, width = b >> 16n & 0x7fn;
  const shifted = (signed ? BigInt.asIntN(64, a) : a) >> offset;
  const bits = Number(width < 64n ? width : 64n);
  return BigInt.asUintN(64, signed ? BigInt.asIntN(bits, shifted) : BigInt.asUintN(bits, shifted));
}

/** Adds the handlers of this class. */
export function defineScalar(define: Define): void {
  for (const [name, op] of Object.entries(WITH_CARRY)) {
    define(name, (w, i) => {
      setScalar32(w, i, i.dst, op(scalar32(w, i, i.src0), scalar32(w, i, i.src1), w.scc));
      w.scc = carry;
    });
  }
  for (const [name, op] of Object.entries(TESTED)) {
    define(name, (w, i) => setTested32(w, i, op(scalar32(w, i, i.src0), scalar32(w, i, i.src1), w.scc)));
  }
  for (const [name, op] of Object.entries(PLAIN)) {
    define(name, (w, i) => setScalar32(w, i, i.dst, op(scalar32(w, i, i.src0), scalar32(w, i, i.src1), w.scc)));
  }
  for (const [name, op] of Object.entries(LOGIC)) {
    define(`s_${name}_b32`, (w, i) => {
      const value = op(BigInt(scalar32(w, i, i.src0)), BigInt(scalar32(w, i, i.src1)));
      setTested32(w, i, Number(BigInt.asIntN(32, value)));
    });
    define(`s_${name}_b64`, (w, i) => {
      setTested64(w, i, op(scalar64(w, i, i.src0), scalar64(w, i, i.src1)) & MASK64);
    });
  }
  define("s_cselect_b64", (w, i) => setScalar64(w, i, i.dst, scalar64(w, i, w.scc ? i.src0 : i.src1)));
  define("s_lshl_b64", (w, i) => setTested64(w, i, scalar64(w, i, i.src0) << shift64(w, i) & MASK64));
  define("s_lshr_b64", (w, i) => setTested64(w, i, scalar64(w, i, i.src0) >> shift64(w, i)));
  define("s_ashr_i64", (w, i) => {
    setTested64(w, i, BigInt.asUintN(64, BigInt.asIntN(64, scalar64(w, i, i.src0, "sign")) >> shift64(w, i)));
  });
  define("s_bfm_b64", (w, i) => {
    const ones = (1n << BigInt(scalar32(w, i, i.src0) & 63)) - 1n;
    setScalar64(w, i, i.dst, ones << shift64(w, i) & MASK64);
  });
  define("s_bfe_u64", (w, i) => {
    setTested64(w, i, extract64(scalar64(w, i, i.src0), BigInt(scalar32(w, i, i.src1) >>> 0), false));
  });
  define("s_bfe_i64", (w, i) => {
    setTested64(w, i, extract64(scalar64(w, i, i.src0, "sign"), BigInt(scalar32(w, i, i.src1) >>> 0), true));
  });
  defineOneSource(define);
  defineMoves(define);
  defineCompares(define);
}

function shift64(w: Wave, i: Instruction): bigint {
  return BigInt(scalar32(w, i, i.src1) & 63);
}

/** Writes a result; SCC says whether it is not zero. */
function setTested32(w: Wave, i: Instruction, value: number): void {
  setScalar32(w, i, i.dst, value);
  w.scc = value !== 0 ? 1 : 0;
}

function setTested64(w: Wave, i: Instruction, value: bigint): void {
  setScalar64(w, i, i.dst, value);
  w.scc = value !== 0n ? 1 : 0;
}

/** Groups of four bits that are not zero become `each` bits of ones. */
function quads(a: bigint, bits: number, wholeQuad: boolean): bigint {
  let result = 0n;
  for (let n = 0; n < bits / 4; n++) {
    if ((a >> BigInt(4 * n) & 15n) === 0n) continue;
    result |= wholeQuad ? 15n << BigInt(4 * n) : 1n << BigInt(n);
  }
  return result;
}

function bitCount64(a: bigint): number {
  return bitCount(lo(a)) + bitCount(hi(a));
}

const lo = (a: bigint) => Number(BigInt.asIntN(32, a));
const hi = (a: bigint) => Number(BigInt.asIntN(32, a >> 32n));

function findLow64(a: bigint): number {
  return lo(a) !== 0 ? findLow(lo(a)) : hi(a) !== 0 ? 32 + findLow(hi(a)) : -1;
}

function findHigh64(a: bigint): number {
  return hi(a) !== 0 ? findHigh(hi(a)) : lo(a) !== 0 ? 32 + findHigh(lo(a)) : -1;
}

function reverse64(a: bigint): bigint {
  return BigInt(bitReverse(lo(a)) >>> 0) << 32n | BigInt(bitReverse(hi(a)) >>> 0);
}

function defineOneSource(define: Define): void {
  const tested32: Readonly<Record<string, (a: number) => number>> = {
    s_not_b32: (a) => ~a,
    s_wqm_b32: (a) => Number(quads(BigInt(a >>> 0), 32, true)) | 0,
    s_quadmask_b32: (a) => Number(quads(BigInt(a >>> 0), 32, false)),
    s_bcnt0_i32_b32: (a) => 32 - bitCount(a),
    s_bcnt1_i32_b32: bitCount,
    s_abs_i32: (a) => Math.abs(a) | 0,
  };
  for (const [name, op] of Object.entries(tested32)) {
    define(name, (w, i) => setTested32(w, i, op(scalar32(w, i, i.src0))));
  }
  const tested64: Readonly<Record<string, (a: bigint) => bigint>> = {
    s_not_b64: (a) => ~a & MASK64,
    s_wqm_b64: (a) => quads(a, 64, true),
    s_quadmask_b64: (a) => quads(a, 64, false),
  };
  for (const [name, op] of Object.entries(tested64)) {
    define(name, (w, i) => setTested64(w, i, op(scalar64(w, i, i.src0))));
  }
  define("s_bcnt0_i32_b64", (w, i) => setTested32(w, i, 64 - bitCount64(scalar64(w, i, i.src0))));
  define("s_bcnt1_i32_b64", (w, i) => setTested32(w, i, bitCount64(scalar64(w, i, i.src0))));
  const plain32: Readonly<Record<string, (a: number) => number>> = {
    s_brev_b32: bitReverse,
    s_ff0_i32_b32: (a) => findLow(~a),
    s_ff1_i32_b32: findLow,
    s_flbit_i32_b32: findHigh,
    s_flbit_i32: findHighSigned,
    s_sext_i32_i8: (a) => a << 24 >> 24,
    s_sext_i32_i16: (a) => a << 16 >> 16,
  };
  for (const [name, op] of Object.entries(plain32)) {
    define(name, (w, i) => setScalar32(w, i, i.dst, op(scalar32(w, i, i.src0))));
  }
  const plain64: Readonly<Record<string, (a: bigint) => number>> = {
    s_ff0_i32_b64: (a) => findLow64(~a & MASK64),
    s_ff1_i32_b64: findLow64,
    s_flbit_i32_b64: findHigh64,
  };
  for (const [name, op] of Object.entries(plain64)) {
    define(name, (w, i) => setScalar32(w, i, i.dst, op(scalar64(w, i, i.src0))));
  }
  define("s_flbit_i32_i64", (w, i) => {
    const a = scalar64(w, i, i.src0, "sign");
    setScalar32(w, i, i.dst, findHigh64(a >> 63n ? ~a & MASK64 : a));
  });
  define("s_brev_b64", (w, i) => setScalar64(w, i, i.dst, reverse64(scalar64(w, i, i.src0))));
  define("s_bitreplicate_b64_b32", (w, i) => {
    const a = BigInt(scalar32(w, i, i.src0) >>> 0);
    let result = 0n;
    for (let n = 0n; n < 32n; n++) result |= (a >> n & 1n) * 3n << 2n * n;
    setScalar64(w, i, i.dst, result);
  });
  for (const [name, set] of [["s_bitset0", false], ["s_bitset1", true]] as const) {
    define(`${name}_b32`, (w, i) => {
      const bit = 1 << (scalar32(w, i, i.src0) & 31), old = scalar32(w, i, i.dst);
      setScalar32(w, i, i.dst, set ? old | bit : old & ~bit);
    });
    define(`${name}_b64`, (w, i) => {
      const bit = 1n << BigInt(scalar32(w, i, i.src0) & 63), old = scalar64(w, i, i.dst);
      setScalar64(w, i, i.dst, set ? old | bit : old & ~bit);
    });
  }
}

/** A scalar register that M0 has moved; what lies outside s0..s105 and VCC is not documented. */
function relative(w: Wave, i: Instruction, register: number, offset: number, registers = 1): number {
  const moved = register + offset | 0;
  if (moved < 0 || moved + registers - 1 > Operand.VccHi) refuse(w, i, `M0 addresses the scalar register ${moved}`);
  return moved;
}

function defineMoves(define: Define): void {
  define("s_mov_b32", (w, i) => setScalar32(w, i, i.dst, scalar32(w, i, i.src0)));
  define("s_mov_b64", (w, i) => setScalar64(w, i, i.dst, scalar64(w, i, i.src0)));
  define("s_cmov_b32", (w, i) => {
    if (w.scc) setScalar32(w, i, i.dst, scalar32(w, i, i.src0));
  });
  define("s_cmov_b64", (w, i) => {
    if (w.scc) setScalar64(w, i, i.dst, scalar64(w, i, i.src0));
  });
  const m0 = (w: Wave) => w.sgpr[Operand.M0];
  define("s_movrels_b32", (w, i) => setScalar32(w, i, i.dst, scalar32(w, i, relative(w, i, i.src0, m0(w)))));
  define("s_movrels_b64", (w, i) => setScalar64(w, i, i.dst, scalar64(w, i, relative(w, i, i.src0, m0(w), 2))));
  define("s_movreld_b32", (w, i) => setScalar32(w, i, relative(w, i, i.dst, m0(w)), scalar32(w, i, i.src0)));
  define("s_movreld_b64", (w, i) => setScalar64(w, i, relative(w, i, i.dst, m0(w), 2), scalar64(w, i, i.src0)));
  define("s_movrelsd_2_b32", (w, i) => {
    const value = scalar32(w, i, relative(w, i, i.src0, m0(w) & 0x3ff));
    setScalar32(w, i, relative(w, i, i.dst, m0(w) >>> 16 & 0x3ff), value);
  });
}

/** Conditions of s_cmp and s_cmpk. */
export const CONDITIONS: Readonly<Record<string, (a: number | bigint, b: number | bigint) => boolean>> = {
  eq: (a, b) => a === b,
  lg: (a, b) => a !== b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
};

function defineCompares(define: Define): void {
  for (const [name, test] of Object.entries(CONDITIONS)) {
    define(`s_cmp_${name}_i32`, (w, i) => {
      w.scc = test(scalar32(w, i, i.src0), scalar32(w, i, i.src1)) ? 1 : 0;
    });
    define(`s_cmp_${name}_u32`, (w, i) => {
      w.scc = test(scalar32(w, i, i.src0) >>> 0, scalar32(w, i, i.src1) >>> 0) ? 1 : 0;
    });
  }
  for (const name of ["eq", "lg"]) {
    define(`s_cmp_${name}_u64`, (w, i) => {
      w.scc = CONDITIONS[name](scalar64(w, i, i.src0), scalar64(w, i, i.src1)) ? 1 : 0;
    });
  }
  for (const value of [0, 1]) {
    define(`s_bitcmp${value}_b32`, (w, i) => {
      w.scc = (scalar32(w, i, i.src0) >>> scalar32(w, i, i.src1) & 1) === value ? 1 : 0;
    });
    define(`s_bitcmp${value}_b64`, (w, i) => {
      w.scc = Number(scalar64(w, i, i.src0) >> shift64(w, i) & 1n) === value ? 1 : 0;
    });
  }
}
