import { assert, assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { GuestSharing } from "../../../../src/driver/vulkan/shared_guest.ts";
import { VulkanExecutor } from "../../../../src/driver/vulkan/vulkan_executor.ts";
import { GuestFaultError, HostError } from "../../../../src/errors.ts";
import { GuestMemory } from "../../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../../src/guest/memory/mmap_allocator.ts";
import { computeState, descriptor, GuestProgram, words64 } from "../../../support/guest_program.ts";
import { SQUARE, STEP } from "../../../support/machine_code.ts";
import { dispatchDirect } from "../../../support/packets.ts";
import { deviceTest } from "../../../support/vulkan.ts";
import { Flag, newFlags, release } from "../../pools/pipelines/support.ts";
import { inRoom, runShared } from "./run.ts";

/** How a word becomes after some rounds of STEP with an addend. */
function stepped(rounds: number, addend: number): number {
  let x = 0;
  for (let i = 0; i < rounds; i++) x = Math.imul(3, x) + addend >>> 0;
  return x;
}

deviceTest(
  "four queues in isolates of their own use one device, one memory and one table of pipelines",
  (device) =>
    inRoom(device, async (room) => {
      const rounds = 200, guest = new GuestProgram("queues"), code = guest.code(STEP), square = guest.code(SQUARE);
      const from = guest.buffer(Uint32Array.from({ length: 64 }, (_, i) => i));
      const queues = [0, 0x20, 0x28, 0x31].map((queue) => {
        const data = guest.buffer(new Uint32Array(64)), to = guest.buffer(new Uint32Array(64));
        const step = [...computeState({ code, userData: [...words64(data.address), queue + 1] })];
        guest.submit(queue, step, Array.from({ length: rounds }, () => dispatchDirect([1, 1, 1])).flat());
        const userData = [...descriptor(from), ...descriptor(to)];
        guest.submit(queue, computeState({ code: square, userData }), dispatchDirect([1, 1, 1]));
        return { queue, data, to };
      });
      const run = await runShared(room, device, guest.program);
      assertEquals(run.errors, new Map());
      for (const { queue, data, to } of queues) {
        assertEquals(run.words(data), new Uint32Array(64).fill(stepped(rounds, queue + 1)));
        assertEquals(run.words(to), Uint32Array.from({ length: 64 }, (_, i) => i * i + i));
        assertEquals([run.answers.get(queue)!.dispatches, run.answers.get(queue)!.programs], [rounds + 1, 2]);
      }
      // Whoever came first made them; nobody made them again.
      assertEquals(room.creations().created, 2);
      const { ready, pins, building } = room.room.pipelines.stats();
      assertEquals([ready, pins, building], [2, 0, 0]);
      const { acquired } = room.room.gpu.stats();
      assert(acquired >= 4 * (rounds + 1), `each dispatch was recorded with the GPU mutex: ${acquired} times`);
    }),
);

deviceTest(
  "a fault of one queue is that queue's, with its place, and the others finish",
  (device) =>
    inRoom(device, async (room) => {
      const guest = new GuestProgram("fault"), code = guest.code(STEP), data = guest.buffer(new Uint32Array(64));
      const state = (address: bigint) => computeState({ code, userData: [...words64(address), 7] });
      guest.submit(0x20, state(data.address), dispatchDirect([1, 1, 1]));
      guest.submit(0x28, state(0x7_0000_0000n), dispatchDirect([1, 1, 1]));
      const run = await runShared(room, device, guest.program);
      assertEquals([...run.errors.keys()], [0x28]);
      const error = run.errors.get(0x28) as GuestFaultError;
      assertInstanceOf(error, GuestFaultError);
      assertEquals([error.code, error.place.queue], ["driver.memory-fault", 0x28]);
      // Whichever of the 64 threads was first.
      const offset = Number(error.place.guestAddress! - 0x7_0000_0000n);
      assert(offset >= 0 && offset < 256, `${offset}`);
      assertEquals(run.words(data)[63], 7);
    }),
);

deviceTest(
  "while one queue creates a pipeline, another records, submits and finishes its dispatches",
  (device) =>
    inRoom(device, async (room) => {
      const flags = newFlags(),
        guest = new GuestProgram("compile"),
        step = guest.code(STEP),
        square = guest.code(SQUARE);
      const from = guest.buffer(Uint32Array.from({ length: 64 }, (_, i) => i)), to = guest.buffer(new Uint32Array(64));
      const data = guest.buffer(new Uint32Array(64)), rounds = 200;
      const userData = [...descriptor(from), ...descriptor(to)];
      guest.submit(0x20, computeState({ code: square, userData }), dispatchDirect([1, 1, 1]));
      const state = computeState({ code: step, userData: [...words64(data.address), 5] });
      for (let i = 0; i < rounds; i++) guest.submit(0x28, state, dispatchDirect([1, 1, 1]));
      const order: number[] = [];
      const run = await runShared(room, device, guest.program, {
        hold: { queue: 0x20, flags },
        done(queue) {
          order.push(queue);
          if (queue === 0x28) release(flags);
        },
      });
      assertEquals([order, run.errors.size, flags[Flag.Calls]], [[0x28, 0x20], 0, 1]);
      assertEquals(run.words(data), new Uint32Array(64).fill(stepped(rounds, 5)));
      assertEquals(run.words(to)[9], 90);
    }),
);

deviceTest("memory that the device cannot import is not shared", (device) => {
  const memory = new GuestMemory(new MmapAllocator());
  memory.map(0x1_0000_0000n, 4096);
  const error = assertThrows(() => new GuestSharing(device, memory), HostError);
  assertEquals(error.code, "driver.shared-mirrored");
  memory.clear();
}, { withoutExtensions: ["VK_EXT_external_memory_host"] });

deviceTest("an executor that is asked to work on copies is not one of several", (device) =>
  inRoom(device, (room) => {
    const shared = { room, guest: { table: [], gds: 0n }, queue: 0 };
    const error = assertThrows(
      () => new VulkanExecutor(device, { target: "gfx1013", backing: "mirrored", shared }),
      HostError,
      "its queues run in turns",
    );
    assertEquals(error.code, "driver.shared-mirrored");
  }));
