/**
 * Elements whose format is known only when the program runs: that of a V# which the program makes or loads itself. The numbers of buffer formats are 7 bits;
 * the layout is found by comparisons, and every component is converted in all ways, of which one is chosen. The same results as unpack.ts and pack.ts.
 */
import { formatOf, type NumberKind } from "../../../rdna/formats.ts";
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import { floatBits, halfFloat, isNan, unsignedFloat, wideFloat } from "./bits.ts";
import { quotientFactors } from "./unpack.ts";

/** A format, as values of the program. */
export interface RuntimeFormat {
  /** Bool: there is such a format. */
  readonly exists: number;
  /** U32: bytes of an element. */
  readonly bytes: number;
  /** U32: components that there are. */
  readonly present: number;
  /** U32: index in {@linkcode KINDS}. */
  readonly kind: number;
  /** U32 each: width in bits of the components, 0 where there is none. */
  readonly widths: readonly number[];
  /** U32 each: bit offset in the element. */
  readonly offsets: readonly number[];
}

/** Number kinds of buffer formats, in the order of the format numbers; odd ones are signed. */
const KINDS: readonly NumberKind[] = ["unorm", "snorm", "uscaled", "sscaled", "uint", "sint", "float"];
const USCALED = 2, UINT = 4, FLOAT = 6;
/** Number of the last buffer format. */
const LAST_BUFFER_FORMAT = 77;

/** Runs of formats that differ only in their kind. */
interface Layout {
  readonly first: number;
  readonly bytes: number;
  readonly bits: readonly number[];
  /** Format number less index of the kind. */
  readonly base: number;
}

const LAYOUTS: readonly Layout[] = findLayouts();

function findLayouts(): Layout[] {
  const layouts: Layout[] = [];
  for (let number = 1; number <= LAST_BUFFER_FORMAT; number++) {
    const { bits, bytes, kind } = formatOf(number)!;
    const base = number - KINDS.indexOf(kind);
    const last = layouts.at(-1);
    if (last?.base === base && last.bits.join() === bits.join()) continue;
    layouts.push({ first: number, bytes, bits, base });
  }
  return layouts;
}

/** Takes a format number apart. @param number U32 */
export function runtimeFormat(l: Lifter, number: number): RuntimeFormat {
  const { ir } = l;
  const packed = (pack: (layout: Layout) => number) => {
    let value = l.u(pack(LAYOUTS[0]));
    for (const layout of LAYOUTS.slice(1)) {
      value = l.select(ir.emit(Op.ULt, number, l.u(layout.first)), value, l.u(pack(layout)));
    }
    return value;
  };
  const widths = packed(({ bits }) => bits.reduce((sum, width, c) => sum | width << (c * 8), 0));
  const rest = packed(({ bytes, bits, base }) => bytes | bits.length << 8 | base << 16);
  const field = (value: number, at: number) => ir.emit(Op.UBfe, value, l.u(at), l.u(8));
  const each = [0, 1, 2, 3].map((c) => field(widths, c * 8));
  const offsets = [l.u(0)];
  for (let c = 1; c < 4; c++) offsets.push(c === 1 ? each[0] : ir.emit(Op.IAdd, offsets[c - 1], each[c - 1]));
  return {
    exists: ir.emit(Op.ULt, l.addConstant(number, -1), l.u(LAST_BUFFER_FORMAT)),
    bytes: field(rest, 0),
    present: field(rest, 8),
    kind: ir.emit(Op.ISub, number, ir.emit(Op.SBfe, rest, l.u(16), l.u(8))),
    widths: each,
    offsets,
  };
}

/** Whether a format is one of a kind. */
function isKind(l: Lifter, { kind }: RuntimeFormat, below: number): number {
  return l.ir.emit(Op.ULt, kind, l.u(below));
}

/** Whether registers hold floats. */
export function holdsFloats(l: Lifter, format: RuntimeFormat): number {
  return l.not(l.and(isKind(l, format, FLOAT), l.not(isKind(l, format, UINT))));
}

function isSigned(l: Lifter, { kind }: RuntimeFormat): number {
  return l.ir.emit(Op.INe, l.ir.emit(Op.And, kind, l.u(1)), l.u(0));
}

/** The dword that holds a component: components of 16 and 32 bits may lie in later ones. */
function dwordOf(l: Lifter, offset: number, c: number, dwords: readonly number[]): number {
  let dword = dwords[0];
  for (let k = 1; k <= c; k++) {
    dword = l.select(l.ir.emit(Op.ULt, offset, l.u(k * 32)), dword, dwords[k]);
  }
  return dword;
}

/**
 * The four components from four dwords (U32), those that the format lacks repeated from those that it has, as DST_SEL sees them. The fourth of three is
 * the first again, though nobody knows what it is.
 */
export function unpackRuntime(l: Lifter, format: RuntimeFormat, dwords: readonly number[], wanted: number): number[] {
  const { ir } = l;
  const signed = isSigned(l, format);
  const values = [0, 1, 2, 3].slice(0, wanted).map((c) => {
    const width = format.widths[c], shift = ir.emit(Op.And, format.offsets[c], l.u(31));
    const dword = dwordOf(l, format.offsets[c], c, dwords);
    const field = (op: number) => ir.emit(op, dword, shift, width);
    const raw = l.select(signed, field(Op.SBfe), field(Op.UBfe));
    return toRegister(l, format, width, raw, signed);
  });
  const least = (count: number) => ir.emit(Op.ULe, l.u(count), format.present);
  const [x, y = x, z = x, w = x] = values;
  const second = l.select(least(2), y, x);
  return [x, second, l.select(least(3), z, x), l.select(least(4), w, l.select(least(3), x, second))];
}

