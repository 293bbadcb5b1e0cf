/** From the components that registers hold to the bits of an element in memory: what src/rdna/interpreter/memory/formats.ts does, as IR. */
import type { Format, NumberKind } from "../../../rdna/formats.ts";
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import { floatBits, halfFloat, isNan, unsignedFloat } from "./bits.ts";
import { encodeSrgb } from "./srgb.ts";

/** The dwords of an element from four components (U32). */
export function packElement(l: Lifter, format: Format, components: readonly number[]): number[] {
  if (format.kind === "shared") return [packShared(l, components)];
  const { ir } = l;
  const dwords: number[] = [];
  let at = 0;
  format.bits.forEach((bits, c) => {
    const kind = format.kind === "srgb" && c === 3 ? "unorm" : format.kind;
    const field = fromRegister(l, kind, bits, components[c]);
    const shifted = (at & 31) === 0 ? field : ir.emit(Op.Shl, field, l.u(at & 31));
    const dword = at >> 5;
    dwords[dword] = dwords[dword] === undefined ? shifted : ir.emit(Op.Or, dwords[dword], shifted);
    at += bits;
  });
  return dwords;
}

/** A component's bits, the others zero. Floats out of range and integers are clamped, NaN is 0 in fields that are no floats. */
function fromRegister(l: Lifter, kind: NumberKind, bits: number, value: number): number {
  const { ir } = l;
  const high = 2 ** bits - 1, signedHigh = 2 ** (bits - 1) - 1;
  const f = (number: number) => ir.constF(floatBits(number));
  // NaN gives way to the other operand.
  const clamped = (low: number, top: number) => ir.emit(Op.FMin, ir.emit(Op.FMax, l.asF(value), f(low)), f(top));
  // Without its NaN, where the lower limit is no substitute for it.
  const signed = (low: number, top: number) =>
    ir.emit(
      Op.FMin,
      ir.emit(Op.FMax, l.asF(l.select(isNan(l, value), l.u(0), value)), f(low)),
      f(top),
    );
  const masked = (field: number) => bits === 32 ? field : ir.emit(Op.And, field, l.u(high));
  switch (kind) {
    case "unorm":
      return ir.emit(Op.CvtF2U, scaled(l, clamped(0, 1), high));
    case "snorm":
      return masked(ir.emit(Op.CvtF2S, scaled(l, signed(-1, 1), signedHigh)));
    case "uscaled":
      return ir.emit(Op.CvtF2U, ir.emit(Op.FRndne, clamped(0, high)));
    case "sscaled":
      return masked(ir.emit(Op.CvtF2S, ir.emit(Op.FRndne, signed(-signedHigh - 1, signedHigh))));
    case "uint":
      return bits === 32 ? value : ir.emit(Op.UMin, value, l.u(high));
    case "sint":
      if (bits === 32) return value;
      return masked(ir.emit(Op.SMin, ir.emit(Op.SMax, value, l.u(-signedHigh - 1)), l.u(signedHigh)));
    case "srgb":
      return encodeSrgb(l, clamped(0, 1));
    default:
      if (bits === 32) return value;
      return bits === 16 ? halfFloat(l, value, true) : unsignedFloat(l, value, bits - 5);
  }
}

/** value * factor rounded to an integer once: the product is rounded to odd first, with bits to spare. */
function scaled(l: Lifter, value: number, factor: number): number {
  const { ir } = l;
  if (factor === 1) return ir.emit(Op.FRndne, value);
  return ir.emit(Op.FRndne, ir.emit(Op.FFmaOdd, value, ir.constF(floatBits(factor)), ir.constF(0)));
}

/** The shared exponent is that of the largest component (Khronos, EXT_texture_shared_exponent). */
function packShared(l: Lifter, components: readonly number[]): number {
  const { ir } = l;
  const f = (number: number) => ir.constF(floatBits(number));
  const values = components.slice(0, 3).map((value) =>
    ir.emit(Op.FMin, ir.emit(Op.FMax, l.asF(value), f(0)), f(511 * 2 ** 7))
  );
  const max = values.map((value) => l.asU(value)).reduce((a, b) => ir.emit(Op.UMax, a, b));
  // floor(log2) is the exponent; at least -16.
  const exponent = l.addConstant(ir.emit(Op.UMax, ir.emit(Op.Shr, max, l.u(23)), l.u(127 - 16)), -127 + 16);
  // value / 2^(exponent - 24) rounded half up.
  const mantissa = (value: number, e: number) => {
    const factor = l.asF(ir.emit(Op.Shl, ir.emit(Op.ISub, l.u(127 + 24), e), l.u(23)));
    const product = ir.emit(Op.FMul, value, factor);
    const floor = ir.emit(Op.FFloor, product);
    const up = ir.emit(Op.FOrdLe, f(0.5), ir.emit(Op.FSub, product, floor));
    return ir.emit(Op.IAdd, ir.emit(Op.CvtF2U, floor), l.boolToU(up));
  };
  const overflows = ir.emit(Op.IEq, mantissa(l.asF(max), exponent), l.u(512));
  const shared = ir.emit(Op.IAdd, exponent, l.boolToU(overflows));
  return values.reduce(
    (word, value, c) => ir.emit(Op.Or, word, ir.emit(Op.Shl, mantissa(value, shared), l.u(c * 9))),
    ir.emit(Op.Shl, shared, l.u(27)),
  );
}
