/**
 * v_div_scale, v_div_fmas and v_div_fixup, put together as LLVM's AMDGPU backend lowers an IEEE division (LegalizerInfo, legalizeFDIV32 and legalizeFDIV64):
 * the sequence must give the correctly rounded quotient, denormals included. That fixes what the ISA document leaves unclear about the single steps.
 */
import { assertEquals } from "@std/assert";
import { f64Value } from "../../../../src/rdna/interpreter/float/bits.ts";
import {
  divFixup32,
  divFixup64,
  divFmas32,
  divFmas64,
  divisionScales,
  divScale32,
  divScale64,
  trigPreop64,
  twoOverPiBits,
} from "../../../../src/rdna/interpreter/float/division.ts";
import { fma32, mul32 } from "../../../../src/rdna/interpreter/float/f32.ts";
import { fma64, mul64 } from "../../../../src/rdna/interpreter/float/f64.ts";
import { FloatMode } from "../../../../src/rdna/interpreter/float/mode.ts";
import { reciprocal, special32, special64 } from "../../../../src/rdna/interpreter/float/special.ts";
import { Random } from "../../../support/random.ts";
import { F32, F64, finiteBits, infinityBits, over, rational, round } from "./rational.ts";

const MODE = new FloatMode(0xf0);
const ONE32 = 0x3f800000, ONE64 = 0x3ff0_0000_0000_0000n;
const NEGATE32 = 0x80000000, NEGATE64 = 1n << 63n;

function divide32(numerator: number, denominator: number): number {
  const m = MODE;
  const scaledDenominator = divScale32(m, denominator, denominator, numerator);
  const scaledNumerator = divScale32(m, numerator, denominator, numerator);
  const scales = divisionScales;
  const approximation = special32(m, scaledDenominator, reciprocal);
  const negated = scaledDenominator ^ NEGATE32;
  const error = fma32(m, negated, approximation, ONE32);
  const better = fma32(m, error, approximation, approximation);
  const quotient = mul32(m, scaledNumerator, better);
  const rest = fma32(m, negated, quotient, scaledNumerator);
  const refined = fma32(m, rest, better, quotient);
  const last = fma32(m, negated, refined, scaledNumerator);
  return divFixup32(m, divFmas32(m, last, better, refined, scales), denominator, numerator);
}

function divide64(numerator: bigint, denominator: bigint): bigint {
  const m = MODE;
  const scaledDenominator = divScale64(m, denominator, denominator, numerator);
  const scaledNumerator = divScale64(m, numerator, denominator, numerator);
  const scales = divisionScales;
  const negated = scaledDenominator ^ NEGATE64;
  let approximation = special64(m, scaledDenominator, reciprocal);
  for (let step = 0; step < 2; step++) {
    const error = fma64(m, negated, approximation, ONE64);
    approximation = fma64(m, approximation, error, approximation);
  }
  const quotient = mul64(m, scaledNumerator, approximation);
  const rest = fma64(m, negated, quotient, scaledNumerator);
  return divFixup64(m, divFmas64(m, rest, approximation, quotient, scales), denominator, numerator);
}

/** Sizes at the edges of the special cases. */
const EDGES32 = [
  0x00000001,
  0x00000123,
  0x007fffff,
  0x00800000,
  0x00800001,
  0x0b800000,
  0x0bffffff,
  0x0c000000,
  0x3f7fffff,
  0x3f800000,
  0x3fc00000,
  0x6f800001,
  0x7e800000,
  0x7e800001,
  0x7effffff,
  0x7f000000,
  0x7f7fffff,
];

Deno.test("the f32 division sequence is exact for random and extreme operands", () => {
  const random = new Random(1);
  const u32 = () => random.u32();
  const pairs: [bigint, bigint][] = EDGES32.flatMap((a) =>
    EDGES32.map((b): [bigint, bigint] => [BigInt(a), BigInt(b)])
  );
  for (let n = 0; n < 20_000; n++) pairs.push([finiteBits(u32, F32), finiteBits(u32, F32)]);
  for (const [a, b] of pairs) {
    const numerator = rational(a, F32), denominator = rational(b, F32);
    if (numerator.numerator === 0n || denominator.numerator === 0n) continue;
    const expected = round(over(numerator, denominator), F32, 0);
    const actual = divide32(Number(BigInt.asIntN(32, a)), Number(BigInt.asIntN(32, b))) >>> 0;
    assertEquals(actual.toString(16), expected.toString(16), `${a.toString(16)} / ${b.toString(16)}`);
  }
});

Deno.test("the f64 division sequence is exact for random and extreme operands", () => {
  const random = new Random(2);
  const u32 = () => random.u32();
  const edges = [
    1n,
    0xf_ffff_ffff_ffffn,
    0x10_0000_0000_0000n,
    0x10_0000_0000_0001n,
    0x035_0000_0000_00000n,
    0x036_0000_0000_00000n,
    ONE64 - 1n,
    ONE64,
    0x7fd0_0000_0000_0000n,
    0x7fd0_0000_0000_0001n,
    0x7fe0_0000_0000_0000n,
    0x7fef_ffff_ffff_ffffn,
  ];
  const pairs = edges.flatMap((a) => edges.map((b): [bigint, bigint] => [a, b]));
  for (let n = 0; n < 4000; n++) pairs.push([finiteBits(u32, F64), finiteBits(u32, F64)]);
  for (const [a, b] of pairs) {
    const numerator = rational(a, F64), denominator = rational(b, F64);
    if (numerator.numerator === 0n || denominator.numerator === 0n) continue;
    const expected = round(over(numerator, denominator), F64, 0);
    assertEquals(divide64(a, b).toString(16), expected.toString(16), `${a.toString(16)} / ${b.toString(16)}`);
  }
});

