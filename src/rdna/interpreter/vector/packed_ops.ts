/**
 * VOP3P: packed 16-bit arithmetic, dot products, mixed-precision multiply-add (AMD RDNA2 ISA, section 12.11).
 *
 * op_sel (op_sel_hi) chooses the half of each source that the low (high) result uses; neg_lo and neg_hi negate floats of the low and high result.
 */
import { Encoding, Flag, type Instruction, Operand } from "../../instruction.ts";
import { opcodeId, OPCODES } from "../../table.ts";
import { f16Value, f32Value, isNan16, isNan32, quiet32, widen16 } from "../float/bits.ts";
import { add16, clamp16, fma16, input16, max16, min16, mul16, result16 } from "../float/f16.ts";
import { clamp32, fma32, input32, result32 } from "../float/f32.ts";
import { addInMode, addToOdd } from "../float/round.ts";
import type { FloatMode } from "../float/mode.ts";
import type { Define, Handler } from "../handler.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { refuse } from "../machine/refuse.ts";
import { inlineFloat16, isInlineFloat } from "../operands/constants.ts";
import { finishInteger, RESULT, write32 } from "../operands/results.ts";
import { beginVector, fetch32, fetchOf, NARROW, sourceCode } from "../operands/vector.ts";

type Half = (m: FloatMode, a: number, b: number, c: number) => number;

const i16 = (a: number) => a << 16 >> 16;

/** f16 kernels of both halves. */
const FLOATS: Readonly<Record<string, Half>> = {
  v_pk_fma_f16: fma16,
  v_pk_add_f16: add16,
  v_pk_mul_f16: mul16,
  v_pk_min_f16: min16,
  v_pk_max_f16: max16,
};

/** Integer kernels of both halves: exact results of 16-bit numbers. */
const INTEGERS: Readonly<Record<string, Half>> = {
  v_pk_mad_i16: (_m, a, b, c) => i16(a) * i16(b) + i16(c),
  v_pk_mul_lo_u16: (_m, a, b) => a * b & 0xffff,
  v_pk_add_i16: (_m, a, b) => i16(a) + i16(b),
  v_pk_sub_i16: (_m, a, b) => i16(a) - i16(b),
  v_pk_lshlrev_b16: (_m, a, b) => b << (a & 15) & 0xffff,
  v_pk_lshrrev_b16: (_m, a, b) => b >>> (a & 15),
  v_pk_ashrrev_i16: (_m, a, b) => i16(b) >> (a & 15),
  v_pk_max_i16: (_m, a, b) => Math.max(i16(a), i16(b)),
  v_pk_min_i16: (_m, a, b) => Math.min(i16(a), i16(b)),
  v_pk_mad_u16: (_m, a, b, c) => a * b + c,
  v_pk_add_u16: (_m, a, b) => a + b,
  v_pk_sub_u16: (_m, a, b) => a - b,
  v_pk_max_u16: (_m, a, b) => Math.max(a, b),
  v_pk_min_u16: (_m, a, b) => Math.min(a, b),
};

/** Adds the handlers of this class. */
export function definePacked(define: Define): void {
  for (const [name, half] of Object.entries(FLOATS)) define(name, packedFloat(name, half));
  for (const [name, half] of Object.entries(INTEGERS)) define(name, packedInteger(name, half));
  define("v_pk_fmac_f16", packedFmac);
  define("v_fma_mix_f32", mix(fma32, write32Clamped));
  define("v_fma_mixlo_f16", mixHalf(0));
  define("v_fma_mixhi_f16", mixHalf(16));
  defineDots(define);
}

/** Half of source n for the low or high result, 16 bits. */
function halfOf(i: Instruction, n: number, value: number, high: boolean): number {
  const select = (high ? i.opSelHi : i.opSel) >>> n & 1;
  return value >>> select * 16 & 0xffff;
}

/** The same for a float, negated where the instruction says so. */
function floatHalfOf(i: Instruction, n: number, value: number, high: boolean): number {
  const negative = (high ? i.abs : i.neg) >>> n & 1;
  return halfOf(i, n, value, high) ^ negative << 15;
}

function fetchAll(w: Wave, i: Instruction, name: string): void {
  const opcode = OPCODES[opcodeId(name)];
  for (let n = 0; n < opcode.src.length; n++) fetchOf(opcode, n)(w, i, n);
}

