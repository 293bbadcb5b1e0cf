/**
 * Conversion between elements in memory and register components, by format (src/rdna/formats.ts).
 *
 * Precision: normalized and float formats convert exactly to f32 or are rounded to nearest even once; stores round to nearest even. The hardware may
 * differ by one unit in the last place of the format (normalized) or of f32.
 */
import type { Format, NumberKind } from "../../formats.ts";
import { f32Bits, f32Value, isNan32, narrow16, quiet32, widen16 } from "../float/bits.ts";
import { Round } from "../float/mode.ts";
import { exponentLimit, roundSize, roundToEven, roundToF16 } from "../float/round.ts";

/** Components of the element last read or to be written: f32 bits, or integers. */
export const COMPONENTS = new Int32Array(4);

/** Bits `at`..`at + bits - 1` of the element at a place, unsigned. */
function field(view: DataView, offset: number, at: number, bits: number): number {
  if (bits === 32) return view.getUint32(offset + at / 8, true);
  if (bits === 16 && at % 16 === 0) return view.getUint16(offset + at / 8, true);
  if (bits === 8) return view.getUint8(offset + at / 8);
  // Odd fields lie in elements of 2 or 4 bytes.
  return element(view, offset) >>> at & (1 << bits) - 1;
}

let elementBytes = 4;

function element(view: DataView, offset: number): number {
  return elementBytes === 2 ? view.getUint16(offset, true) : view.getInt32(offset, true);
}

/** Reads an element into {@linkcode COMPONENTS}; components that the format lacks are left alone. */
export function readElement(format: Format, view: DataView, offset: number): void {
  elementBytes = format.bytes;
  if (format.kind === "shared") return readShared(view, offset);
  let at = 0;
  for (let c = 0; c < format.bits.length; c++) {
    const bits = format.bits[c];
    // sRGB does not touch alpha.
    const kind = format.kind === "srgb" && c === 3 ? "unorm" : format.kind;
    COMPONENTS[c] = toRegister(field(view, offset, at, bits), bits, kind);
    at += bits;
  }
}

/** A field as the register holds it. */
function toRegister(value: number, bits: number, kind: NumberKind): number {
  const signed = value << 32 - bits >> 32 - bits;
  switch (kind) {
    case "unorm":
      return f32Bits(value / (2 ** bits - 1));
    case "snorm":
      return f32Bits(Math.max(-1, signed / (2 ** (bits - 1) - 1)));
    case "uscaled":
      return f32Bits(value);
    case "sscaled":
      return f32Bits(signed);
    case "uint":
      return value | 0;
    case "sint":
      return signed;
    case "srgb":
      return f32Bits(fromSrgb(value / 255));
    default:
      return floatField(value, bits);
  }
}

/** A float of 32, 16, 11 or 10 bits; the last two have no sign, and the exponent of f16. */
function floatField(value: number, bits: number): number {
  if (bits === 32) return value | 0;
  const half = widen16(bits === 16 ? value : value << (bits === 11 ? 4 : 5));
  return isNan32(half) ? quiet32(half) : half;
}

/** Three 9-bit mantissas with a shared exponent: mantissa * 2^(exponent - 24). */
function readShared(view: DataView, offset: number): void {
  const value = view.getInt32(offset, true);
  const scale = 2 ** ((value >>> 27) - 24);
  for (let c = 0; c < 3; c++) COMPONENTS[c] = f32Bits((value >>> c * 9 & 0x1ff) * scale);
}

/** The sRGB transfer function (IEC 61966-2-1), encoded to linear. */
function fromSrgb(value: number): number {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

/** Linear to encoded. */
function toSrgb(value: number): number {
  return value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055;
}

/** Writes {@linkcode COMPONENTS} as an element. */
export function writeElement(format: Format, view: DataView, offset: number): void {
  if (format.kind === "shared") return writeShared(view, offset);
  let at = 0, odd = 0;
  for (let c = 0; c < format.bits.length; c++) {
    const bits = format.bits[c];
    const kind = format.kind === "srgb" && c === 3 ? "unorm" : format.kind;
    const value = fromRegister(COMPONENTS[c], bits, kind);
    if (bits === 32) view.setInt32(offset + at / 8, value, true);
    else if (bits === 16 && at % 16 === 0) view.setInt16(offset + at / 8, value, true);
    else if (bits === 8) view.setInt8(offset + at / 8, value);
    else odd |= (value & (1 << bits) - 1) << at;
    at += bits;
  }
  if (format.bits[0] === 8 || format.bits[0] === 16 || format.bits[0] === 32) return;
  if (format.bytes === 2) view.setInt16(offset, odd, true);
  else view.setInt32(offset, odd, true);
}

function clamp(value: number, low: number, high: number): number {
  return value < low ? low : value > high ? high : value;
}

/** A register as the field holds it: floats out of range and integers are clamped, NaN is 0 in fields that are no floats. */
function fromRegister(register: number, bits: number, kind: NumberKind): number {
  const high = 2 ** bits - 1, signedHigh = 2 ** (bits - 1) - 1;
  const value = f32Value(register);
  const number = value === value ? value : 0;
  switch (kind) {
    case "unorm":
      return roundToEven(clamp(number, 0, 1) * high) | 0;
    case "snorm":
      return roundToEven(clamp(number, -1, 1) * signedHigh);
    case "uscaled":
      return roundToEven(clamp(number, 0, high)) | 0;
    case "sscaled":
      return roundToEven(clamp(number, -signedHigh - 1, signedHigh));
    case "uint":
      return Math.min(register >>> 0, high) | 0;
    case "sint":
      return clamp(register, -signedHigh - 1, signedHigh);
    case "srgb":
      return roundToEven(clamp(toSrgb(clamp(number, 0, 1)), 0, 1) * 255);
    default:
      return smallFloat(register, bits);
  }
}

/** f32 bits as a float of 32, 16, 11 or 10 bits. Without a sign, negative numbers become 0. */
function smallFloat(register: number, bits: number): number {
  if (bits === 32) return register;
  const isNan = isNan32(register);
  if (bits === 16) return isNan ? narrow16(quiet32(register)) : roundToF16(f32Value(register), Round.NearestEven);
  const fraction = bits - 5;
  if (isNan) return exponentLimit(fraction, 15) | 1 << fraction - 1;
  const value = f32Value(register);
  if (!(value > 0)) return 0;
  return Math.min(
    value === Infinity ? Infinity : roundSize(value, fraction, 15, Round.NearestEven),
    exponentLimit(fraction, 15),
  );
}

/** The shared exponent is that of the largest component (Khronos, EXT_texture_shared_exponent). */
function writeShared(view: DataView, offset: number): void {
  const largest = 511 * 2 ** 7;
  const values = [0, 1, 2].map((c) => {
    const value = f32Value(COMPONENTS[c]);
    return value > 0 ? Math.min(value, largest) : 0;
  });
  const max = Math.max(...values);
  let exponent = max === 0 ? 0 : Math.max(-16, Math.floor(Math.log2(max))) + 16;
  if (Math.floor(max / 2 ** (exponent - 24) + 0.5) === 512) exponent++;
  let word = exponent << 27;
  values.forEach((value, c) => word |= Math.floor(value / 2 ** (exponent - 24) + 0.5) << c * 9);
  view.setInt32(offset, word, true);
}
