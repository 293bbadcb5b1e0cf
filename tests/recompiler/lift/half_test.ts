import { assertEquals, assertThrows } from "@std/assert";
import { add, bitsOf, exact, fma, HALF, isNanBits, multiply, numberOf, round } from "../../support/exact_float.ts";
import { Random } from "../../support/random.ts";
import { canonical, compareLanes, DENORMAL_MODES, flushed, halves, LANES, run } from "./vector_support.ts";

const low = (word: number) => BigInt(word & 0xffff), high = (word: number) => BigInt(word >>> 16);
const number = (bits: bigint) => numberOf(bits, HALF);
const half = (value: number) => bitsOf(value, HALF);
const negate = (bits: bigint) => bits ^ 0x8000n;
const magnitude = (bits: bigint) => bits & 0x7fffn;
const sum = (a: bigint, b: bigint) => round(add(exact(a, HALF), exact(b, HALF)), HALF);
const product = (a: bigint, b: bigint) => round(multiply(exact(a, HALF), exact(b, HALF)), HALF);
const fused = (a: bigint, b: bigint, c: bigint) => fma(a, b, c, HALF);

/** `input` is what MODE makes of an operand. */
type Half = (a: bigint, b: bigint, c: bigint, old: bigint, input: (bits: bigint) => bigint) => bigint;

/** v3 = f(v0, v1, v2), f16 in the low halves; the upper half of v3 stays. */
function each(line: string, f: Half): void {
  Deno.test(`${line} is rounded once, with denormals as MODE says`, () => {
    for (const [floatMode, flushIn, flushOut] of DENORMAL_MODES) {
      const random = new Random(floatMode);
      const [a, b, c, old] = [halves(random), halves(random), halves(random), halves(random)];
      const after = run([line], { v: { 0: a, 1: b, 2: c, 3: old }, request: { floatMode } });
      const input = (bits: bigint) => flushed(bits, HALF, flushIn);
      compareLanes(
        `MODE ${floatMode.toString(16)}`,
        (lane) => `${canonical(low(after.v(3, lane)), HALF)} ${high(after.v(3, lane)).toString(16)}`,
        (lane) => {
          const bits = f(input(low(a[lane])), input(low(b[lane])), input(low(c[lane])), input(low(old[lane])), input);
          return `${canonical(flushed(bits, HALF, flushOut), HALF)} ${high(old[lane]).toString(16)}`;
        },
      );
    }
  });
}

function smaller(a: bigint, b: bigint): bigint {
  if (isNanBits(a, HALF)) return b;
  if (isNanBits(b, HALF)) return a;
  return half(Math.min(number(a), number(b)));
}
function larger(a: bigint, b: bigint): bigint {
  if (isNanBits(a, HALF)) return b;
  if (isNanBits(b, HALF)) return a;
  return half(Math.max(number(a), number(b)));
}
function even(x: number): number {
  const floor = Math.floor(x), rest = x - floor;
  if (!Number.isFinite(x) || x === 0) return x;
  const result = rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
  return result === 0 && x < 0 ? -0 : result;
}
function exponent(bits: bigint): number {
  const x = Math.abs(number(bits));
  return x === 0 || !Number.isFinite(x) ? 0 : Math.floor(Math.log2(x)) + 1;
}
const of = (f: (x: number) => number): Half => (a) => half(f(number(a)));

