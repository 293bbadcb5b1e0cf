/**
 * Machine code that Mesa's ACO compiled from own shaders (corpus/aco), against the device running the SPIR-V that it was compiled from. What lanes of a
 * wave see of each other is compared with a reference of its own: the device's subgroups have another size.
 */
import { assertEquals, assertNotEquals } from "@std/assert";
import { launch } from "../../src/guest/harness.ts";
import { assertWords, compareWithSpirv, corpusShader, corpusSpirv } from "../support/compare.ts";
import { floatBits, integerWords } from "../support/inputs.ts";
import { BACKINGS, corpusDeviceTest, runGuestWell } from "../support/run.ts";

const buffer = (data: Uint32Array<ArrayBuffer>) => ({ kind: "buffer" as const, data });

for (const waveSize of [32, 64] as const) {
  const shader = (name: string) => corpusShader("aco", `${name}.w${waveSize}.comp.json`);

  corpusDeviceTest(
    `ACO buf, wave${waveSize}: integer and float arithmetic of a push-constant range of a buffer`,
    "aco",
    (device) => {
      const spirv = corpusSpirv("aco", "buf.comp.spv");
      const words = 64 * 9;
      // Conversions of integers and products with normal floats: no denormal and no 0 * infinity, whose treatment the code's FLOAT_MODE and the sign of the
      // host's default NaN would decide, not the program.
      const factors = [1, -1, 0, -0, 0.5, 3.25, -1e-20, 1e20, 16777217, NaN];
      for (const [i, f] of factors.entries()) {
        for (const n of [0, 1, 63, 64, 65, 500, words, words + 64]) {
          const a = integerWords(words, i * 100 + n);
          const results = compareWithSpirv(device, {
            shader: shader("buf"),
            spirv,
            grid: [9, 1, 1],
            resources: { "0.0": buffer(a), "0.1": buffer(new Uint32Array(words).fill(0xdead_beef)) },
            pushConstants: [n, [7, 0, 0xffff_ffff, 0x10001][i % 4], floatBits(f), 0],
            backing: BACKINGS[i % 2],
          });
          if (n > 0) assertNotEquals(results.get("0.1")![0], 0xdead_beef);
        }
      }
    },
  );

  corpusDeviceTest(`ACO lds, wave${waveSize}: a reduction in LDS with barriers in a loop`, "aco", (device) => {
    const spirv = corpusSpirv("aco", "lds.comp.spv");
    for (const backing of BACKINGS) {
      const groups = 13;
      const results = compareWithSpirv(device, {
        shader: shader("lds"),
        spirv,
        grid: [groups, 1, 1],
        resources: {
          "0.0": buffer(integerWords(128 * groups, groups)),
          "0.1": buffer(new Uint32Array(64 + 128 * groups).fill(0xdead_beef)),
        },
        backing,
      });
      assertNotEquals(results.get("0.1")![groups - 1], 0xdead_beef);
    }
  });

  corpusDeviceTest(
    `ACO loop, wave${waveSize}: a divergent loop with continue and break, and a constant table`,
    "aco",
    (device) => {
      const spirv = corpusSpirv("aco", "loop.comp.spv");
      for (const [seed, backing] of BACKINGS.entries()) {
        const groups = 40;
        const results = compareWithSpirv(device, {
          shader: shader("loop"),
          spirv,
          grid: [groups, 1, 1],
          resources: {
            "0.0": buffer(integerWords(64 * groups, seed + 5)),
            "0.1": buffer(new Uint32Array(64 * groups).fill(0xdead_beef)),
          },
          backing,
        });
        assertNotEquals(results.get("0.1")![64 * groups - 1], 0xdead_beef);
      }
    },
  );

  corpusDeviceTest(
    `ACO atomics, wave${waveSize}: atomics on a buffer and in LDS, many lanes at one word`,
    "aco",
    (device) => {
      const spirv = corpusSpirv("aco", "atomics.comp.spv");
      for (const [i, groups] of [1, 9, 30].entries()) {
        const before = Uint32Array.of(5, 6, 7, 8, 9, 0xffff_ffff, 11, 12);
        const results = compareWithSpirv(device, {
          shader: shader("atomics"),
          spirv,
          grid: [groups, 1, 1],
          resources: { "0.0": buffer(integerWords(64 * groups, 8 + i)), "0.1": buffer(before) },
          backing: BACKINGS[i % 2],
        });
        assertEquals(results.get("0.1")![0], before[0] + 64 * groups);
      }
    },
  );

  corpusDeviceTest(
    `ACO subgroup, wave${waveSize}: lanes of a wave see each other, whatever the device's subgroups are`,
    "aco",
    (device) => {
      const groups = 5, a = integerWords(64 * groups, 9);
      // Values above 1000 are rare in the last group, so that subgroupAny differs from wave to wave.
      for (let i = 64 * (groups - 1); i < a.length; i++) a[i] = i === a.length - 1 ? 1001 : a[i] & 511;
      for (const backing of BACKINGS) {
        const { program, resources } = launch({
          shader: shader("subgroup"),
          grid: [groups, 1, 1],
          resources: { A: buffer(a), B: buffer(new Uint32Array(8 * a.length)) },
        });
        using run = runGuestWell(device, program, backing);
        assertWords(run.words(resources.get("B")!), subgroupReference(a, waveSize), "subgroup: B");
      }
    },
  );
}

/** What subgroup.comp computes in waves of `lanes` lanes, all active: the operations as GL_KHR_shader_subgroup defines them. */
function subgroupReference(a: Uint32Array, lanes: number): Uint32Array<ArrayBuffer> {
  const b = new Uint32Array(8 * a.length);
  for (let first = 0; first < a.length; first += lanes) {
    const wave = a.subarray(first, first + lanes);
    let sum = 0;
    wave.forEach((value, lane) => {
      const at = 8 * (first + lane);
      b[at + 1] = sum; // exclusive sum
      sum = sum + value >>> 0;
      b[at + 2] = wave.reduce((x, y) => Math.max(x, y));
      b[at + 3] = wave.filter((each) => each & 1).length; // ballot
      b[at + 4] = wave[lane ^ 5]; // shuffle xor
      b[at + 5] = wave[lane ^ 3]; // diagonal of the quad
      b[at + 6] = wave[0]; // broadcast first
      b[at + 7] = wave.some((each) => each > 1000) ? 1 : 0;
    });
    for (let lane = 0; lane < lanes; lane++) b[8 * (first + lane)] = sum;
  }
  return b;
}
