import { assertEquals, assertThrows } from "@std/assert";
import {
  add,
  bitsOf,
  exact,
  fma,
  type Format,
  HALF,
  isNanBits,
  multiply,
  numberOf,
  round,
  SINGLE,
} from "../../support/exact_float.ts";
import { Random } from "../../support/random.ts";
import { canonical, compareLanes, DENORMAL_MODES, flushed, halves, run, singles, words } from "./vector_support.ts";

const part = (word: number, upper: boolean) => BigInt(upper ? word >>> 16 : word & 0xffff);
const sum = (a: bigint, b: bigint) => round(add(exact(a, HALF), exact(b, HALF)), HALF);
const product = (a: bigint, b: bigint) => round(multiply(exact(a, HALF), exact(b, HALF)), HALF);
const negate = (bits: bigint, on = true) => on ? bits ^ 0x8000n : bits;

function pick(a: bigint, b: bigint, choose: (x: number, y: number) => number): bigint {
  if (isNanBits(a, HALF)) return b;
  if (isNanBits(b, HALF)) return a;
  return bitsOf(choose(numberOf(a, HALF), numberOf(b, HALF)), HALF);
}

type Half = (a: bigint, b: bigint, c: bigint) => bigint;
/** For one half of the result: which half of each source, and whether it is negated. */
interface Choice {
  upper: readonly boolean[];
  negative?: readonly boolean[];
}
const SAME: readonly Choice[] = [{ upper: [false, false, false] }, { upper: [true, true, true] }];

/** v3 = f of both halves of v0, v1, v2. */
function each(line: string, f: Half, choices = SAME, constant?: number): void {
  Deno.test(`${line} computes two f16 results, with denormals as MODE says`, () => {
    for (const [floatMode, flushIn, flushOut] of DENORMAL_MODES) {
      const random = new Random(floatMode + line.length);
      const given = [halves(random), halves(random), halves(random)];
      const after = run([line], { v: { 0: given[0], 1: given[1], 2: given[2], 3: given[0] }, request: { floatMode } });
      compareLanes(
        `MODE ${floatMode.toString(16)}`,
        (lane) => [false, true].map((upper) => canonical(part(after.v(3, lane), upper), HALF)).join(" "),
        (lane) =>
          choices.map(({ upper, negative }) => {
            const [a, b, c] = given.map((register, n) => {
              const word = n === 1 && constant !== undefined ? constant : register[lane];
              return flushed(negate(part(word, upper[n]), negative?.[n] ?? false), HALF, flushIn);
            });
            return canonical(flushed(f(a, b, c), HALF, flushOut), HALF);
          }).join(" "),
      );
    }
  });
}

each("v_pk_add_f16 v3, v0, v1", sum);
each("v_pk_mul_f16 v3, v0, v1", product);
each("v_pk_fma_f16 v3, v0, v1, v2", (a, b, c) => fma(a, b, c, HALF));
each("v_pk_min_f16 v3, v0, v1", (a, b) => pick(a, b, Math.min));
each("v_pk_max_f16 v3, v0, v1", (a, b) => pick(a, b, Math.max));
// v3 starts as v0.
each("v_pk_fmac_f16 v3, v0, v1", (a, b) => fma(a, b, a, HALF));
each("v_pk_add_f16 v3, v0, v1 op_sel:[1,0] op_sel_hi:[0,1]", sum, [{ upper: [true, false, false] }, {
  upper: [false, true, false],
}]);
each("v_pk_fma_f16 v3, v0, v1, v2 op_sel:[1,1,0] op_sel_hi:[1,0,0]", (a, b, c) => fma(a, b, c, HALF), [{
  upper: [true, true, false],
}, { upper: [true, false, false] }]);
each("v_pk_mul_f16 v3, v0, v1 neg_lo:[1,0] neg_hi:[0,1]", product, [
  { upper: [false, false, false], negative: [true, false, false] },
  { upper: [true, true, true], negative: [false, true, false] },
]);
// An inline float is one f16 number below a zero; an inline integer 32 bits.
each("v_pk_add_f16 v3, v0, 1.0", sum, SAME, 0x3c00);
each("v_pk_add_f16 v3, v0, 1.0 op_sel_hi:[1,0]", sum, [SAME[0], { upper: [true, false, false] }], 0x3c00);
each("v_pk_mul_f16 v3, v0, -1", product, SAME, 0xffffffff);
each("v_pk_mul_f16 v3, v0, 0x42003555", product, SAME, 0x42003555);

