import * as vk from "../../../ffi/vulkan/mod.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";

/** Filter and address mode. */
export type OracleSampler = "nearest-clamp" | "linear-clamp" | "nearest-repeat" | "linear-repeat";

/** Creates a VkSampler. */
export function createSampler(device: GpuDevice, sampler: OracleSampler): bigint {
  const filter = sampler.startsWith("nearest") ? vk.VK_FILTER_NEAREST : vk.VK_FILTER_LINEAR;
  const address = sampler.endsWith("clamp")
    ? vk.VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE
    : vk.VK_SAMPLER_ADDRESS_MODE_REPEAT;
  const { scratch } = device;
  return scratch.scope(() => {
    const out = scratch.allocate(8);
    const info = vk.VkSamplerCreateInfo.make(scratch, {
      magFilter: filter,
      minFilter: filter,
      mipmapMode: vk.VK_SAMPLER_MIPMAP_MODE_NEAREST,
      addressModeU: address,
      addressModeV: address,
      addressModeW: address,
      mipLodBias: 0,
      maxAnisotropy: 1,
      minLod: 0,
      maxLod: 0,
    });
    vk.openVulkanDrawing().vkCreateSampler(device.handle, info, 0n, scratch.address(out));
    return scratch.getU64(out);
  });
}
