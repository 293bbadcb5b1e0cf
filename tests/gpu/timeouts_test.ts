/** Work that does not finish in time: what it uses stays, whoever destroys what. */
import { assertEquals, assertThrows } from "@std/assert";
import { AnyAgcError } from "../../src/errors.ts";
import { HostBuffer } from "../../src/gpu/buffer.ts";
import { CommandQueue } from "../../src/gpu/command_queue.ts";
import { GpuDevice } from "../../src/gpu/device.ts";
import { backGuestMemory } from "../../src/gpu/guest_backing.ts";
import {
  createComputePipeline,
  createPipelineLayout,
  destroyPipeline,
  destroyPipelineLayout,
} from "../../src/gpu/pipelines.ts";
import { loopProbeModule } from "../../src/gpu/probe/loop_probe_module.ts";
import { compilesAtDispatch, WarmUpDevice } from "../../src/gpu/warm_up.ts";
import { MmapAllocator } from "../../src/guest/memory/mmap_allocator.ts";
import { VulkanPipelineDriver } from "../../src/driver/pools/vulkan_driver.ts";
import { VK_ERROR_DEVICE_LOST, VulkanError } from "../../ffi/vulkan/mod.ts";
import { deviceTest } from "../support/vulkan.ts";

const VK_TIMEOUT = 2;

/** Counts what the driver is told to destroy. */
function countDestroyed({ vulkan }: GpuDevice): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [name, command] of Object.entries(vulkan)) {
    if (!/^vk(Destroy|Free)/.test(name)) continue;
    const call = command as (...parameters: unknown[]) => unknown;
    Object.assign(vulkan, {
      [name]: (...parameters: unknown[]) => {
        counts[name] = (counts[name] ?? 0) + 1;
        return call(...parameters);
      },
    });
  }
  return counts;
}

/** The device as it looks to who waits: nothing gets done, until the time comes. */
function holdUp({ vulkan }: GpuDevice): { waits: number; finish(): void } {
  const { vkWaitSemaphores, vkGetSemaphoreCounterValue } = vulkan;
  const held = {
    waits: 0,
    finish: () => void Object.assign(vulkan, { vkWaitSemaphores, vkGetSemaphoreCounterValue }),
  };
  const wait = () => (held.waits++, VK_TIMEOUT);
  Object.assign(vulkan, { vkWaitSemaphores: wait, vkGetSemaphoreCounterValue: () => {} });
  return held;
}

/** Everything that this isolate makes from a device, used by one submission. */
function submit(device: GpuDevice, rounds: number, groups: number, timeout?: number) {
  const memory = new HostBuffer(device, 4096), layout = createPipelineLayout(device);
  const pipeline = createComputePipeline(device, { spirv: loopProbeModule, layout });
  const queue = new CommandQueue(device, { buffers: 1, timestamps: 2, timeout });
  const allocator = new MmapAllocator(), guest = allocator.allocate(1 << 16);
  const backings = backGuestMemory(device, guest.pointer, 1 << 16);
  new Uint32Array(memory.buffer).set([rounds, 4, 4]);
  queue.begin();
  for (const { buffer } of backings) queue.fillBuffer(buffer, 0n, 1n << 16n, 7);
  queue.barrier();
  queue.bindPipeline(pipeline.handle);
  const { deviceAddress } = memory, { push } = queue;
  new BigUint64Array(push.buffer, push.byteOffset, 2).set([deviceAddress, deviceAddress + 64n]);
  queue.pushConstants(layout, 16);
  queue.dispatch(groups, 1, 1);
  const value = queue.submit();
  const destroyRest = () => {
    destroyPipeline(device, pipeline);
    new VulkanPipelineDriver(device, 0n).destroy(
      createComputePipeline(device, { spirv: loopProbeModule, layout }).handle,
    );
    destroyPipelineLayout(device, layout);
    memory.destroy();
    for (const backing of backings) backing.destroy();
  };
  return { queue, value, destroyRest, release: () => allocator.release(guest) };
}

/** Of what {@linkcode submit} makes. */
const OWN = {
  vkDestroyBuffer: 2,
  vkFreeMemory: 2,
  vkDestroyCommandPool: 1,
  vkDestroySemaphore: 1,
  vkDestroyQueryPool: 1,
  vkDestroyPipeline: 2,
  vkDestroyPipelineLayout: 1,
};