const i16 = (x: number) => x << 16 >> 16;
const limit = (x: number, least: number, most: number) => Math.min(Math.max(x, least), most);
const signed = (x: number) => limit(x, -0x8000, 0x7fff);
const unsigned = (x: number) => limit(x, 0, 0xffff);

/** The same on integers. */
function eachInteger(
  line: string,
  f: (a: number, b: number, c: number) => number,
  choices = SAME,
  constant?: number,
): void {
  Deno.test(`${line} computes two integer results`, () => {
    const random = new Random(line.length);
    for (let k = 0; k < 3; k++) {
      const given = [words(random), words(random), words(random)];
      const after = run([line], { v: { 0: given[0], 1: given[1], 2: given[2], 3: 0 } });
      compareLanes(
        line,
        (lane) => after.v(3, lane).toString(16),
        (lane) => {
          const [low, high] = choices.map(({ upper }) => {
            const [a, b, c] = given.map((register, n) =>
              Number(part(n === 1 && constant !== undefined ? constant : register[lane], upper[n]))
            );
            return f(a, b, c) & 0xffff;
          });
          return ((low | high << 16) >>> 0).toString(16);
        },
      );
    }
  });
}

eachInteger("v_pk_add_u16 v3, v0, v1", (a, b) => a + b);
eachInteger("v_pk_add_u16 v3, v0, v1 clamp", (a, b) => unsigned(a + b));
eachInteger("v_pk_sub_u16 v3, v0, v1", (a, b) => a - b);
eachInteger("v_pk_sub_u16 v3, v0, v1 clamp", (a, b) => unsigned(a - b));
eachInteger("v_pk_add_i16 v3, v0, v1", (a, b) => a + b);
eachInteger("v_pk_add_i16 v3, v0, v1 clamp", (a, b) => signed(i16(a) + i16(b)));
eachInteger("v_pk_sub_i16 v3, v0, v1", (a, b) => a - b);
eachInteger("v_pk_sub_i16 v3, v0, v1 clamp", (a, b) => signed(i16(a) - i16(b)));
eachInteger("v_pk_mul_lo_u16 v3, v0, v1", (a, b) => a * b);
eachInteger("v_pk_mad_u16 v3, v0, v1, v2", (a, b, c) => a * b + c);
eachInteger("v_pk_mad_u16 v3, v0, v1, v2 clamp", (a, b, c) => unsigned(a * b + c));
eachInteger("v_pk_mad_i16 v3, v0, v1, v2", (a, b, c) => i16(a) * i16(b) + i16(c));
eachInteger("v_pk_mad_i16 v3, v0, v1, v2 clamp", (a, b, c) => signed(i16(a) * i16(b) + i16(c)));
eachInteger("v_pk_lshlrev_b16 v3, v0, v1", (a, b) => b << (a & 15));
eachInteger("v_pk_lshrrev_b16 v3, v0, v1", (a, b) => b >>> (a & 15));
eachInteger("v_pk_ashrrev_i16 v3, v0, v1", (a, b) => i16(b) >> (a & 15));
eachInteger("v_pk_max_i16 v3, v0, v1", (a, b) => Math.max(i16(a), i16(b)));
eachInteger("v_pk_min_i16 v3, v0, v1", (a, b) => Math.min(i16(a), i16(b)));
eachInteger("v_pk_max_u16 v3, v0, v1", (a, b) => Math.max(a, b));
eachInteger("v_pk_min_u16 v3, v0, v1", (a, b) => Math.min(a, b));
eachInteger("v_pk_add_u16 v3, v0, v1 op_sel:[0,1] op_sel_hi:[0,1]", (a, b) => a + b, [{ upper: [false, true, false] }, {
  upper: [false, true, false],
}]);
eachInteger("v_pk_add_u16 v3, v0, 5", (a, b) => a + b, SAME, 5);
eachInteger("v_pk_add_u16 v3, v0, -5", (a, b) => a + b, SAME, -5);
eachInteger(
  "v_pk_mul_lo_u16 v3, v0, 7 op_sel_hi:[1,0]",
  (a, b) => a * b,
  [SAME[0], { upper: [true, false, false] }],
  7,
);