each("v_add_f16_e32 v3, v0, v1", sum);
each("v_sub_f16_e32 v3, v0, v1", (a, b) => sum(a, negate(b)));
each("v_subrev_f16_e32 v3, v0, v1", (a, b) => sum(b, negate(a)));
each("v_mul_f16_e32 v3, v0, v1", product);
each("v_fmac_f16_e32 v3, v0, v1", (a, b, _c, old) => fused(a, b, old));
each("v_fmamk_f16 v3, v0, 0x4248, v1", (a, b) => fused(a, 0x4248n, b));
each("v_fmaak_f16 v3, v0, v1, 0x4248", (a, b) => fused(a, b, 0x4248n));
each("v_fma_f16 v3, v0, v1, v2", fused);
each("v_fma_f16 v3, -v0, |v1|, -|v2|", (a, b, c) => fused(negate(a), magnitude(b), negate(magnitude(c))));
each("v_add_f16_e64 v3, -|v0|, v1", (a, b) => sum(negate(magnitude(a)), b));
each("v_add_f16_e32 v3, 1.0, v1", (_a, b) => sum(0x3c00n, b));
each("v_mul_f16_e32 v3, 0x3555, v1", (_a, b) => product(0x3555n, b));
// An inline integer is a bit pattern: 3 is a denormal number.
each("v_mul_f16_e32 v3, 3, v1", (_a, b, _c, _old, input) => product(input(3n), b));
each("v_min_f16_e32 v3, v0, v1", smaller);
each("v_max_f16_e32 v3, v0, v1", larger);
each("v_max_f16_e32 v3, 1.0, v1", (_a, b) => larger(0x3c00n, b));
each(
  "v_med3_f16 v3, v0, 0, 2.0",
  (a) => isNanBits(a, HALF) ? 0n : larger(smaller(a, 0n), smaller(larger(a, 0n), 0x4000n)),
);
each("v_min3_f16 v3, v0, v1, v2", (a, b, c) => smaller(smaller(a, b), c));
each("v_max3_f16 v3, v0, v1, v2", (a, b, c) => larger(larger(a, b), c));
each("v_med3_f16 v3, v0, v1, v2", (a, b, c) => {
  if ([a, b, c].some((x) => isNanBits(x, HALF))) return smaller(smaller(a, b), c);
  return larger(smaller(a, b), smaller(larger(a, b), c));
});
each("v_floor_f16_e32 v3, v0", of(Math.floor));
each("v_ceil_f16_e32 v3, v0", of(Math.ceil));
each("v_trunc_f16_e32 v3, v0", of(Math.trunc));
each("v_rndne_f16_e32 v3, v0", of(even));
each("v_fract_f16_e32 v3, v0", of((x) => Number.isFinite(x) ? Math.min(x - Math.floor(x), 1 - 2 ** -11) : NaN));
each("v_frexp_mant_f16_e32 v3, v0", (a) => {
  const x = number(a);
  return x === 0 || !Number.isFinite(x) ? a : half(x * 2 ** -exponent(a));
});
// Roots and reciprocals: JavaScript's are correctly rounded in f64, so these are in f16.
each("v_rcp_f16_e32 v3, v0", of((x) => 1 / x));
each("v_sqrt_f16_e32 v3, v0", of(Math.sqrt));
each("v_rsq_f16_e32 v3, v0", of((x) => 1 / Math.sqrt(x)));

/** Instructions whose result, or whose other operand, is an integer: low half of v3 = f. */
function eachInteger(line: string, f: (a: bigint, b: number) => bigint): void {
  Deno.test(`${line} is exact`, () => {
    const random = new Random(line.length);
    const [a, b, old] = [halves(random), halves(random), halves(random)];
    const after = run([line], { v: { 0: a, 1: b, 3: old } });
    compareLanes(
      line,
      (lane) => after.v(3, lane).toString(16),
      (lane) => {
        const result = f(low(a[lane]), b[lane] << 16 >> 16);
        return (high(old[lane]) << 16n | BigInt.asUintN(16, result)).toString(16);
      },
    );
  });
}

const clamped = (x: number, least: number, most: number) =>
  BigInt(Number.isNaN(x) ? 0 : Math.trunc(Math.min(Math.max(x, least), most)));
eachInteger("v_frexp_exp_i16_f16_e32 v3, v0", (a) => BigInt(exponent(a)));
eachInteger("v_cvt_u16_f16_e32 v3, v0", (a) => clamped(number(a), 0, 0xffff));
eachInteger("v_cvt_i16_f16_e32 v3, v0", (a) => clamped(number(a), -0x8000, 0x7fff));
eachInteger("v_cvt_f16_u16_e32 v3, v0", (a) => half(Number(a)));
eachInteger("v_cvt_f16_i16_e32 v3, v0", (a) => half(Number(BigInt.asIntN(16, a))));

/** A number in -1..1 or 0..1 as a fraction, by exact integers: round to nearest even of x * most. */
function fraction(bits: bigint, signed: boolean): bigint {
  const x = exact(bits, HALF);
  if (x.kind === "nan") return 0n;
  const most = signed ? 32767n : 65535n;
  if (x.kind === "infinite") return x.negative ? (signed ? -most : 0n) : most;
  const scaled = (x.mantissa < 0n ? -x.mantissa : x.mantissa) * most << 64n;
  const unit = BigInt(-x.scale) + 64n;
  const whole = scaled >> unit, rest = scaled - (whole << unit), tie = 1n << unit - 1n;
  const size = rest > tie || (rest === tie && whole % 2n === 1n) ? whole + 1n : whole;
  const limited = size > most ? most : size;
  return x.negative ? (signed ? -limited : 0n) : limited;
}
eachInteger("v_cvt_norm_i16_f16_e32 v3, v0", (a) => fraction(a, true));
eachInteger("v_cvt_norm_u16_f16_e32 v3, v0", (a) => fraction(a, false));

