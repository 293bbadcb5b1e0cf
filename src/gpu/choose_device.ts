import { switchValue } from "../switches.ts";
import type { DeviceCapabilities, PhysicalDevice } from "./capabilities.ts";
import { noDevice, requiredApiVersion, versionText } from "./instance.ts";

/** A physical device in the list of `doctor`. */
export interface DeviceSummary {
  /** What it can do. */
  readonly capabilities: DeviceCapabilities;
  /** Whether AnyAGC can run on it. */
  readonly usable: boolean;
  /** Why not, one sentence each. */
  readonly problems: readonly string[];
}

/** Why AnyAGC cannot run on a device; empty when it can. */
export function problemsOf(capabilities: DeviceCapabilities): string[] {
  const problems: string[] = [];
  const [major, minor] = capabilities.apiVersion.split(".").map(Number);
  if (major < 1 || (major === 1 && minor < 3)) {
    problems.push(`it supports Vulkan ${capabilities.apiVersion}; ${versionText(requiredApiVersion)} is needed`);
  }
  for (const feature of capabilities.missingFeatures) problems.push(`it lacks the feature ${feature}`);
  if (capabilities.queueCount === 0) problems.push("it has no queue for compute work");
  if (capabilities.limits.pushConstants < pushConstantBytes) {
    problems.push(`it has fewer than ${pushConstantBytes} bytes of push constants`);
  }
  return problems;
}

/** Bytes of push constants that every pipeline layout has; Vulkan guarantees this many. */
export const pushConstantBytes = 128;

const preference: readonly DeviceCapabilities["type"][] = ["discrete", "integrated", "virtual", "other", "software"];

/**
 * Chooses a device: those whose name contains `filter` (`cpu` chooses software devices by type), then the usable ones, then by type, discrete GPUs first.
 *
 * @param devices all devices
 * @param filter text, in any case; ANYPS5_GPU when left out
 * @throws {HostError} `host.no-vulkan-device`, which lists what there is
 */
export function chooseDevice(devices: readonly PhysicalDevice[], filter = switchValue("ANYPS5_GPU")): PhysicalDevice {
  if (devices.length === 0) throw noDevice("there is no Vulkan device");
  const wanted = filter?.toLowerCase();
  const matching = devices.filter(({ capabilities }) =>
    wanted === undefined ||
    (wanted === "cpu" ? capabilities.type === "software" : capabilities.name.toLowerCase().includes(wanted))
  );
  const names = devices.map(({ capabilities }) => `"${capabilities.name}"`).join(", ");
  if (matching.length === 0) throw noDevice(`no Vulkan device matches "${filter}" (there is ${names})`);
  const usable = matching.filter(({ capabilities }) => problemsOf(capabilities).length === 0);
  if (usable.length === 0) {
    const reasons = matching.map(({ capabilities }) => `"${capabilities.name}": ${problemsOf(capabilities).join(", ")}`)
      .join("; ");
    throw noDevice(`no Vulkan device can be used (${reasons})`);
  }
  const rank = (device: PhysicalDevice) => preference.indexOf(device.capabilities.type);
  return usable.reduce((best, device) => rank(device) < rank(best) ? device : best);
}
