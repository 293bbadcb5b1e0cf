import type { GpuDevice } from "../device.ts";
import { runProbe } from "./run_probe.ts";
import { wideProbeModule } from "./wide_probe_module.ts";

/** How a device computes f16 and f64 where no execution mode says so. */
export interface WideBehaviour {
  /** f16 additions and multiplications round to nearest even and keep denormals. */
  readonly exactHalf: boolean;
  /** PackHalf2x16 rounds to nearest even, and it and UnpackHalf2x16 keep denormals. */
  readonly exactHalfPack: boolean;
  /** GLSL.std.450 Fma of f16 rounds once and keeps denormals. Lavapipe rounds twice. */
  readonly fusesFma16: boolean;
  /** The same of f64. */
  readonly fusesFma64: boolean;
}

/** What can be relied on without a probe. */
export const UNKNOWN: WideBehaviour = {
  exactHalf: false,
  exactHalfPack: false,
  fusesFma16: false,
  fusesFma64: false,
};

const TINY = 2 ** -24; // the smallest f16 denormal
const TINY64 = 2 ** -1074; // the smallest f64 denormal

/** f16 operands a, b, c. Sums, products and fused sums are exact in f64, so one rounding to f16 gives the one right result. */
const HALVES: readonly (readonly [number, number, number])[] = [
  [1, 2 ** -11, 0], // a tie: to even, down
  [1 + 2 ** -10, 2 ** -11, 0], // and up
  [TINY, TINY, -TINY],
  [2 ** -14, -TINY, TINY], // a denormal sum
  [2 ** -12, 2 ** -12, TINY], // a denormal product
  [2 ** -13, 2 ** -12, 0], // half of the smallest number
  [3 * 2 ** -13, 2 ** -12, 0],
  [1024, TINY, 0], // a denormal operand
  [65504, 16, 0], // overflows by rounding
  [65504, 8, -65504],
  [-65504, 65504, 1],
  [-TINY, 0.25, -0],
  [1 + 2 ** -10, 1 + 2 ** -10, -1 - 2 ** -9], // what is lost when the product is rounded first
  [2 ** -5 * 1056 / 1024, 2 ** -6 * 993 / 1024, 1], // and when the sum is rounded to f32 before
  [1023 * TINY, 3, 1],
  [-1 - 2 ** -10, 1 - 2 ** -11, 1],
];

/** f64 operands, and the rounded fused sum. */
const DOUBLES: readonly (readonly [number, number, number, number])[] = [
  [1 + 2 ** -52, 1 - 2 ** -53, -1, 2 ** -53 - 2 ** -105],
  [1 + 2 ** -30, 1 + 2 ** -30, -1 - 2 ** -29, 2 ** -60],
  [3, 1 / 3, -1, -(2 ** -54)],
  [2 ** -1000, 2 ** -74, TINY64, 2 * TINY64],
  [2 ** -1000, 2 ** -75, TINY64, 2 * TINY64], // a tie of denormals
  [2 ** 1000, 2 ** 23, -(2 ** 1023), 0],
  [2 ** 1023, 2, -(2 ** 1023), 2 ** 1023], // the product alone overflows
  [0, -1, 0, 0],
];

/** f32 numbers to be packed. */
const SINGLES: readonly number[] = [
  1 + 2 ** -11,
  1 + 3 * 2 ** -11,
  Math.fround(1 + 2 ** -11 + 2 ** -23),
  2 ** -25,
  Math.fround(2 ** -25 * (1 + 2 ** -23)),
  2 ** -15,
  -1023.5 * TINY,
  Math.fround(65519.99),
  65520,
  -1e30,
  2 ** -140,
  -0,
  Infinity,
  3 * 2 ** -25,
  0.1,
  -2049,
].map(Math.fround);

const CASES = 16, CASE_WORDS = 12, RESULT_WORDS = 8;

/** Runs a small program on the device and judges its results; {@linkcode UNKNOWN} where the device lacks f16 or f64. Takes milliseconds. */
export function probeWideBehaviour(device: GpuDevice): WideBehaviour {
  const { features } = device.capabilities;
  if (!features.includes("shaderFloat16") || !features.includes("shaderFloat64")) return UNKNOWN;
  return judgeWide(runProbe(device, wideProbeModule, probeCases(), CASES * RESULT_WORDS));
}

/** The words of all cases. Two f16 cases share a word: number i and the one behind it. */
export function probeCases(): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(CASES * CASE_WORDS);
  const view = new DataView(words.buffer);
  for (let i = 0; i < CASES; i++) {
    const at = i * CASE_WORDS * 4;
    for (let n = 0; n < 3; n++) {
      view.setUint32(at + n * 4, half(HALVES[i][n]) | half(next(HALVES, i)[n]) << 16, true);
      view.setFloat64(at + 16 + n * 8, DOUBLES[i % DOUBLES.length][n], true);
    }
    view.setFloat32(at + 40, SINGLES[i], true);
    view.setFloat32(at + 44, next(SINGLES, i), true);
  }
  return words;
}

/** What the results (8 words per case) say. */
export function judgeWide(results: Uint32Array): WideBehaviour {
  let exactHalf = true, exactHalfPack = true, fusesFma16 = true, fusesFma64 = true;
  const pair = (compute: (h: readonly [number, number, number]) => number, i: number) =>
    (half(compute(HALVES[i])) | half(compute(next(HALVES, i))) << 16) >>> 0;
  for (let i = 0; i < CASES; i++) {
    const result = results.subarray(i * RESULT_WORDS, (i + 1) * RESULT_WORDS);
    exactHalf &&= result[0] === pair(([a, b]) => a + b, i) && result[1] === pair(([a, b]) => a * b, i);
    fusesFma16 &&= result[2] === pair(([a, b, c]) => a * b + c, i);
    const [low, high] = doubleWords(DOUBLES[i % DOUBLES.length][3]);
    fusesFma64 &&= result[3] === low && result[4] === high;
    exactHalfPack &&= result[5] === (half(SINGLES[i]) | half(next(SINGLES, i)) << 16) >>> 0 &&
      result[6] === singleWord(HALVES[i][0]) && result[7] === singleWord(next(HALVES, i)[0]);
  }
  return { exactHalf, exactHalfPack, fusesFma16, fusesFma64 };
}

function next<T>(list: readonly T[], i: number): T {
  return list[(i + 1) % list.length];
}

const view = new DataView(new ArrayBuffer(8));

/** f16 bits, rounded to nearest even. */
function half(value: number): number {
  view.setFloat16(0, value);
  return view.getUint16(0);
}

function singleWord(value: number): number {
  view.setFloat32(0, value);
  return view.getUint32(0);
}

function doubleWords(value: number): [low: number, high: number] {
  view.setFloat64(0, value);
  return [view.getUint32(4), view.getUint32(0)];
}
