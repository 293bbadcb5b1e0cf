import type { Arena } from "../../ffi/arena.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import { hex, HostError } from "../errors.ts";

/** The device's memory types; finds the one to allocate from. */
export class MemoryTypes {
  /** VkMemoryPropertyFlags per memory type. */
  readonly flags: readonly number[];
  /** Size of the heap per memory type, in bytes. */
  readonly heapBytes: readonly bigint[];

  /** Asks the device. */
  constructor(vulkan: vk.CoreCommands, arena: Arena, physicalDevice: bigint) {
    const { memoryProperties } = arena.scope(() => {
      const offset = vk.VkPhysicalDeviceMemoryProperties2.allocate(arena);
      vulkan.vkGetPhysicalDeviceMemoryProperties2(physicalDevice, arena.address(offset));
      return vk.VkPhysicalDeviceMemoryProperties2.read(arena, offset);
    });
    const types = memoryProperties.memoryTypes.slice(0, memoryProperties.memoryTypeCount);
    this.flags = types.map((type) => type.propertyFlags);
    this.heapBytes = types.map((type) => memoryProperties.memoryHeaps[type.heapIndex].size);
  }

  /**
   * The first memory type among `allowed` (a bit per type) that has all `required` flags; among several, one with most `preferred` flags.
   * Undefined when there is none.
   */
  find(allowed: number, required: number, preferred = 0): number | undefined {
    let best: number | undefined, bestScore = -1;
    this.flags.forEach((flags, type) => {
      if (((allowed >>> type) & 1) === 0 || (flags & required) !== required) return;
      const score = bitCount(flags & preferred);
      if (score > bestScore) [best, bestScore] = [type, score];
    });
    return best;
  }

  /** Like {@linkcode find}, but having none is an error. */
  require(allowed: number, required: number, preferred = 0): number {
    const type = this.find(allowed, required, preferred);
    if (type !== undefined) return type;
    throw new HostError(
      "host.memory-type",
      `the device has no memory type with flags ${hex(required)} among types ${hex(allowed >>> 0)}`,
    );
  }
}

function bitCount(value: number): number {
  let count = 0;
  for (let rest = value >>> 0; rest !== 0; rest &= rest - 1) count++;
  return count;
}
