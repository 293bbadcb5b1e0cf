/**
 * Binary floats as exact numbers: sums, products and quotients on integers, rounded once. Slow and plain; the oracle for everything that rounds.
 * Bits are bigints in all formats.
 */

/** An IEEE 754 binary format. */
export interface Format {
  /** Bits of the fraction. */
  readonly fraction: number;
  /** Bits of the exponent field. */
  readonly exponent: number;
}

export const HALF: Format = { fraction: 10, exponent: 5 };
export const SINGLE: Format = { fraction: 23, exponent: 8 };
export const DOUBLE: Format = { fraction: 52, exponent: 11 };

/** A number: `mantissa * 2^scale`, the sign in the mantissa (and in `negative`, for zeros); or not a finite number. */
export interface Exact {
  readonly kind: "finite" | "infinite" | "nan";
  readonly negative: boolean;
  readonly mantissa: bigint;
  readonly scale: number;
}

const NAN: Exact = { kind: "nan", negative: false, mantissa: 0n, scale: 0 };
const infinite = (negative: boolean): Exact => ({ kind: "infinite", negative, mantissa: 0n, scale: 0 });
const bias = (f: Format) => 2 ** (f.exponent - 1) - 1;
const topField = (f: Format) => 2n ** BigInt(f.exponent) - 1n;

/** Takes bits apart. */
export function exact(bits: bigint, f: Format): Exact {
  const negative = (bits >> BigInt(f.fraction + f.exponent) & 1n) === 1n;
  const field = bits >> BigInt(f.fraction) & topField(f);
  const rest = bits & 2n ** BigInt(f.fraction) - 1n;
  if (field === topField(f)) return rest === 0n ? infinite(negative) : NAN;
  const size = field === 0n ? rest : rest | 1n << BigInt(f.fraction);
  const scale = Math.max(Number(field), 1) - bias(f) - f.fraction;
  return { kind: "finite", negative, mantissa: negative ? -size : size, scale };
}

/** The default quiet NaN. */
export function nanBits(f: Format): bigint {
  return (topField(f) << 1n | 1n) << BigInt(f.fraction - 1);
}

/** Whether bits are a NaN. */
export function isNanBits(bits: bigint, f: Format): boolean {
  return exact(bits, f).kind === "nan";
}

/** Rounds to nearest even. `sticky`: the true size is larger by less than one unit of the mantissa. */
export function round(value: Exact, f: Format, sticky = false): bigint {
  const sign = value.negative ? 1n << BigInt(f.fraction + f.exponent) : 0n;
  if (value.kind === "nan") return nanBits(f);
  const infinity = topField(f) << BigInt(f.fraction);
  if (value.kind === "infinite") return sign | infinity;
  let size = value.mantissa < 0n ? -value.mantissa : value.mantissa;
  if (size === 0n && !sticky) return sign;
  // Room below, so that a sticky bit is no tie.
  size = size << 3n | (sticky ? 1n : 0n);
  const scale = value.scale - 3;
  const length = size.toString(2).length;
  const unit = Math.max(length + scale - (f.fraction + 1), 1 - bias(f) - f.fraction);
  const drop = unit - scale;
  let kept = drop > 0 ? size >> BigInt(drop) : size << BigInt(-drop);
  if (drop > 0) {
    const rest = size - (kept << BigInt(drop)), half = 1n << BigInt(drop - 1);
    if (rest > half || (rest === half && (kept & 1n) === 1n)) kept++;
  }
  // The implicit bit counts as one of the exponent field.
  const bits = (BigInt(unit + bias(f) + f.fraction - 1) << BigInt(f.fraction)) + kept;
  return sign | (bits < infinity ? bits : infinity);
}

/** a + b; an exact zero is +0 unless both are -0. */
export function add(a: Exact, b: Exact): Exact {
  if (a.kind === "nan" || b.kind === "nan") return NAN;
  if (a.kind === "infinite" || b.kind === "infinite") {
    if (a.kind === b.kind && a.negative !== b.negative) return NAN;
    return a.kind === "infinite" ? a : b;
  }
  const scale = Math.min(a.scale, b.scale);
  const mantissa = (a.mantissa << BigInt(a.scale - scale)) + (b.mantissa << BigInt(b.scale - scale));
  const negative = mantissa === 0n ? a.negative && b.negative : mantissa < 0n;
  return { kind: "finite", negative, mantissa, scale };
}

/** a * b. */
export function multiply(a: Exact, b: Exact): Exact {
  if (a.kind === "nan" || b.kind === "nan") return NAN;
  const negative = a.negative !== b.negative;
  if (a.kind === "infinite" || b.kind === "infinite") {
    const zero = (x: Exact) => x.kind === "finite" && x.mantissa === 0n;
    return zero(a) || zero(b) ? NAN : infinite(negative);
  }
  return { kind: "finite", negative, mantissa: a.mantissa * b.mantissa, scale: a.scale + b.scale };
}

/** a * 2^n. */
export function scaled(a: Exact, n: number): Exact {
  return { ...a, scale: a.scale + n };
}

/** a / b, rounded. */
export function divide(a: Exact, b: Exact, f: Format): bigint {
  const negative = a.negative !== b.negative;
  const zero = (x: Exact) => x.kind === "finite" && x.mantissa === 0n;
  if (a.kind === "nan" || b.kind === "nan" || (zero(a) && zero(b))) return nanBits(f);
  if (a.kind === "infinite") return b.kind === "infinite" ? nanBits(f) : round(infinite(negative), f);
  if (b.kind === "infinite" || zero(a)) return round({ kind: "finite", negative, mantissa: 0n, scale: 0 }, f);
  if (zero(b)) return round(infinite(negative), f);
  const size = (x: bigint) => x < 0n ? -x : x;
  const numerator = size(a.mantissa) << 200n, quotient = numerator / size(b.mantissa);
  const sticky = quotient * size(b.mantissa) !== numerator;
  const mantissa = negative ? -quotient : quotient;
  return round({ kind: "finite", negative, mantissa, scale: a.scale - 200 - b.scale }, f, sticky);
}

/** (a * b + c) * 2^n, rounded once. */
export function fma(a: bigint, b: bigint, c: bigint, f: Format, n = 0): bigint {
  return round(scaled(add(multiply(exact(a, f), exact(b, f)), exact(c, f)), n), f);
}

const view = new DataView(new ArrayBuffer(8));

/** Value of bits as a number (f64 holds all three formats). */
export function numberOf(bits: bigint, f: Format): number {
  view.setBigUint64(0, round(exact(bits, f), DOUBLE));
  return view.getFloat64(0);
}

/** Bits of a number, rounded to nearest even. */
export function bitsOf(value: number, f: Format): bigint {
  view.setFloat64(0, value);
  return round(exact(view.getBigUint64(0), DOUBLE), f);
}
