import { assertEquals, assertThrows } from "@std/assert";
import {
  add,
  bitsOf,
  divide,
  DOUBLE,
  exact,
  fma,
  isNanBits,
  multiply,
  numberOf,
  round,
  scaled,
  SINGLE,
} from "../../support/exact_float.ts";
import { Random } from "../../support/random.ts";
import {
  canonical,
  compareLanes,
  DENORMAL_MODES,
  doubles,
  flushed,
  LANES,
  run,
  singles,
  split,
  words,
} from "./vector_support.ts";

const SIGN = 1n << 63n;
const number = (bits: bigint) => numberOf(bits, DOUBLE);
const double = (value: number) => bitsOf(value, DOUBLE);
const negate = (bits: bigint) => bits ^ SIGN;
const magnitude = (bits: bigint) => bits & ~SIGN;
const sum = (a: bigint, b: bigint) => round(add(exact(a, DOUBLE), exact(b, DOUBLE)), DOUBLE);
const product = (a: bigint, b: bigint) => round(multiply(exact(a, DOUBLE), exact(b, DOUBLE)), DOUBLE);
const fused = (a: bigint, b: bigint, c: bigint) => fma(a, b, c, DOUBLE);

type After = ReturnType<typeof run>;
const pair = (after: After, register: number, lane: number) =>
  BigInt(after.v(register + 1, lane)) << 32n | BigInt(after.v(register, lane));

/** v[0:1], v[2:3], v[4:5]. */
function registers(values: readonly bigint[][]): Record<number, number[]> {
  const v: Record<number, number[]> = {};
  values.forEach((list, k) => [v[k * 2], v[k * 2 + 1]] = split(list));
  return v;
}

type Double = (a: bigint, b: bigint, c: bigint, input: (bits: bigint) => bigint) => bigint;

/** v[6:7] = f(v[0:1], v[2:3], v[4:5]). */
function each(line: string, f: Double): void {
  Deno.test(`${line} is rounded once, with denormals as MODE says`, () => {
    for (const [floatMode, flushIn, flushOut] of DENORMAL_MODES) {
      const random = new Random(floatMode + line.length);
      const values = [doubles(random), doubles(random), doubles(random)];
      const after = run([line], { v: registers(values), request: { floatMode } });
      const input = (bits: bigint) => flushed(bits, DOUBLE, flushIn);
      compareLanes(
        `MODE ${floatMode.toString(16)}`,
        (lane) => canonical(pair(after, 6, lane), DOUBLE),
        (lane) => {
          const [a, b, c] = values.map((list) => input(list[lane]));
          return canonical(flushed(f(a, b, c, input), DOUBLE, flushOut), DOUBLE);
        },
      );
    }
  });
}

function pick(a: bigint, b: bigint, choose: (x: number, y: number) => number): bigint {
  if (isNanBits(a, DOUBLE)) return b;
  if (isNanBits(b, DOUBLE)) return a;
  return double(choose(number(a), number(b)));
}
function even(x: number): number {
  const floor = Math.floor(x), rest = x - floor;
  if (!Number.isFinite(x) || x === 0 || Math.abs(x) >= 2 ** 52) return x;
  const result = rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
  return result === 0 && x < 0 ? -0 : result;
}
/** n of a = m * 2^n with |m| in 0.5..1. */
function exponent(bits: bigint): number {
  const { kind, mantissa, scale } = exact(magnitude(bits), DOUBLE);
  return kind !== "finite" || mantissa === 0n ? 0 : mantissa.toString(2).length + scale;
}
const of = (f: (x: number) => number): Double => (a) => double(f(number(a)));

