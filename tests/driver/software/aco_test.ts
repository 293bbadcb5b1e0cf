/**
 * Machine code that ACO made of the shaders in corpus/aco, for both wave sizes, against references written from the GLSL text. Integers, conversions and
 * single operations are exact; where GLSL leaves a compiler freedom (contraction, division, transcendental functions) the tolerance is given.
 */
import { assert, assertEquals } from "@std/assert";
import { corpusTest } from "../../support/corpus.ts";
import { Random } from "../../support/random.ts";
import { corpusShader, floats, runLaunch, words } from "./run_launch.ts";

const f32 = Math.fround;

/** Registers a test for the wave32 and the wave64 form of a shader. */
function acoTest(shader: string, what: string, body: (name: string, waveSize: 32 | 64) => void): void {
  for (const waveSize of [32, 64] as const) {
    corpusTest(`ACO ${shader} in wave${waveSize}: ${what}`, "aco", () => body(`${shader}.w${waveSize}.comp`, waveSize));
  }
}

function randomWords(count: number, seed: number): Uint32Array<ArrayBuffer> {
  const random = new Random(seed);
  return Uint32Array.from({ length: count }, () => random.u32());
}

function zeros(words: number): Uint32Array<ArrayBuffer> {
  return new Uint32Array(words);
}

function bitsOf(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0];
}

acoTest("buf", "a guarded buffer copy with integer and float arithmetic", (name) => {
  const a = randomWords(192, 1), count = 150, factor = 1.1;
  const read = runLaunch({
    shader: corpusShader("aco", name),
    grid: [3, 1, 1],
    resources: { A: { kind: "buffer", data: a }, B: { kind: "buffer", data: zeros(192) } },
    pushConstants: [count, 3, bitsOf(factor), 0],
  });
  const expected = a.map((v, i) => i < count ? Math.imul(v, 3) + bitsOf(f32(f32(v) * f32(factor))) : 0);
  assertEquals(words(read("B")), expected);
});

acoTest("lds", "a reduction through LDS with barriers", (name) => {
  const groups = 3, a = randomWords(groups * 128, 2);
  const read = runLaunch({
    shader: corpusShader("aco", name),
    grid: [groups, 1, 1],
    resources: { A: { kind: "buffer", data: a }, B: { kind: "buffer", data: zeros(64 + groups * 128) } },
  });
  const expected = zeros(64 + groups * 128);
  for (let group = 0; group < groups; group++) {
    const s = a.slice(group * 128, group * 128 + 128);
    for (let d = 64; d > 0; d >>= 1) for (let l = 0; l < d; l++) s[l] += s[l + d];
    expected[group] = s[0];
    for (let l = 0; l < 128; l++) expected[64 + group * 128 + l] = s[127 - l];
  }
  assertEquals(words(read("B")), expected);
});

const TABLE = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3];

/** The loop of loop.comp for one value. */
function loopReference(a: number): number {
  let v = (a | 1) >>> 0, n = 0, acc = 0;
  while (v !== 1 && n < 300) {
    if ((v & 1) === 0) v >>>= 1;
    else {
      v = Math.imul(v, 3) + 1 >>> 0;
      if ((n & 7) === 3) {
        acc ^= TABLE[v & 15];
        continue;
      }
    }
    n++;
    if (v === 16) break;
  }
  return n * 65536 + (acc & 65535) >>> 0;
}

acoTest("loop", "a divergent loop with continue, break and a table of constants behind the code", (name) => {
  const a = randomWords(128, 3).map((v, i) => i % 3 === 0 ? v & 0xfff : v);
  const read = runLaunch({
    shader: corpusShader("aco", name),
    grid: [2, 1, 1],
    resources: { A: { kind: "buffer", data: a }, B: { kind: "buffer", data: zeros(128) } },
  });
  assertEquals(words(read("B")), a.map(loopReference));
});

