/** The remaining f32 operations, and sums of absolute differences over windows (AMD RDNA2 ISA, sections 12.8 and 12.10). */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { floatSource, intSource, writeFloat, writeInt } from "./operands.ts";
import { refuse } from "./refusal.ts";

/** Adds the handlers of this class. */
export function defineMath(define: Define): void {
  defineFrexp(define);
  defineCube(define);
  defineWindows(define);
  define("v_mullit_f32", mullit);
  define("v_cvt_pk_u8_f32", packByte);
  // Clears sticky exception flags, which nothing here can read.
  define("v_clrexcp", () => {});
}

function defineFrexp(define: Define): void {
  const parts = (l: Lifter, i: Instruction) => {
    const { ir } = l;
    const bits = l.asU(l.modes.inspected(floatSource(l, i, 0)));
    const size = ir.emit(Op.And, bits, l.u(0x7fffffff));
    const field = ir.emit(Op.UBfe, bits, l.u(23), l.u(8));
    const isSmall = ir.emit(Op.IEq, field, l.u(0)), isZero = ir.emit(Op.IEq, size, l.u(0));
    const stays = l.or(isZero, ir.emit(Op.IEq, field, l.u(255)));
    return { bits, size, field, isSmall, stays };
  };
  define("v_frexp_exp_i32_f32", (l, i) => {
    const { ir } = l;
    const { size, field, isSmall, stays } = parts(l, i);
    // The lowest bit of a denormal stands for 2^-149.
    const denormal = ir.emit(Op.ISub, ir.emit(Op.FindUMsb, size), l.u(148));
    const exponent = l.select(isSmall, denormal, ir.emit(Op.ISub, field, l.u(126)));
    writeInt(l, i, l.select(stays, l.u(0), exponent));
  });
  define("v_frexp_mant_f32", (l, i) => {
    const { ir } = l;
    const { bits, size, isSmall, stays } = parts(l, i);
    const shift = ir.emit(Op.And, ir.emit(Op.ISub, l.u(23), ir.emit(Op.FindUMsb, size)), l.u(31));
    const fraction = l.select(isSmall, ir.emit(Op.Shl, size, shift), size);
    const signAndField = ir.emit(Op.Or, ir.emit(Op.And, bits, l.u(0x80000000)), l.u(0x3f000000));
    const mantissa = ir.emit(Op.Or, ir.emit(Op.And, fraction, l.u(0x7fffff)), signAndField);
    writeFloat(l, i, l.asF(l.select(stays, bits, mantissa)));
  });
}

// --- cube maps: face, coordinates and major axis of a direction ---

interface Direction {
  readonly x: number;
  readonly y: number;
  readonly z: number;
  /** |z| >= |x| and |z| >= |y|. */
  readonly zLeads: number;
  /** Else: |y| >= |x|. */
  readonly yLeads: number;
}

function defineCube(define: Define): void {
  const negative = (l: Lifter, id: number) => l.ir.emit(Op.FOrdLt, id, l.ir.constF(0));
  const negated = (l: Lifter, id: number) => l.ir.emit(Op.FNeg, id);
  const twice = (l: Lifter, id: number) => l.ir.emit(Op.FMul, l.ir.constF(0x40000000), id);
  const number = (l: Lifter, value: number) =>
    l.ir.constF([0, 0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40a00000][value]);
  const byAxis = (l: Lifter, d: Direction, z: number, y: number, x: number) =>
    l.select(d.zLeads, z, l.select(d.yLeads, y, x));
  const face = (l: Lifter, id: number, k: number) => l.select(negative(l, id), number(l, k + 1), number(l, k));
  cube(define, "v_cubeid_f32", (l, d) => byAxis(l, d, face(l, d.z, 4), face(l, d.y, 2), face(l, d.x, 0)));
  cube(define, "v_cubesc_f32", (l, d) =>
    byAxis(
      l,
      d,
      l.select(negative(l, d.z), negated(l, d.x), d.x),
      d.x,
      l.select(negative(l, d.x), d.z, negated(l, d.z)),
    ));
  cube(
    define,
    "v_cubetc_f32",
    (l, d) => byAxis(l, d, negated(l, d.y), l.select(negative(l, d.y), negated(l, d.z), d.z), negated(l, d.y)),
  );
  cube(define, "v_cubema_f32", (l, d) => byAxis(l, d, twice(l, d.z), twice(l, d.y), twice(l, d.x)));
}