function toRegister(l: Lifter, format: RuntimeFormat, width: number, raw: number, signed: number): number {
  const { ir } = l;
  const number = l.select(signed, ir.emit(Op.CvtS2F, raw), ir.emit(Op.CvtU2F, raw));
  const bits = ir.emit(Op.ISub, width, l.boolToU(signed));
  const factor = (which: 0 | 1) => l.asF(byBits(l, bits, (n) => floatBits(quotientFactors(n)[which])));
  const sum = ir.emit(Op.FAdd, ir.emit(Op.FMul, number, factor(0)), ir.emit(Op.FMul, number, factor(1)));
  const norm = ir.emit(Op.FMax, sum, ir.constF(floatBits(-1)));
  const isWide = ir.emit(Op.IEq, width, l.u(32)), isHalf = ir.emit(Op.IEq, width, l.u(16));
  // Floats of 11 and 10 bits have the exponent of f16, and no sign.
  const shift = l.select(isHalf, l.u(0), ir.emit(Op.And, ir.emit(Op.ISub, l.u(15), width), l.u(31)));
  const float = l.select(isWide, raw, wideFloat(l, ir.emit(Op.And, ir.emit(Op.Shl, raw, shift), l.u(0xffff))));
  return l.select(
    isKind(l, format, USCALED),
    l.asU(norm),
    l.select(isKind(l, format, UINT), l.asU(number), l.select(isKind(l, format, FLOAT), raw, float)),
  );
}

/** Sizes of normalized integers, without their sign. */
const SIZES = [...new Set(LAYOUTS.flatMap(({ bits }) => bits).filter((n) => n < 32).flatMap((n) => [n, n - 1]))].sort((
  a,
  b,
) => a - b);

/** A number of `bits`, one of {@linkcode SIZES}. */
function byBits(l: Lifter, bits: number, of: (bits: number) => number): number {
  let value = l.u(of(SIZES[0]));
  for (const size of SIZES.slice(1)) value = l.select(l.ir.emit(Op.ULt, bits, l.u(size)), value, l.u(of(size)));
  return value;
}

/** The four dwords of an element from its components (U32). */
export function packRuntime(l: Lifter, format: RuntimeFormat, components: readonly number[]): number[] {
  const { ir } = l;
  const dwords = [0, 1, 2, 3].map(() => l.u(0));
  components.forEach((value, c) => {
    const width = format.widths[c], offset = format.offsets[c];
    const field = ir.emit(Op.Shl, fromRegister(l, format, width, value), ir.emit(Op.And, offset, l.u(31)));
    const index = ir.emit(Op.Shr, offset, l.u(5));
    const exists = ir.emit(Op.ULt, l.u(c), format.present);
    for (let k = 0; k <= c; k++) {
      const here = l.and(exists, ir.emit(Op.IEq, index, l.u(k)));
      dwords[k] = ir.emit(Op.Or, dwords[k], l.select(here, field, l.u(0)));
    }
  });
  return dwords;
}

function fromRegister(l: Lifter, format: RuntimeFormat, width: number, value: number): number {
  const { ir } = l;
  const f = (number: number) => ir.constF(floatBits(number));
  const signed = isSigned(l, format), isNorm = isKind(l, format, USCALED), isWide = ir.emit(Op.IEq, width, l.u(32));
  const isInteger = l.and(isKind(l, format, FLOAT), l.not(isKind(l, format, UINT)));
  const bits = ir.emit(Op.ISub, width, l.boolToU(signed));
  const ones = (count: number) => ir.emit(Op.ISub, ir.emit(Op.Shl, l.u(1), ir.emit(Op.And, count, l.u(31))), l.u(1));
  const high = ones(bits), mask = l.select(isWide, l.u(-1), ones(width));
  const highFloat = ir.emit(Op.CvtU2F, high);
  // Numbers that become fields of at most 16 bits: normalized to 1, or the integers themselves.
  const top = l.select(isNorm, f(1), highFloat);
  const lowest = l.select(isNorm, f(-1), ir.emit(Op.FSub, ir.emit(Op.FNeg, highFloat), f(1)));
  const low = l.select(signed, lowest, f(0));
  const number = l.asF(l.select(isNan(l, value), l.u(0), value));
  const clamped = ir.emit(Op.FMin, ir.emit(Op.FMax, number, low), top);
  const whole = ir.emit(Op.FRndne, ir.emit(Op.FFmaOdd, clamped, l.select(isNorm, highFloat, f(1)), ir.constF(0)));
  const scaled = l.select(signed, ir.emit(Op.CvtF2S, whole), ir.emit(Op.CvtF2U, whole));
  const unsignedInteger = ir.emit(Op.UMin, value, high);
  const signedInteger = ir.emit(Op.SMin, ir.emit(Op.SMax, value, ir.emit(Op.Not, high)), high);
  const integer = l.select(isWide, value, l.select(signed, signedInteger, unsignedInteger));
  const float = l.select(
    isWide,
    value,
    l.select(
      ir.emit(Op.IEq, width, l.u(16)),
      halfFloat(l, value, true),
      l.select(ir.emit(Op.IEq, width, l.u(11)), unsignedFloat(l, value, 6), unsignedFloat(l, value, 5)),
    ),
  );
  const field = l.select(isKind(l, format, UINT), scaled, l.select(isInteger, integer, float));
  return ir.emit(Op.And, field, mask);
}
