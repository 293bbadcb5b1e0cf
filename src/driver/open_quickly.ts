/** `openWrappableDevice` of device.ts for a launcher. */
import { GpuDevice } from "../gpu/device.ts";
import type { OpenOptions, WrappableDevice } from "./device.ts";
import { vulkanOptions, withoutVulkan } from "./device_choice.ts";

/** Options of {@linkcode openDeviceQuickly}. */
export interface QuickOptions extends OpenOptions {
  /** VkQueues that will be used at most: with each of them some drivers take longer. */
  readonly queues?: number;
  /** Resolves when the drivers are loaded, where somebody loads them meanwhile (ffi/vulkan/preload.ts). */
  readonly drivers?: Promise<void>;
}

/**
 * Opens a device. The driver creates it on another thread, while the modules that use it are loaded here: both take some hundred milliseconds. The
 * interpreter, which takes a while to load, is loaded only if it is the device.
 *
 * @throws HostError (rejects) as `openWrappableDevice`
 */
export async function openDeviceQuickly(options: QuickOptions): Promise<WrappableDevice> {
  const wanted = vulkanOptions(options, options.queues);
  let note: string | undefined;
  if (wanted !== undefined) {
    const loading = import("./vulkan/vulkan_device.ts");
    loading.catch(() => {}); // it is looked at below
    let gpu: GpuDevice | undefined;
    try {
      await options.drivers;
      gpu = await GpuDevice.createAsync(wanted);
    } catch (error) {
      note = withoutVulkan(error, wanted);
    }
    if (gpu !== undefined) {
      const { VulkanDevice } = await loading;
      return new VulkanDevice(gpu, options.memory ?? "automatic");
    }
  }
  const { SoftwareDevice } = await import("./software/software_device.ts");
  return new SoftwareDevice(note);
}
