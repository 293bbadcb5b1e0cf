import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { runProgram } from "../../src/driver/run_program.ts";
import { VulkanExecutor } from "../../src/driver/vulkan/vulkan_executor.ts";
import { GuestFaultError, HostError } from "../../src/errors.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../src/guest/memory/mmap_allocator.ts";
import { computeState, GuestProgram, words64 } from "../support/guest_program.ts";
import { LONG_LOOP } from "../support/machine_code.ts";
import { dispatchDirect } from "../support/packets.ts";
import { deviceTest } from "../support/vulkan.ts";

deviceTest(
  "a program that does not come to an end in time is reported, and its memory stays until the device is done",
  (device) => {
    const guest = new GuestProgram("long"), code = guest.code(LONG_LOOP), out = guest.buffer(new Uint32Array(1));
    guest.submit(
      0,
      computeState({
        code,
        userData: [...words64(out.address), 65_000],
        threads: [1, 1, 1],
        groupIds: [false, false, false],
      }),
      // Seconds of work against a limit of 20 ms. Many groups, because lavapipe ends a loop after 65,536 rounds.
      dispatchDirect([30_000, 1, 1]),
    );
    const memory = new GuestMemory(new MmapAllocator());
    const executor = new VulkanExecutor(device, { target: "gfx1013", timeout: 20 });
    const { error, outcome } = runProgram(guest.program, executor, memory);
    assertInstanceOf(error, GuestFaultError);
    assertEquals([outcome, error.code, error.exitCode], ["failed", "driver.timeout", 1]);
    assertEquals([error.place.queue, error.place.guestAddress], [0, code]);
    assertEquals([executor.hung, executor.busy], [true, false]);
    const other = new GuestMemory(new MmapAllocator());
    const refused = assertThrows(() => executor.attach(other), HostError, "their memory cannot be replaced");
    assertEquals(refused.code, "driver.timeout");
    device.destroy();
    executor.close(); // nothing is destroyed while the device still works on it
    device.waitIdle();
    executor.close();
    assertEquals(executor.hung, false);
    memory.clear();
  },
);
