/**
 * Machine code that LLVM made of the OpenCL kernels in corpus/llvm, for both wave sizes, against references written from the source text. The code was
 * compiled without contraction, so floats are exact; only single-precision division has OpenCL's tolerance.
 */
import { assert, assertEquals } from "@std/assert";
import { corpusTest } from "../../support/corpus.ts";
import { Random } from "../../support/random.ts";
import { corpusShader, floats, runLaunch, words } from "./run_launch.ts";

const f32 = Math.fround;
const GROUPS = 3, ITEMS = GROUPS * 64;

type Data = ArrayBufferView;

/** Runs a kernel over buffers (and values), and gives the bytes of the second buffer, or of the first. */
function kernelTest(
  kernel: string,
  what: string,
  body: (run: (resources: Readonly<Record<number, Data>>, values?: readonly number[]) => Reader) => void,
): void {
  for (const waveSize of [32, 64]) {
    corpusTest(`LLVM ${kernel} in wave${waveSize}: ${what}`, "llvm", () => {
      body((resources, values = []) =>
        runLaunch({
          shader: corpusShader("llvm", `k.w${waveSize}.${kernel}`),
          grid: [GROUPS, 1, 1],
          workgroupSize: [64, 1, 1],
          resources: Object.fromEntries(
            Object.entries(resources).map(([key, data]) => [
              key,
              { kind: values.includes(Number(key)) ? "value" as const : "buffer" as const, data },
            ]),
          ),
        })
      );
    });
  }
}
type Reader = (key: string) => Uint8Array<ArrayBuffer>;

function randomWords(count: number, seed: number): Uint32Array<ArrayBuffer> {
  const random = new Random(seed);
  return Uint32Array.from({ length: count }, () => random.u32());
}

/** Numbers of many sizes, without NaN. */
function randomFloats(count: number, seed: number): Float32Array<ArrayBuffer> {
  const random = new Random(seed);
  return Float32Array.from({ length: count }, () => (random.u32() - 2 ** 31) * 2 ** (random.below(40) - 50));
}

kernelTest("saxpy", "a multiplication and an addition, each rounded", (run) => {
  const x = randomFloats(ITEMS, 1), y = randomFloats(ITEMS, 2), a = f32(1.7), n = ITEMS - 20;
  const read = run({ 0: y, 1: x, 2: Float32Array.of(a), 3: Uint32Array.of(n) }, [2, 3]);
  assertEquals(floats(read("0")), y.map((each, i) => i < n ? f32(f32(a * x[i]) + each) : each));
});

kernelTest("collatz", "a divergent loop", (run) => {
  const a = randomWords(ITEMS, 3);
  const read = run({ 0: a, 1: new Uint32Array(ITEMS) });
  const steps = (value: number) => {
    let v = (value | 1) >>> 0, n = 0;
    while (v !== 1 && n < 300) {
      v = v & 1 ? Math.imul(v, 3) + 1 >>> 0 : v >>> 1;
      n++;
    }
    return n;
  };
  assertEquals(words(read("1")), a.map(steps));
});

kernelTest("reduce", "a reduction through LDS", (run) => {
  const a = randomWords(ITEMS, 4);
  const read = run({ 0: a, 1: new Uint32Array(GROUPS) });
  const sums = Uint32Array.from(
    { length: GROUPS },
    (_, g) => a.subarray(g * 64, g * 64 + 64).reduce((x, y) => x + y, 0),
  );
  assertEquals(words(read("1")), sums);
});

kernelTest("i64", "64-bit multiplication, shifts and division", (run) => {
  const low = randomWords(2 * ITEMS, 5), a = new BigUint64Array(low.buffer);
  const read = run({ 0: a, 1: new BigUint64Array(ITEMS) });
  const expected = a.map((value, i) => {
    let x = BigInt.asUintN(64, value * value + 0x123456789abcdefn);
    x = BigInt.asUintN(64, x << BigInt(i & 63)) ^ x >> 7n;
    return x / ((value & 255n) + 1n);
  });
  assertEquals(new BigUint64Array(read("1").buffer), expected);
});

kernelTest("switchy", "a switch with fall-through and a loop", (run) => {
  const a = randomWords(ITEMS, 6);
  const read = run({ 0: a, 1: new Uint32Array(ITEMS) });
  const reference = (v: number): number => {
    switch (v & 7) {
      case 0:
        return Math.imul(v, 3) >>> 0;
      case 1:
        return (v ^ 0x55) >>> 0;
      case 2:
        return ~v + 7 >>> 0;
      case 3:
        return v + 7 >>> 0;
      case 4:
        return v >>> 3;
      case 5: {
        const c = v & 31;
        for (let k = 0; k < c; k++) v = Math.imul(v, 5) + k;
        return v >>> 0;
      }
      default:
        return v << 2 >>> 0;
    }
  };
  assertEquals(words(read("1")), a.map(reference));
});

kernelTest("f16", "half-precision arithmetic", (run) => {
  const random = new Random(7);
  const a = new Float16Array(
    Uint16Array.from({ length: ITEMS }, () => random.below(0x5c00) | random.below(2) << 15).buffer,
  );
  const read = run({ 0: a, 1: new Uint16Array(ITEMS) });
  assertEquals(new Float16Array(read("1").buffer), a.map((x) => Math.f16round(Math.f16round(x * x) + x)));
});

kernelTest("dbl", "double-precision arithmetic with an exact division", (run) => {
  const random = new Random(8);
  const a = Float64Array.from(
    { length: ITEMS },
    () => (random.u32() + random.u32() / 2 ** 32 - 2 ** 31) * 2 ** (random.below(400) - 200),
  );
  const read = run({ 0: a, 1: new Float64Array(ITEMS) });
  assertEquals(new Float64Array(read("1").buffer), a.map((x) => x * x + 1 / x));
});

kernelTest("fdiv", "single-precision division within 2.5 ULP", (run) => {
  const a = randomFloats(ITEMS + 64, 9);
  const read = run({ 0: a, 1: new Float32Array(ITEMS) });
  floats(read("1")).forEach((actual, i) => {
    const expected = a[i] / f32(a[i + 64] + 1.5);
    assert(Math.abs(actual - expected) <= 2.5 * 2 ** -23 * Math.abs(expected), `item ${i}: ${actual}, not ${expected}`);
  });
});

kernelTest("atom", "atomics on a buffer", (run) => {
  const a = randomWords(ITEMS, 10), b = randomWords(17, 11);
  const read = run({ 0: a, 1: b });
  const expected = b.slice();
  for (const v of a) {
    expected[v & 15]++;
    expected[16] = Math.max(expected[16], v);
  }
  assertEquals(words(read("1")), expected);
});

kernelTest("priv", "an array in scratch memory with computed indices", (run) => {
  const a = randomWords(64, 12);
  const read = run({ 0: a, 1: new Uint32Array(ITEMS) });
  const reference = (i: number): number => {
    const t = Uint32Array.from({ length: 32 }, (_, k) => a[i + k & 63] ^ k);
    let s = 0;
    for (let k = 0; k < 64; k++) {
      const j = s + k + i & 31;
      t[j] += s;
      s = Math.imul(s, 3) + t[j * 7 & 31] >>> 0;
    }
    return s;
  };
  assertEquals(words(read("1")), Uint32Array.from({ length: ITEMS }, (_, i) => reference(i)));
});
