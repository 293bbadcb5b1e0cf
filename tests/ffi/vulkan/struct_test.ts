import { assertEquals, assertThrows } from "@std/assert";
import { Arena } from "../../../ffi/arena.ts";
import {
  VK_ERROR_DEVICE_LOST,
  VkBufferCreateInfo,
  VkClearValue,
  VkExtensionProperties,
  VkPhysicalDeviceMemoryProperties,
  vkResultName,
  VkSubmitInfo2,
  VulkanError,
} from "../../../ffi/vulkan/mod.ts";
import { fail } from "../../../ffi/vulkan/result.ts";

Deno.test("a struct is written with its sType, its members at their offsets, and zeros elsewhere", () => {
  const arena = new Arena(4096);
  arena.scope(() => arena.bytes.fill(0xff, arena.allocate(256), 256));
  const at = VkBufferCreateInfo.place(arena, { size: 0x1_0000_0000n, usage: 0x20, sharingMode: 0 });
  const bytes = Array.from({ length: 14 }, (_, i) => arena.getU32(at + i * 4));
  // sType 12, padding, pNext, flags, padding, size, usage, sharingMode, count, padding, pointer: <vulkan/vulkan_core.h>.
  assertEquals(bytes, [12, 0, 0, 0, 0, 0, 0, 1, 0x20, 0, 0, 0, 0, 0]);
  assertEquals(VkBufferCreateInfo.read(arena, at).size, 0x1_0000_0000n);
});

Deno.test("arrays of structs lie one after the other", () => {
  const arena = new Arena(4096);
  const address = VkSubmitInfo2.makeArray(arena, [{ commandBufferInfoCount: 1 }, { commandBufferInfoCount: 2 }]);
  const read = VkSubmitInfo2.readArray(arena, arena.offset(address), 2);
  assertEquals(read.map((one) => one.commandBufferInfoCount), [1, 2]);
  assertEquals(VkSubmitInfo2.makeArray(arena, []), 0n);
});

Deno.test("texts, nested arrays and unions are read and written", () => {
  const arena = new Arena(8192);
  const extension = VkExtensionProperties.place(arena, { extensionName: "VK_x", specVersion: 3 });
  assertEquals(VkExtensionProperties.read(arena, extension), { extensionName: "VK_x", specVersion: 3 });
  assertThrows(() => VkExtensionProperties.place(arena, { extensionName: "x".repeat(256) }), RangeError);
  const memory = VkPhysicalDeviceMemoryProperties.place(arena, {
    memoryTypes: [{ propertyFlags: 1 }, { propertyFlags: 2, heapIndex: 5 }],
  });
  assertEquals(VkPhysicalDeviceMemoryProperties.read(arena, memory).memoryTypes[1], { propertyFlags: 2, heapIndex: 5 });
  const clear = VkClearValue.place(arena, { color: { float32: [1, 0, 0, 1] } });
  assertEquals(VkClearValue.read(arena, clear).color.uint32, [0x3f80_0000, 0, 0, 0x3f80_0000]);
});

Deno.test("a failed command throws an error that names the command and the result", () => {
  const error = assertThrows(
    () => fail("vkQueueSubmit2", VK_ERROR_DEVICE_LOST),
    VulkanError,
    "vkQueueSubmit2 returned VK_ERROR_DEVICE_LOST",
  );
  assertEquals((error as VulkanError).code, "vulkan.device-lost");
  assertEquals((error as VulkanError).exitCode, 3);
  assertEquals(vkResultName(-77), "VkResult -77");
});
