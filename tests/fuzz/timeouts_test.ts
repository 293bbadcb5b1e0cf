/** A device that does not come to an end in time, as under load, may write to guest memory as long as it runs on. */
import { assertEquals, assertThrows } from "@std/assert";
import type { ComputeExecutor } from "../../src/driver/executor.ts";
import { SoftwareExecutor } from "../../src/driver/software/software_executor.ts";
import { GuestFaultError } from "../../src/errors.ts";
import { ArrayAllocator, type HostBlock } from "../../src/guest/memory/allocator.ts";
import { Random } from "../support/random.ts";
import { runSide } from "./batch.ts";
import { buildBatch } from "./frame.ts";
import { randomProgram } from "./programs/generate.ts";
import { compareProgram } from "./programs/run.ts";

/** Counts what is mapped. */
class CountingAllocator extends ArrayAllocator {
  mapped = 0;
  override allocate(bytes: number): HostBlock {
    this.mapped++;
    return super.allocate(bytes);
  }
  override release(block: HostBlock): void {
    this.mapped--;
    super.release(block);
  }
}

/** A device whose dispatches time out; `hung`: they run on. */
function lateDevice(hung: boolean): ComputeExecutor {
  const late = () => {
    throw new GuestFaultError("driver.timeout", "dispatches do not come to an end");
  };
  const nothing = () => {};
  return {
    name: "late",
    busy: true,
    hung,
    attach: nothing,
    dispatch: nothing,
    drain: late,
    programs: () => [],
    deviceMs: () => undefined,
    close: nothing,
  };
}

const SETTINGS = {
  target: "gfx1013",
  waveSize: 64,
  groups: 1,
  floatMode: 0xc0,
  ieee: false,
  dx10Clamp: false,
  ldsBytes: 0,
} as const;

Deno.test("memory of a fuzzed instruction stays mapped while the device may write to it", () => {
  const batch = buildBatch([], SETTINGS, new Random(1));
  for (const hung of [true, false]) {
    const allocator = new CountingAllocator();
    assertThrows(() => runSide(batch, lateDevice(hung), allocator), GuestFaultError, "do not come to an end");
    assertEquals(allocator.mapped > 0, hung);
  }
});

Deno.test("a fuzzed program that times out ends the fuzzing, and its memory stays mapped while the device may write to it", () => {
  const tree = randomProgram(new Random(1)), reference = new SoftwareExecutor({ target: tree.settings.target });
  for (const hung of [true, false]) {
    const allocator = new CountingAllocator(), sides = { device: lateDevice(hung), reference, allocator };
    assertThrows(() => compareProgram(tree, sides), GuestFaultError, "do not come to an end");
    assertEquals(allocator.mapped > 0, hung);
  }
});
