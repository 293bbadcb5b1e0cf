/** Runs guest programs on a device of the test helpers, with a look at everything that must not change. */
import { assertEquals } from "@std/assert";
import type { BackingKind } from "../../src/gpu/guest_backing.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import { runProgram, type RunResult } from "../../src/driver/run_program.ts";
import { VulkanExecutor } from "../../src/driver/vulkan/vulkan_executor.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import type { Program } from "../../src/guest/program.ts";
import { Context, GDS_ADDRESS } from "../../src/recompiler/abi.ts";
import { CanaryAllocator } from "./canary_allocator.ts";
import { corpusHas } from "./corpus.ts";
import { corpusFile } from "./corpus.ts";
import { deviceTest, type DeviceTestOptions } from "./vulkan.ts";

/** A run, with the memory that it left. */
export interface GuestRun extends Disposable {
  readonly result: RunResult;
  readonly memory: GuestMemory;
  /** `imported` or `mirrored`. */
  readonly backing: "imported" | "mirrored";
  /** A copy of words of guest memory. */
  words(at: { address: bigint; bytes: number }): Uint32Array<ArrayBuffer>;
}

/** Runs a program. Fails when bytes around the windows or the zero areas of the context blocks have changed. */
export function runGuest(device: GpuDevice, program: Program, backing: BackingKind = "automatic"): GuestRun {
  const allocator = new CanaryAllocator();
  const memory = new GuestMemory(allocator);
  const executor = new VulkanExecutor(device, { target: program.target, backing });
  let result: RunResult, kind: "imported" | "mirrored";
  try {
    result = runProgram(program, executor, memory);
    kind = executor.backing;
    checkContexts(executor, memory);
  } finally {
    executor.close();
  }
  assertEquals(allocator.damage(), [], "bytes outside of guest memory have changed");
  return {
    result,
    memory,
    backing: kind,
    words: ({ address, bytes }) => new Uint32Array(memory.read(address, bytes, 0).slice().buffer),
    [Symbol.dispose]: () => executor.hung || memory.clear(),
  };
}

/** Like {@linkcode runGuest}, for a program that must run to its end; throws its error. */
export function runGuestWell(device: GpuDevice, program: Program, backing?: BackingKind): GuestRun {
  const run = runGuest(device, program, backing);
  if (run.result.error !== undefined) {
    run[Symbol.dispose]();
    throw run.result.error;
  }
  return run;
}

/** Context blocks to look at: programs of the tests have few dispatches. */
const LOOKED_AT = 8;

/** Programs read the zero area and the window table, and write neither. */
function checkContexts(executor: VulkanExecutor, memory: GuestMemory): void {
  for (let i = 0; i < LOOKED_AT; i++) {
    const block = executor.contexts.read(i);
    const zero = block.subarray(Context.Zero, Context.Zero + 64);
    assertEquals(zero.some((byte) => byte !== 0), false, `the zero area of context block ${i} has changed`);
    const view = new DataView(block.buffer);
    const bases = Array.from(
      { length: view.getUint32(Context.WindowCount, true) },
      (_, w) => view.getBigUint64(Context.Windows + 32 * w, true),
    );
    // Programs that use GDS have a window of it.
    const expected = memory.windows.map(({ base }) => base);
    assertEquals(bases.filter((base) => base !== GDS_ADDRESS), expected, `context block ${i}: windows`);
  }
}

/** The ways in which guest memory reaches the device. */
export const BACKINGS = ["automatic", "mirrored"] as const satisfies readonly BackingKind[];

/** Registers a test for both ways in which guest memory reaches the device. */
export function guestTest(
  name: string,
  body: (device: GpuDevice, backing: BackingKind, context: Deno.TestContext) => void | Promise<void>,
  options: DeviceTestOptions = {},
): void {
  deviceTest(name, async (device, context) => {
    for (const backing of BACKINGS) {
      await context.step(backing, (step) => body(device, backing, step));
    }
  }, options);
}

/** Registers a test that needs a device and a folder of the corpus. */
export function corpusDeviceTest(
  name: string,
  folder: string,
  body: (device: GpuDevice, context: Deno.TestContext) => void | Promise<void>,
): void {
  if (corpusHas(folder)) return deviceTest(name, body);
  const reason = `no ${corpusFile(folder)}; set ANYAGC_CORPUS to the corpus`;
  Deno.test({ name: `${name} [ignored: ${reason}]`, ignore: true, fn: () => {} });
}
