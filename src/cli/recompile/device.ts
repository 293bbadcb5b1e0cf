/**
 * The device that `recompile` compiles for: the machine's own, or a generic one that needs no Vulkan.
 *
 * @module
 */
import { HostError } from "../../errors.ts";
import { GpuDevice } from "../../gpu/device.ts";
import { probeDevice } from "../../gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../gpu/recompiler_device.ts";
import { GENERIC_DEVICE as GENERIC } from "../../recompiler/generic_device.ts";
import type { RecompilerDevice } from "../../recompiler/request.ts";

/** A name and what the recompiler needs to know. */
export interface NamedDevice {
  name: string;
  device: RecompilerDevice;
}

/** A desktop GPU with 32 lanes that has what the recompiler can use. */
export const GENERIC_DEVICE: NamedDevice = {
  name: "generic",
  device: GENERIC,
};

/** The device called `name` (`generic`, or as for `run`); without a name the machine's, or the generic one where there is no Vulkan. */
export function deviceFor(name: string | undefined): NamedDevice {
  if (name === GENERIC_DEVICE.name) return GENERIC_DEVICE;
  let gpu: GpuDevice;
  try {
    gpu = GpuDevice.create({ device: name });
  } catch (error) {
    if (name === undefined && error instanceof HostError) return GENERIC_DEVICE;
    throw error;
  }
  try {
    const { float, endsLoops } = probeDevice(gpu);
    return {
      name: gpu.capabilities.name,
      device: recompilerDevice(gpu.capabilities, float, endsLoops),
    };
  } finally {
    gpu.destroy();
  }
}
