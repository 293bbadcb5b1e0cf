/** Machine code that LLVM compiled from own OpenCL kernels (corpus/llvm), against the same source compiled for the host. */
import { assert, assertEquals } from "@std/assert";
import type { GpuDevice } from "../../src/gpu/device.ts";
import type { BackingKind } from "../../src/gpu/guest_backing.ts";
import { launch, type LaunchResource } from "../../src/guest/harness.ts";
import { assertWords, corpusShader } from "../support/compare.ts";
import { corpusFile } from "../support/corpus.ts";
import { floatWords, integerWords } from "../support/inputs.ts";
import { HostKernels, type KernelSignature } from "../support/opencl_oracle.ts";
import { BACKINGS, corpusDeviceTest, runGuestWell } from "../support/run.ts";

const THREADS = 64;
/** What output buffers hold before; inputs hardly give it. */
const FILL = 0xdead_beef;

interface KernelCase {
  /** Largest distance of f32 results in representable numbers; exact when left out. */
  ulp?: number;
  name: string;
  /** C types of the arguments; a `*` behind a buffer's. */
  types: string[];
  /** Arguments for a number of groups: buffers are whole words. */
  values(groups: number, seed: number): Uint32Array<ArrayBuffer>[];
  /** Index of the argument that the kernel writes. */
  output: number;
}

/** A kernel b[i] = f(a[i]) over 32-bit words, `words` of them for each thread. */
function unary(
  name: string,
  type: string,
  inputs: (count: number, seed: number) => Uint32Array<ArrayBuffer>,
  words = 1,
): KernelCase {
  return {
    name,
    types: [`${type}*`, `${type}*`],
    values: (groups, seed) => [
      // fdiv reads 64 elements more.
      inputs((groups + 1) * THREADS * words, seed),
      new Uint32Array(groups * THREADS * words + 3).fill(FILL),
    ],
    output: 1,
  };
}

const EXACT: KernelCase[] = [
  unary("collatz", "u32", integerWords),
  unary("switchy", "u32", integerWords),
  // Spills to scratch memory by a V# in user data, with ADD_TID_ENABLE and SWIZZLE_ENABLE.
  unary("priv", "u32", integerWords),
  unary("i64", "u64", integerWords, 2),
  unary("dbl", "double", doubleWords, 2),
  {
    name: "reduce",
    types: ["u32*", "u32*"],
    values: (groups, seed) => [integerWords(groups * THREADS, seed), new Uint32Array(groups + 3).fill(FILL)],
    output: 1,
  },
  {
    name: "saxpy",
    types: ["float*", "float*", "float", "u32"],
    // The last threads have nothing to do.
    values: (groups, seed) => [
      floatWords(groups * THREADS, seed),
      floatWords(groups * THREADS, seed + 100),
      floatWords(100, seed + 200).subarray(90, 91),
      Uint32Array.of(groups * THREADS - 5),
    ],
    output: 0,
  },
  {
    name: "atom",
    types: ["u32*", "u32*"],
    values: (groups, seed) => [integerWords(groups * THREADS, seed), Uint32Array.from({ length: 20 }, (_, i) => i)],
    output: 1,
  },
];

/** fdiv multiplies by v_rcp_f32, whose result may be 1 ULP off; the product rounds once more. */
const DIVISION = { ...unary("fdiv", "float", floatWords), ulp: 2 };

/** Doubles that come from f32 values, exactly. */
function doubleWords(words: number, seed: number): Uint32Array<ArrayBuffer> {
  return new Uint32Array(Float64Array.from(new Float32Array(floatWords(words / 2, seed).buffer)).buffer);
}

const SIGNATURES: KernelSignature[] = [...EXACT, DIVISION].map(({ name, types }) => ({
  name,
  arguments: types.map((type) => ({ kind: type.endsWith("*") ? "global_buffer" : "by_value", type })),
}));
let kernels: HostKernels | undefined;
const host = () => kernels ??= new HostKernels(corpusFile("llvm", "k.cl"), SIGNATURES);

/** Runs a kernel on both sides and compares all buffers. */
function compareWithHost(
  device: GpuDevice,
  { name, types, values, output, ulp = 0 }: KernelCase,
  waveSize: 32 | 64,
  groups: number,
  seed: number,
  backing: BackingKind,
): void {
  const own = values(groups, seed), before = own[output].slice();
  const { program, resources } = launch({
    shader: corpusShader("llvm", `k.w${waveSize}.${name}.json`),
    grid: [groups, 1, 1],
    workgroupSize: [THREADS, 1, 1],
    resources: Object.fromEntries(own.map((data, i): [string, LaunchResource] => [
      String(i),
      { kind: types[i].endsWith("*") ? "buffer" : "value", data: data.slice() },
    ])),
  });
  using run = runGuestWell(device, program, backing);
  assertEquals(run.result.outcome, "passed");
  host().run(name, groups, THREADS, own);
  own.forEach((data, i) => {
    if (!types[i].endsWith("*")) return;
    const words = run.words(resources.get(String(i))!);
    if (i === output && ulp > 0) assertFloats(words, data, ulp, name);
    else assertWords(words, data, `${name}, argument ${i}`);
  });
  assert(own[output].some((word, i) => word !== before[i]), "the kernel does something");
}

/** Asserts that f32 values are at most `ulp` representable numbers apart; NaNs are equal. */
function assertFloats(actual: Uint32Array, expected: Uint32Array, ulp: number, what: string): void {
  assertEquals(actual.length, expected.length);
  const isNan = (word: number) => (word & 0x7fff_ffff) > 0x7f80_0000;
  const ordered = (word: number) => word >>> 31 !== 0 ? -(word & 0x7fff_ffff) : word;
  actual.forEach((word, i) => {
    if (isNan(word) && isNan(expected[i])) return;
    const distance = Math.abs(ordered(word) - ordered(expected[i]));
    assert(
      isNan(word) === isNan(expected[i]) && distance <= ulp,
      `${what}: word ${i} is 0x${word.toString(16)}, expected 0x${expected[i].toString(16)} within ${ulp} ULP`,
    );
  });
}

for (const waveSize of [32, 64] as const) {
  corpusDeviceTest(
    `LLVM fdiv, wave${waveSize}, gives what the kernel gives on the host within 2 ULP`,
    "llvm",
    (device) => compareWithHost(device, DIVISION, waveSize, 7, 20, "automatic"),
  );

  for (const kernel of EXACT) {
    corpusDeviceTest(
      `LLVM ${kernel.name}, wave${waveSize}, gives what the kernel gives on the host`,
      "llvm",
      (device) => {
        for (const [i, groups] of [1, 7, 50].entries()) {
          compareWithHost(device, kernel, waveSize, groups, i + 11, BACKINGS[i % 2]);
        }
      },
    );
  }
}
