/** Vector operations that write a lane mask beside their result: carries, 64-bit multiply-add, division steps (AMD RDNA2 ISA, sections 12.7, 12.10). */
import { Flag, type Instruction, Operand } from "../../instruction.ts";
import { divFmas32, divFmas64, divisionScales, divScale32, divScale64 } from "../float/division.ts";
import type { Define, Handler } from "../handler.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { finishInteger, refuseOutputModifiers, RESULT, RESULT_WIDE } from "../operands/results.ts";
import { write32, write64, writeF32, writeF64 } from "../operands/results.ts";
import { setMask } from "../operands/scalar.ts";
import { beginVector, fetch32, fetch64, fetchF32, fetchF64, fetchMask, NARROW, WIDE } from "../operands/vector.ts";
import { maskedSad8 } from "./int_ops.ts";

/** An exact sum or difference of unsigned numbers; out of 0..2^32-1 it carries. */
type Sum = (a: number, b: number, carry: number) => number;

const add: Sum = (a, b, carry) => a + b + carry;
const subtract: Sum = (a, b, carry) => a - b - carry;
const subtractReversed: Sum = (a, b, carry) => b - a - carry;

/** Adds the handlers of this class. */
export function defineCarries(define: Define): void {
  define("v_add_co_u32", carrying(add, false));
  define("v_sub_co_u32", carrying(subtract, false));
  define("v_subrev_co_u32", carrying(subtractReversed, false));
  define("v_add_co_ci_u32", carrying(add, true));
  define("v_sub_co_ci_u32", carrying(subtract, true));
  define("v_subrev_co_ci_u32", carrying(subtractReversed, true));
  define("v_mad_u64_u32", multiplyAdd64(false));
  define("v_mad_i64_i32", multiplyAdd64(true));
  define("v_div_scale_f32", divScaleF32);
  define("v_div_scale_f64", divScaleF64);
  define("v_div_fmas_f32", divFmasF32);
  define("v_div_fmas_f64", divFmasF64);
  define("v_mqsad_u32_u8", mqsadU32);
}

/** Bits of the lane mask that the current instruction builds. */
let maskLo = 0, maskHi = 0;

function clearMask(): void {
  maskLo = maskHi = 0;
}

function setBit(lane: number): void {
  if (lane < 32) maskLo |= 1 << lane;
  else maskHi |= 1 << (lane - 32);
}

function writeMask(w: Wave, i: Instruction): void {
  setMask(w, i, i.sdst, maskLo, maskHi);
}

function carrying(sum: Sum, carryIn: boolean): Handler {
  return (w, i) => {
    beginVector(w, i);
    fetch32(w, i, 0);
    fetch32(w, i, 1);
    if (carryIn) fetchMask(w, i, 2);
    if (i.omod !== 0) refuseOutputModifiers(w, i);
    const [a, b, carry] = NARROW;
    const clamp = (i.flags & Flag.Clamp) !== 0;
    clearMask();
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      const exact = sum(a[lane] >>> 0, b[lane] >>> 0, carryIn ? carry[lane] : 0);
      if (exact < 0 || exact > 0xffff_ffff) setBit(lane);
      RESULT[lane] = finishInteger(exact, 32, false, clamp);
    }
    write32(w, i);
    writeMask(w, i);
  };
}

function multiplyAdd64(signed: boolean): Handler {
  const fetchAddend = fetch64(signed ? "sign" : "zero");
  const to = signed ? BigInt.asIntN : BigInt.asUintN;
  const low = signed ? -(1n << 63n) : 0n, high = signed ? (1n << 63n) - 1n : (1n << 64n) - 1n;
  return (w, i) => {
    beginVector(w, i);
    fetch32(w, i, 0);
    fetch32(w, i, 1);
    fetchAddend(w, i, 2);
    if (i.omod !== 0) refuseOutputModifiers(w, i);
    const [a, b] = NARROW, c = WIDE[2];
    clearMask();
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      let exact = to(32, BigInt(a[lane])) * to(32, BigInt(b[lane])) + to(64, c[lane]);
      if (exact < low || exact > high) {
        setBit(lane);
        if (i.flags & Flag.Clamp) exact = exact < low ? low : high;
      }
      RESULT_WIDE[lane] = BigInt.asUintN(64, exact);
    }
    write64(w, i);
    writeMask(w, i);
  };
}