Deno.test("division's special operands come out as IEEE says", () => {
  const infinity = 0x7f800000, nan = 0x7f800001, minus = 0x80000000 | 0;
  assertEquals(divide32(ONE32, 0), infinity);
  assertEquals(divide32(ONE32 | minus, 0), infinity | minus);
  assertEquals(divide32(0, 0) & 0x7fc00000, 0x7fc00000);
  assertEquals(divide32(infinity, infinity) & 0x7fc00000, 0x7fc00000);
  assertEquals([divide32(infinity, ONE32 | minus), divide32(ONE32, infinity | minus)], [infinity | minus, minus]);
  assertEquals([divide32(0, ONE32 | minus), divide32(minus, minus | ONE32)], [minus, 0]);
  assertEquals([divide32(nan, ONE32), divide32(ONE32, nan)], [0x7fc00001, 0x7fc00001]);
  const infinity64 = infinityBits(F64);
  assertEquals([divide64(ONE64, 0n), divide64(0n, ONE64), divide64(ONE64, infinity64)], [infinity64, 0n, 0n]);
});

Deno.test("v_div_scale decides by exponent fields, for operands without a quotient too", () => {
  const scale = (a: number, b: number, c: number) => [divScale32(MODE, a, b, c) >>> 0, divisionScales];
  const denormal = 0x00000001, tiny = 0x0c000000, largest = 0x7f7fffff;
  // Exponent field 24 is tiny, 25 is not.
  assertEquals([scale(tiny, tiny, tiny), scale(tiny + 0x800000, tiny, tiny + 0x800000)], [
    [tiny + (64 << 23), false],
    [tiny + 0x800000, false],
  ]);
  // 2^126 has a denormal neighbour of its reciprocal: both are scaled down.
  assertEquals(scale(0x7e800000, 0x7e800000, ONE32), [0x5e800000, true]);
  assertEquals(scale(ONE32, 0x7e800000, ONE32), [ONE32, true]);
  // Zero operands: no number, but the mask is set by the exponents.
  assertEquals(scale(0, 0, largest), [0x7fc00000, true]);
  assertEquals(scale(denormal, 0, denormal), [0x7fc00000, false]);
});

Deno.test("v_div_fmas keeps denormal operands, v_div_fixup a denormal quotient, where MODE flushes sources", () => {
  const flush = new FloatMode(0xe0); // f32 results are kept, sources are not
  assertEquals(divFmas32(flush, 0x00000003, ONE32, 0, false), 3);
  assertEquals(divFixup32(flush, 0x00000003, ONE32 + 0x800000, ONE32), 3);
  assertEquals(fma32(flush, 0x00000003, ONE32, 0), 0);
});

Deno.test("a quotient that is infinite or no number is an overflow, rounded as MODE says", () => {
  const quotient = (mode: number, sign: number) => {
    const m = new FloatMode(mode);
    return [0x7f800000, 0x7fc00000].map((a) => divFixup32(m, a, ONE32, ONE32 | sign) >>> 0);
  };
  const infinity = 0x7f800000, largest = 0x7f7fffff, minus = 0x80000000;
  const rows = [[infinity, infinity], [infinity, largest], [largest, infinity], [largest, largest]];
  rows.forEach(([positive, negative], mode) => {
    assertEquals(quotient(0xf0 | mode, 0), [positive, positive]);
    assertEquals(quotient(0xf0 | mode, minus), [negative + minus, negative + minus]);
  });
  const wide = (mode: number) => divFixup64(new FloatMode(mode), 0x7ff8_0000_0000_0000n, ONE64, ONE64);
  assertEquals([wide(0xf0), wide(0xfc)], [0x7ff0_0000_0000_0000n, 0x7fef_ffff_ffff_ffffn]);
});

Deno.test("2 / pi is known to 1201 bits", () => {
  // The first 64 bits behind the point: 0xa2f9836e4e441529, widely published (for one in fdlibm's __ieee754_rem_pio2).
  assertEquals((twoOverPiBits(1201) >> 1137n).toString(16), "a2f9836e4e441529");
  // More digits never change the earlier ones.
  assertEquals(twoOverPiBits(1201), twoOverPiBits(1300) >> 99n);
});

Deno.test("v_trig_preop_f64 gives the segments of 2 / pi that its pseudo code describes", () => {
  // Segments 0, 1, 2 of a small number add up to 2 / pi.
  const parts = [0, 1, 2].map((segment) => f64Value(trigPreop64(MODE, ONE64, segment)));
  assertEquals(parts[0], Number(twoOverPiBits(53)) * 2 ** -53);
  assertEquals(parts[0] + parts[1] + parts[2], 2 / Math.PI);
  // A large exponent moves the window: 2^100 has exponent field 1123, 46 above 1077.
  const moved = f64Value(trigPreop64(MODE, 1123n << 52n, 0));
  assertEquals(moved, Number(twoOverPiBits(99) & (1n << 53n) - 1n) * 2 ** -99);
  // Behind 1968 the result is scaled up by 2^128.
  const scaled = f64Value(trigPreop64(MODE, 1968n << 52n, 0));
  assertEquals(scaled, Number(twoOverPiBits(53 + 891) & (1n << 53n) - 1n) * 2 ** (-53 - 891 + 128));
});
