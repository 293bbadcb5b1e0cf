/**
 * An oracle for rounding: a number is a fraction of bigints, and the float next to it is found by comparing fractions. Nothing here computes with floats.
 */

/** An IEEE 754 binary format. */
export interface Format {
  /** Bits of the fraction field, and of the exponent field. */
  readonly fraction: number;
  readonly exponent: number;
}

export const F16: Format = { fraction: 10, exponent: 5 };
export const F32: Format = { fraction: 23, exponent: 8 };
export const F64: Format = { fraction: 52, exponent: 11 };

/** numerator / denominator; the denominator is positive. */
export interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** The rounding modes of MODE. */
export const MODES = ["nearest even", "up", "down", "toward zero"] as const;

const bias = (f: Format) => 2 ** (f.exponent - 1) - 1;

/** Bits of infinity. */
export function infinityBits(f: Format): bigint {
  return (1n << BigInt(f.exponent)) - 1n << BigInt(f.fraction);
}

/** The sign bit. */
export function signBit(f: Format): bigint {
  return 1n << BigInt(f.exponent + f.fraction);
}

/** The value of finite bits. */
export function rational(bits: bigint, f: Format): Rational {
  const field = Number(bits >> BigInt(f.fraction) & (1n << BigInt(f.exponent)) - 1n);
  const rest = bits & (1n << BigInt(f.fraction)) - 1n;
  const size = field === 0 ? rest : rest | 1n << BigInt(f.fraction);
  const scale = Math.max(field, 1) - bias(f) - f.fraction;
  const signed = bits & signBit(f) ? -size : size;
  return scale >= 0
    ? { numerator: signed << BigInt(scale), denominator: 1n }
    : { numerator: signed, denominator: 1n << BigInt(-scale) };
}

export function plus(a: Rational, b: Rational): Rational {
  return {
    numerator: a.numerator * b.denominator + b.numerator * a.denominator,
    denominator: a.denominator * b.denominator,
  };
}

export function times(a: Rational, b: Rational): Rational {
  return { numerator: a.numerator * b.numerator, denominator: a.denominator * b.denominator };
}

export function over(a: Rational, b: Rational): Rational {
  const sign = b.numerator < 0n ? -1n : 1n;
  return { numerator: sign * a.numerator * b.denominator, denominator: sign * a.denominator * b.numerator };
}

/** Sign of a - b. */
function compare(a: Rational, b: Rational): number {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/**
 * Rounds a number that is not zero. Patterns of sizes count up with the sizes, so the largest float not above the size is found by bisection; behind the
 * largest finite one comes the next power of two, which stands for infinity.
 */
export function round(value: Rational, f: Format, mode: number): bigint {
  const negative = value.numerator < 0n;
  const size = negative ? { ...value, numerator: -value.numerator } : value;
  const sign = negative ? signBit(f) : 0n;
  let low = 0n, high = infinityBits(f);
  // Invariant: the float of `low` is at most the size, that of `high` is above it (or is the value of infinity's pattern).
  while (high - low > 1n) {
    const middle = low + high >> 1n;
    if (compare(rational(middle, f), size) <= 0) low = middle;
    else high = middle;
  }
  const below = rational(low, f), above = rational(high, f);
  if (compare(below, size) === 0) return sign | low;
  let up: boolean;
  if (mode === 0) {
    const middle = plus(below, above);
    const side = compare(plus(size, size), middle);
    up = side > 0 || (side === 0 && (low & 1n) === 1n);
  } else up = mode === 1 ? !negative : mode === 2 && negative;
  return sign | (up ? high : low);
}

/** Random bits that are finite, with many special and close exponents. */
export function finiteBits(random: () => number, f: Format): bigint {
  const total = f.fraction + f.exponent + 1;
  const wide = BigInt(random()) << 32n | BigInt(random());
  let bits = wide & (1n << BigInt(total)) - 1n;
  const kind = random() % 8;
  const mask = (1n << BigInt(f.exponent)) - 1n << BigInt(f.fraction);
  if (kind < 3) {
    // Close to 1, so that sums cancel.
    const field = BigInt(bias(f) - 4 + random() % 9);
    bits = bits & ~mask | field << BigInt(f.fraction);
  } else if (kind === 3) bits &= ~mask;
  else if (kind === 4) bits = bits & ~mask | BigInt(random() % 3) << BigInt(f.fraction);
  else if (kind === 5) bits = bits | mask & ~(1n << BigInt(f.fraction));
  if ((bits & mask) === mask) bits ^= 1n << BigInt(f.fraction);
  if (random() % 4 === 0) bits &= ~((1n << BigInt(random() % (f.fraction + 1))) - 1n);
  return bits;
}
