/** A queue in a room whose device does not finish in time, and what a queue finishes before work that takes long. */
import { assertEquals, assertThrows } from "@std/assert";
import { DriverSink } from "../../../../src/driver/driver_sink.ts";
import type { OwnedDriverRoom } from "../../../../src/driver/pools/driver_room.ts";
import { RoomBuilds } from "../../../../src/driver/vulkan/room_builds.ts";
import { GuestSharing } from "../../../../src/driver/vulkan/shared_guest.ts";
import { VulkanExecutor } from "../../../../src/driver/vulkan/vulkan_executor.ts";
import { GuestFaultError } from "../../../../src/errors.ts";
import type { GpuDevice } from "../../../../src/gpu/device.ts";
import { mapProgram } from "../../../../src/guest/map_program.ts";
import { GuestMemory } from "../../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../../src/guest/memory/mmap_allocator.ts";
import { QueueExecutor } from "../../../../src/pm4/execute.ts";
import { validateSubmission } from "../../../../src/pm4/validate.ts";
import { computeState, GuestProgram, words64 } from "../../../support/guest_program.ts";
import { STEP } from "../../../support/machine_code.ts";
import { dispatchDirect } from "../../../support/packets.ts";
import { deviceTest } from "../../../support/vulkan.ts";
import { inRoom } from "./run.ts";

/** A queue that dispatches a program in groups of 1 to `programs` threads, `rounds` times each, and may do so again. */
function open(room: OwnedDriverRoom, device: GpuDevice, programs: number, rounds = 1) {
  const guest = new GuestProgram("stuck"), code = guest.code(STEP), data = guest.buffer(new Uint32Array(64));
  for (let threads = 1; threads <= programs; threads++) {
    const state = { code, userData: [...words64(data.address), 1], threads: [threads, 1, 1] as const };
    guest.submit(0, computeState(state), ...Array.from({ length: rounds }, () => dispatchDirect([1, 1, 1])));
  }
  const memory = new GuestMemory(new MmapAllocator());
  mapProgram(guest.program, memory);
  const sharing = new GuestSharing(device, memory);
  const executor = new VulkanExecutor(device, { target: "gfx1013", shared: { room, guest: sharing.guest, queue: 0 } });
  executor.attach(memory);
  return {
    executor,
    word: () => memory.readU32(data.address),
    run() {
      const sink = new DriverSink(memory, executor), queue = new QueueExecutor(0, sink);
      for (const submission of guest.program.submissions) queue.submit(validateSubmission(submission, memory));
      queue.run();
      sink.settle();
    },
    close() {
      executor.close();
      sharing.close();
      memory.clear();
    },
  };
}

const VK_TIMEOUT = 2;

/** The device as it looks to who waits: nothing gets done, until the time comes. */
function holdUpDevice({ vulkan }: GpuDevice): { finish(): void } {
  const { vkWaitSemaphores, vkGetSemaphoreCounterValue } = vulkan;
  Object.assign(vulkan, { vkWaitSemaphores: () => VK_TIMEOUT, vkGetSemaphoreCounterValue: () => {} });
  return { finish: () => void Object.assign(vulkan, { vkWaitSemaphores, vkGetSemaphoreCounterValue }) };
}

for (const when of ["is asked for another dispatch", "is closed"] as const) {
  deviceTest(
    `pipelines of a device that did not finish in time stay pinned until it has, and its queue ${when}`,
    (device) =>
      inRoom(device, (room) => {
        const { pipelines } = room.room, queue = open(room, device, 3);
        queue.run();
        const held = holdUpDevice(device);
        const error = assertThrows(() => queue.run(), GuestFaultError, "do not come to an end");
        assertEquals([error.code, queue.executor.hung, pipelines.stats().pins], ["driver.timeout", true, 3]);
        // It may use them still: nothing is recorded over what it reads, and nothing is destroyed.
        const again = assertThrows(() => queue.run(), GuestFaultError, "earlier ones still run");
        queue.executor.close();
        assertEquals([again.code, queue.executor.hung, pipelines.stats().pins], ["driver.timeout", true, 3]);
        held.finish();
        device.waitIdle();
        if (when === "is closed") queue.executor.close();
        else {
          queue.run();
          // Three times three dispatches of x = 3 * x + 1: also those that were given up have come to their end.
          assertEquals([queue.word(), queue.executor.hung], [(3 ** 9 - 1) / 2, false]);
        }
        assertEquals([pipelines.stats().pins, queue.executor.hung], [0, false]);
        queue.close();
      }),
  );
}

deviceTest(
  "a queue that is closed while the device still works destroys nothing that it uses",
  (device) =>
    inRoom(device, (room) => {
      // A whole batch, which is submitted; nobody waits for it.
      const queue = open(room, device, 1, 64), { executor } = queue;
      queue.run();
      const held = holdUpDevice(device);
      Object.assign(executor, { drain: () => {} });
      queue.run();
      executor.close();
      assertEquals([executor.hung, room.room.pipelines.stats().pins], [true, 64]);
      held.finish();
      device.waitIdle();
      queue.close();
      assertEquals([executor.hung, room.room.pipelines.stats().pins], [false, 0]);
    }),
);

deviceTest(
  "what is in flight is finished before a program or a pipeline is made, and not for one that is there",
  (device) =>
    inRoom(device, (room) => {
      let waits = 0;
      const builds = new RoomBuilds(room, undefined, () => waits++), other = new RoomBuilds(room, undefined);
      const queue = open(room, device, 1);
      let asked: Parameters<RoomBuilds["artifact"]>[0] | undefined;
      const { artifact } = RoomBuilds.prototype;
      RoomBuilds.prototype.artifact = function (request, shader) {
        asked ??= request;
        return artifact.call(this, request, shader);
      };
      try {
        queue.run();
      } finally {
        RoomBuilds.prototype.artifact = artifact;
      }
      const request = asked!, made = builds.artifact(request);
      builds.pipeline(request, made);
      assertEquals(waits, 0, "both are there");
      const threads = { ...request, workgroupSize: [7, 1, 1] as [number, number, number] };
      const first = builds.artifact(threads);
      assertEquals(waits, 1);
      builds.pipeline(threads, first);
      assertEquals(waits, 2);
      const second = builds.artifact(threads);
      builds.pipeline(threads, second);
      other.pipeline(threads, second);
      assertEquals(waits, 2);
      queue.close();
    }),
);
