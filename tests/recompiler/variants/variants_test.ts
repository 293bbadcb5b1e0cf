/**
 * Small cases in which implementations of this instruction set have differed, recompiled and on the device. They are those that the interpreter passes
 * (tests/rdna/interpreter/variant_cases.ts), with the same expectations.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AnyAgcError, ExitCode, RefusedError } from "../../../src/errors.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";
import { SideMaker } from "../../fuzz/sides.ts";
import { variantCases, type VariantMachine } from "../../rdna/interpreter/variant_cases.ts";
import { variantMemoryCases } from "../../rdna/interpreter/variant_memory.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { deviceMachine, type FrameSettings } from "./device_machine.ts";

/** Cases that the recompiler refuses, by the code of the refusal; one that it no longer refuses must be right. */
const MAY_BE_REFUSED: Readonly<Record<string, string>> = {
  "F: the LDS bit of MUBUF sends the data to LDS at M0": "recompiler.unsupported-instruction",
};

/** Cases whose descriptors must be constants of the code: others are reported as faults at run time (lift/buffer_address.ts). */
const CONSTANT: readonly string[] = ["F: a swizzled buffer interleaves dwords of eight records"];

/** Cases of which the device tells something else than the interpreter. */
const OTHERWISE: Readonly<Record<string, () => void>> = {
  // The recompiler looks at all code before it runs.
  "A: a branch behind the end of the program is the guest's fault, not the interpreter's": () => {
    for (const branch of [0xbf827000, 0xbf829000]) {
      const error = assertThrows(() => machine.runWords([branch, 0xbf810000]), AnyAgcError);
      assertEquals(error.exitCode, ExitCode.Guest, error.message);
    }
  },
};

const cases: { name: string; body: () => void }[] = [];
let sides: SideMaker | undefined;
const settings: FrameSettings = { constants: false };
const machine: VariantMachine = {
  test: (name, body) => cases.push({ name, body }),
  ...deviceMachine((target) => {
    const { device: executor, allocator } = sides!.take(target);
    return { executor, allocator };
  }, settings),
};
variantCases(machine);
variantMemoryCases(machine);

/** One device for all cases: making one takes longer than a case. */
deviceTest(
  `${cases.length} small cases of the GPU variant (control flow, lanes, floats, LDS, scalars, memory) on the device`,
  async (device: GpuDevice, t) => {
    sides = new SideMaker(device);
    try {
      let refused = 0;
      for (const { name, body } of cases) {
        await t.step(`${name}, recompiled`, () => {
          settings.constants = CONSTANT.includes(name);
          const otherwise = OTHERWISE[name];
          if (otherwise !== undefined) return otherwise();
          try {
            body();
          } catch (error) {
            if (!(error instanceof RefusedError)) throw error;
            assertEquals(error.code, MAY_BE_REFUSED[name], error.message);
            refused++;
          }
        });
      }
      assert(refused <= Object.keys(MAY_BE_REFUSED).length);
    } finally {
      sides[Symbol.dispose]();
      sides = undefined;
    }
  },
  { validation: false },
);