Deno.test("clamp on packed f16 results goes to 0..1 in each half", () => {
  const values = [0x4000bc00, 0x7c00fc00, 0x7e003800, 0x3c018000];
  for (const dx10Clamp of [true, false]) {
    const after = run(["v_pk_add_f16 v3, v0, 0 clamp"], { v: { 0: values, 3: 0 }, request: { dx10Clamp } });
    const got = values.map((_, lane) =>
      [true, false].map((upper) => canonical(part(after.v(3, lane), upper), HALF)).join(" ")
    );
    assertEquals(got, ["3c00 0", "3c00 0", dx10Clamp ? "0 3800" : "NaN 3800", "3c00 0"]);
  }
});

/** Integer dot products, exactly. */
function eachDot(line: string, bits: number, isSigned: boolean, clamp = false): void {
  Deno.test(`${line} sums products of parts`, () => {
    const random = new Random(line.length);
    for (let k = 0; k < 4; k++) {
      const [a, b, c] = [words(random), words(random), words(random)];
      const after = run([line], { v: { 0: a, 1: b, 2: c, 3: c } });
      const element = (word: number, n: number) => {
        const value = BigInt(word) >> BigInt(n * bits);
        return isSigned ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
      };
      compareLanes(
        line,
        (lane) => after.v(3, lane).toString(16),
        (lane) => {
          let total = isSigned ? BigInt(c[lane] | 0) : BigInt(c[lane]);
          for (let n = 0; n < 32 / bits; n++) total += element(a[lane], n) * element(b[lane], n);
          const [least, most] = isSigned ? [-(2n ** 31n), 2n ** 31n - 1n] : [0n, 2n ** 32n - 1n];
          if (clamp) total = total < least ? least : total > most ? most : total;
          return BigInt.asUintN(32, total).toString(16);
        },
      );
    }
  });
}

eachDot("v_dot2_i32_i16 v3, v0, v1, v2", 16, true);
eachDot("v_dot2_u32_u16 v3, v0, v1, v2", 16, false);
eachDot("v_dot2_i32_i16 v3, v0, v1, v2 clamp", 16, true, true);
eachDot("v_dot2_u32_u16 v3, v0, v1, v2 clamp", 16, false, true);
eachDot("v_dot4_i32_i8 v3, v0, v1, v2", 8, true);
eachDot("v_dot4_u32_u8 v3, v0, v1, v2", 8, false);
eachDot("v_dot4_i32_i8 v3, v0, v1, v2 clamp", 8, true, true);
eachDot("v_dot4_u32_u8 v3, v0, v1, v2 clamp", 8, false, true);
eachDot("v_dot8_i32_i4 v3, v0, v1, v2", 4, true);
eachDot("v_dot8_u32_u4 v3, v0, v1, v2 clamp", 4, false, true);
// Adds to the destination, which starts as v2 does.
eachDot("v_dot4c_i32_i8_e32 v3, v0, v1", 8, true);

/** Sources of a mixed-precision operation: f32, or a half; absolute value, then sign. */
interface Mixed {
  half?: "low" | "high";
  absolute?: boolean;
  negative?: boolean;
}

