/** From the bits of an element in memory to the components that registers hold: what src/rdna/interpreter/memory/formats.ts does, as IR. */
import type { Format, NumberKind } from "../../../rdna/formats.ts";
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import { floatBits, wideFloat } from "./bits.ts";
import { decodeSrgb } from "./srgb.ts";

/** The components that an element has, from its 1 to 4 dwords: U32 with the bits of floats or integers. */
export function unpackElement(l: Lifter, format: Format, dwords: readonly number[]): number[] {
  if (format.kind === "shared") return unpackShared(l, dwords[0]);
  let at = 0;
  return format.bits.map((bits, c) => {
    // sRGB does not touch alpha.
    const kind = format.kind === "srgb" && c === 3 ? "unorm" : format.kind;
    const field = extract(l, dwords[at >> 5], at & 31, bits, isSigned(kind));
    at += bits;
    return l.asU(toRegister(l, kind, bits, field));
  });
}

function isSigned(kind: NumberKind): boolean {
  return kind === "snorm" || kind === "sscaled" || kind === "sint";
}

function extract(l: Lifter, dword: number, offset: number, bits: number, signed: boolean): number {
  return bits === 32 ? dword : l.ir.emit(signed ? Op.SBfe : Op.UBfe, dword, l.u(offset), l.u(bits));
}

function toRegister(l: Lifter, kind: NumberKind, bits: number, field: number): number {
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
    case "snorm":
      // The most negative number is -1 as well.
      return ir.emit(Op.FMax, quotient(l, ir.emit(Op.CvtS2F, field), bits - 1), ir.constF(floatBits(-1)));
    case "srgb":
      return decodeSrgb(l, field);
    default:
      if (bits === 32) return field;
      return wideFloat(l, bits === 16 ? field : ir.emit(Op.Shl, field, l.u(bits === 11 ? 4 : 5)));
  }
}

/**
 * value / (2^bits - 1) for integers of that size, correctly rounded: the quotient is value * 2^-bits, which is exact, plus a 2^bits-th part of
 * itself, whose rounding error is too small to matter (tests try all values of all sizes).
 */
function quotient(l: Lifter, value: number, bits: number): number {
  const { ir } = l;
  const [main, rest] = quotientFactors(bits);
  return ir.emit(
    Op.FAdd,
    ir.emit(Op.FMul, value, ir.constF(floatBits(main))),
    ir.emit(Op.FMul, value, ir.constF(floatBits(rest))),
  );
}

/** The two f32 factors whose products make the quotient of an integer of `bits` bits. */
export function quotientFactors(bits: number): readonly [main: number, rest: number] {
  return [2 ** -bits, Math.fround(1 / (2 ** bits * (2 ** bits - 1)))];
}

/** Three 9-bit mantissas with a shared exponent: mantissa * 2^(exponent - 24). */
function unpackShared(l: Lifter, dword: number): number[] {
  const { ir } = l;
  const exponent = ir.emit(Op.Shr, dword, l.u(27));
  const scale = l.asF(ir.emit(Op.Shl, l.addConstant(exponent, 127 - 24), l.u(23)));
  return [0, 9, 18].map((at) =>
    l.asU(ir.emit(Op.FMul, ir.emit(Op.CvtU2F, ir.emit(Op.UBfe, dword, l.u(at), l.u(9))), scale))
  );
}
