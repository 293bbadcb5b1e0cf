/** Conversions of float bits by integer operations, so that they are the same on every device and in every MODE. */
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";

const view = new DataView(new ArrayBuffer(4));

/** f32 bits of a number, as int32. */
export function floatBits(value: number): number {
  view.setFloat32(0, value);
  return view.getInt32(0);
}

/** f16 bits (U32, upper half 0) as f32 bits of the same value; a NaN keeps its payload and becomes quiet. */
export function wideFloat(l: Lifter, half: number): number {
  const { ir } = l;
  const size = ir.emit(Op.And, half, l.u(0x7fff));
  const sign = ir.emit(Op.Shl, ir.emit(Op.And, half, l.u(0x8000)), l.u(16));
  const moved = ir.emit(Op.Shl, size, l.u(13));
  const normal = l.addConstant(moved, 0x38000000);
  // Infinity and NaN get the largest exponent, NaN the quiet bit.
  const special = ir.emit(Op.Or, moved, l.u(0x7f800000));
  const isNan = ir.emit(Op.ULt, l.u(0x7c00), size);
  const quiet = ir.emit(Op.Or, special, l.u(0x400000));
  const large = l.select(ir.emit(Op.ULt, size, l.u(0x7c00)), normal, l.select(isNan, quiet, special));
  // Denormals: an integer times 2^-24.
  const small = ir.emit(Op.ISub, l.asU(ir.emit(Op.CvtU2F, size)), l.u(24 << 23));
  const tiny = l.select(ir.emit(Op.IEq, size, l.u(0)), l.u(0), small);
  return ir.emit(Op.Or, l.select(ir.emit(Op.ULt, size, l.u(0x400)), tiny, large), sign);
}

/** Whether f32 bits are a NaN. */
export function isNan(l: Lifter, bits: number): number {
  return l.ir.emit(Op.ULt, l.u(0x7f800000), l.ir.emit(Op.And, bits, l.u(0x7fffffff)));
}

/**
 * f32 bits as a float with a 5-bit exponent and `fraction` bits behind the point, rounded to nearest even; too large becomes infinity. The sign is left out,
 * and the number must not be a NaN.
 */
export function smallFloat(l: Lifter, bits: number, fraction: number): number {
  const { ir } = l;
  const size = ir.emit(Op.And, bits, l.u(0x7fffffff));
  const shift = 23 - fraction;
  const odd = ir.emit(Op.UBfe, size, l.u(shift), l.u(1));
  const rebased = l.addConstant(size, (1 << (shift - 1)) - 1 - 0x38000000);
  const normal = ir.emit(Op.Shr, ir.emit(Op.IAdd, rebased, odd), l.u(shift));
  // Below 2^-14: a whole number of 2^-(14 + fraction).
  const scaled = ir.emit(Op.FMul, l.asF(size), ir.constF(floatBits(2 ** (14 + fraction))));
  const tiny = ir.emit(Op.CvtF2U, ir.emit(Op.FRndne, scaled));
  const infinity = l.u(31 << fraction);
  const finite = l.select(ir.emit(Op.ULt, size, l.u(0x38800000)), tiny, ir.emit(Op.UMin, normal, infinity));
  return l.select(ir.emit(Op.ULt, size, l.u(0x47800000)), finite, infinity);
}

/** f32 bits as f16, rounded to nearest even. A NaN keeps the top of its payload and becomes quiet (`quiets`), or becomes 0x7e00. */
export function halfFloat(l: Lifter, bits: number, quiets: boolean): number {
  const { ir } = l;
  const sign = ir.emit(Op.And, ir.emit(Op.Shr, bits, l.u(16)), l.u(0x8000));
  const number = ir.emit(Op.Or, smallFloat(l, bits, 10), sign);
  const nan = quiets
    ? ir.emit(Op.Or, ir.emit(Op.Or, ir.emit(Op.UBfe, bits, l.u(13), l.u(10)), l.u(0x7e00)), sign)
    : l.u(0x7e00);
  return l.select(isNan(l, bits), nan, number);
}

/** f32 bits as a float without a sign, of 5 bits of exponent and `fraction` bits: negative numbers become 0. */
export function unsignedFloat(l: Lifter, value: number, fraction: number): number {
  const { ir } = l;
  const number = l.select(ir.emit(Op.SLt, value, l.u(0)), l.u(0), smallFloat(l, value, fraction));
  return l.select(isNan(l, value), l.u((31 << fraction) | (1 << (fraction - 1))), number);
}
