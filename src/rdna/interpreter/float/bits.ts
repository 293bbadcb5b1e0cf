/**
 * Bit patterns of floats. f32 and f16 travel as int32 numbers (f16 in the low half), f64 as unsigned 64-bit bigints, so that NaN payloads survive;
 * JavaScript numbers hold values only.
 */

const F64 = new Float64Array(1);
const U64 = new BigUint64Array(F64.buffer);
/** Low and high word of the number in {@linkcode F64}. */
const WORDS = new Int32Array(F64.buffer);
const F32 = new Float32Array(1);
const I32 = new Int32Array(F32.buffer);

/** Value of f32 bits. */
export function f32Value(bits: number): number {
  I32[0] = bits;
  return F32[0];
}

/** Bits of a number, rounded to f32 to nearest even (exact for f32 values; no NaN). */
export function f32Bits(value: number): number {
  F32[0] = value;
  return I32[0];
}

/** Value of f64 bits. */
export function f64Value(bits: bigint): number {
  U64[0] = bits;
  return F64[0];
}

/** Bits of a number; every NaN becomes the default one. */
export function f64Bits(value: number): bigint {
  F64[0] = value;
  return value === value ? U64[0] : DEFAULT_NAN64;
}

/** Exponent of a number's f64 representation without the bias; -1023 for zero and f64 denormals, 1024 for infinity and NaN. */
export function exponentOf(value: number): number {
  F64[0] = value;
  return (WORDS[1] >>> 20 & 0x7ff) - 1023;
}

/** The neighbour of a finite non-zero number, away from zero (`outward`) or towards it. */
export function neighbour(value: number, outward: boolean): number {
  F64[0] = value;
  U64[0] += outward ? 1n : -1n;
  return F64[0];
}

/** Whether the last bit of a number's mantissa is set. */
export function isOdd(value: number): boolean {
  F64[0] = value;
  return (WORDS[0] & 1) !== 0;
}

/** What an invalid operation (infinity minus infinity, zero times infinity, root of a negative number) gives. Its bits are not documented. */
export const DEFAULT_NAN32 = 0x7fc00000;
/** The same as f16. */
export const DEFAULT_NAN16 = 0x7e00;
/** The same as f64. */
export const DEFAULT_NAN64 = 0x7ff8_0000_0000_0000n;

/** Whether f32 bits are a NaN. */
export function isNan32(bits: number): boolean {
  return (bits & 0x7fffffff) > 0x7f800000;
}

/** Whether f32 bits are a signalling NaN. */
export function isSignalling32(bits: number): boolean {
  return isNan32(bits) && (bits & 0x400000) === 0;
}

/** A NaN made quiet. */
export function quiet32(bits: number): number {
  return bits | 0x400000;
}

/** Whether f32 bits are a denormal number or zero. */
export function isSmall32(bits: number): boolean {
  return (bits & 0x7f800000) === 0;
}

/** Whether f16 bits are a NaN. */
export function isNan16(bits: number): boolean {
  return (bits & 0x7fff) > 0x7c00;
}

/** Whether f64 bits are a NaN. */
export function isNan64(bits: bigint): boolean {
  return (bits & 0x7fff_ffff_ffff_ffffn) > 0x7ff0_0000_0000_0000n;
}

/** Whether f64 bits are a signalling NaN. */
export function isSignalling64(bits: bigint): boolean {
  return isNan64(bits) && (bits & 0x8_0000_0000_0000n) === 0n;
}

/** A NaN made quiet. */
export function quiet64(bits: bigint): bigint {
  return bits | 0x8_0000_0000_0000n;
}

/** Whether f64 bits are a denormal number or zero. */
export function isSmall64(bits: bigint): boolean {
  return (bits & 0x7ff0_0000_0000_0000n) === 0n;
}

/** f16 bits as f32 bits of the same value: exact; a NaN keeps its payload and stays signalling or quiet. */
export function widen16(bits: number): number {
  const sign = (bits & 0x8000) << 16;
  const size = bits & 0x7fff;
  if (size >= 0x7c00) return sign | 0x7f800000 | (size & 0x3ff) << 13;
  if (size >= 0x400) return sign | (size << 13) + 0x38000000;
  return sign | f32Bits(size * 2 ** -24);
}

/** Value of f16 bits. */
export function f16Value(bits: number): number {
  return f32Value(widen16(bits));
}

/** f16 bits of an f32 pattern whose value f16 can hold (the inverse of {@linkcode widen16}). */
export function narrow16(bits: number): number {
  const sign = bits >>> 16 & 0x8000;
  const size = bits & 0x7fffffff;
  if (size >= 0x7f800000) return sign | 0x7c00 | (size >>> 13 & 0x3ff);
  if (size >= 0x38800000) return sign | (size - 0x38000000) >>> 13;
  return sign | Math.abs(f32Value(bits)) * 2 ** 24;
}
