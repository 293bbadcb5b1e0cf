import type { GpuDevice } from "../device.ts";
import { floatProbeModule } from "./float_probe_module.ts";
import { runProbe } from "./run_probe.ts";
import { probeWideBehaviour, type WideBehaviour } from "./wide_probe.ts";

/** How a device computes f32 where no execution mode says so: facts that no Vulkan property tells. */
export interface FloatBehaviour {
  /** GLSL.std.450 Fma rounds once. Lavapipe multiplies, rounds, adds, rounds. */
  readonly fusesFma32: boolean;
  /** Denormal operands count and denormal results are kept: in multiplication, addition, Fma and comparison. */
  readonly keepsDenormals32: boolean;
  /**
   * Denormal operands count as zeros of their sign, and denormal results become such, in the same operations. NVIDIA's driver does so. (There,
   * on an H200 with driver 580.159, declaring RoundingModeRTE 32 makes multiplication and addition keep denormals, while Fma and comparisons
   * go on flushing them: what is probed here holds for modules that declare no mode.)
   */
  readonly flushesDenormals32: boolean;
  /**
   * In modules that declare RoundingModeRTE 32, multiplications and additions keep denormals. Only asked of devices that do not keep them unasked, and
   * that have the mode.
   */
  readonly roundRteKeepsDenormals32?: boolean;
  /** The same of f16 and f64. */
  readonly wide?: WideBehaviour;
}

/** A case: operands, and which of the results it judges. */
interface ProbeCase {
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly judges: "fma" | "denormals";
}

const smallest = 2 ** -149; // the smallest f32 denormal

/** For the Fma cases a product that is rounded by itself gives 0. All are exact in f64, so Math.fround gives the one correct rounding. */
const cases: readonly ProbeCase[] = [
  { a: 1 + 2 ** -12, b: 1 + 2 ** -12, c: -(1 + 2 ** -11), judges: "fma" },
  { a: 1 + 2 ** -23, b: 1 - 2 ** -24, c: -1, judges: "fma" },
  { a: 3, b: Math.fround(1 / 3), c: -1, judges: "fma" },
  { a: 2 ** -126, b: 0.5, c: 0, judges: "denormals" },
  { a: smallest, b: smallest, c: 3 * smallest, judges: "denormals" },
  { a: 0, b: smallest, c: smallest, judges: "denormals" },
  { a: -5 * smallest, b: 2, c: smallest, judges: "denormals" },
  { a: 2 ** -127, b: 2 ** -127, c: 0, judges: "denormals" }, // the sum is no denormal, but its operands are
];

const caseWords = 4, resultWords = 8;

/**
 * Runs a small program on the device and judges its results. Takes milliseconds: keep the answer with the pipeline cache, which is
 * identified by device and driver as well.
 */
export function probeFloatBehaviour(device: GpuDevice): FloatBehaviour {
  const judged = judge(resultsOf(device, floatProbeModule)), wide = probeWideBehaviour(device);
  if (judged.keepsDenormals32 || !device.capabilities.floatControls.f32.roundToNearestEven) return { ...judged, wide };
  return { ...judged, roundRteKeepsDenormals32: judgeRounding(resultsOf(device, roundingProbeModule())), wide };
}

/** Runs a form of the probe on all cases. */
function resultsOf(device: GpuDevice, spirv: Uint32Array): Uint32Array {
  const operands = new Float32Array(cases.length * caseWords);
  cases.forEach(({ a, b, c }, i) => operands.set([a, b, c], i * caseWords));
  return runProbe(device, spirv, operands, cases.length * resultWords);
}

const HEADER_WORDS = 5, OP_CAPABILITY = 17, OP_EXECUTION_MODE = 16;
const CAPABILITY_ROUNDING_MODE_RTE = 4467, MODE_ROUNDING_MODE_RTE = 4462;

/** The probe with RoundingModeRTE 32 declared. */
export function roundingProbeModule(): Uint32Array {
  const words = [...floatProbeModule];
  let at = HEADER_WORDS;
  while ((words[at] & 0xffff) !== OP_EXECUTION_MODE) at += words[at] >>> 16;
  const main = words[at + 1];
  words.splice(at, 0, 4 << 16 | OP_EXECUTION_MODE, main, MODE_ROUNDING_MODE_RTE, 32);
  words.splice(HEADER_WORDS, 0, 2 << 16 | OP_CAPABILITY, CAPABILITY_ROUNDING_MODE_RTE);
  return Uint32Array.from(words);
}

/** What the results (8 words per case) say. */
export function judge(results: Uint32Array): FloatBehaviour {
  let fusesFma32 = true, keepsDenormals32 = true, flushesDenormals32 = true;
  cases.forEach(({ a, b, c, judges }, i) => {
    const result = results.subarray(i * resultWords, (i + 1) * resultWords);
    if (judges === "fma") {
      fusesFma32 &&= result[0] === bits(a * b + c) && result[1] === bits(a * b + c);
    } else {
      keepsDenormals32 &&= matches(result, a, b, c, (value) => value);
      flushesDenormals32 &&= matches(result, a, b, c, flush);
    }
  });
  return { fusesFma32, keepsDenormals32, flushesDenormals32 };
}

/** Whether multiplication and addition keep denormals in all cases. */
export function judgeRounding(results: Uint32Array): boolean {
  return cases.every(({ a, b }, i) => {
    const [, , product, sum] = results.subarray(i * resultWords, (i + 1) * resultWords);
    return product === bits(a * b) && sum === bits(a + b);
  });
}

/** Whether a case's results are those of exact arithmetic whose operands and results go through `denormals`. */
function matches(result: Uint32Array, a: number, b: number, c: number, denormals: (value: number) => number): boolean {
  const [x, y, z] = [a, b, c].map(denormals);
  const fma = bits(denormals(x * y + z));
  const expected = [fma, fma, bits(denormals(x * y)), bits(denormals(x + y)), Number(x < y)];
  return expected.every((word, i) => result[i] === word);
}

/** A denormal becomes the zero of its sign. */
function flush(value: number): number {
  return Math.abs(value) < 2 ** -126 ? 0 * value : value;
}

/** Bits of the value rounded to f32. */
function bits(value: number): number {
  return new Uint32Array(new Float32Array([value]).buffer)[0];
}
