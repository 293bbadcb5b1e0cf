// Checked by types_test.ts, never run: each directive below is an error of its own when the line under it is accepted.
import { type CoreCommands, VkBufferCreateInfo, VkBufferMemoryBarrier2 } from "../../../ffi/vulkan/mod.ts";
import type { Arena } from "../../../ffi/arena.ts";

export function numbersWhereBigintIsNeeded(
  vulkan: CoreCommands,
  arena: Arena,
  device: bigint,
  commandBuffer: bigint,
): void {
  // @ts-expect-error: a handle is bigint
  vulkan.vkDeviceWaitIdle(0);
  // @ts-expect-error: a pointer is bigint, 0n and not 0
  vulkan.vkDestroyDevice(device, 0);
  // @ts-expect-error: a device size is bigint
  vulkan.vkCmdFillBuffer(commandBuffer, 1n, 0n, 4, 0);
  // @ts-expect-error: an offset of a dispatch is bigint
  vulkan.vkCmdDispatchIndirect(commandBuffer, 1n, 16);
  // @ts-expect-error: a count is a number
  vulkan.vkCmdDispatch(commandBuffer, 1n, 1, 1);
  // @ts-expect-error: size_t is bigint
  vulkan.vkGetQueryPoolResults(device, 1n, 0, 2, 16, 0n, 8n, 0);
  // @ts-expect-error: a struct's size member is bigint
  VkBufferCreateInfo.make(arena, { size: 16, usage: 0, sharingMode: 0 });
  // @ts-expect-error: a member that Vulkan needs is missing
  VkBufferCreateInfo.make(arena, { size: 16n, sharingMode: 0 });
  // @ts-expect-error: no such member
  VkBufferCreateInfo.make(arena, { size: 16n, usage: 0, sharingMode: 0, sizes: 1n });
  const region = { srcQueueFamilyIndex: 0, dstQueueFamilyIndex: 0, buffer: 1n, offset: 0n, size: 1n };
  // @ts-expect-error: 64-bit flags are bigint
  VkBufferMemoryBarrier2.make(arena, { srcStageMask: 1, ...region });
}
