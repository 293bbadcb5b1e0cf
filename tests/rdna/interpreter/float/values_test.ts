/** Operations that choose or convert instead of computing: cases by hand from the ISA document's pseudo code. */
import { assertEquals } from "@std/assert";
import { narrow16, widen16 } from "../../../../src/rdna/interpreter/float/bits.ts";
import * as convert from "../../../../src/rdna/interpreter/float/convert.ts";
import * as half from "../../../../src/rdna/interpreter/float/f16.ts";
import * as single from "../../../../src/rdna/interpreter/float/f32.ts";
import * as double from "../../../../src/rdna/interpreter/float/f64.ts";
import { FloatMode } from "../../../../src/rdna/interpreter/float/mode.ts";
import {
  cosine,
  inverseRoot,
  logarithm,
  reciprocal,
  sine,
  special32,
} from "../../../../src/rdna/interpreter/float/special.ts";
import { root, special16, special64 } from "../../../../src/rdna/interpreter/float/special.ts";
import { f16, f32, f64 } from "../machine.ts";

const MODE = new FloatMode(0xf0), IEEE = new FloatMode(0x2f0), DX10 = new FloatMode(0x1f0), FLUSH = new FloatMode(0);
const bits = (value: number) => f32(value) | 0;
const SIGNALLING = 0x7f800001, QUIET = 0x7fc00000, MINUS_ZERO = 0x80000000 | 0;

Deno.test("every f16 pattern survives widening and narrowing, signalling NaNs too", () => {
  for (let pattern = 0; pattern < 0x10000; pattern++) assertEquals(narrow16(widen16(pattern)), pattern);
  assertEquals([widen16(0x7c01), widen16(0x0001), widen16(0x3c00)], [0x7f802000, 0x33800000, 0x3f800000]);
});

Deno.test("minimum and maximum: -0 is below +0, and a number wins against a NaN", () => {
  const { min32, max32 } = single;
  assertEquals([min32(MODE, 0, MINUS_ZERO), min32(MODE, MINUS_ZERO, 0)], [MINUS_ZERO, MINUS_ZERO]);
  assertEquals([max32(MODE, 0, MINUS_ZERO), max32(MODE, MINUS_ZERO, 0)], [0, 0]);
  for (const f of [min32, max32]) {
    assertEquals([f(MODE, QUIET, bits(1)), f(MODE, bits(1), QUIET)], [bits(1), bits(1)]);
    assertEquals([f(MODE, SIGNALLING, bits(1)), f(MODE, bits(1), SIGNALLING)], [bits(1), bits(1)]);
    assertEquals(f(MODE, QUIET, QUIET), QUIET);
  }
  assertEquals([min32(MODE, bits(-2), bits(3)), max32(MODE, bits(-2), bits(3))], [bits(-2), bits(3)]);
  assertEquals([half.min16(MODE, 0, 0x8000), half.max16(MODE, 0x7e00, 0x3c00)], [0x8000, 0x3c00]);
  assertEquals([double.min64(MODE, 0n, 1n << 63n), double.max64(MODE, 1n << 63n, 0n)], [1n << 63n, 0n]);
});

Deno.test("in IEEE mode a signalling NaN is the minimum and maximum, made quiet; a quiet one loses", () => {
  for (const f of [single.min32, single.max32]) {
    assertEquals([f(IEEE, SIGNALLING, bits(1)), f(IEEE, bits(1), SIGNALLING)], [0x7fc00001, 0x7fc00001]);
    assertEquals(f(IEEE, QUIET, bits(1)), bits(1));
  }
  assertEquals(half.min16(IEEE, 0x7c01, 0x3c00), 0x7e01);
  assertEquals(double.max64(IEEE, 0x7ff0_0000_0000_0001n, f64(1)), 0x7ff8_0000_0000_0001n);
});

