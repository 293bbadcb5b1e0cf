/** Destinations of vector ALU instructions: SDWA parts, halves, clamp and output modifiers (AMD RDNA2 ISA, section 6 and 13 "SDWA"). */
import { Extra, Flag, type Instruction, Operand } from "../../instruction.ts";
import type { DataType } from "../../types.ts";
import { clamp16, modify16 } from "../float/f16.ts";
import { clamp32, modify32 } from "../float/f32.ts";
import { clamp64, modify64 } from "../float/f64.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { refuse } from "../machine/refuse.ts";

/** Results of up to 32 bits, by lane. */
export const RESULT = new Int32Array(LANES);
/** Results of 64 bits, by lane. */
export const RESULT_WIDE = new BigUint64Array(LANES);

/** Writes {@linkcode RESULT} or {@linkcode RESULT_WIDE} to the instruction's destination, in the active lanes. */
export type Write = (w: Wave, i: Instruction) => void;

const UNUSED_SEXT = 1, UNUSED_PRESERVE = 2;

/** 32-bit results as they are, or their SDWA part. */
export function write32(w: Wave, i: Instruction): void {
  const { vgpr } = w;
  const row = (i.dst - Operand.Vgpr0) * LANES;
  const sdwa = i.extra === Extra.Sdwa;
  for (let lane = 0; lane < w.size; lane++) {
    if (!w.isActive(lane)) continue;
    vgpr[row + lane] = sdwa ? placed(i.control, RESULT[lane], vgpr[row + lane]) : RESULT[lane];
  }
}

/** A result in the part of a register that SDWA selects (control bits 10:8); the rest is zeros, the sign, or kept (bits 12:11). */
function placed(control: number, value: number, old: number): number {
  const select = control >>> 8 & 7, unused = control >>> 11 & 3;
  if (select === 6) return value;
  const bits = select < 4 ? 8 : 16;
  const offset = select < 4 ? select * 8 : (select - 4) * 16;
  if (unused === UNUSED_SEXT) return value << 32 - bits >> 32 - bits << offset;
  const mask = (1 << bits) - 1 << offset;
  return value << offset & mask | (unused === UNUSED_PRESERVE ? old & ~mask : 0);
}

/** 16-bit results: into the half that op_sel bit 3 names, the other half stays; or into an SDWA part. */
function write16(w: Wave, i: Instruction): void {
  if (i.extra === Extra.Sdwa) {
    for (let lane = 0; lane < w.size; lane++) RESULT[lane] &= 0xffff;
    return write32(w, i);
  }
  const { vgpr } = w;
  const row = (i.dst - Operand.Vgpr0) * LANES;
  const shift = i.opSel & 8 ? 16 : 0;
  for (let lane = 0; lane < w.size; lane++) {
    if (w.isActive(lane)) {
      vgpr[row + lane] = vgpr[row + lane] & ~(0xffff << shift) | (RESULT[lane] & 0xffff) << shift;
    }
  }
}

/** f32 results: output modifier, clamp. */
export function writeF32(w: Wave, i: Instruction): void {
  if (i.omod !== 0 || i.flags & Flag.Clamp) {
    const clamp = (i.flags & Flag.Clamp) !== 0;
    for (let lane = 0; lane < w.size; lane++) {
      const bits = modify32(w.mode, RESULT[lane], i.omod);
      RESULT[lane] = clamp ? clamp32(w.mode, bits) : bits;
    }
  }
  write32(w, i);
}

/** f16 results: output modifier, clamp. */
function writeF16(w: Wave, i: Instruction): void {
  if (i.omod !== 0 || i.flags & Flag.Clamp) {
    const clamp = (i.flags & Flag.Clamp) !== 0;
    for (let lane = 0; lane < w.size; lane++) {
      const bits = modify16(w.mode, RESULT[lane] & 0xffff, i.omod);
      RESULT[lane] = clamp ? clamp16(w.mode, bits) : bits;
    }
  }
  write16(w, i);
}

/** 64-bit results. */
export function write64(w: Wave, i: Instruction): void {
  const { vgpr } = w;
  const row = (i.dst - Operand.Vgpr0) * LANES;
  for (let lane = 0; lane < w.size; lane++) {
    if (!w.isActive(lane)) continue;
    const value = RESULT_WIDE[lane];
    vgpr[row + lane] = Number(BigInt.asIntN(32, value));
    vgpr[row + LANES + lane] = Number(BigInt.asIntN(32, value >> 32n));
  }
}

/** f64 results: output modifier, clamp. */
export function writeF64(w: Wave, i: Instruction): void {
  if (i.omod !== 0 || i.flags & Flag.Clamp) {
    const clamp = (i.flags & Flag.Clamp) !== 0;
    for (let lane = 0; lane < w.size; lane++) {
      const bits = modify64(w.mode, RESULT_WIDE[lane], i.omod);
      RESULT_WIDE[lane] = clamp ? clamp64(w.mode, bits) : bits;
    }
  }
  write64(w, i);
}

/** Two f16 results in a register: clamp on each. */
function writePairF16(w: Wave, i: Instruction): void {
  if (i.omod !== 0) refuse(w, i, "an output modifier on a pair of f16 is not documented");
  if (i.flags & Flag.Clamp) {
    for (let lane = 0; lane < w.size; lane++) {
      const pair = RESULT[lane];
      RESULT[lane] = clamp16(w.mode, pair & 0xffff) | clamp16(w.mode, pair >>> 16) << 16;
    }
  }
  write32(w, i);
}

/** The write that a destination type of the opcode table asks for. */
export function writeOf(type: DataType): Write {
  if (type.bits * type.count === 64) return type.kind === "f" ? writeF64 : write64;
  if (type.bits === 16 && type.count === 1) return type.kind === "f" ? writeF16 : write16;
  if (type.kind !== "f") return write32;
  return type.count === 1 ? writeF32 : writePairF16;
}

/** Refuses modifiers on an instruction whose result they cannot change in a documented way. */
export function refuseOutputModifiers(w: Wave, i: Instruction): void {
  if (i.flags & Flag.Clamp) refuse(w, i, "clamp on this instruction is not documented");
  if (i.omod !== 0) refuse(w, i, "an output modifier on an integer result is not documented");
}

/** Brings an exact integer into the range of a type: wrapped, or with clamp saturated. The result is an int32 pattern (16 bits: the low half). */
export function finishInteger(value: number, bits: number, signed: boolean, clamp: boolean): number {
  if (clamp) {
    const high = signed ? 2 ** (bits - 1) - 1 : 2 ** bits - 1;
    const low = signed ? -(2 ** (bits - 1)) : 0;
    value = value < low ? low : value > high ? high : value;
  }
  return bits === 16 ? value & 0xffff : value | 0;
}
