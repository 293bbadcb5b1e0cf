/** Conversion between the bits of a texel and the registers of a shader. */
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { NumberKind, PixelFormat } from "./pixel_formats.ts";
import { refuse } from "./refusal.ts";

const view = new DataView(new ArrayBuffer(4));

function floatBits(value: number): number {
  view.setFloat32(0, value);
  return view.getInt32(0);
}

/** The components that a texel has, from its 1, 2 or 4 dwords; U32 or F32 as the format's kind says. */
export function unpackTexel(l: Lifter, format: PixelFormat, dwords: readonly number[]): number[] {
  let at = 0;
  return format.bits.map((bits) => {
    const field = extract(l, dwords[at >> 5], at & 31, bits, isSigned(format.kind));
    at += bits;
    return toShader(l, format.kind, bits, field);
  });
}

function isSigned(kind: NumberKind): boolean {
  return kind === "snorm" || kind === "sscaled" || kind === "sint";
}

function extract(l: Lifter, dword: number, offset: number, bits: number, signed: boolean): number {
  return bits === 32 ? dword : l.ir.emit(signed ? Op.SBfe : Op.UBfe, dword, l.u(offset), l.u(bits));
}

function toShader(l: Lifter, kind: NumberKind, bits: number, field: number): number {
  const { ir } = l;
  switch (kind) {
    case "uint":
    case "sint":
      return field;
    case "uscaled":
      return ir.emit(Op.CvtU2F, field);
    case "sscaled":
      return ir.emit(Op.CvtS2F, field);
    case "unorm":
      return quotient(l, ir.emit(Op.CvtU2F, field), bits);
    case "snorm": {
      // The most negative number is -1 as well.
      const value = quotient(l, ir.emit(Op.CvtS2F, field), bits - 1);
      return ir.emit(Op.FMax, value, ir.constF(floatBits(-1)));
    }
    case "float":
      return bits === 16 ? ir.emit(Op.CvtH2F, field) : l.asF(field);
  }
}

/**
 * value / (2^bits - 1) for integers of that size, correctly rounded: the quotient is value * 2^-bits, which is exact, plus a 2^bits-th part of
 * itself, whose rounding error is too small to matter (tests try all values of 2, 8, 10 and 16 bits).
 */
function quotient(l: Lifter, value: number, bits: number): number {
  const { ir } = l;
  const most = 2 ** bits - 1;
  const main = ir.emit(Op.FMul, value, ir.constF(floatBits(2 ** -bits)));
  const rest = ir.emit(Op.FMul, value, ir.constF(floatBits(1 / (2 ** bits * most))));
  return ir.emit(Op.FAdd, main, rest);
}

/** The dwords of a texel from the values of its components. */
export function packTexel(l: Lifter, format: PixelFormat, components: readonly number[]): number[] {
  const { ir } = l;
  const dwords: number[] = [];
  let at = 0;
  format.bits.forEach((bits, k) => {
    const field = fromShader(l, format, bits, components[k]);
    const shifted = (at & 31) === 0 ? field : ir.emit(Op.Shl, field, l.u(at & 31));
    const dword = at >> 5;
    dwords[dword] = dwords[dword] === undefined ? shifted : ir.emit(Op.Or, dwords[dword], shifted);
    at += bits;
  });
  return dwords;
}

/** A component's bits, the others zero. */
function fromShader(l: Lifter, format: PixelFormat, bits: number, value: number): number {
  const { ir } = l;
  if (bits === 32) return l.asU(value);
  const mask = l.u(2 ** bits - 1);
  switch (format.kind) {
    case "unorm": {
      const clamped = ir.emit(Op.FMin, ir.emit(Op.FMax, l.asF(value), ir.constF(0)), ir.constF(floatBits(1)));
      const scaled = ir.emit(Op.FRndne, ir.emit(Op.FMul, clamped, ir.constF(floatBits(2 ** bits - 1))));
      return ir.emit(Op.CvtF2U, scaled);
    }
    case "snorm": {
      const number = l.select(ir.emit(Op.FIsNan, l.asF(value)), ir.constF(0), l.asF(value));
      const clamped = ir.emit(Op.FMin, ir.emit(Op.FMax, number, ir.constF(floatBits(-1))), ir.constF(floatBits(1)));
      const scaled = ir.emit(Op.FRndne, ir.emit(Op.FMul, clamped, ir.constF(floatBits(2 ** (bits - 1) - 1))));
      return ir.emit(Op.And, ir.emit(Op.CvtF2S, scaled), mask);
    }
    case "float":
      return ir.emit(Op.CvtF2H, l.asF(value));
    default:
      return refuse(`stores to images of format ${format.name} are not implemented`);
  }
}
