import { assertEquals } from "@std/assert";
import {
  add,
  bitsOf,
  divide,
  DOUBLE,
  exact,
  fma,
  HALF,
  isNanBits,
  multiply,
  numberOf,
  round,
  SINGLE,
} from "./exact_float.ts";
import { Random } from "./random.ts";

const view = new DataView(new ArrayBuffer(8));
const bits64 = (value: number) => (view.setFloat64(0, value), view.getBigUint64(0));
const value64 = (bits: bigint) => (view.setBigUint64(0, bits), view.getFloat64(0));
const bits32 = (value: number) => (view.setFloat32(0, value), BigInt(view.getUint32(0)));

/** Any bits, exponents near each other more often than not. */
function doubles(random: Random): bigint {
  const word = () => BigInt(random.u32());
  const special = [
    0n,
    1n,
    0x000fffffffffffffn,
    0x0010000000000000n,
    0x3ff0000000000000n,
    0x7fefffffffffffffn,
    0x7ff0000000000000n,
  ];
  if (random.chance(0.1)) return random.pick(special) | word() >> 31n << 63n;
  const bits = word() << 32n | word();
  return random.chance(0.5) ? bits : bits & ~(0x7ffn << 52n) | BigInt(1000 + random.below(60)) << 52n;
}

Deno.test("exact sums, products and quotients rounded to f64 are the machine's", () => {
  const random = new Random(7);
  for (let i = 0; i < 20_000; i++) {
    const a = doubles(random), b = doubles(random);
    const x = exact(a, DOUBLE), y = exact(b, DOUBLE);
    const check = (got: bigint, wanted: number, what: string) => {
      if (Number.isNaN(wanted)) assertEquals(isNanBits(got, DOUBLE), true, what);
      else assertEquals(got, bits64(wanted), `${what} ${a.toString(16)} ${b.toString(16)}`);
    };
    check(round(add(x, y), DOUBLE), value64(a) + value64(b), "sum");
    check(round(multiply(x, y), DOUBLE), value64(a) * value64(b), "product");
    check(divide(x, y, DOUBLE), value64(a) / value64(b), "quotient");
    check(fma(a, b, 0x8000_0000_0000_0000n, DOUBLE), value64(a) * value64(b), "fma with -0");
    check(fma(a, 0x3ff0_0000_0000_0000n, b, DOUBLE), value64(a) + value64(b), "fma with 1");
    if (!isNanBits(a, DOUBLE)) assertEquals(bitsOf(value64(a), SINGLE), bits32(value64(a)), "to f32");
  }
});

Deno.test("a fused sum keeps what two roundings lose", () => {
  const half = (value: number) => bitsOf(value, HALF), single = (value: number) => bitsOf(value, SINGLE);
  assertEquals(
    numberOf(fma(single(1 + 2 ** -12), single(1 + 2 ** -12), single(-1 - 2 ** -11), SINGLE), SINGLE),
    2 ** -24,
  );
  assertEquals(numberOf(fma(half(1 + 2 ** -10), half(1 + 2 ** -10), half(-1 - 2 ** -9), HALF), HALF), 2 ** -20);
  assertEquals(numberOf(fma(half(2 ** -12), half(2 ** -12), half(1), HALF), HALF), 1);
  assertEquals(numberOf(fma(single(3), single(2 ** -149), single(0), SINGLE, -1), SINGLE), 2 ** -148);
});