function mixed(word: number, { half, absolute, negative }: Mixed): bigint {
  let bits = half === undefined ? BigInt(word >>> 0) : round(exact(part(word, half === "high"), HALF), SINGLE);
  if (absolute) bits &= 0x7fffffffn;
  if (negative) bits ^= 0x80000000n;
  return bits;
}

function eachMix(line: string, sources: readonly Mixed[], result: "f32" | "low" | "high"): void {
  Deno.test(`${line} mixes f16 and f32 operands with one rounding`, () => {
    const random = new Random(line.length);
    const given = sources.map(({ half }) => half === undefined ? singles(random) : halves(random));
    const old = words(random);
    const after = run([line], { v: { 0: given[0], 1: given[1], 2: given[2], 3: old } });
    compareLanes(
      line,
      (lane) => show(after.v(3, lane)),
      (lane) => {
        const [a, b, c] = sources.map((source, n) => mixed(given[n][lane], source));
        if (result === "f32") return show(Number(fma(a, b, c, SINGLE)));
        const sum = add(multiply(exact(a, SINGLE), exact(b, SINGLE)), exact(c, SINGLE));
        const half = Number(round(sum, HALF));
        return show(result === "low" ? (old[lane] & 0xffff0000 | half) >>> 0 : (old[lane] & 0xffff | half << 16) >>> 0);
      },
    );
    function show(word: number): string {
      const f: Format = result === "f32" ? SINGLE : HALF;
      if (result === "f32") return canonical(BigInt(word), f);
      const [value, rest] = result === "low" ? [word & 0xffff, word >>> 16] : [word >>> 16, word & 0xffff];
      return `${canonical(BigInt(value), f)} ${rest}`;
    }
  });
}

eachMix("v_fma_mix_f32 v3, v0, v1, v2", [{}, {}, {}], "f32");
eachMix(
  "v_fma_mix_f32 v3, v0, v1, v2 op_sel:[1,0,0] op_sel_hi:[1,1,0]",
  [{ half: "high" }, { half: "low" }, {}],
  "f32",
);
eachMix("v_fma_mix_f32 v3, -v0, |v1|, -|v2| op_sel_hi:[1,0,1]", [
  { half: "low", negative: true },
  { absolute: true },
  { half: "low", absolute: true, negative: true },
], "f32");
eachMix("v_fma_mixlo_f16 v3, v0, v1, v2 op_sel_hi:[1,1,1]", [{ half: "low" }, { half: "low" }, { half: "low" }], "low");
eachMix(
  "v_fma_mixhi_f16 v3, v0, v1, v2 op_sel:[0,1,1] op_sel_hi:[0,1,1]",
  [{}, { half: "high" }, { half: "high" }],
  "high",
);
eachMix("v_fma_mixlo_f16 v3, v0, v1, v2", [{}, {}, {}], "low");

Deno.test("v_fma_mixlo_f16 rounds the exact sum once", () => {
  // 1 + 2^-11 is a tie between two f16 numbers, 2^-40 decides. Rounded to f32 first, it would not.
  const single = (value: number) => Number(bitsOf(value, SINGLE));
  const v = { 0: single(1 + 2 ** -11), 1: single(1), 2: single(2 ** -40), 3: 0 };
  assertEquals(run(["v_fma_mixlo_f16 v3, v0, v1, v2"], { v }).v(3), 0x3c01);
});

Deno.test("what is not documented is refused with its reason", () => {
  assertThrows(() => run(["v_dot2_f32_f16 v3, v0, v1, v2"], {}), Error, "not documented");
  assertThrows(() => run(["v_dot2c_f32_f16_e32 v3, v0, v1"], {}), Error, "not documented");
  assertThrows(() => run(["v_pk_min_u16 v3, v0, v1 clamp"], {}), Error, "clamp");
});
