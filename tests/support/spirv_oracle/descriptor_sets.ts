import * as vk from "../../../ffi/vulkan/mod.ts";
import { Arena } from "../../../ffi/arena.ts";
import type { HostBuffer } from "../../../src/gpu/buffer.ts";
import type { CommandQueue } from "../../../src/gpu/command_queue.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";
import type { DescriptorKind, ReflectedBinding } from "../spirv_reflect.ts";

const TYPES: Readonly<Record<DescriptorKind, number>> = {
  storage_buffer: vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
  uniform_buffer: vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
  storage_image: vk.VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
  sampled_image: vk.VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
  combined_image_sampler: vk.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
  sampler: vk.VK_DESCRIPTOR_TYPE_SAMPLER,
};

/** The layouts of sets 0 to the highest one in use; sets in between may be empty. */
export interface SetLayouts {
  readonly handles: readonly bigint[];
  readonly bindings: readonly ReflectedBinding[];
  destroy(): void;
}

/** Creates one layout for each set. */
export function createSetLayouts(device: GpuDevice, bindings: readonly ReflectedBinding[]): SetLayouts {
  const drawing = vk.openVulkanDrawing();
  const arena = new Arena(64 * 1024);
  const sets = bindings.reduce((highest, { set }) => Math.max(highest, set + 1), 0);
  const handles = Array.from({ length: sets }, (_, set) => {
    const own = bindings.filter((binding) => binding.set === set);
    const info = vk.VkDescriptorSetLayoutCreateInfo.make(arena, {
      bindingCount: own.length,
      pBindings: vk.VkDescriptorSetLayoutBinding.makeArray(
        arena,
        own.map(({ binding, kind, count }) => ({
          binding,
          descriptorType: TYPES[kind],
          descriptorCount: count,
          stageFlags: vk.VK_SHADER_STAGE_COMPUTE_BIT,
        })),
      ),
    });
    const out = arena.allocate(8);
    drawing.vkCreateDescriptorSetLayout(device.handle, info, 0n, arena.address(out));
    return arena.getU64(out);
  });
  return {
    handles,
    bindings,
    destroy: () => handles.forEach((handle) => drawing.vkDestroyDescriptorSetLayout(device.handle, handle, 0n)),
  };
}

/** What one descriptor refers to. */
export interface SetWrite {
  set: number;
  binding: number;
  element: number;
  kind: DescriptorKind;
  buffer?: HostBuffer;
  /** VkImageView, in layout GENERAL. */
  view?: bigint;
  /** VkSampler. */
  sampler?: bigint;
}

/** Written descriptor sets. */
export interface DescriptorSets {
  bind(queue: CommandQueue, layout: bigint): void;
  destroy(): void;
}

/** Allocates and writes one set for each layout. */
export function allocateSets(device: GpuDevice, layouts: SetLayouts, writes: readonly SetWrite[]): DescriptorSets {
  const drawing = vk.openVulkanDrawing();
  const count = layouts.handles.length;
  if (count === 0) return { bind: () => {}, destroy: () => {} };
  const arena = new Arena(64 * 1024 + writes.length * 256);
  const out = arena.allocate(8 * count);
  const kinds = Object.entries(TYPES).map(([, type]) => ({
    type,
    descriptorCount: Math.max(1, writes.filter(({ kind }) => TYPES[kind] === type).length),
  }));
  const poolInfo = vk.VkDescriptorPoolCreateInfo.make(arena, {
    maxSets: count,
    poolSizeCount: kinds.length,
    pPoolSizes: vk.VkDescriptorPoolSize.makeArray(arena, kinds),
  });
  drawing.vkCreateDescriptorPool(device.handle, poolInfo, 0n, arena.address(out));
  const pool = arena.getU64(out);
  const allocation = vk.VkDescriptorSetAllocateInfo.make(arena, {
    descriptorPool: pool,
    descriptorSetCount: count,
    pSetLayouts: arena.u64s(layouts.handles),
  });
  drawing.vkAllocateDescriptorSets(device.handle, allocation, arena.address(out));
  const sets = Array.from({ length: count }, (_, i) => arena.getU64(out + 8 * i));
  const infos = writes.map(({ set, binding, element, kind, buffer, view, sampler }) => ({
    dstSet: sets[set],
    dstBinding: binding,
    dstArrayElement: element,
    descriptorCount: 1,
    descriptorType: TYPES[kind],
    pBufferInfo: buffer === undefined ? 0n : vk.VkDescriptorBufferInfo.make(arena, {
      buffer: buffer.handle,
      offset: 0n,
      range: BigInt(buffer.byteLength),
    }),
    pImageInfo: buffer !== undefined ? 0n : vk.VkDescriptorImageInfo.make(arena, {
      sampler: sampler ?? 0n,
      imageView: view ?? 0n,
      imageLayout: vk.VK_IMAGE_LAYOUT_GENERAL,
    }),
  }));
  drawing.vkUpdateDescriptorSets(
    device.handle,
    infos.length,
    vk.VkWriteDescriptorSet.makeArray(arena, infos),
    0,
    0n,
  );
  const list = arena.u64s(sets);
  return {
    bind: (queue, layout) =>
      drawing.vkCmdBindDescriptorSets(
        queue.recording,
        vk.VK_PIPELINE_BIND_POINT_COMPUTE,
        layout,
        0,
        count,
        list,
        0,
        0n,
      ),
    destroy: () => drawing.vkDestroyDescriptorPool(device.handle, pool, 0n),
  };
}
