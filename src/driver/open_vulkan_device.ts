import { HostError } from "../errors.ts";
import { GpuDevice } from "../gpu/device.ts";
import { switchValue } from "../switches.ts";
import type { OpenOptions, WrappableDevice } from "./device.ts";
import { VulkanDevice } from "./vulkan/vulkan_device.ts";

/** Name that asks for the reference interpreter. */
const INTERPRETER = "software";
/** Queues of the device for guest queues that run at the same time, where it has so many. */
const DEVICE_QUEUES = 8;
/** Errors that say that this machine has no Vulkan to run on. */
const NO_VULKAN = ["host.no-vulkan-device", "host.library-missing"];

/**
 * The Vulkan device that the options and the machine ask for; without one it is to be the reference interpreter, `note` saying why if nobody asked for
 * that.
 *
 * @throws HostError saying what is missing and how to get it, when a device was asked for by name and is not there.
 */
export function openVulkanDevice(options: OpenOptions): { device?: WrappableDevice; note?: string } {
  const name = options.name ?? switchValue("ANYPS5_GPU");
  if (name?.toLowerCase() === INTERPRETER) return {};
  try {
    const gpu = GpuDevice.create({ device: name, validation: options.validation, queues: DEVICE_QUEUES });
    return { device: new VulkanDevice(gpu, options.memory ?? "automatic") };
  } catch (error) {
    const lastResort = name === undefined && options.validation !== true;
    if (lastResort && error instanceof HostError && NO_VULKAN.includes(error.code)) return { note: error.message };
    throw error;
  }
}

/** `openWrappableDevice` of device.ts for a launcher: the interpreter, which takes a while to load, is loaded only if it is the device. */
export async function openDeviceQuickly(options: OpenOptions): Promise<WrappableDevice> {
  const { device, note } = openVulkanDevice(options);
  if (device !== undefined) return device;
  const { SoftwareDevice } = await import("./software/software_device.ts");
  return new SoftwareDevice(note);
}