Deno.test("minimum and maximum flush denormals where MODE does", () => {
  assertEquals([single.min32(FLUSH, 1, bits(1)), single.min32(MODE, 1, bits(1))], [0, 1]);
  assertEquals([half.max16(FLUSH, 1, 0x8000), half.max16(MODE, 1, 0x8000)], [0, 1]);
});

Deno.test("the median is the middle one; with a NaN it is the minimum of the others", () => {
  const { med3x32 } = single;
  const orders = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]];
  for (const [a, b, c] of orders) assertEquals(med3x32(MODE, bits(a), bits(b), bits(c)), bits(2));
  assertEquals(med3x32(MODE, QUIET, bits(5), bits(4)), bits(4));
  assertEquals(med3x32(MODE, bits(5), bits(4), QUIET), bits(4));
  assertEquals(half.med3x16(MODE, f16(3), f16(1), f16(2)), f16(2));
});

Deno.test("rounding to integers keeps signs of zeros and quiets NaNs", () => {
  const { trunc32, ceil32, floor32, rndne32 } = single;
  const rows: [number, number, number, number, number][] = [
    [1.5, 1, 2, 1, 2],
    [2.5, 2, 3, 2, 2],
    [-0.5, -0, -0, -1, -0],
    [0.3, 0, 1, 0, 0],
    [-1.5, -1, -1, -2, -2],
    [8388609, 8388609, 8388609, 8388609, 8388609],
    [Infinity, Infinity, Infinity, Infinity, Infinity],
  ];
  for (const [x, trunc, ceil, floor, even] of rows) {
    const found = [trunc32, ceil32, floor32, rndne32].map((f) => f(MODE, bits(x)));
    assertEquals(found, [trunc, ceil, floor, even].map(bits), `${x}`);
  }
  assertEquals(trunc32(MODE, SIGNALLING), 0x7fc00001);
  assertEquals([half.rndne16(MODE, f16(2.5)), half.ceil16(MODE, f16(-0.5))], [f16(2), 0x8000]);
  assertEquals([double.rndne64(MODE, f64(3.5)), double.floor64(MODE, f64(-0.1))], [f64(4), f64(-1)]);
});

Deno.test("a fraction stays below 1", () => {
  const { fract32 } = single;
  assertEquals([fract32(MODE, bits(2.75)), fract32(MODE, bits(-2.75))], [bits(0.75), bits(0.25)]);
  assertEquals(fract32(MODE, bits(-1e-30)), 0x3f7fffff);
  assertEquals(fract32(MODE, bits(Infinity)) & 0x7fc00000, 0x7fc00000);
  assertEquals(half.fract16(MODE, 0x8001), 0x3bff);
  assertEquals(double.fract64(MODE, f64(-1e-300)), f64(1) - 1n);
});

Deno.test("frexp splits numbers, denormals too; zero, infinity and NaN have exponent 0", () => {
  const { frexpExponent32, frexpMantissa32 } = single;
  for (const [x, exponent, mantissa] of [[1, 1, 0.5], [-12, 4, -0.75], [0.5, 0, 0.5], [2 ** -149, -148, 0.5]]) {
    assertEquals([frexpExponent32(MODE, bits(x)), frexpMantissa32(MODE, bits(x))], [exponent, bits(mantissa)], `${x}`);
  }
  for (const pattern of [0, MINUS_ZERO, bits(Infinity), QUIET]) {
    assertEquals([frexpExponent32(MODE, pattern), frexpMantissa32(MODE, pattern)], [0, pattern]);
  }
  assertEquals([half.frexpExponent16(MODE, 1), half.frexpMantissa16(MODE, 1)], [-23, 0x3800]);
  assertEquals([double.frexpExponent64(MODE, 1n), double.frexpMantissa64(MODE, 1n)], [-1073, f64(0.5)]);
  assertEquals([double.frexpExponent64(MODE, f64(-12)), double.frexpMantissa64(MODE, f64(-12))], [4, f64(-0.75)]);
});

