import { assertEquals } from "@std/assert";
import { cvtF16F32In, fma16 } from "../../../../src/rdna/interpreter/float/f16.ts";
import { add16, ldexp16, mul16, sub16 } from "../../../../src/rdna/interpreter/float/f16.ts";
import { add32, fma32, ldexp32, mul32, sub32 } from "../../../../src/rdna/interpreter/float/f32.ts";
import { add64, fma64, ldexp64, mul64 } from "../../../../src/rdna/interpreter/float/f64.ts";
import { cvtF32F64, cvtF32I32, cvtF32U32, cvtF64F32 } from "../../../../src/rdna/interpreter/float/convert.ts";
import { divide64 } from "../../../../src/rdna/interpreter/float/exact.ts";
import { FloatMode } from "../../../../src/rdna/interpreter/float/mode.ts";
import { Random } from "../../../support/random.ts";
import { F16, F32, F64, finiteBits, type Format, infinityBits, MODES, over, plus, type Rational } from "./rational.ts";
import { rational, round, signBit, times } from "./rational.ts";

const CASES = 4000;
/** Denormals kept. */
const KEPT = 0xf0;

/** Mode with a rounding mode for all formats. */
function rounding(mode: number): FloatMode {
  return new FloatMode(KEPT | mode | mode << 2);
}

/** An operation on bit patterns in one format, and what it is on fractions. */
interface Operation {
  name: string;
  format: Format;
  operands: number;
  compute: (m: FloatMode, operands: bigint[]) => bigint;
  exact: (values: Rational[]) => Rational;
}

const low32 = (bits: bigint) => Number(BigInt.asIntN(32, bits));
const unsigned = (bits: number) => BigInt(bits >>> 0);
const minus = (a: Rational) => ({ ...a, numerator: -a.numerator });

const narrow = (f: (m: FloatMode, a: number, b: number, c: number) => number) => (m: FloatMode, o: bigint[]) =>
  unsigned(f(m, low32(o[0]), low32(o[1] ?? 0n), low32(o[2] ?? 0n)));

const OPERATIONS: Operation[] = [
  { name: "add32", format: F32, operands: 2, compute: narrow(add32), exact: ([a, b]) => plus(a, b) },
  { name: "sub32", format: F32, operands: 2, compute: narrow(sub32), exact: ([a, b]) => plus(a, minus(b)) },
  { name: "mul32", format: F32, operands: 2, compute: narrow(mul32), exact: ([a, b]) => times(a, b) },
  { name: "fma32", format: F32, operands: 3, compute: narrow(fma32), exact: ([a, b, c]) => plus(times(a, b), c) },
  { name: "add16", format: F16, operands: 2, compute: narrow(add16), exact: ([a, b]) => plus(a, b) },
  { name: "sub16", format: F16, operands: 2, compute: narrow(sub16), exact: ([a, b]) => plus(a, minus(b)) },
  { name: "mul16", format: F16, operands: 2, compute: narrow(mul16), exact: ([a, b]) => times(a, b) },
  { name: "fma16", format: F16, operands: 3, compute: narrow(fma16), exact: ([a, b, c]) => plus(times(a, b), c) },
  { name: "add64", format: F64, operands: 2, compute: (m, [a, b]) => add64(m, a, b), exact: ([a, b]) => plus(a, b) },
  { name: "mul64", format: F64, operands: 2, compute: (m, [a, b]) => mul64(m, a, b), exact: ([a, b]) => times(a, b) },
  {
    name: "fma64",
    format: F64,
    operands: 3,
    compute: (m, [a, b, c]) => fma64(m, a, b, c),
    exact: ([a, b, c]) => plus(times(a, b), c),
  },
  {
    name: "divide64",
    format: F64,
    operands: 2,
    compute: (m, [a, b]) => divide64(a, b === 0n || b === signBit(F64) ? 1n : b, m.round64),
    exact: ([a, b]) => over(a, b.numerator === 0n ? rational(1n, F64) : b),
  },
];

