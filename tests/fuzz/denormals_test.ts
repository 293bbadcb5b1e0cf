/**
 * f32 denormals on the device, which may keep or flush them: instructions alone and on each other's results, in all denormal modes, against the interpreter.
 * Hosts that nobody here has are in tests/recompiler/denormals_test.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { deviceTest } from "../support/vulkan.ts";
import { chainRound, f32Round } from "./f32_denormals.ts";
import { SideMaker } from "./sides.ts";

/** Functions that devices compute within an error bound: they are compared bit for bit, or nearly so, where the bound is known (accuracy.ts). */
const APPROXIMATE = /^v_(rcp|sqrt|rsq|exp|log|sin|cos)_/;
/** Batches of chains. */
const CHAINS = 16;

deviceTest(
  "f32 instructions with denormal operands and results give the interpreter's results on the device",
  (device) => {
    using sides = new SideMaker(device);
    for (const [round, modes] of [[1, [0xf0]], [2, [0x00, 0x10, 0x20, 0xc0]]] as const) {
      const accepts = (name: string) => !APPROXIMATE.test(name);
      const { failures, cases } = f32Round(round, modes, ({ target }) => sides.take(target), accepts);
      assertEquals(failures.map(({ seed, text }) => `seed ${seed}: ${text}`), []);
      assert(cases > 10_000, `${cases} cases`);
    }
  },
  { validation: false },
);

deviceTest(
  "f32 instructions on each other's results keep or flush denormals on the device as in the interpreter",
  (device) => {
    using sides = new SideMaker(device);
    const report = chainRound(CHAINS, [0xf0, 0xf0, 0x30, 0x10, 0x20, 0x00], ({ target }) => sides.take(target));
    assertEquals(report.failures.map(({ seed, text }) => `seed ${seed}: ${text}`), []);
    assertEquals([report.refused, report.cases], [[], CHAINS * 3 * 64]);
  },
  { validation: false },
);
