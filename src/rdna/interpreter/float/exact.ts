/**
 * f64 arithmetic in every rounding mode, on integers: slow, and plainly right. A finite number is mantissa * 2^exponent with a bigint mantissa that
 * carries the sign.
 */
import { DEFAULT_NAN64, isNan64, quiet64 } from "./bits.ts";
import { Round } from "./mode.ts";

const SIGN = 1n << 63n;
const INFINITY = 0x7ffn << 52n;
const LARGEST = INFINITY - 1n;

/** Signed mantissa of finite f64 bits. */
export function mantissaOf(bits: bigint): bigint {
  const field = bits >> 52n & 0x7ffn;
  const fraction = bits & 0xf_ffff_ffff_ffffn;
  const size = field === 0n ? fraction : fraction | 1n << 52n;
  return bits & SIGN ? -size : size;
}

/** Exponent that belongs to {@linkcode mantissaOf}. */
export function scaleOf(bits: bigint): number {
  return Math.max(Number(bits >> 52n & 0x7ffn), 1) - 1075;
}

/** Whether f64 bits are an infinity. */
export function isInfinite64(bits: bigint): boolean {
  return (bits & ~SIGN) === INFINITY;
}

function bitLength(size: bigint): number {
  const hex = size.toString(16);
  return (hex.length - 1) * 4 + (32 - Math.clz32(parseInt(hex[0], 16)));
}

/**
 * Rounds mantissa * 2^exponent to f64 bits.
 *
 * @param negativeZero sign of the result when the mantissa is zero
 * @param inexact the true value is larger in size than given, by less than 2^exponent (remainder of a division or root)
 */
export function roundExact(
  mantissa: bigint,
  exponent: number,
  mode: number,
  negativeZero = false,
  inexact = false,
): bigint {
  const negative = mantissa < 0n || (mantissa === 0n && negativeZero);
  let size = mantissa < 0n ? -mantissa : mantissa;
  const sign = negative ? SIGN : 0n;
  if (size === 0n && !inexact) return sign;
  // Two more bits keep a remainder apart from a tie.
  size = size << 2n | (inexact ? 1n : 0n);
  exponent -= 2;
  const unit = Math.max(bitLength(size) + exponent - 53, -1074);
  const shift = unit - exponent;
  let whole: bigint, rest: bigint, half: bigint;
  if (shift > 0) {
    whole = size >> BigInt(shift);
    rest = size - (whole << BigInt(shift));
    half = 1n << BigInt(shift - 1);
  } else {
    whole = size << BigInt(-shift);
    rest = 0n;
    half = 1n;
  }
  const away = mode === Round.NearestEven
    ? rest > half || (rest === half && (whole & 1n) === 1n)
    : rest !== 0n && (mode === Round.Up ? !negative : mode === Round.Down ? negative : false);
  if (away) whole++;
  // The implicit bit of a normal number adds one to the exponent field, a carry out of the mantissa another one.
  const bits = (BigInt(unit + 1074) << 52n) + whole;
  if (bits < INFINITY) return sign | bits;
  const truncates = mode === Round.Zero || (mode === Round.Up && negative) || (mode === Round.Down && !negative);
  return sign | (truncates ? LARGEST : INFINITY);
}

/** The first NaN of the operands, made quiet; undefined when there is none. */
export function firstNan64(a: bigint, b: bigint, c = 0n): bigint | undefined {
  if (isNan64(a)) return quiet64(a);
  if (isNan64(b)) return quiet64(b);
  return isNan64(c) ? quiet64(c) : undefined;
}

/** a * b + c, rounded once; no NaN among the operands. */
export function fusedMultiplyAdd64(a: bigint, b: bigint, c: bigint, mode: number, scale = 0): bigint {
  const productNegative = ((a ^ b) & SIGN) !== 0n;
  if (isInfinite64(a) || isInfinite64(b)) {
    const isZero = (bits: bigint) => (bits & ~SIGN) === 0n;
    if (isZero(a) || isZero(b)) return DEFAULT_NAN64;
    if (isInfinite64(c) && ((c & SIGN) !== 0n) !== productNegative) return DEFAULT_NAN64;
    return productNegative ? SIGN | INFINITY : INFINITY;
  }
  if (isInfinite64(c)) return c;
  const product = mantissaOf(a) * mantissaOf(b);
  const productScale = scaleOf(a) + scaleOf(b);
  const addend = mantissaOf(c);
  const addendScale = scaleOf(c);
  const common = Math.min(productScale, addendScale);
  const sum = (product << BigInt(productScale - common)) + (addend << BigInt(addendScale - common));
  return roundExact(sum, common + scale, mode, zeroIsNegative(product, productNegative, addend, c, mode));
}

/** Sign of a zero sum: that of both parts when they agree and are zero, else - only when rounding down. */
function zeroIsNegative(product: bigint, productNegative: boolean, addend: bigint, c: bigint, mode: number): boolean {
  const addendNegative = (c & SIGN) !== 0n;
  if (product === 0n && addend === 0n && productNegative === addendNegative) return productNegative;
  return mode === Round.Down;
}

/** a / b rounded; finite operands, b not zero. */
export function divide64(a: bigint, b: bigint, mode: number): bigint {
  const negative = ((a ^ b) & SIGN) !== 0n;
  const numerator = mantissaOf(a & ~SIGN) << 128n, denominator = mantissaOf(b & ~SIGN);
  const quotient = numerator / denominator;
  const inexact = quotient * denominator !== numerator;
  const exponent = scaleOf(a) - 128 - scaleOf(b);
  return roundSigned(quotient, exponent, mode, negative, inexact);
}

function roundSigned(size: bigint, exponent: number, mode: number, negative: boolean, inexact: boolean): bigint {
  if (!negative) return roundExact(size, exponent, mode, false, inexact);
  const mirrored = mode === Round.Up ? Round.Down : mode === Round.Down ? Round.Up : mode;
  return roundExact(size, exponent, mirrored, false, inexact) | SIGN;
}
