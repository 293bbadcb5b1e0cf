/**
 * Sources of vector ALU instructions, fetched for all lanes at once into buffers: SDWA parts, DPP lanes, halves, constants, negate and absolute value
 * (AMD RDNA2 ISA, section 6 "Vector ALU operations" and 13 "SDWA", "DPP"). One instruction runs at a time, so the buffers are shared by all waves.
 */
import { Extra, type Instruction, Operand } from "../../instruction.ts";
import type { Opcode } from "../../table.ts";
import type { DataType } from "../../types.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { refuse } from "../machine/refuse.ts";
import { inlineFloat16, isInlineFloat } from "./constants.ts";
import { DPP_LANE, prepareDpp } from "./dpp.ts";
import { type LiteralFill, scalar32, scalar64 } from "./scalar.ts";

/** Sources 0..2 of up to 32 bits, by lane. */
export const NARROW: readonly Int32Array[] = [new Int32Array(LANES), new Int32Array(LANES), new Int32Array(LANES)];
/** Sources 0..2 of 64 bits, by lane. */
export const WIDE: readonly BigUint64Array[] = [
  new BigUint64Array(LANES),
  new BigUint64Array(LANES),
  new BigUint64Array(LANES),
];

/** Fetches source `n` into its buffer. */
export type Fetch = (w: Wave, i: Instruction, n: number) => void;

/** Sets the active lanes of a vector instruction: call before fetching. */
export function beginVector(w: Wave, i: Instruction): void {
  w.activateExec();
  if (i.extra >= Extra.Dpp16) prepareDpp(w, i);
}

/** Operand code of source `n`. */
export function sourceCode(i: Instruction, n: number): number {
  return n === 0 ? i.src0 : n === 1 ? i.src1 : i.src2;
}

/**
 * Source `n` as 32 bits, SDWA part selected, without float modifiers.
 *
 * @param constant the bits of an inline constant, where they are not those that 32-bit operations see
 */
export function fetch32(w: Wave, i: Instruction, n: number, constant?: number): void {
  const code = sourceCode(i, n);
  const out = NARROW[n];
  if (code >= Operand.Vgpr0) {
    fetchRegister(w, i, n, code);
  } else if (constant !== undefined) out.fill(constant);
  else out.fill(code === Operand.LdsDirect ? ldsDirect(w, i) : scalar32(w, i, code));
  if (i.extra === Extra.Sdwa && n < 2) selectPart(out, i.control >>> (n === 0 ? 16 : 24));
}

function fetchRegister(w: Wave, i: Instruction, n: number, code: number): void {
  const out = NARROW[n], { vgpr } = w;
  const row = (code - Operand.Vgpr0) * LANES;
  if (n === 0 && i.extra >= Extra.Dpp16) {
    for (let lane = 0; lane < w.size; lane++) {
      const from = DPP_LANE[lane];
      out[lane] = from < 0 ? 0 : vgpr[row + from];
    }
  } else for (let lane = 0; lane < w.size; lane++) out[lane] = vgpr[row + lane];
}

/** SDWA select: bits 2:0 byte 0..3, word 4..5, dword 6; bit 3 sign extension. */
function selectPart(out: Int32Array, control: number): void {
  const select = control & 7, signed = (control & 8) !== 0;
  if (select === 6) return;
  const bits = select < 4 ? 8 : 16;
  const up = 32 - bits - (select < 4 ? select * 8 : (select - 4) * 16);
  for (let lane = 0; lane < LANES; lane++) {
    const top = out[lane] << up;
    out[lane] = signed ? top >> 32 - bits : top >>> 32 - bits;
  }
}

/** LDS_DIRECT: one value for all lanes, at M0[15:0], of the type M0[18:16] (AMD RDNA2 ISA, "LDS direct access"). */
function ldsDirect(w: Wave, i: Instruction): number {
  const m0 = w.sgpr[Operand.M0];
  const dword = w.group.lds.dword(m0 & 0xfffc);
  const shift = (m0 & 3) * 8;
  switch (m0 >>> 16 & 7) {
    case 0:
      return dword >>> shift & 0xff;
    case 1:
      return dword >>> shift & 0xffff;
    case 2:
      return dword;
    case 4:
      return dword << 24 - shift >> 24;
    case 5:
      return dword << 16 - shift >> 16;
    default:
      return refuse(w, i, `LDS_DIRECT with data type ${m0 >>> 16 & 7}`);
  }
}

/** Source `n` as f32 bits: absolute value, then negation. */
export function fetchF32(w: Wave, i: Instruction, n: number): void {
  fetch32(w, i, n);
  modify(i, n, NARROW[n], 0x80000000 | 0);
}

