import { assertEquals } from "@std/assert";
import { bitsOf, divide, exact, fma, HALF, numberOf, round, scaled, SINGLE } from "../../support/exact_float.ts";
import { Random } from "../../support/random.ts";
import { canonical, compareLanes, flushed, halves, LANES, run, singles, words } from "./vector_support.ts";

const number = (bits: number) => numberOf(BigInt(bits), SINGLE);
const single = (value: number) => Number(bitsOf(value, SINGLE));
const show = (bits: number) => canonical(BigInt(bits >>> 0), SINGLE);

/** n of a = m * 2^n with |m| in 0.5..1. */
function exponent(bits: number): number {
  const { kind, mantissa, scale } = exact(BigInt(bits & 0x7fffffff), SINGLE);
  return kind !== "finite" || mantissa === 0n ? 0 : mantissa.toString(2).length + scale;
}

/** v3 = f(v0, v1, v2) on f32 numbers; MODE keeps denormals, or flushes them on both sides. */
function each(line: string, f: (a: number, b: number, c: number) => number): void {
  Deno.test(`${line} is exact, with denormals as MODE says`, () => {
    for (const [floatMode, flush] of [[0xf0, false], [0xc0, true]] as const) {
      const random = new Random(floatMode + line.length);
      for (let k = 0; k < 3; k++) {
        const given = [singles(random), singles(random), singles(random)];
        const after = run([line], { v: { 0: given[0], 1: given[1], 2: given[2] }, request: { floatMode } });
        compareLanes(
          `MODE ${floatMode.toString(16)} ${line}`,
          (lane) => show(after.v(3, lane)),
          (lane) => {
            const [a, b, c] = given.map((list) => Number(flushed(BigInt(list[lane]), SINGLE, flush)));
            return canonical(flushed(BigInt(f(a, b, c) >>> 0), SINGLE, flush), SINGLE);
          },
        );
      }
    }
  });
}

const negate = (bits: number) => (bits ^ 0x80000000) >>> 0;
const isNegative = (bits: number) => number(bits) < 0;
/** Which component leads. */
function axis(x: number, y: number, z: number): "x" | "y" | "z" {
  const [ax, ay, az] = [x, y, z].map((bits) => Math.abs(number(bits)));
  return az >= ax && az >= ay ? "z" : ay >= ax ? "y" : "x";
}

each("v_cubeid_f32 v3, v0, v1, v2", (x, y, z) => {
  const lead = axis(x, y, z);
  return single({ x: 0, y: 2, z: 4 }[lead] + (isNegative({ x, y, z }[lead]) ? 1 : 0));
});
each("v_cubema_f32 v3, v0, v1, v2", (x, y, z) => single(2 * number({ x, y, z }[axis(x, y, z)])));
each("v_cubesc_f32 v3, v0, v1, v2", (x, y, z) => {
  switch (axis(x, y, z)) {
    case "z":
      return isNegative(z) ? negate(x) : x;
    case "y":
      return x;
    case "x":
      return isNegative(x) ? z : negate(z);
  }
});
each("v_cubetc_f32 v3, v0, v1, v2", (x, y, z) => axis(x, y, z) !== "y" ? negate(y) : isNegative(y) ? negate(z) : z);
each("v_mullit_f32 v3, v0, v1, v2", (a, b, c) => {
  const lowest = 0xff7fffff;
  const [x, y] = [number(b), number(c)];
  if (b === lowest || x === -Infinity || Number.isNaN(x) || Number.isNaN(y) || y <= 0) return lowest;
  return single(number(a) * x);
});
each("v_frexp_mant_f32_e32 v3, v0", (a) => {
  const value = exact(BigInt(a), SINGLE);
  return value.kind === "finite" ? Number(round(scaled(value, -exponent(a)), SINGLE)) : a;
});
each("v_fract_f32_e32 v3, v0", (a) => {
  const x = number(a);
  return Number.isFinite(x) ? Math.min(single(Math.fround(x - Math.floor(x))), 0x3f7fffff) : 0x7fc00000;
});

Deno.test("v_frexp_exp_i32_f32 finds the exponent of denormals too", () => {
  const random = new Random(1);
  const a = singles(random);
  const after = run(["v_frexp_exp_i32_f32_e32 v3, v0"], { v: { 0: a } });
  compareLanes("exponent", (lane) => `${after.v(3, lane) | 0}`, (lane) => `${exponent(a[lane])}`);
});

Deno.test("v_cvt_pk_u8_f32 rounds to nearest even and replaces one byte", () => {
  const random = new Random(2);
  const [a, b, c] = [singles(random), words(random), words(random)];
  a.splice(0, 8, ...[-3, 0.99, 127.9, 255, 256, NaN, 2.5, 3.5].map(single));
  const after = run(["v_cvt_pk_u8_f32 v3, v0, v1, v2"], { v: { 0: a, 1: b, 2: c } });
  compareLanes("byte", (lane) => after.v(3, lane).toString(16), (lane) => {
    const x = number(a[lane]);
    const limited = Number.isNaN(x) ? 0 : Math.min(Math.max(x, 0), 255), floor = Math.floor(limited);
    const up = limited - floor > 0.5 || (limited - floor === 0.5 && floor % 2 === 1);
    const byte = up ? floor + 1 : floor, shift = (b[lane] & 3) * 8;
    return ((c[lane] & ~(255 << shift) | byte << shift) >>> 0).toString(16);
  });
});

