/**
 * Where RADV puts descriptors in a set: by binding number, each aligned. Sizes and alignments are facts of Mesa 22.3.6
 * (radv_CreateDescriptorSetLayout) for sets without immutable samplers.
 *
 * @module
 */
import * as vk from "../../../ffi/vulkan/mod.ts";
import type { Binding, DescriptorType } from "../spirv/reflect.ts";

/** One type of descriptor. */
interface Kind {
  /** VkDescriptorType. */
  readonly vulkan: number;
  /** Bytes of a descriptor. */
  readonly bytes: number;
  readonly alignment: number;
}

/** Every type. An image that is sampled has two descriptors, the second for compressed multisampling; a combined one ends with the sampler. */
export const KINDS: Readonly<Record<DescriptorType, Kind>> = {
  sampler: { vulkan: vk.VK_DESCRIPTOR_TYPE_SAMPLER, bytes: 16, alignment: 16 },
  combined_image_sampler: { vulkan: vk.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, bytes: 96, alignment: 32 },
  sampled_image: { vulkan: vk.VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, bytes: 64, alignment: 32 },
  storage_image: { vulkan: vk.VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, bytes: 32, alignment: 32 },
  uniform_texel_buffer: { vulkan: vk.VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, bytes: 16, alignment: 16 },
  storage_texel_buffer: { vulkan: vk.VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, bytes: 16, alignment: 16 },
  uniform_buffer: { vulkan: vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, bytes: 16, alignment: 16 },
  storage_buffer: { vulkan: vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, bytes: 16, alignment: 16 },
};

/** Byte offset, in a sampled image's or a combined descriptor, of the second image descriptor and of the sampler. */
export const SECOND_IMAGE_OFFSET = 32, SAMPLER_OFFSET = 80;

/** A binding and its place. */
export interface PlacedBinding extends Binding {
  /** Byte offset of the first descriptor in its set. */
  readonly offset: number;
  /** Bytes from one element to the next. */
  readonly stride: number;
}

/** Gives every binding its place; the input is in order of set and binding number. */
export function placeBindings(bindings: readonly Binding[]): PlacedBinding[] {
  const ends = new Map<number, number>();
  return bindings.map((binding) => {
    const { bytes, alignment } = KINDS[binding.type];
    const offset = Math.ceil((ends.get(binding.set) ?? 0) / alignment) * alignment;
    ends.set(binding.set, offset + binding.count * bytes);
    return { ...binding, offset, stride: bytes };
  });
}