Deno.test("v_ldexp_f16 scales with one rounding over the whole range of exponents", () => {
  const random = new Random(9);
  for (let k = 0; k < 8; k++) {
    const a = halves(random);
    const n = Array.from(
      { length: LANES },
      () => random.pick([0, 1, -1, 10, -10, 14, -14, 24, -24, 40, -40, 0x7fff, -0x8000]) & 0xffff,
    );
    const after = run(["v_ldexp_f16_e32 v3, v0, v1"], { v: { 0: a, 1: n, 3: 0 } });
    compareLanes(
      "ldexp",
      (lane) => canonical(BigInt(after.v(3, lane)), HALF),
      (lane) => canonical(half(number(low(a[lane])) * 2 ** Math.max(-100, Math.min(100, n[lane] << 16 >> 16))), HALF),
    );
  }
});

Deno.test("op_sel reads and writes high halves, and keeps the other half of the destination", () => {
  const random = new Random(10);
  const [a, b, c, old] = [halves(random), halves(random), halves(random), halves(random)];
  const after = run(["v_fma_f16 v3, v0, v1, v2 op_sel:[1,0,1,1]"], { v: { 0: a, 1: b, 2: c, 3: old } });
  compareLanes(
    "high halves",
    (lane) => `${canonical(high(after.v(3, lane)), HALF)} ${low(after.v(3, lane))}`,
    (lane) => `${canonical(fused(high(a[lane]), low(b[lane]), high(c[lane])), HALF)} ${low(old[lane])}`,
  );
});

Deno.test("SDWA chooses words of f16 sources and places the result", () => {
  const random = new Random(11);
  const [a, b, old] = [halves(random), halves(random), halves(random)];
  const line = "v_add_f16_sdwa v3, -v0, |v1| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0";
  const after = run([line], { v: { 0: a, 1: b, 3: old } });
  compareLanes(
    line,
    (lane) => `${canonical(high(after.v(3, lane)), HALF)} ${low(after.v(3, lane))}`,
    (lane) => `${canonical(sum(negate(high(a[lane])), magnitude(low(b[lane]))), HALF)} ${low(old[lane])}`,
  );
});

Deno.test("halves that were just put together are read without their other half", () => {
  const random = new Random(12);
  const [a, b] = [halves(random), halves(random)];
  const lines = ["v_add_f16_e32 v3, v0, v1", "v_fma_f16 v3, v0, v1, v3 op_sel:[1,1,0,1]", "v_mul_f16_e32 v4, v3, v0"];
  const after = run([...lines, "v_fma_f16 v5, v3, v1, v0 op_sel:[1,0,0,0]"], {
    v: { 0: a, 1: b, 3: 0x1234, 4: 0, 5: 0 },
  });
  compareLanes(
    "chain",
    (lane) => `${canonical(low(after.v(4, lane)), HALF)} ${canonical(low(after.v(5, lane)), HALF)}`,
    (lane) => {
      const first = sum(low(a[lane]), low(b[lane]));
      const second = fused(high(a[lane]), high(b[lane]), first);
      return `${canonical(product(first, low(a[lane])), HALF)} ${
        canonical(fused(second, low(b[lane]), low(a[lane])), HALF)
      }`;
    },
  );
});

Deno.test("clamp and output modifiers act on f16 results by the rules of f32 ones", () => {
  const inputs = [-1, -0, 0.25, 1, 7, NaN, Infinity, -Infinity].map((x) => Number(half(x)));
  for (const dx10Clamp of [true, false]) {
    const after = run(["v_add_f16_e64 v3, v0, 0 clamp"], { v: { 0: inputs, 3: 0 }, request: { dx10Clamp } });
    const wanted = [0, 0, 0.25, 1, 1, dx10Clamp ? 0 : NaN, 1, 0].map((x) => canonical(half(x), HALF));
    assertEquals(inputs.map((_, lane) => canonical(BigInt(after.v(3, lane)), HALF)), wanted);
  }
  const scaled = (line: string, a: number, floatMode: number, ieee: boolean) => {
    const after = run([line], { v: { 0: Number(half(a)), 1: Number(half(0.5)), 3: 0 }, request: { floatMode, ieee } });
    return number(BigInt(after.v(3)));
  };
  assertEquals(scaled("v_add_f16_e64 v3, v0, v1 mul:2", 1, 0x30, false), 3);
  assertEquals(scaled("v_add_f16_e64 v3, v0, v1 mul:4", 1, 0x30, false), 6);
  assertEquals(scaled("v_add_f16_e64 v3, v0, v1 div:2", 1, 0x30, false), 0.75);
  assertEquals(scaled("v_add_f16_e64 v3, v0, v1 mul:2", 1, 0xf0, false), 1.5);
  assertEquals(scaled("v_add_f16_e64 v3, v0, v1 mul:2", 1, 0x30, true), 1.5);
});

