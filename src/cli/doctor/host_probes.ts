/**
 * The probes of `doctor` on the real machine.
 *
 * @module
 */
import { findSpirvTools, openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { chooseDevice } from "../../gpu/choose_device.ts";
import { describeDevices } from "../../gpu/device.ts";
import { createInstance } from "../../gpu/instance.ts";
import { removeValidationLog } from "../../gpu/validation.ts";
import type { Probes } from "./diagnose.ts";

/** Asks this machine. */
export const HOST_PROBES: Probes = {
  platform: () => ({ arch: Deno.build.arch, os: Deno.build.os }),
  devices: describeDevices,
  choose(devices) {
    const handles = devices.map(({ capabilities }, index) => ({ handle: BigInt(index), capabilities }));
    return Number(chooseDevice(handles).handle);
  },
  validationLayer() {
    try {
      createInstance({ validation: true }).destroy();
    } finally {
      removeValidationLog();
    }
  },
  spirvTools() {
    const { version } = openSpirvTools();
    return { path: Deno.realPathSync(findSpirvTools()!), version };
  },
};