for (const { name, format, operands, compute, exact } of OPERATIONS) {
  for (const mode of [0, 1, 2, 3]) {
    Deno.test(`${name} rounds ${MODES[mode]} exactly`, () => {
      const random = new Random(mode + 1), m = rounding(mode);
      const u32 = () => random.u32();
      for (let n = 0; n < CASES; n++) {
        const bits = Array.from({ length: operands }, () => finiteBits(u32, format));
        // Every fourth case cancels: the last operand is near the negated result of the others.
        if (n % 4 === 0 && operands === 3) {
          const product = times(rational(bits[0], format), rational(bits[1], format));
          if (product.numerator !== 0n) {
            const near = round(product, format, 0) ^ signBit(format);
            if ((near & infinityBits(format)) !== infinityBits(format)) bits[2] = near ^ BigInt(n % 3);
          }
        }
        const value = exact(bits.map((each) => rational(each, format)));
        const actual = compute(m, bits);
        const where = `${name} of ${bits.map((each) => each.toString(16)).join(", ")}`;
        if (value.numerator !== 0n) assertEquals(actual.toString(16), round(value, format, mode).toString(16), where);
        else assertEquals(actual & ~signBit(format), 0n, where);
      }
    });
  }
}

/** Signs of zero sums. */
Deno.test("an exact zero sum is -0 only when rounding down, or when both parts are -0", () => {
  const one = 0x3f800000, minusOne = 0xbf800000 | 0, zero = 0, minusZero = 0x80000000 | 0;
  for (const mode of [0, 1, 2, 3]) {
    const m = rounding(mode), expected = mode === 2 ? minusZero : zero;
    assertEquals(add32(m, one, minusOne), expected);
    assertEquals(add32(m, zero, minusZero), expected);
    assertEquals([add32(m, zero, zero), add32(m, minusZero, minusZero)], [zero, minusZero]);
    assertEquals(fma32(m, one, one, minusOne), expected);
    assertEquals(fma32(m, one, minusZero, minusZero), minusZero);
    assertEquals(fma32(m, one, zero, minusZero), expected);
    const wide = (bits: number) => cvtF64F32(m, bits);
    assertEquals(add64(m, wide(one), wide(minusOne)), wide(expected));
    assertEquals(fma64(m, wide(one), wide(one), wide(minusOne)), wide(expected));
    assertEquals(fma64(m, wide(one), wide(zero), wide(minusZero)), wide(expected));
    assertEquals(fma64(m, wide(one), wide(minusZero), wide(minusZero)), wide(minusZero));
    assertEquals(add16(m, 0x3c00, 0xbc00), mode === 2 ? 0x8000 : 0);
  }
});

for (const mode of [0, 1, 2, 3]) {
  Deno.test(`conversions between formats round ${MODES[mode]} exactly`, () => {
    const random = new Random(20 + mode), m = rounding(mode);
    const u32 = () => random.u32();
    for (let n = 0; n < CASES; n++) {
      const single = finiteBits(u32, F32), value = rational(single, F32);
      const half = unsigned(cvtF16F32In(m, low32(single), mode));
      assertEquals(
        half,
        value.numerator === 0n ? single >> 16n : round(value, F16, mode),
        `f16 of ${single.toString(16)}`,
      );
      assertEquals(rational(cvtF64F32(m, low32(single)), F64).numerator === 0n, value.numerator === 0n);
      // A double near the range of singles.
      const close = cvtF64F32(m, low32(single)) + BigInt(random.u32() - 2 ** 31);
      const exact = rational(close, F64);
      if ((close & infinityBits(F64)) !== infinityBits(F64) && exact.numerator !== 0n && close >= 0n) {
        assertEquals(unsigned(cvtF32F64(m, close)), round(exact, F32, mode), `f32 of ${close.toString(16)}`);
      }
      const integer = random.u32() >>> random.below(32);
      if (integer === 0) continue;
      const whole = { numerator: BigInt(integer), denominator: 1n };
      assertEquals(unsigned(cvtF32U32(m, integer)), round(whole, F32, mode), `u32 ${integer}`);
      if ((integer | 0) === 0) continue;
      const signed = { numerator: BigInt(integer | 0), denominator: 1n };
      assertEquals(unsigned(cvtF32I32(m, integer)), round(signed, F32, mode), `i32 ${integer | 0}`);
    }
  });

  Deno.test(`ldexp rounds ${MODES[mode]} once`, () => {
    const random = new Random(30 + mode), m = rounding(mode);
    const u32 = () => random.u32();
    const power = (n: number): Rational =>
      n >= 0 ? { numerator: 1n << BigInt(n), denominator: 1n } : { numerator: 1n, denominator: 1n << BigInt(-n) };
    for (let n = 0; n < CASES; n++) {
      const formats = [F32, F16, F64] as const, format = formats[n % 3];
      const bits = finiteBits(u32, format), value = rational(bits, format);
      if (value.numerator === 0n) continue;
      const range = [300, 60, 2200][n % 3];
      const exponent = random.below(2 * range) - range;
      const actual = format === F32
        ? unsigned(ldexp32(m, low32(bits), exponent))
        : format === F16
        ? unsigned(ldexp16(m, low32(bits), exponent))
        : ldexp64(m, bits, exponent);
      assertEquals(actual, round(times(value, power(exponent)), format, mode), `${bits.toString(16)} by ${exponent}`);
    }
  });
}