each("v_add_f64 v[6:7], v[0:1], v[2:3]", sum);
each("v_add_f64 v[6:7], -v[0:1], |v[2:3]|", (a, b) => sum(negate(a), magnitude(b)));
each("v_mul_f64 v[6:7], v[0:1], v[2:3]", product);
each("v_mul_f64 v[6:7], v[0:1], -|v[2:3]|", (a, b) => product(a, negate(magnitude(b))));
each("v_fma_f64 v[6:7], v[0:1], v[2:3], v[4:5]", fused);
each("v_fma_f64 v[6:7], -v[0:1], v[2:3], 1.0", (a, b) => fused(negate(a), b, double(1)));
each("v_add_f64 v[6:7], v[0:1], 0.15915494309189532", (a) => sum(a, 0x3fc45f306dc9c882n));
each("v_mul_f64 v[6:7], v[0:1], 0x40590000", (a) => product(a, double(100)));
// An inline integer is a bit pattern: 3 is a denormal number, -5 a NaN.
each("v_add_f64 v[6:7], v[0:1], 3", (a, _b, _c, input) => sum(a, input(3n)));
each("v_min_f64 v[6:7], v[0:1], v[2:3]", (a, b) => pick(a, b, Math.min));
each("v_max_f64 v[6:7], v[0:1], v[2:3]", (a, b) => pick(a, b, Math.max));
each("v_floor_f64_e32 v[6:7], v[0:1]", of(Math.floor));
each("v_ceil_f64_e32 v[6:7], v[0:1]", of(Math.ceil));
each("v_trunc_f64_e32 v[6:7], v[0:1]", of(Math.trunc));
each("v_rndne_f64_e32 v[6:7], v[0:1]", of(even));
each("v_fract_f64_e32 v[6:7], v[0:1]", of((x) => Number.isFinite(x) ? Math.min(x - Math.floor(x), 1 - 2 ** -53) : NaN));
each("v_frexp_mant_f64_e32 v[6:7], v[0:1]", (a) => {
  const value = exact(a, DOUBLE);
  return value.kind === "finite" ? round(scaled(value, -exponent(a)), DOUBLE) : a;
});
// What JavaScript rounds correctly; the device tests allow a unit in the last place.
each("v_rcp_f64_e32 v[6:7], v[0:1]", of((x) => 1 / x));
each("v_sqrt_f64_e32 v[6:7], v[0:1]", of(Math.sqrt));
each("v_rsq_f64_e32 v[6:7], v[0:1]", of((x) => 1 / Math.sqrt(x)));

Deno.test("v_ldexp_f64 scales with one rounding over the whole range of exponents", () => {
  const random = new Random(3);
  for (let k = 0; k < 8; k++) {
    const a = doubles(random);
    const choices = [
      0,
      1,
      -1,
      52,
      -53,
      1022,
      -1022,
      -1074,
      2000,
      -2000,
      2100,
      -2100,
      5000,
      -5000,
      0x7fffffff,
      -0x80000000,
    ];
    const n = Array.from(
      { length: LANES },
      () => random.chance(0.5) ? random.pick(choices) : random.below(4400) - 2200,
    );
    const after = run(["v_ldexp_f64 v[6:7], v[0:1], v2"], { v: { ...registers([a]), 2: n.map((x) => x >>> 0) } });
    compareLanes(
      "ldexp",
      (lane) => canonical(pair(after, 6, lane), DOUBLE),
      (lane) =>
        canonical(round(scaled(exact(a[lane], DOUBLE), Math.max(-9999, Math.min(9999, n[lane]))), DOUBLE), DOUBLE),
    );
  }
});

/** Integer results. */
function eachInteger(line: string, f: (a: bigint) => number): void {
  Deno.test(`${line} is exact`, () => {
    const random = new Random(line.length);
    for (let k = 0; k < 4; k++) {
      const a = doubles(random);
      const after = run([line], { v: registers([a]) });
      compareLanes(line, (lane) => after.v(6, lane).toString(16), (lane) => (f(a[lane]) >>> 0).toString(16));
    }
  });
}
const clamped = (x: number, least: number, most: number) =>
  Number.isNaN(x) ? 0 : Math.trunc(Math.min(Math.max(x, least), most));
eachInteger("v_cvt_i32_f64_e32 v6, v[0:1]", (a) => clamped(number(a), -0x80000000, 0x7fffffff));
eachInteger("v_cvt_u32_f64_e32 v6, v[0:1]", (a) => clamped(number(a), 0, 0xffffffff));
eachInteger("v_frexp_exp_i32_f64_e32 v6, v[0:1]", exponent);