/** round(x * most) to nearest even, exactly. */
function fraction(x: ReturnType<typeof exact>, isSigned: boolean): number {
  if (x.kind === "nan") return 0;
  const most = isSigned ? 32767n : 65535n;
  const least = isSigned ? -most : 0n;
  if (x.kind === "infinite") return Number(x.negative ? least : most);
  const size = (x.mantissa < 0n ? -x.mantissa : x.mantissa) * most << 200n;
  const unit = BigInt(200 - Math.max(x.scale, -400)) + 0n;
  if (unit <= 0n) return Number(x.mantissa === 0n ? 0n : x.negative ? least : most);
  const whole = size >> unit, rest = size - (whole << unit), tie = 1n << unit - 1n;
  const rounded = rest > tie || (rest === tie && whole % 2n === 1n) ? whole + 1n : whole;
  const limited = rounded > most ? most : rounded;
  return Number(x.negative ? (isSigned ? -limited : 0n) : limited);
}

Deno.test("normalized conversions round the product once", () => {
  const random = new Random(3);
  for (let k = 0; k < 20; k++) {
    // Near ties: odd multiples of half a step.
    const near = () => Math.fround((random.below(65536) + 0.5) / 65535) * (random.chance(0.5) ? 1 : -1);
    const a = singles(random).map((x) => random.chance(0.5) ? single(near()) : x),
      b = singles(random),
      c = halves(random);
    const after = run([
      "v_cvt_pknorm_i16_f32 v3, v0, v1",
      "v_cvt_pknorm_u16_f32 v4, v0, v1",
      "v_cvt_pknorm_i16_f16 v5, v2, v2 op_sel:[0,1,0]",
      "v_cvt_pknorm_u16_f16 v6, -v2, v2",
    ], { v: { 0: a, 1: b, 2: c } });
    compareLanes(
      "fractions",
      (lane) => [3, 4, 5, 6].map((register) => after.v(register, lane).toString(16)).join(" "),
      (lane) => {
        const join = (low: number, high: number) => ((low & 0xffff | high << 16) >>> 0).toString(16);
        const f32 = (bits: number, isSigned: boolean) => fraction(exact(BigInt(bits), SINGLE), isSigned);
        const f16 = (bits: number, isSigned: boolean) => fraction(exact(BigInt(bits & 0xffff), HALF), isSigned);
        return [
          join(f32(a[lane], true), f32(b[lane], true)),
          join(f32(a[lane], false), f32(b[lane], false)),
          join(f16(c[lane], true), f16(c[lane] >>> 16, true)),
          join(f16(c[lane] ^ 0x8000, false), f16(c[lane], false)),
        ].join(" ");
      },
    );
  }
});

Deno.test("windows of bytes are compared with a reference", () => {
  const random = new Random(4);
  const [low, high, reference] = [words(random), words(random), words(random)];
  const add = [words(random), words(random), words(random), words(random)];
  const v = { 0: low, 1: high, 2: reference, 4: add[0], 5: add[1], 6: add[2], 7: add[3] };
  const byte = (lane: number, k: number) => (k < 4 ? low[lane] >>> k * 8 : high[lane] >>> (k - 4) * 8) & 255;
  const sum = (lane: number, window: number, masked: boolean) => {
    let total = 0;
    for (let k = 0; k < 4; k++) {
      const r = reference[lane] >>> k * 8 & 255;
      if (!masked || r !== 0) total += Math.abs(byte(lane, window + k) - r);
    }
    return total;
  };
  for (
    const [line, masked] of [["v_qsad_pk_u16_u8 v[8:9], v[0:1], v2, v[4:5]", false], [
      "v_mqsad_pk_u16_u8 v[8:9], v[0:1], v2, v[4:5]",
      true,
    ]] as const
  ) {
    const after = run([line], { v });
    const wanted = (lane: number, window: number) =>
      sum(lane, window, masked) + (add[window >> 1][lane] >>> (window & 1) * 16 & 0xffff) & 0xffff;
    compareLanes(
      line,
      (lane) => `${after.v(8, lane)} ${after.v(9, lane)}`,
      (lane) => `${(wanted(lane, 0) | wanted(lane, 1) << 16) >>> 0} ${(wanted(lane, 2) | wanted(lane, 3) << 16) >>> 0}`,
    );
  }
  const after = run(["v_mqsad_u32_u8 v[8:11], v[0:1], v2, v[4:7]"], { v });
  compareLanes(
    "v_mqsad_u32_u8",
    (lane) => [0, 1, 2, 3].map((k) => after.v(8 + k, lane)).join(" "),
    (lane) => [0, 1, 2, 3].map((k) => (sum(lane, k, true) + add[k][lane]) >>> 0).join(" "),
  );
});