Deno.test("denormals are flushed as MODE says: sources by the low bit, results by the high bit", () => {
  // 2^-126 is the smallest normal number; 0x00400000 is half of it, a denormal.
  const smallest = 0x00800000, denormal = 0x00400000, one = 0x3f800000, half = 0x3f000000;
  const flushAll = new FloatMode(0), keepSources = new FloatMode(0x10), keepResults = new FloatMode(0x20);
  const keepAll = new FloatMode(0x30);
  assertEquals(mul32(keepAll, denormal, one), denormal);
  assertEquals(mul32(flushAll, denormal, one), 0);
  assertEquals(mul32(flushAll, denormal | 0x80000000, one), 0x80000000 | 0);
  // A denormal source, a normal result.
  assertEquals(add32(keepSources, denormal, smallest), 0x00c00000);
  assertEquals(add32(keepResults, denormal, smallest), smallest);
  // Normal sources, a denormal result.
  assertEquals(mul32(keepSources, smallest, half), 0);
  assertEquals(mul32(keepResults, smallest, half), denormal);
  // f16 and f64 have bits of their own.
  assertEquals([add16(new FloatMode(0x30), 1, 0), add16(new FloatMode(0xc0), 1, 0)], [0, 1]);
  assertEquals([add64(new FloatMode(0x30), 1n, 0n), add64(new FloatMode(0xc0), 1n, 0n)], [0n, 1n]);
});

Deno.test("NaN operands come out quiet, the first one first; invalid operations give a quiet NaN", () => {
  const m = new FloatMode(KEPT);
  const signalling = 0x7f800001, quiet = 0xffc12345 | 0, one = 0x3f800000, infinity = 0x7f800000;
  assertEquals(add32(m, signalling, one), 0x7fc00001);
  assertEquals(add32(m, one, quiet), quiet);
  assertEquals(mul32(m, quiet, signalling), quiet);
  assertEquals(fma32(m, one, one, signalling), 0x7fc00001);
  const isNan = (bits: number) => (bits & 0x7fc00000) === 0x7fc00000;
  assertEquals(
    [add32(m, infinity, infinity | 0x80000000), mul32(m, infinity, 0), fma32(m, infinity, 0, one)].map(isNan),
    [
      true,
      true,
      true,
    ],
  );
  assertEquals(fma32(m, infinity, one, infinity | 0x80000000) & 0x7fc00000, 0x7fc00000);
  assertEquals(fma32(m, infinity, one, one), infinity);
  assertEquals([add16(m, 0x7c01, 0), mul16(m, 0x7c00, 0) & 0x7e00], [0x7e01, 0x7e00]);
  assertEquals(add64(m, 0x7ff0_0000_0000_0001n, 0n), 0x7ff8_0000_0000_0001n);
  assertEquals(fma64(m, 0x7ff0_0000_0000_0000n, 0n, 0n) & 0x7ff8_0000_0000_0000n, 0x7ff8_0000_0000_0000n);
});

Deno.test("FP16_OVFL turns an overflow into the largest number and leaves infinities", () => {
  const m = new FloatMode(KEPT | 0x80_0000);
  assertEquals(add16(m, 0x7bff, 0x7bff), 0x7bff);
  assertEquals(mul16(m, 0xfbff, 0x4000), 0xfbff);
  assertEquals(add16(m, 0x7c00, 0x3c00), 0x7c00);
  assertEquals(add16(new FloatMode(KEPT), 0x7bff, 0x7bff), 0x7c00);
});