Deno.test("clamping goes to 0..1; NaN becomes 0 with DX10_CLAMP only; -0 becomes +0", () => {
  const { clamp32 } = single;
  assertEquals([-1, 0.25, 7].map((x) => clamp32(MODE, bits(x))), [0, bits(0.25), bits(1)]);
  assertEquals([clamp32(MODE, MINUS_ZERO), clamp32(MODE, QUIET), clamp32(DX10, QUIET)], [0, QUIET, 0]);
  assertEquals([half.clamp16(DX10, 0x7e00), half.clamp16(DX10, f16(3))], [0, f16(1)]);
  assertEquals([double.clamp64(MODE, f64(-0.5)), double.clamp64(MODE, f64(2))], [0n, f64(1)]);
});

Deno.test("output modifiers act only with flushed results and IEEE mode off, and make positive zeros", () => {
  const { modify32 } = single;
  const flushIeee = new FloatMode(0x200);
  assertEquals([1, 2, 3].map((omod) => modify32(FLUSH, bits(3), omod)), [bits(6), bits(12), bits(1.5)]);
  assertEquals([modify32(MODE, bits(3), 1), modify32(flushIeee, bits(3), 1)], [bits(3), bits(3)]);
  assertEquals(modify32(FLUSH, MINUS_ZERO, 1), 0);
  // Half of the smallest normal number is flushed.
  assertEquals(modify32(FLUSH, 0x00800000, 3), 0);
  assertEquals([half.modify16(FLUSH, f16(3), 1), half.modify16(MODE, f16(3), 1)], [f16(6), f16(3)]);
});

Deno.test("legacy products: zero times anything is +0, to which a legacy fused one adds the addend (LLVM, fma.legacy)", () => {
  const { mulLegacy32, fmaLegacy32, madLegacy32 } = single;
  const infinity = bits(Infinity);
  assertEquals([mulLegacy32(MODE, 0, infinity), mulLegacy32(MODE, QUIET, MINUS_ZERO)], [0, 0]);
  assertEquals(mulLegacy32(MODE, bits(2), bits(3)), bits(6));
  assertEquals([fmaLegacy32(MODE, 0, infinity, bits(5)), fmaLegacy32(MODE, 0, infinity, MINUS_ZERO)], [
    bits(5),
    0,
  ]);
  assertEquals(madLegacy32(MODE, 0, infinity, bits(5)), bits(5));
});

Deno.test("v_mad rounds twice and flushes denormals whatever MODE says; v_fma rounds once", () => {
  const { mad32, fma32 } = single;
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the last term is lost in the product of v_mad.
  const x = bits(1 + 2 ** -12), minusOne = bits(-1 - 2 ** -11);
  assertEquals([mad32(MODE, x, x, minusOne), fma32(MODE, x, x, minusOne)], [0, bits(2 ** -24)]);
  assertEquals([mad32(MODE, 1, bits(1), 0), fma32(MODE, 1, bits(1), 0)], [0, 1]);
});

Deno.test("float to integer conversions cut off, clamp, and give 0 for NaN", () => {
  const { cvtI32F32, cvtU32F32, cvtFlrI32F32, cvtRpiI32F32 } = convert;
  const i32 = (x: number) => cvtI32F32(MODE, bits(x)), u32 = (x: number) => cvtU32F32(MODE, bits(x)) >>> 0;
  assertEquals([1.9, -1.9, 3e9, -3e9, NaN, Infinity].map(i32), [1, -1, 0x7fffffff, -0x80000000, 0, 0x7fffffff]);
  assertEquals([1.9, -1.9, 3e9, 5e9, NaN, -Infinity].map(u32), [1, 0, 3000000000, 0xffffffff, 0, 0]);
  assertEquals([cvtFlrI32F32(MODE, bits(-1.5)), cvtRpiI32F32(MODE, bits(-1.5)), cvtRpiI32F32(MODE, bits(2.5))], [
    -2,
    -1,
    3,
  ]);
  assertEquals([convert.cvtI32F64(MODE, f64(-2.7)), convert.cvtU32F64(MODE, f64(4294967295.5)) >>> 0], [
    -2,
    0xffffffff,
  ]);
  assertEquals([
    convert.cvtI16F16(MODE, f16(-40000)),
    convert.cvtU16F16(MODE, f16(-1)),
    convert.cvtU16F16(MODE, 0x7c00),
  ], [
    0x8000,
    0,
    0xffff,
  ]);
  assertEquals([convert.cvtI16F16(MODE, f16(-2.5)), convert.cvtI16F16(MODE, 0x7e00)], [0xfffe, 0]);
});