Deno.test("the compiler's sequence divides f32 numbers with one rounding", () => {
  const sequence = [
    "v_div_scale_f32 v4, s4, v1, v1, v0",
    "v_div_scale_f32 v5, vcc_lo, v0, v1, v0",
    "v_rcp_f32_e32 v6, v4",
    "v_fma_f32 v7, -v4, v6, 1.0",
    "v_fmac_f32_e32 v6, v7, v6",
    "v_mul_f32_e32 v7, v5, v6",
    "v_fma_f32 v8, -v4, v7, v5",
    "v_fmac_f32_e32 v7, v8, v6",
    "v_fma_f32 v4, -v4, v7, v5",
    "v_div_fmas_f32 v4, v4, v6, v7",
    "v_div_fixup_f32 v3, v4, v1, v0",
  ];
  const random = new Random(5);
  for (let k = 0; k < 40; k++) {
    const [a, b] = [singles(random), singles(random)];
    // Quotients that are denormal, and such near overflow.
    for (let lane = 0; lane < LANES; lane += 4) {
      a[lane] = (a[lane] & 0x807fffff | random.below(40) << 23) >>> 0;
      b[lane] = (b[lane] & 0x807fffff | (120 + random.below(134)) << 23) >>> 0;
    }
    const after = run(sequence, { v: { 0: a, 1: b } });
    const text = (lane: number) => `${a[lane].toString(16)} / ${b[lane].toString(16)} =`;
    compareLanes(
      "quotient",
      (lane) => `${text(lane)} ${show(after.v(3, lane))}`,
      (lane) =>
        `${text(lane)} ${
          canonical(divide(exact(BigInt(a[lane]), SINGLE), exact(BigInt(b[lane]), SINGLE), SINGLE), SINGLE)
        }`,
    );
  }
});

Deno.test("v_div_fmas_f32 scales in its one rounding where VCC says so", () => {
  const random = new Random(6);
  const [a, b, c] = [singles(random), singles(random), singles(random)];
  const vcc = random.u32();
  const after = run(["v_div_fmas_f32 v3, v0, -v1, v2"], { v: { 0: a, 1: b, 2: c }, vcc });
  compareLanes("fmas", (lane) => show(after.v(3, lane)), (lane) => {
    const large = (c[lane] >>> 23 & 255) > 127;
    const scale = vcc >>> lane & 1 ? large ? 64 : -64 : 0;
    return canonical(fma(BigInt(a[lane]), BigInt(negate(b[lane])), BigInt(c[lane]), SINGLE, scale), SINGLE);
  });
});

Deno.test("v_div_fixup_f16 gives quotients their sign and decides about zeros, infinities and NaNs", () => {
  const random = new Random(7);
  const [a, b, c] = [halves(random), halves(random), halves(random)];
  const after = run(["v_div_fixup_f16 v3, v0, v1, v2"], { v: { 0: a, 1: b, 2: c, 3: 0 } });
  compareLanes("fixup", (lane) => canonical(BigInt(after.v(3, lane)), HALF), (lane) => {
    const [x, y, z] = [a, b, c].map((list) => BigInt(list[lane] & 0xffff));
    const [denominator, numerator] = [y, z].map((bits) => numberOf(bits, HALF));
    const sign = (y ^ z) & 0x8000n;
    const quotient = numerator / denominator;
    const decided = Number.isNaN(quotient) || denominator === 0 || numerator === 0 ||
      Math.abs(denominator) === Infinity ||
      Math.abs(numerator) === Infinity;
    return canonical(decided ? bitsOf(quotient, HALF) : sign | x & 0x7fffn, HALF);
  });
});

Deno.test("v_cvt_rpi_i32_f32 is the floor of the exact sum with a half", () => {
  const cases: [number, number][] = [[0.49999997, 0], [0.5, 1], [-0.5, 0], [-0.50000006, -1], [8388609, 8388609], [
    2.5,
    3,
  ], [-2.5, -2]];
  const more: [number, number][] = [[16777215, 16777215], [1e20, 0x7fffffff], [-1e20, -0x80000000], [NaN, 0], [
    Infinity,
    0x7fffffff,
  ]];
  for (const [x, wanted] of [...cases, ...more]) {
    assertEquals(run(["v_cvt_rpi_i32_f32_e32 v3, v0"], { v: { 0: single(x) } }).v(3) | 0, wanted, `${x}`);
  }
});

Deno.test("an output modifier makes zeros positive, but halving into the denormals keeps the sign", () => {
  const modified = (a: number) =>
    run(["v_mul_f32_e64 v3, v0, 1.0 div:2"], { v: { 0: a }, request: { floatMode: 0xc0 } }).v(3);
  assertEquals([0x80000000, 0, 0x80800000, 0x00800000, 0xbf800000].map(modified), [0, 0, 0x80000000, 0, 0xbf000000]);
});

Deno.test("v_clrexcp does nothing that can be seen", () => {
  assertEquals(run(["v_clrexcp", "v_mov_b32_e32 v3, 7"], {}).v(3), 7);
});