function modify(i: Instruction, n: number, out: Int32Array, sign: number): void {
  if ((i.abs >>> n & 1) !== 0) { for (let lane = 0; lane < LANES; lane++) out[lane] &= ~sign; }
  if ((i.neg >>> n & 1) !== 0) { for (let lane = 0; lane < LANES; lane++) out[lane] ^= sign; }
}

/**
 * Source `n` as 16 bits in the low half; the high half is zero. op_sel chooses the half of 32 bits, also of a constant's: inline integers are
 * sign-extended, an inline float is the f32 number (LLVM, AMDGPUBaseInfo.cpp, getInlineEncodingV216, for integers).
 */
function fetch16(w: Wave, i: Instruction, n: number): void {
  fetch32(w, i, n);
  selectHalf(i, n);
}

function selectHalf(i: Instruction, n: number): void {
  const out = NARROW[n];
  const shift = (i.opSel >>> n & 1) * 16;
  for (let lane = 0; lane < LANES; lane++) out[lane] = out[lane] >>> shift & 0xffff;
}

/** Source `n` as f16 bits: absolute value, then negation. An inline float is the f16 number with a zero above it. */
function fetchF16(w: Wave, i: Instruction, n: number): void {
  const code = sourceCode(i, n);
  fetch32(w, i, n, isInlineFloat(code) ? inlineFloat16(code) : undefined);
  selectHalf(i, n);
  modify(i, n, NARROW[n], 0x8000);
}

/** A pair of f16 numbers: an inline float is one in the low half, and zero in the high half (LLVM, getInlineEncodingV2F16). */
function fetchPackedF16(w: Wave, i: Instruction, n: number): void {
  const code = sourceCode(i, n);
  if (isInlineFloat(code)) NARROW[n].fill(inlineFloat16(code));
  else fetch32(w, i, n);
}

/** A fetch of 64 bits; the literal's place depends on the type. */
export function fetch64(fill: LiteralFill): Fetch {
  return (w, i, n) => {
    const code = sourceCode(i, n);
    const out = WIDE[n];
    if (code < Operand.Vgpr0) return void out.fill(scalar64(w, i, code, fill));
    const { vgpr } = w;
    const row = (code - Operand.Vgpr0) * LANES;
    for (let lane = 0; lane < w.size; lane++) {
      out[lane] = BigInt(vgpr[row + LANES + lane] >>> 0) << 32n | BigInt(vgpr[row + lane] >>> 0);
    }
  };
}

const fetchPlain64F = fetch64("high");

/** Source `n` as f64 bits: absolute value, then negation. */
export function fetchF64(w: Wave, i: Instruction, n: number): void {
  fetchPlain64F(w, i, n);
  const out = WIDE[n];
  const absolute = (i.abs >>> n & 1) !== 0, negative = (i.neg >>> n & 1) !== 0;
  if (!absolute && !negative) return;
  for (let lane = 0; lane < w.size; lane++) {
    let bits = out[lane];
    if (absolute) bits &= 0x7fff_ffff_ffff_ffffn;
    if (negative) bits ^= 0x8000_0000_0000_0000n;
    out[lane] = bits;
  }
}

/** A lane mask as one bit per lane, 0 or 1. */
export function fetchMask(w: Wave, i: Instruction, n: number): void {
  const code = sourceCode(i, n);
  const out = NARROW[n];
  const pair = w.size === 64 ? scalar64(w, i, code) : 0n;
  const lo = w.size === 64 ? Number(BigInt.asIntN(32, pair)) : scalar32(w, i, code);
  const hi = Number(BigInt.asIntN(32, pair >> 32n));
  for (let lane = 0; lane < w.size; lane++) out[lane] = (lane < 32 ? lo : hi) >>> (lane & 31) & 1;
}

/** The fetch that a source type of the opcode table asks for. */
export function fetchOf(opcode: Opcode, n: number): Fetch {
  const type = opcode.src[n];
  if (type.kind === "mask") return fetchMask;
  if (type.bits * type.count === 64) return type.kind === "f" ? fetchF64 : fetch64(type.kind === "i" ? "sign" : "zero");
  if (type.kind === "f" && type.count === 1) return type.bits === 16 ? fetchF16 : fetchF32;
  if (type.kind === "f" && type.bits === 16) return fetchPackedF16;
  if (type.bits === 16 && type.count === 1) return fetch16;
  // v_mov_b32 and v_cndmask_b32 take the float modifiers too.
  if (takesModifiers(opcode, type)) return fetchF32;
  return fetch32;
}

function takesModifiers(opcode: Opcode, type: DataType): boolean {
  return type.name === "b32" && (opcode.name === "v_mov_b32" || opcode.name === "v_cndmask_b32");
}

/** Whether a source type takes a {@linkcode WIDE} buffer. */
export function isWide(type: DataType): boolean {
  return type.bits * type.count === 64;
}