function packedFloat(name: string, half: Half): Handler {
  return (w, i) => {
    beginVector(w, i);
    fetchAll(w, i, name);
    const [a, b, c] = NARROW, m = w.mode;
    const compute = (lane: number, high: boolean) => {
      const bits = half(
        m,
        floatHalfOf(i, 0, a[lane], high),
        floatHalfOf(i, 1, b[lane], high),
        floatHalfOf(i, 2, c[lane], high),
      );
      return i.flags & Flag.Clamp ? clamp16(m, bits) : bits;
    };
    for (let lane = 0; lane < w.size; lane++) {
      if (w.isActive(lane)) RESULT[lane] = compute(lane, false) | compute(lane, true) << 16;
    }
    write32(w, i);
  };
}

function packedInteger(name: string, half: Half): Handler {
  const type = OPCODES[opcodeId(name)].dst[0];
  return (w, i) => {
    beginVector(w, i);
    fetchAll(w, i, name);
    const [a, b, c] = NARROW;
    const clamp = (i.flags & Flag.Clamp) !== 0;
    const compute = (lane: number, high: boolean) => {
      const exact = half(w.mode, halfOf(i, 0, a[lane], high), halfOf(i, 1, b[lane], high), halfOf(i, 2, c[lane], high));
      return finishInteger(exact, 16, type.kind === "i", clamp);
    };
    for (let lane = 0; lane < w.size; lane++) {
      if (w.isActive(lane)) RESULT[lane] = compute(lane, false) | compute(lane, true) << 16;
    }
    write32(w, i);
  };
}

/** v_pk_fmac_f16 exists in its 32-bit encoding only: no modifiers, low with low and high with high. */
function packedFmac(w: Wave, i: Instruction): void {
  beginVector(w, i);
  fetchAll(w, i, "v_pk_fmac_f16");
  const [a, b] = NARROW, m = w.mode;
  const row = (i.dst - Operand.Vgpr0) * LANES;
  for (let lane = 0; lane < w.size; lane++) {
    const old = w.vgpr[row + lane];
    const low = fma16(m, a[lane] & 0xffff, b[lane] & 0xffff, old & 0xffff);
    const high = fma16(m, a[lane] >>> 16, b[lane] >>> 16, old >>> 16);
    RESULT[lane] = low | high << 16;
  }
  write32(w, i);
}

// --- mixed precision ---

/** Fetches source n of a mixed operation as f32 bits: op_sel_hi chooses f16, then op_sel the half; abs (neg_hi) and neg (neg_lo) act on the value. */
function fetchMixed(w: Wave, i: Instruction, n: number): void {
  const out = NARROW[n];
  const isHalf = (i.opSelHi >>> n & 1) !== 0;
  const code = sourceCode(i, n);
  if (isHalf && isInlineFloat(code)) out.fill(inlineFloat16(code));
  else fetch32(w, i, n);
  const absolute = (i.abs >>> n & 1) !== 0, negative = (i.neg >>> n & 1) !== 0;
  const shift = (i.opSel >>> n & 1) * 16;
  for (let lane = 0; lane < w.size; lane++) {
    let bits = out[lane];
    if (isHalf) bits = widen16(input16(w.mode, bits >>> shift & 0xffff));
    if (absolute) bits &= 0x7fffffff;
    if (negative) bits ^= 0x80000000;
    out[lane] = bits;
  }
}

function mix(
  compute: (m: FloatMode, a: number, b: number, c: number) => number,
  write: (w: Wave, i: Instruction) => void,
): Handler {
  return (w, i) => {
    beginVector(w, i);
    for (let n = 0; n < 3; n++) fetchMixed(w, i, n);
    const [a, b, c] = NARROW;
    for (let lane = 0; lane < w.size; lane++) {
      if (w.isActive(lane)) RESULT[lane] = compute(w.mode, a[lane], b[lane], c[lane]);
    }
    write(w, i);
  };
}

/** f32 results, with clamp. */
function write32Clamped(w: Wave, i: Instruction): void {
  if (i.flags & Flag.Clamp) { for (let lane = 0; lane < w.size; lane++) RESULT[lane] = clamp32(w.mode, RESULT[lane]); }
  write32(w, i);
}

/** a * b + c of f32 numbers, rounded to f16 once (AMD's emulator, ROCm/rocm-systems, rocjitsu, fp_mode.h, agrees with the hardware so). */
function fmaToF16(m: FloatMode, a: number, b: number, c: number): number {
  const [x, y, z] = [a, b, c].map((bits) => f32Value(input32(m, bits)));
  return result16(m, addInMode(x * y, z, m.round64));
}

