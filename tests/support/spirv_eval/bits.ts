/**
 * Bits of numbers, and floating point on bits.
 *
 * @module
 */
import { bitsOf, DOUBLE, exact, fma, type Format, HALF, numberOf, round, SINGLE } from "../exact_float.ts";

const view = new DataView(new ArrayBuffer(8));

/** Value of f32 bits. */
export function f32Value(bits: number): number {
  view.setUint32(0, bits);
  return view.getFloat32(0);
}

/** Bits of a number rounded to f32, to nearest even. */
export function f32Bits(value: number): number {
  view.setFloat32(0, value);
  return view.getUint32(0);
}

/** Value of f64 bits. */
export function f64Value(bits: bigint): number {
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}

/** Bits of an f64. */
export function f64Bits(value: number): bigint {
  view.setFloat64(0, value);
  return view.getBigUint64(0);
}

/** Value of f16 bits. */
export function f16Value(bits: number): number {
  return numberOf(BigInt(bits), HALF);
}

/** Bits of a number rounded to f16, to nearest even. */
export function f16Bits(value: number): number {
  return Number(bitsOf(value, HALF));
}

/** Value of bits of a width. */
export function floatValue(bits: number | bigint, width: number): number {
  return width === 32 ? f32Value(Number(bits)) : width === 64 ? f64Value(bits as bigint) : f16Value(Number(bits));
}

/** Bits of a width. */
export function floatBits(value: number, width: number): number | bigint {
  return width === 32 ? f32Bits(value) : width === 64 ? f64Bits(value) : f16Bits(value);
}

/** a * b + c with one rounding. */
export function fusedBits(a: number | bigint, b: number | bigint, c: number | bigint, width: number): number | bigint {
  const bits = fma(BigInt(a), BigInt(b), BigInt(c), formatOf(width));
  return width === 64 ? bits : Number(bits);
}

/** An integer as a float of a width, rounded once, to nearest even. */
export function integerToFloat(value: bigint, width: number): number | bigint {
  const bits = round({ kind: "finite", negative: value < 0n, mantissa: value, scale: 0 }, formatOf(width));
  return width === 64 ? bits : Number(bits);
}

/** Bits of a float in another width, rounded once, to nearest even. */
export function convertFloat(bits: number | bigint, from: number, to: number): number | bigint {
  const converted = round(exact(BigInt(bits), formatOf(from)), formatOf(to));
  return to === 64 ? converted : Number(converted);
}

function formatOf(width: number): Format {
  return width === 32 ? SINGLE : width === 64 ? DOUBLE : HALF;
}