acoTest("i64", "64-bit integers with division, f16 pairs and doubles", (name) => {
  const a = randomWords(64, 4);
  const read = runLaunch({
    shader: corpusShader("aco", name),
    grid: [1, 1, 1],
    resources: {
      A: { kind: "buffer", data: a },
      B: { kind: "buffer", data: zeros(128) },
      C: { kind: "buffer", data: zeros(64) },
      D: { kind: "buffer", data: zeros(128) },
    },
  });
  const b = new BigUint64Array(read("B").buffer);
  const halves = new Float16Array(read("C").buffer), d = new Float64Array(read("D").buffer);
  a.forEach((value, i) => {
    const wide = BigInt(value);
    let x = BigInt.asUintN(64, wide * wide + 0x123456789abcdefn);
    x = BigInt.asUintN(64, x << BigInt(i & 63)) ^ x >> 7n;
    assertEquals(b[i], x / ((wide & 255n) + 1n), `b[${i}]`);
    const pair = new Float16Array(Uint32Array.of(value & 0x3fff3fff).buffer);
    pair.forEach((h, k) => {
      // h * h + h fits in f64; the root is rounded to f16 once.
      const expected = Math.f16round(Math.f16round(h * h + h) + Math.f16round(Math.sqrt(Math.abs(h))));
      assertEquals(halves[2 * i + k], expected, `c[${i}][${k}]`);
    });
    const dd = value * 1.25;
    const expected = dd * dd + 1 / (dd + 1) + Math.floor(dd);
    // Additions may be contracted: an ULP or two of the sum.
    assert(Math.abs(d[i] - expected) <= expected * 2 ** -51, `d[${i}]: ${d[i]} instead of ${expected}`);
  });
});

/** Bits of f16 numbers as integers whose difference counts the numbers between them. */
function orderedHalf(bits: number): number {
  return bits & 0x8000 ? -(bits & 0x7fff) : bits;
}

acoTest("mathf", "transcendental functions and bit tricks", (name) => {
  const random = new Random(5);
  const a = Float32Array.from({ length: 64 }, (_, i) => (i - 32) * 1.37 + random.below(1000) / 999);
  const read = runLaunch({
    shader: corpusShader("aco", name),
    grid: [1, 1, 1],
    resources: { A: { kind: "buffer", data: a }, B: { kind: "buffer", data: zeros(512) } },
  });
  const b = floats(read("B")), bits = words(read("B")), inputs = new Uint32Array(a.buffer);
  a.forEach((x, i) => {
    const near = (k: number, expected: number, tolerance: number) => {
      const actual = b[i * 8 + k];
      assert(
        Math.abs(actual - expected) <= tolerance,
        `b[${i} * 8 + ${k}] = ${actual} instead of ${expected}, x = ${x}`,
      );
    };
    const relative = (value: number, ulps: number) => Math.abs(value) * ulps * 2 ** -23;
    // The argument is first multiplied by 1/(2 pi) in f32.
    near(0, Math.sin(x), 2 ** -21 + Math.abs(x) * 2 ** -23);
    near(1, 2 ** (x * 0.01), relative(2 ** (x * 0.01), 3));
    near(2, 1 / Math.sqrt(Math.abs(x) + 0.1), relative(1 / Math.sqrt(Math.abs(x) + 0.1), 3));
    near(3, Math.log2(Math.abs(x) + 0.01), 2 ** -21 + relative(Math.log2(Math.abs(x) + 0.01), 2));
    near(4, x - 3 * Math.floor(x / 3), relative(x, 4));
    near(5, Math.max(-1, Math.min(1, f32(x * 0.5))), 0);
    // packHalf2x16 may round either way.
    [x, f32(x * 2)].forEach((value, half) => {
      const actual = bits[i * 8 + 6] >>> half * 16 & 0xffff;
      const expected = new Uint16Array(Float16Array.of(value).buffer)[0];
      assert(Math.abs(orderedHalf(actual) - orderedHalf(expected)) <= 1, `half ${half} of ${x}`);
    });
    const count = inputs[i].toString(2).replaceAll("0", "").length, top = 31 - Math.clz32(inputs[i]);
    const fract = x - Math.floor(x);
    near(7, count + top + f32(x * 8) + fract, relative(Math.abs(x * 8) + 64, 4));
  });
});