Deno.test("conversions to and from f64 are exact or rounded once", () => {
  for (
    const [floatMode, flush32, flush64] of [[0xf0, false, false], [0xc0, true, false], [0x30, false, true]] as const
  ) {
    const random = new Random(floatMode);
    const a = doubles(random).map((x, k) =>
      k % 2 === 0 ? x : double(numberOf(BigInt(singles(random)[k]), SINGLE) * 1.0000000001)
    );
    const [b, c] = [singles(random), words(random)];
    const after = run(
      [
        "v_cvt_f32_f64_e32 v6, v[0:1]",
        "v_cvt_f64_f32_e32 v[8:9], v2",
        "v_cvt_f64_i32_e32 v[10:11], v3",
        "v_cvt_f64_u32_e32 v[12:13], v3",
      ],
      { v: { ...registers([a]), 2: b, 3: c }, request: { floatMode } },
    );
    compareLanes(
      `MODE ${floatMode.toString(16)}`,
      (lane) =>
        [
          canonical(BigInt(after.v(6, lane)), SINGLE),
          canonical(pair(after, 8, lane), DOUBLE),
          number(pair(after, 10, lane)),
          number(pair(after, 12, lane)),
        ].join(" "),
      (lane) =>
        [
          canonical(flushed(round(exact(flushed(a[lane], DOUBLE, flush64), DOUBLE), SINGLE), SINGLE, flush32), SINGLE),
          canonical(round(exact(flushed(BigInt(b[lane]), SINGLE, flush32), SINGLE), DOUBLE), DOUBLE),
          c[lane] | 0,
          c[lane],
        ].join(" "),
    );
  }
});

Deno.test("f64 comparisons order numbers and tell NaNs apart", () => {
  const conditions: [string, (x: number, y: number, nan: boolean) => boolean][] = [
    ["v_cmp_lt_f64_e64 s4, v[0:1], v[2:3]", (x, y) => x < y],
    ["v_cmp_eq_f64_e64 s4, v[0:1], v[2:3]", (x, y) => x === y],
    ["v_cmp_le_f64_e64 s4, v[0:1], v[2:3]", (x, y) => x <= y],
    ["v_cmp_gt_f64_e64 s4, v[0:1], v[2:3]", (x, y) => x > y],
    ["v_cmp_lg_f64_e64 s4, v[0:1], v[2:3]", (x, y, nan) => !nan && x !== y],
    ["v_cmp_ge_f64_e64 s4, v[0:1], v[2:3]", (x, y) => x >= y],
    ["v_cmp_o_f64_e64 s4, v[0:1], v[2:3]", (_x, _y, nan) => !nan],
    ["v_cmp_u_f64_e64 s4, v[0:1], v[2:3]", (_x, _y, nan) => nan],
    ["v_cmp_nge_f64_e64 s4, v[0:1], v[2:3]", (x, y) => !(x >= y)],
    ["v_cmp_nlg_f64_e64 s4, v[0:1], v[2:3]", (x, y, nan) => nan || x === y],
    ["v_cmp_ngt_f64_e64 s4, v[0:1], v[2:3]", (x, y) => !(x > y)],
    ["v_cmp_nle_f64_e64 s4, v[0:1], v[2:3]", (x, y) => !(x <= y)],
    ["v_cmp_neq_f64_e64 s4, v[0:1], v[2:3]", (x, y) => !(x === y)],
    ["v_cmp_nlt_f64_e64 s4, v[0:1], v[2:3]", (x, y) => !(x < y)],
    ["v_cmp_tru_f64_e64 s4, v[0:1], v[2:3]", () => true],
    ["v_cmp_f_f64_e64 s4, v[0:1], v[2:3]", () => false],
  ];
  const random = new Random(4);
  const [a, b] = [doubles(random), doubles(random)];
  for (let lane = 0; lane < LANES; lane += 3) b[lane] = a[lane];
  b[1] = 0n;
  a[1] = SIGN;
  for (const [line, test] of conditions) {
    let wanted = 0;
    a.forEach((bits, lane) => {
      const x = number(bits), y = number(b[lane]);
      if (test(x, y, Number.isNaN(x) || Number.isNaN(y))) wanted |= 1 << lane;
    });
    assertEquals(run([line], { v: registers([a, b]) }).s(4), wanted >>> 0, line);
  }
});

