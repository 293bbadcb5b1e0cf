/** Which device the options and the machine ask for. Loads nothing of the devices themselves. */
import { HostError } from "../errors.ts";
import type { DeviceOptions } from "../gpu/device.ts";
import { switchValue } from "../switches.ts";
import type { OpenOptions } from "./device.ts";

/** Name that asks for the reference interpreter. */
const INTERPRETER = "software";
/** Queues of the device for guest queues that run at the same time, where it has so many. */
const DEVICE_QUEUES = 8;
/** Errors that say that this machine has no Vulkan to run on. */
const NO_VULKAN = ["host.no-vulkan-device", "host.library-missing"];

/** How the Vulkan device is created; undefined when the interpreter is asked for. @param queues VkQueues, where it has so many */
export function vulkanOptions(options: OpenOptions, queues: number = DEVICE_QUEUES): DeviceOptions | undefined {
  const name = options.name ?? switchValue("ANYPS5_GPU");
  if (name?.toLowerCase() === INTERPRETER) return undefined;
  return { device: name, validation: options.validation, queues };
}

/** Why it is the interpreter, when creating a device that nobody asked for failed because there is none; any other error is thrown. */
export function withoutVulkan(error: unknown, { device, validation }: DeviceOptions): string {
  if (device === undefined && validation !== true && error instanceof HostError && NO_VULKAN.includes(error.code)) {
    return error.message;
  }
  throw error;
}
