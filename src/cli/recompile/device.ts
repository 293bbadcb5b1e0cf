/**
 * The device that `recompile` compiles for: the machine's own, or a generic one that needs no Vulkan.
 *
 * @module
 */
import { HostError } from "../../errors.ts";
import { GpuDevice } from "../../gpu/device.ts";
import { probeDevice } from "../../gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../gpu/recompiler_device.ts";
import { GENERIC_DEVICE } from "../../recompiler/generic_device.ts";
import type { RecompilerDevice } from "../../recompiler/request.ts";

/** A name and what the recompiler needs to know. */
export interface NamedDevice {
  name: string;
  device: RecompilerDevice;
}

const GENERIC: NamedDevice = { name: "generic", device: GENERIC_DEVICE };

/** The device called `name` (`generic`, or as for `run`); without a name the machine's, or the generic one where there is no Vulkan. */
export function deviceFor(name: string | undefined): NamedDevice {
  if (name === GENERIC.name) return GENERIC;
  let gpu: GpuDevice;
  try {
    gpu = GpuDevice.create({ device: name });
  } catch (error) {
    if (name === undefined && error instanceof HostError) return GENERIC;
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