Deno.test("v_cmp_class_f64 tells ten classes apart", () => {
  const values = [
    0x7ff0000000000001n,
    0x7ff8000000000000n,
    0xfff0000000000000n,
    double(-1),
    SIGN | 1n,
    SIGN,
    0n,
    0x100000000n,
    double(1),
    0x7ff0000000000000n,
  ];
  const request = { workgroupSize: [10, 1, 1] as const };
  for (let bit = 0; bit < 10; bit++) {
    const after = run(["v_cmp_class_f64_e64 s4, v[0:1], v2"], { v: { ...registers([values]), 2: 1 << bit }, request });
    assertEquals(after.s(4), 1 << bit, `class ${bit}`);
  }
  assertEquals(run(["v_cmp_class_f64_e64 s4, v[0:1], 3"], { v: registers([values]), request }).s(4), 3);
  assertEquals(
    run(["v_cmp_class_f64_e64 s4, -|v[0:1]|, v2"], { v: { ...registers([values]), 2: 0x3c }, request }).s(4),
    0b1111111100,
  );
});

Deno.test("clamp, output modifiers and IEEE minima act on f64 results by the rules of f32 ones", () => {
  const inputs = [-1, -0, 0.25, 1, 7, NaN, Infinity, -Infinity].map(double);
  for (const dx10Clamp of [true, false]) {
    const after = run(["v_add_f64 v[6:7], v[0:1], 0 clamp"], { v: registers([inputs]), request: { dx10Clamp } });
    const wanted = [0, 0, 0.25, 1, 1, dx10Clamp ? 0 : NaN, 1, 0].map((x) => canonical(double(x), DOUBLE));
    assertEquals(inputs.map((_, lane) => canonical(pair(after, 6, lane), DOUBLE)), wanted);
  }
  const modified = (line: string, floatMode: number, ieee: boolean) =>
    number(pair(run([line], { v: registers([[double(1)], [double(0.5)]]), request: { floatMode, ieee } }), 6, 0));
  assertEquals(modified("v_add_f64 v[6:7], v[0:1], v[2:3] mul:4", 0x30, false), 6);
  assertEquals(modified("v_add_f64 v[6:7], v[0:1], v[2:3] mul:4", 0xf0, false), 1.5);
  assertEquals(modified("v_add_f64 v[6:7], v[0:1], v[2:3] mul:4", 0x30, true), 1.5);
  const a = [0x7ff0000000000001n, double(1)], b = [double(1), 0xfff0000000000002n];
  for (const ieee of [true, false]) {
    const after = run(["v_max_f64 v[6:7], v[0:1], v[2:3]"], { v: registers([a, b]), request: { ieee } });
    const wanted = ieee ? [0x7ff8000000000001n, 0xfff8000000000002n] : [double(1), double(1)];
    assertEquals(wanted.map((_, lane) => pair(after, 6, lane)), wanted);
  }
});

Deno.test("the compiler's sequence divides f64 numbers with one rounding", () => {
  const sequence = [
    "v_div_scale_f64 v[10:11], s4, v[2:3], v[2:3], v[0:1]",
    "v_rcp_f64_e32 v[12:13], v[10:11]",
    "v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0",
    "v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]",
    "v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0",
    "v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]",
    "v_div_scale_f64 v[14:15], vcc_lo, v[0:1], v[2:3], v[0:1]",
    "v_mul_f64 v[16:17], v[14:15], v[12:13]",
    "v_fma_f64 v[10:11], -v[10:11], v[16:17], v[14:15]",
    "v_div_fmas_f64 v[10:11], v[10:11], v[12:13], v[16:17]",
    "v_div_fixup_f64 v[6:7], v[10:11], v[2:3], v[0:1]",
  ];
  const random = new Random(5);
  for (let k = 0; k < 12; k++) {
    const [a, b] = [doubles(random), doubles(random)];
    const after = run(sequence, { v: registers([a, b]) });
    compareLanes(
      "quotient",
      (lane) => `${a[lane].toString(16)} / ${b[lane].toString(16)} = ${canonical(pair(after, 6, lane), DOUBLE)}`,
      (lane) =>
        `${a[lane].toString(16)} / ${b[lane].toString(16)} = ${
          canonical(divide(exact(a[lane], DOUBLE), exact(b[lane], DOUBLE), DOUBLE), DOUBLE)
        }`,
    );
  }
});

Deno.test("what f64 operations cannot do is refused by name", () => {
  assertThrows(() => run(["v_trig_preop_f64 v[6:7], v[0:1], v2"], {}), Error, "2 / pi");
  assertThrows(
    () => run(["v_fma_f64 v[6:7], v[0:1], v[2:3], v[4:5]"], { request: { floatMode: 0xf4 } }),
    Error,
    "rounds f16 and f64 up",
  );
});