Deno.test("normalized conversions round to nearest even and clamp", () => {
  const { cvtNormI16F32, cvtNormU16F32 } = convert;
  assertEquals([1, -1, 2, 0, NaN].map((x) => cvtNormI16F32(MODE, bits(x))), [0x7fff, 0x8001, 0x7fff, 0, 0]);
  assertEquals([1, -1, 0.5].map((x) => cvtNormU16F32(MODE, bits(x))), [0xffff, 0, 0x8000]);
  assertEquals(convert.cvtNormU16F16(MODE, f16(0.25)), 16384);
  assertEquals([300, -3, 7.9, 6.5, NaN].map((x) => convert.cvtU8F32(MODE, bits(x))), [255, 0, 8, 6, 0]);
  // Up, down, toward zero.
  assertEquals([0xf1, 0xf2, 0xf3].map((mode) => convert.cvtU8F32(new FloatMode(mode), bits(7.5))), [8, 7, 7]);
  assertEquals([0, 7, 8, 15].map((x) => convert.cvtOffF32I4(MODE, x)), [0, 7 / 16, -0.5, -1 / 16].map(bits));
});

Deno.test("conversions of NaN between formats keep the payload's upper bits and make it quiet", () => {
  assertEquals(half.cvtF32F16(MODE, 0x7c01), 0x7fc02000);
  assertEquals(half.cvtF16F32(MODE, 0x7f802000), 0x7e01);
  assertEquals(convert.cvtF64F32(MODE, 0xff800001 | 0), 0xfff8_0000_2000_0000n);
  assertEquals(convert.cvtF32F64(MODE, 0xfff0_0000_2000_0000n) >>> 0, 0xffc00001);
});

Deno.test("special functions at their special points", () => {
  const at = (compute: (x: number) => number, x: number) => special32(MODE, bits(x), compute);
  const isNan = (pattern: number) => (pattern & 0x7fc00000) === 0x7fc00000;
  assertEquals(
    [0, -0, Infinity, -Infinity, 4].map((x) => at(reciprocal, x)),
    [Infinity, -Infinity, 0, -0, 0.25].map(bits),
  );
  assertEquals([0, -0, Infinity, 4].map((x) => at(inverseRoot, x)), [Infinity, -Infinity, 0, 0.5].map(bits));
  assertEquals([isNan(at(inverseRoot, -1)), isNan(at(root, -1)), isNan(at(logarithm, -1))], [true, true, true]);
  assertEquals([at(root, -0), at(logarithm, 0), at(logarithm, 8)], [MINUS_ZERO, bits(-Infinity), bits(3)]);
  // Arguments of sine and cosine count turns; multiples of a quarter are exact, however large.
  assertEquals([0.25, 0.5, 0.75, 1, -0.25, 1e6 + 0.25].map((x) => at(sine, x)), [1, 0, -1, 0, -1, 1].map(bits));
  assertEquals([0, 0.25, 0.5, 0.75, 1, -0.5].map((x) => at(cosine, x)), [1, 0, -1, 0, 1, -1].map(bits));
  assertEquals(isNan(at(sine, Infinity)), true);
  assertEquals(special16(MODE, f16(9), root), f16(3));
  assertEquals(special64(MODE, f64(0.25), reciprocal), f64(4));
});
