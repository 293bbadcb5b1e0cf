/** Scalar operands and destinations (AMD RDNA2 ISA, section 3 "Scalar and vector operand codes"). */
import { type Instruction, Operand } from "../../instruction.ts";
import { refuse } from "../machine/refuse.ts";
import type { Wave } from "../machine/wave.ts";
import { inlineFloat32, inlineFloat64, inlineInteger, isInlineFloat, isInlineInteger } from "./constants.ts";

const FIRST_TTMP = 108;
const LAST_TTMP = 123;
const SHARED_BASE = 235, SHARED_LIMIT = 236, PRIVATE_BASE = 237, PRIVATE_LIMIT = 238;
const VCCZ = 251, EXECZ = 252;

/** A 32-bit scalar operand (any code below 256), as int32. */
export function scalar32(w: Wave, i: Instruction, code: number): number {
  if (code < 128) return readRegister(w, i, code);
  if (isInlineInteger(code)) return inlineInteger(code);
  if (isInlineFloat(code)) return inlineFloat32(code);
  switch (code) {
    case Operand.Literal:
      return i.literal | 0;
    case Operand.Scc:
      return w.scc;
    case VCCZ:
      return w.isMaskZero(Operand.Vcc) ? 1 : 0;
    case EXECZ:
      return w.isMaskZero(Operand.Exec) ? 1 : 0;
    case SHARED_BASE:
    case PRIVATE_BASE:
    case SHARED_LIMIT:
    case PRIVATE_LIMIT:
      // As a 32-bit operand an aperture is the low half of its address.
      return Number(BigInt.asIntN(32, aperture(w, code)));
    default:
      return refuse(w, i, `operand code ${code} is not implemented`);
  }
}

function readRegister(w: Wave, i: Instruction, register: number): number {
  if (register >= FIRST_TTMP && register <= LAST_TTMP) refuse(w, i, "reads a trap handler register (TTMP)");
  return register === Operand.Null ? 0 : w.sgpr[register] | 0;
}

/** Base or limit of LDS or scratch memory in the flat address space. */
function aperture(w: Wave, code: number): bigint {
  const { shared, private: scratch } = w.group.context.apertures;
  const base = BigInt(code <= SHARED_LIMIT ? shared : scratch) << 32n;
  return code === SHARED_BASE || code === PRIVATE_BASE ? base : base | 0xffff_ffffn;
}

/** How a 32-bit literal fills a 64-bit operand: with zeros, with its sign, or as the high word of an f64. */
export type LiteralFill = "zero" | "sign" | "high";

/** A 64-bit scalar operand, as an unsigned bigint. Inline floats are f64. */
export function scalar64(w: Wave, i: Instruction, code: number, fill: LiteralFill = "zero"): bigint {
  if (code === Operand.Null) return 0n;
  if (code < 128) {
    return BigInt(readRegister(w, i, code + 1) >>> 0) << 32n | BigInt(readRegister(w, i, code) >>> 0);
  }
  if (isInlineInteger(code)) return BigInt.asUintN(64, BigInt(inlineInteger(code)));
  if (isInlineFloat(code)) return inlineFloat64(code);
  if (code >= SHARED_BASE && code <= PRIVATE_LIMIT) return aperture(w, code);
  if (code === Operand.Literal) {
    const literal = BigInt(i.literal >>> 0);
    if (fill === "high") return literal << 32n;
    return fill === "sign" ? BigInt.asUintN(64, BigInt.asIntN(32, literal)) : literal;
  }
  return BigInt(scalar32(w, i, code) >>> 0);
}

/** Writes a scalar register. Writing NULL does nothing. */
export function setScalar32(w: Wave, i: Instruction, register: number, value: number): void {
  if (register >= FIRST_TTMP && register <= LAST_TTMP) refuse(w, i, "writes a trap handler register (TTMP)");
  if (register !== Operand.Null) w.sgpr[register] = value;
}

/** Writes a pair of scalar registers. */
export function setScalar64(w: Wave, i: Instruction, register: number, value: bigint): void {
  if (register === Operand.Null) return;
  setScalar32(w, i, register, Number(value & 0xffff_ffffn));
  setScalar32(w, i, register + 1, Number(value >> 32n & 0xffff_ffffn));
}

/** Low half of a lane mask operand: a register (pair), or a constant. */
export function maskLo(w: Wave, i: Instruction, code: number): number {
  return w.size === 32 ? scalar32(w, i, code) : Number(BigInt.asIntN(32, scalar64(w, i, code)));
}

/** High half of a lane mask operand; 0 in wave32. */
export function maskHi(w: Wave, i: Instruction, code: number): number {
  return w.size === 32 ? 0 : Number(BigInt.asIntN(32, scalar64(w, i, code) >> 32n));
}

/** Writes a lane mask: one register in wave32, a pair in wave64. */
export function setMask(w: Wave, i: Instruction, register: number, lo: number, hi: number): void {
  setScalar32(w, i, register, lo);
  if (w.size === 64 && register !== Operand.Null) setScalar32(w, i, register + 1, hi);
}