acoTest("atomics", "atomics on LDS and on a buffer", (name) => {
  const groups = 3, a = randomWords(groups * 64, 6);
  const initial = Uint32Array.of(7, 8, 9, 10, 11, 0xffffffff, 1, 2);
  const read = runLaunch({
    shader: corpusShader("aco", name),
    grid: [groups, 1, 1],
    resources: { A: { kind: "buffer", data: a }, B: { kind: "buffer", data: initial } },
  });
  const expected = initial.slice();
  for (const v of a) {
    expected[0]++;
    expected[1] = Math.max(expected[1], v);
    expected[2] |= v & 0xff;
    expected[3] ^= v;
    expected[4] += v & 15;
    expected[5] = Math.min(expected[5], v);
  }
  assertEquals(words(read("B")), expected);
});

acoTest("subgroup", "subgroup arithmetic, ballots, shuffles and quads", (name, waveSize) => {
  const a = randomWords(128, 7).map((v) => v % 1500);
  const read = runLaunch({
    shader: corpusShader("aco", name),
    grid: [2, 1, 1],
    resources: { A: { kind: "buffer", data: a }, B: { kind: "buffer", data: zeros(1024) } },
  });
  const expected = zeros(1024);
  for (let first = 0; first < 128; first += waveSize) {
    const wave = a.subarray(first, first + waveSize);
    const sum = wave.reduce((x, y) => x + y, 0);
    let before = 0;
    wave.forEach((v, lane) => {
      expected.set([
        sum,
        before,
        Math.max(...wave),
        wave.reduce((n, each) => n + (each & 1), 0),
        wave[lane ^ 5],
        wave[lane ^ 3],
        wave[0],
        wave.some((each) => each > 1000) ? 1 : 0,
      ], (first + lane) * 8);
      before += v;
    });
  }
  assertEquals(words(read("B")), expected);
});

acoTest("image", "image loads, stores, atomics, a nearest sample, a gather and a fetch", (name) => {
  const width = 16, height = 24, pixels = width * height;
  const random = new Random(8);
  const small = () => Float32Array.from({ length: pixels * 4 }, () => random.below(64) - 32);
  const src = small(), tex = small();
  const rgba32Float = 77, r32Uint = 20;
  const image = { kind: "image", width, height, format: rgba32Float, texelBytes: 16 } as const;
  const read = runLaunch({
    shader: corpusShader("aco", name),
    grid: [2, 3, 1],
    resources: {
      src: { ...image, data: src },
      dst: image,
      cnt: { kind: "image", width: 4, height: 4, format: r32Uint, texelBytes: 4, data: zeros(16).fill(5) },
      tex: { ...image, data: tex },
    },
  });
  const texel = (data: Float32Array, x: number, y: number) =>
    data.subarray((y * width + x) * 4, (y * width + x) * 4 + 4);
  const dst = floats(read("dst")), cnt = words(read("cnt"));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const v = texel(src, x, y), t = texel(tex, x, y);
      // The gather lies on the corner of four texels; its first result is the left one below.
      const gathered = texel(tex, x, Math.min(y + 1, height - 1))[0];
      const expected = v.map((each, c) => each + t[c] * gathered + t[c]);
      assertEquals(texel(dst, x, y), expected, `pixel ${x}, ${y}`);
    }
  }
  for (let y = 0; y < 4; y++) {
    for (let x = 0; x < 4; x++) assertEquals(cnt[y * 64 + x], 5 + pixels / 16, `counter ${x}, ${y}`);
  }
});