function divScaleF32(w: Wave, i: Instruction): void {
  beginVector(w, i);
  for (let n = 0; n < 3; n++) fetchF32(w, i, n);
  const [a, b, c] = NARROW;
  clearMask();
  for (let lane = 0; lane < w.size; lane++) {
    if (!w.isActive(lane)) continue;
    RESULT[lane] = divScale32(w.mode, a[lane], b[lane], c[lane]);
    if (divisionScales) setBit(lane);
  }
  writeF32(w, i);
  writeMask(w, i);
}

function divScaleF64(w: Wave, i: Instruction): void {
  beginVector(w, i);
  for (let n = 0; n < 3; n++) fetchF64(w, i, n);
  const [a, b, c] = WIDE;
  clearMask();
  for (let lane = 0; lane < w.size; lane++) {
    if (!w.isActive(lane)) continue;
    RESULT_WIDE[lane] = divScale64(w.mode, a[lane], b[lane], c[lane]);
    if (divisionScales) setBit(lane);
  }
  writeF64(w, i);
  writeMask(w, i);
}

function vccBit(w: Wave, lane: number): boolean {
  return (w.sgpr[lane < 32 ? Operand.Vcc : Operand.VccHi] >>> (lane & 31) & 1) !== 0;
}

function divFmasF32(w: Wave, i: Instruction): void {
  beginVector(w, i);
  for (let n = 0; n < 3; n++) fetchF32(w, i, n);
  const [a, b, c] = NARROW;
  for (let lane = 0; lane < w.size; lane++) {
    if (w.isActive(lane)) RESULT[lane] = divFmas32(w.mode, a[lane], b[lane], c[lane], vccBit(w, lane));
  }
  writeF32(w, i);
}

function divFmasF64(w: Wave, i: Instruction): void {
  beginVector(w, i);
  for (let n = 0; n < 3; n++) fetchF64(w, i, n);
  const [a, b, c] = WIDE;
  for (let lane = 0; lane < w.size; lane++) {
    if (w.isActive(lane)) RESULT_WIDE[lane] = divFmas64(w.mode, a[lane], b[lane], c[lane], vccBit(w, lane));
  }
  writeF64(w, i);
}

const fetchBytes = fetch64("zero");

/** Four masked sums of absolute differences over sliding windows, each added to a dword of the 128-bit third source. */
function mqsadU32(w: Wave, i: Instruction): void {
  beginVector(w, i);
  fetchBytes(w, i, 0);
  fetch32(w, i, 1);
  const a = WIDE[0], b = NARROW[1], { vgpr } = w;
  const addend = (i.src2 - Operand.Vgpr0) * LANES, row = (i.dst - Operand.Vgpr0) * LANES;
  for (let lane = 0; lane < w.size; lane++) {
    if (!w.isActive(lane)) continue;
    // All four are read before any is written: the destination may overlap the third source.
    for (let n = 0; n < 4; n++) {
      const window = Number(BigInt.asIntN(32, a[lane] >> BigInt(n * 8)));
      const exact = maskedSad8(window, b[lane]) + (vgpr[addend + n * LANES + lane] >>> 0);
      SUMS[n] = finishInteger(exact, 32, false, (i.flags & Flag.Clamp) !== 0);
    }
    for (let n = 0; n < 4; n++) vgpr[row + n * LANES + lane] = SUMS[n];
  }
}

const SUMS = new Int32Array(4);
