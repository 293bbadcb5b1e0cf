import { GpuDevice } from "../gpu/device.ts";
import type { OpenOptions, WrappableDevice } from "./device.ts";
import { vulkanOptions, withoutVulkan } from "./device_choice.ts";
import { VulkanDevice } from "./vulkan/vulkan_device.ts";

/**
 * The Vulkan device that the options and the machine ask for; without one it is to be the reference interpreter, `note` saying why if nobody asked for
 * that.
 *
 * @throws HostError saying what is missing and how to get it, when a device was asked for by name and is not there.
 */
export function openVulkanDevice(options: OpenOptions): { device?: WrappableDevice; note?: string } {
  const wanted = vulkanOptions(options);
  if (wanted === undefined) return {};
  try {
    return { device: new VulkanDevice(GpuDevice.create(wanted), options.memory ?? "automatic") };
  } catch (error) {
    return { note: withoutVulkan(error, wanted) };
  }
}