Deno.test("in IEEE mode f16 minimum and maximum give a signalling NaN back, made quiet", () => {
  const a = [0x7c01, 0x3c00, 0x7e05, 0x3c00], b = [0x3c00, 0xfc02, 0x3c00, 0x7e06];
  for (const line of ["v_min_f16_e32 v3, v0, v1", "v_max_f16_e32 v3, v0, v1"]) {
    const result = (ieee: boolean) => {
      const after = run([line], { v: { 0: a, 1: b, 3: 0 }, request: { ieee } });
      return a.map((_, lane) => after.v(3, lane));
    };
    assertEquals(result(true), [0x7e01, 0xfe02, 0x3c00, 0x3c00]);
    assertEquals(result(false), [0x3c00, 0x3c00, 0x3c00, 0x3c00]);
  }
});

Deno.test("f16 functions are correctly rounded but for the host's own error", () => {
  const cases: [string, (x: number) => number][] = [
    ["v_exp_f16_e32 v3, v0", (x) => 2 ** x],
    ["v_log_f16_e32 v3, v0", Math.log2],
    ["v_sin_f16_e32 v3, v0", (x) => Math.sin(2 * Math.PI * x)],
    ["v_cos_f16_e32 v3, v0", (x) => Math.cos(2 * Math.PI * x)],
  ];
  const inputs = [0.125, 0.3, 1.75, 12.5].map((x) => Number(half(x)));
  for (const [line, f] of cases) {
    const after = run([line], { v: { 0: inputs, 3: 0 } });
    inputs.forEach((bits, lane) => {
      const wanted = half(f(number(BigInt(bits)))), got = BigInt(after.v(3, lane));
      const error = Math.abs(Number(got) - Number(wanted));
      assertEquals(
        error <= 1 || Math.abs(number(got) - number(wanted)) < 2 ** -20,
        true,
        `${line} ${bits.toString(16)}`,
      );
    });
  }
});

Deno.test("v_pack_b32_f16 joins halves, with their signs changed where asked", () => {
  const random = new Random(13);
  const [a, b] = [halves(random), halves(random)];
  const after = run(["v_pack_b32_f16 v3, -v0, |v1| op_sel:[1,0,0]"], { v: { 0: a, 1: b, 3: 0 } });
  compareLanes(
    "pack",
    (lane) => after.v(3, lane).toString(16),
    (lane) => (magnitude(low(b[lane])) << 16n | negate(high(a[lane]))).toString(16),
  );
});

Deno.test("v_cmp_class_f16 tells ten classes apart", () => {
  const values = [0x7c01, 0x7e00, 0xfc00, 0xbc00, 0x8001, 0x8000, 0, 1, 0x3c00, 0x7c00];
  for (let bit = 0; bit < 10; bit++) {
    const constant = run(["v_cmp_class_f16_e64 s4, v0, v1"], {
      v: { 0: values, 1: 1 << bit },
      request: { workgroupSize: [10, 1, 1] },
    });
    assertEquals(constant.s(4), 1 << bit, `class ${bit}`);
  }
  const signs = run(["v_cmp_class_f16_e64 s4, -|v0|, v1"], {
    v: { 0: values, 1: 0x3c },
    request: { workgroupSize: [10, 1, 1] },
  });
  assertEquals(signs.s(4), 0b1111111100);
});

Deno.test("rounding modes other than to nearest even are refused by name", () => {
  const run16 = (line: string) => () => run([line], { v: { 0: 0, 1: 0, 3: 0 }, request: { floatMode: 0xfc } });
  for (const line of ["v_add_f16_e32 v3, v0, v1", "v_fma_f16 v3, v0, v1, v2", "v_cvt_f16_f32_e32 v3, v0"]) {
    assertThrows(run16(line), Error, "rounds f16 and f64 toward zero");
  }
});
