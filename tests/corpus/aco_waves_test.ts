/**
 * Machine code of Mesa's ACO that observes the wave (corpus/aco: subgroup, atomics), on the device, against what its sources say. The device's own subgroups
 * are not of the guest's width, so the sources' meaning is written out here.
 */
import { assert } from "@std/assert";
import { launch } from "../../src/guest/harness.ts";
import { assertWords, corpusShader } from "../support/compare.ts";
import { integerWords } from "../support/inputs.ts";
import { BACKINGS, corpusDeviceTest, runGuestWell } from "../support/run.ts";

const THREADS = 64;
const buffer = (data: Uint32Array<ArrayBuffer>) => ({ kind: "buffer" as const, data });

/** subgroup.comp: eight results a thread, of the subgroup that it is in. */
function subgroupResults(a: Uint32Array, waveSize: number): Uint32Array {
  const b = new Uint32Array(a.length * 8);
  for (let first = 0; first < a.length; first += waveSize) {
    const lanes = [...a.subarray(first, first + waveSize)];
    const sum = lanes.reduce((x, y) => x + y, 0);
    let before = 0;
    lanes.forEach((v, k) => {
      b.set([
        sum % 0x1_0000_0000,
        before % 0x1_0000_0000,
        Math.max(...lanes),
        lanes.filter((x) => x & 1).length,
        lanes[k ^ 5],
        lanes[k ^ 3],
        lanes[0],
        lanes.some((x) => x > 1000) ? 1 : 0,
      ], (first + k) * 8);
      before += v;
    });
  }
  return b;
}

/** atomics.comp: counters that all threads of all workgroups update. */
function atomicResults(a: Uint32Array, b: Uint32Array): void {
  for (const v of a) {
    b[0]++;
    b[1] = Math.max(b[1], v);
    b[2] |= v & 0xff;
    b[3] ^= v;
    b[4] += v & 15;
    b[5] = Math.min(b[5], v);
  }
}

for (const waveSize of [32, 64] as const) {
  corpusDeviceTest(`ACO subgroup, wave${waveSize}: reductions, scans, votes and shuffles`, "aco", (device) => {
    for (const [seed, groups] of [1, 9, 40].entries()) {
      const a = integerWords(THREADS * groups, seed + 3);
      // In one workgroup nothing is above 1000.
      a.subarray(THREADS * (groups - 1)).forEach((v, k, part) => part[k] = v % 1000);
      const { program, resources } = launch({
        shader: corpusShader("aco", `subgroup.w${waveSize}.comp.json`),
        grid: [groups, 1, 1],
        resources: { "0.0": buffer(a), "0.1": buffer(new Uint32Array(a.length * 8).fill(0xdead_beef)) },
      });
      using run = runGuestWell(device, program, BACKINGS[seed % 2]);
      const [{ laneMode }] = run.result.programs;
      assert(["spanned", "packed", "native"].includes(laneMode), laneMode);
      assertWords(run.words(resources.get("0.1")!), subgroupResults(a, waveSize), "b");
    }
  });

  corpusDeviceTest(`ACO atomics, wave${waveSize}: one atomic a wave, and a sum in LDS`, "aco", (device) => {
    for (const [seed, groups] of [1, 9, 40].entries()) {
      const a = integerWords(THREADS * groups, seed + 7);
      const b = Uint32Array.of(5, 0, 0x100, 0x1234, 7, 0xffff_ffff, 0xdead_beef);
      const { program, resources } = launch({
        shader: corpusShader("aco", `atomics.w${waveSize}.comp.json`),
        grid: [groups, 1, 1],
        resources: { "0.0": buffer(a), "0.1": buffer(b.slice()) },
      });
      using run = runGuestWell(device, program, BACKINGS[seed % 2]);
      atomicResults(a, b);
      assertWords(run.words(resources.get("0.1")!), b, "b");
    }
  });
}