/** f16 results into one half of the destination, with clamp. */
function mixHalf(shift: number): Handler {
  return mix(fmaToF16, (w, i) => {
    const row = (i.dst - Operand.Vgpr0) * LANES;
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      let bits = RESULT[lane];
      if (i.flags & Flag.Clamp) bits = clamp16(w.mode, bits);
      w.vgpr[row + lane] = w.vgpr[row + lane] & ~(0xffff << shift) | bits << shift;
    }
  });
}

// --- dot products ---

/** Element n of `bits` bits. */
function element(value: number, n: number, bits: number, signed: boolean): number {
  const top = value << 32 - bits * (n + 1);
  return signed ? top >> 32 - bits : top >>> 32 - bits;
}

/** The two halves that op_sel and op_sel_hi choose, as a pair. */
function halves(i: Instruction, n: number, value: number): number {
  return halfOf(i, n, value, false) | halfOf(i, n, value, true) << 16;
}

function integerDot(bits: number, signed: boolean, accumulate: boolean): Handler {
  return (w, i) => {
    if (i.encoding === Encoding.Vop3p && (i.neg | i.abs) & 3) refuse(w, i, "negated integer sources");
    beginVector(w, i);
    fetch32(w, i, 0);
    fetch32(w, i, 1);
    if (!accumulate) fetch32(w, i, 2);
    const [a, b, c] = NARROW;
    const row = (i.dst - Operand.Vgpr0) * LANES;
    const elements = 32 / bits;
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      const addend = accumulate ? w.vgpr[row + lane] : c[lane];
      let sum = signed ? addend : addend >>> 0;
      const x = bits === 16 ? halves(i, 0, a[lane]) : a[lane];
      const y = bits === 16 ? halves(i, 1, b[lane]) : b[lane];
      for (let n = 0; n < elements; n++) sum += element(x, n, bits, signed) * element(y, n, bits, signed);
      RESULT[lane] = finishInteger(sum, 32, signed, (i.flags & Flag.Clamp) !== 0);
    }
    write32(w, i);
  };
}

/**
 * Two f16 products added to an f32 number, one after the other: low product first, each addition rounded to f32, products exact (AMD RDNA2 ISA,
 * V_DOT2_F32_F16; the order and number of roundings are those of its pseudo code).
 */
function dot2F32(m: FloatMode, a: number, b: number, addend: number): number {
  let sum = input32(m, addend);
  for (let half = 0; half < 2; half++) {
    const x = input16(m, a >>> half * 16 & 0xffff), y = input16(m, b >>> half * 16 & 0xffff);
    if (isNan16(x) || isNan16(y)) return quiet32(widen16(isNan16(x) ? x : y));
    if (isNan32(sum)) return quiet32(sum);
    sum = result32(m, addToOdd(f16Value(x) * f16Value(y), f32Value(sum)));
  }
  return sum;
}

function defineDots(define: Define): void {
  define("v_dot2_i32_i16", integerDot(16, true, false));
  define("v_dot2_u32_u16", integerDot(16, false, false));
  define("v_dot4_i32_i8", integerDot(8, true, false));
  define("v_dot4_u32_u8", integerDot(8, false, false));
  define("v_dot8_i32_i4", integerDot(4, true, false));
  define("v_dot8_u32_u4", integerDot(4, false, false));
  define("v_dot4c_i32_i8", integerDot(8, true, true));
  define("v_dot2c_f32_f16", (w, i) => {
    beginVector(w, i);
    fetchAll(w, i, "v_dot2c_f32_f16");
    const [a, b] = NARROW;
    const row = (i.dst - Operand.Vgpr0) * LANES;
    for (let lane = 0; lane < w.size; lane++) RESULT[lane] = dot2F32(w.mode, a[lane], b[lane], w.vgpr[row + lane]);
    write32(w, i);
  });
  define("v_dot2_f32_f16", (w, i) => {
    beginVector(w, i);
    fetchAll(w, i, "v_dot2_f32_f16");
    const [a, b, c] = NARROW;
    // op_sel pairs the halves; the third source is one f32 number, negated by neg_lo.
    const pair = (n: number, value: number) => floatHalfOf(i, n, value, false) | floatHalfOf(i, n, value, true) << 16;
    for (let lane = 0; lane < w.size; lane++) {
      const addend = c[lane] ^ (i.neg & 4 ? 0x80000000 : 0);
      RESULT[lane] = dot2F32(w.mode, pair(0, a[lane]), pair(1, b[lane]), addend);
    }
    write32Clamped(w, i);
  });
}