function cube(define: Define, name: string, compute: (l: Lifter, direction: Direction) => number): void {
  define(name, (l, i) => {
    const { ir } = l;
    // Some results are sources as they are.
    const [x, y, z] = [0, 1, 2].map((n) => l.modes.inspected(floatSource(l, i, n)));
    const [sizeX, sizeY, sizeZ] = [x, y, z].map((id) => ir.emit(Op.FAbs, id));
    const zLeads = l.and(ir.emit(Op.FOrdLe, sizeX, sizeZ), ir.emit(Op.FOrdLe, sizeY, sizeZ));
    const yLeads = ir.emit(Op.FOrdLe, sizeX, sizeY);
    writeFloat(l, i, compute(l, { x, y, z, zLeads, yLeads }));
  });
}

/** S0 * S1, but the largest negative number where S1 is that or less or NaN, or S2 is not above zero (AMD RDNA2 ISA, V_MULLIT_F32). */
function mullit(l: Lifter, i: Instruction): void {
  const { ir } = l;
  l.modes.requireRounding32();
  const [a, b, c] = [0, 1, 2].map((n) => floatSource(l, i, n));
  const lowest = ir.constF(0xff7fffff);
  const multiplies = l.and(ir.emit(Op.FOrdLt, lowest, b), ir.emit(Op.FOrdLt, ir.constF(0), c));
  writeFloat(l, i, l.select(multiplies, ir.emit(Op.FMul, a, b), lowest));
}

/**
 * S2 with the byte that S1[1:0] names replaced by S0 as a number 0..255, rounded as MODE says (measured by AMD on gfx1201: ROCm/rocm-systems, rocjitsu,
 * conversion.h; gfx90c rounds to nearest too).
 */
function packByte(l: Lifter, i: Instruction): void {
  const { ir } = l;
  l.modes.requireRounding32();
  const value = ir.emit(Op.UMin, ir.emit(Op.CvtF2U, ir.emit(Op.FRndne, floatSource(l, i, 0))), l.u(255));
  const shift = ir.emit(Op.Shl, ir.emit(Op.And, intSource(l, i, 1), l.u(3)), l.u(3));
  const mask = ir.emit(Op.Not, ir.emit(Op.Shl, l.u(255), shift));
  writeInt(l, i, ir.emit(Op.Or, ir.emit(Op.And, intSource(l, i, 2), mask), ir.emit(Op.Shl, value, shift)));
}

// --- sums of absolute differences of four bytes with each of the four windows into eight ---

function defineWindows(define: Define): void {
  for (const [name, masked] of [["v_qsad_pk_u16_u8", false], ["v_mqsad_pk_u16_u8", true]] as const) {
    define(name, (l, i) => {
      const { ir } = l;
      refuseClamp(i);
      const accumulators = l.sourcePair(i.src2);
      const sums = windowSums(l, i, masked).map((sum, k) => {
        const old = ir.emit(Op.UBfe, accumulators[k >> 1], l.u((k & 1) * 16), l.u(16));
        return ir.emit(Op.IAdd, sum, old);
      });
      l.setVectors(i.dst, [0, 2].map((k) => ir.emit(Op.BitInsert, sums[k], sums[k + 1], 16, 16)));
    });
  }
  define("v_mqsad_u32_u8", (l, i) => {
    refuseClamp(i);
    const old = [0, 1, 2, 3].map((k) => l.asU(l.source(i.src2 + k)));
    l.setVectors(i.dst, windowSums(l, i, true).map((sum, k) => l.ir.emit(Op.IAdd, sum, old[k])));
  });
}

function refuseClamp(i: Instruction): void {
  if (i.flags & Flag.Clamp) refuse("clamp on this integer operation is not implemented");
}

/** The four sums; masked: bytes whose reference in S1 is 0 do not count. */
function windowSums(l: Lifter, i: Instruction, masked: boolean): number[] {
  const { ir } = l;
  const [low, high] = l.sourcePair(i.src0);
  const reference = intSource(l, i, 1);
  const byte = (k: number) => ir.emit(Op.UBfe, k < 4 ? low : high, l.u((k & 3) * 8), l.u(8));
  const bytes = [0, 1, 2, 3, 4, 5, 6].map(byte);
  const references = [0, 1, 2, 3].map((k) => ir.emit(Op.UBfe, reference, l.u(k * 8), l.u(8)));
  return [0, 1, 2, 3].map((window) =>
    references.map((r, k) => {
      const a = bytes[window + k];
      const distance = ir.emit(Op.ISub, ir.emit(Op.UMax, a, r), ir.emit(Op.UMin, a, r));
      return masked ? l.select(ir.emit(Op.IEq, r, l.u(0)), l.u(0), distance) : distance;
    }).reduce((x, y) => ir.emit(Op.IAdd, x, y))
  );
}