deviceTest(
  "nothing is destroyed that work may use which did not finish in time; when it has finished, everything is",
  (device) => {
    const held = holdUp(device), { queue, value, destroyRest, release } = submit(device, 1, 1);
    const counts = countDestroyed(device);
    assertEquals(device.unfinished, false);
    assertThrows(() => queue.wait(value), AnyAgcError, "did not finish submission 1");
    assertEquals([device.unfinished, held.waits], [true, 1]);
    assertThrows(() => queue.destroy(), AnyAgcError, "did not finish submission 1");
    assertEquals(held.waits, 1, "it is not waited for again");
    destroyRest();
    const { vkDestroyShaderModule, ...others } = counts;
    assertEquals([others, vkDestroyShaderModule], [{}, 1], "what only the creation of a pipeline used");
    device.destroy();
    assertEquals(counts.vkDestroyDevice, undefined);
    held.finish();
    device.waitIdle();
    assertEquals(device.unfinished, false);
    const { vkDestroyShaderModule: _, ...after } = counts;
    const { vkDestroyQueryPool: __, ...withoutTimestamps } = OWN;
    assertEquals(after, device.capabilities.limits.timestampBits > 0 ? OWN : withoutTimestamps);
    release();
  },
);

deviceTest("a queue that is waited for in vain when it is destroyed stays, and so does what it uses", (device) => {
  const held = holdUp(device), { queue, destroyRest, release } = submit(device, 1, 1);
  const counts = countDestroyed(device);
  assertThrows(() => queue.destroy(), AnyAgcError, "did not finish submission 1");
  destroyRest();
  assertEquals([held.waits, counts.vkDestroyCommandPool, counts.vkDestroyBuffer], [1, undefined, undefined]);
  held.finish();
  device.waitIdle();
  assertEquals([device.unfinished, counts.vkDestroyCommandPool, counts.vkDestroyBuffer], [false, 1, 2]);
  release();
});

deviceTest("a value that was never submitted keeps nothing", (device) => {
  const queue = new CommandQueue(device, { timeout: 1 });
  assertThrows(() => queue.wait(5), AnyAgcError, "did not finish submission 5");
  assertEquals(device.unfinished, false);
  const counts = countDestroyed(device);
  queue.destroy();
  assertEquals([counts.vkDestroyCommandPool, counts.vkDestroySemaphore], [1, 1]);
});

deviceTest("a device that was lost over what did not finish uses nothing any more", (device) => {
  const { vkGetSemaphoreCounterValue } = device.vulkan;
  const held = holdUp(device), { queue, value, destroyRest, release } = submit(device, 1, 1);
  const counts = countDestroyed(device);
  assertThrows(() => queue.wait(value), AnyAgcError, "did not finish");
  destroyRest();
  assertEquals([device.unfinished, counts.vkDestroyBuffer], [true, undefined]);
  held.finish();
  device.waitIdle();
  Object.assign(device.vulkan, {
    vkGetSemaphoreCounterValue: () => {
      throw new VulkanError("vkGetSemaphoreCounterValue", VK_ERROR_DEVICE_LOST);
    },
  });
  assertEquals([device.unfinished, counts.vkDestroyBuffer], [false, 2]);
  Object.assign(device.vulkan, { vkGetSemaphoreCounterValue });
  queue.destroy();
  release();
});

deviceTest("a device that compiles pipelines ahead of use and hangs over it is left as it is", (device) => {
  const create = GpuDevice.create;
  let own: GpuDevice | undefined;
  GpuDevice.create = (options) => own = create.call(GpuDevice, options);
  try {
    const warm = new WarmUpDevice(device.capabilities.name), held = holdUp(own!), counts = countDestroyed(own!);
    assertThrows(() => warm.warm({ spirv: loopProbeModule }), AnyAgcError, "did not finish submission 1");
    warm.destroy();
    assertEquals([counts.vkDestroyPipeline, counts.vkDestroyDevice, counts.vkDestroyCommandPool], [
      undefined,
      undefined,
      undefined,
    ]);
    held.finish();
    own!.waitIdle();
    assertEquals([own!.unfinished, counts.vkDestroyPipeline, counts.vkDestroyCommandPool], [false, 1, 1]);
    own!.destroy();
    assertEquals(counts.vkDestroyDevice, 1);
  } finally {
    GpuDevice.create = create;
  }
});

// A fast device is done before any wait has begun. The validation layer reports what is destroyed while it is in use.
deviceTest(
  "work of a second on llvmpipe goes on when it was given up, and what is destroyed meanwhile is there until its end",
  (device) => {
    if (!compilesAtDispatch(device.capabilities)) return;
    const counts = countDestroyed(device);
    const { queue, value, destroyRest, release } = submit(device, 60_000, 6000, 20);
    assertThrows(() => queue.wait(value), AnyAgcError, "did not finish submission 1 within 20 ms");
    assertThrows(() => queue.destroy(), AnyAgcError, "did not finish submission 1");
    destroyRest();
    assertEquals([device.unfinished, counts.vkFreeMemory, counts.vkDestroySemaphore], [true, undefined, undefined]);
    device.waitIdle();
    assertEquals([device.unfinished, counts.vkFreeMemory, counts.vkDestroySemaphore], [false, 2, 1]);
    release();
  },
);
