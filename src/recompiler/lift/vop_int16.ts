/** Vector operations on 16-bit integers (AMD RDNA2 ISA, sections 12.7 and 12.10). Computed in 32 bits. */
import { Flag } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { int16Source, writeHalf, writeHalfInt } from "./half.ts";
import { intSource, writeInt } from "./operands.ts";
import { refuse } from "./refusal.ts";

/** Adds the handlers of this class. */
export function defineInt16(define: Define): void {
  for (const [type, signed] of [["u16", false], ["i16", true]] as const) {
    const { min, max } = MIN_MAX[type];
    saturating(define, `v_add_nc_${type}`, 2, signed, (l, a, b) => l.ir.emit(Op.IAdd, a, b));
    saturating(define, `v_mad_${type}`, 3, signed, (l, a, b, c) => l.ir.emit(Op.IAdd, l.ir.emit(Op.IMul, a, b), c));
    plain(define, `v_min_${type}`, 2, signed, (l, a, b) => l.ir.emit(min, a, b));
    plain(define, `v_max_${type}`, 2, signed, (l, a, b) => l.ir.emit(max, a, b));
    plain(define, `v_min3_${type}`, 3, signed, (l, a, b, c) => l.ir.emit(min, l.ir.emit(min, a, b), c));
    plain(define, `v_max3_${type}`, 3, signed, (l, a, b, c) => l.ir.emit(max, l.ir.emit(max, a, b), c));
    plain(define, `v_med3_${type}`, 3, signed, (l, a, b, c) => {
      const { ir } = l;
      return ir.emit(max, ir.emit(min, a, b), ir.emit(min, ir.emit(max, a, b), c));
    });
  }
  saturating(define, "v_sub_nc_i16", 2, true, (l, a, b) => l.ir.emit(Op.ISub, a, b));
  define("v_sub_nc_u16", (l, i) => {
    const a = int16Source(l, i, 0, false), b = int16Source(l, i, 1, false);
    if (i.omod !== 0) refuse("an output modifier on an integer operation");
    writeHalf(l, i, subtractUnsigned(l, a, b, (i.flags & Flag.Clamp) !== 0));
  });
  plain(define, "v_mul_lo_u16", 2, false, (l, a, b) => l.ir.emit(Op.IMul, a, b));
  const low4 = (l: Lifter, id: number) => l.ir.emit(Op.And, id, l.u(15));
  plain(define, "v_lshlrev_b16", 2, false, (l, a, b) => l.ir.emit(Op.Shl, b, low4(l, a)));
  plain(define, "v_lshrrev_b16", 2, false, (l, a, b) => l.ir.emit(Op.Shr, b, low4(l, a)));
  plain(define, "v_ashrrev_i16", 2, true, (l, a, b) => l.ir.emit(Op.Sar, b, low4(l, a)));
  // 16 x 16 + 32.
  for (const [name, signed] of [["v_mad_u32_u16", false], ["v_mad_i32_i16", true]] as const) {
    define(name, (l, i) => {
      const product = l.ir.emit(Op.IMul, int16Source(l, i, 0, signed), int16Source(l, i, 1, signed));
      writeInt(l, i, l.ir.emit(Op.IAdd, product, intSource(l, i, 2)));
    });
  }
}

const MIN_MAX = { u16: { min: Op.UMin, max: Op.UMax }, i16: { min: Op.SMin, max: Op.SMax } } as const;

type Compute = (l: Lifter, a: number, b: number, c: number) => number;

/** D = low 16 bits of f(sources). */
function plain(define: Define, name: string, sources: 2 | 3, signed: boolean, compute: Compute): void {
  define(name, (l, i) => {
    const [a, b, c] = [0, 1, 2].map((n) => n < sources ? int16Source(l, i, n, signed) : 0);
    writeHalfInt(l, i, compute(l, a, b, c));
  });
}

/** The same, where clamp saturates a result that 16 bits do not hold. The 32-bit result is exact (65535^2 + 65535 is below 2^32). */
function saturating(define: Define, name: string, sources: 2 | 3, signed: boolean, compute: Compute): void {
  define(name, (l, i) => {
    if (i.omod !== 0) refuse("an output modifier on an integer operation");
    const [a, b, c] = [0, 1, 2].map((n) => n < sources ? int16Source(l, i, n, signed) : 0);
    const result = compute(l, a, b, c);
    writeHalf(l, i, i.flags & Flag.Clamp ? saturate16(l, result, signed) : result);
  });
}

/** The nearest number that 16 bits hold. */
export function saturate16(l: Lifter, id: number, signed: boolean): number {
  const { ir } = l;
  if (!signed) return ir.emit(Op.UMin, id, l.u(0xffff));
  return ir.emit(Op.SMin, ir.emit(Op.SMax, id, l.u(-0x8000)), l.u(0x7fff));
}

/** a - b of extended halves; with clamp not below 0. */
export function subtractUnsigned(l: Lifter, a: number, b: number, clamp: boolean): number {
  return l.ir.emit(Op.ISub, clamp ? l.ir.emit(Op.UMax, a, b) : a, b);
}
