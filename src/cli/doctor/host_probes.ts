/**
 * The probes of `doctor` on the real machine.
 *
 * @module
 */
import { findSpirvTools, openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { inspectShaderCache } from "../../driver/shader_cache/inspect.ts";
import { shaderCacheFolder } from "../../driver/shader_cache/open_cache.ts";
import { chooseDevice } from "../../gpu/choose_device.ts";
import { describeDevices } from "../../gpu/device.ts";
import { createInstance, listLayers, loaderVersion } from "../../gpu/instance.ts";
import { removeValidationLog } from "../../gpu/validation.ts";
import { cacheFolder } from "../../storage/cache_folder.ts";
import type { Probes } from "./diagnose.ts";
import { probeIsolates } from "./isolate_probe.ts";
import { readLimits } from "./limits.ts";

/** Asks this machine. */
export const HOST_PROBES: Probes = {
  platform: () => ({ arch: Deno.build.arch, os: Deno.build.os }),
  loader: loaderVersion,
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
  layers: listLayers,
  spirvTools() {
    const { version } = openSpirvTools();
    return { path: Deno.realPathSync(findSpirvTools()!), version };
  },
  isolates: probeIsolates,
  limits: () => readLimits(readText),
  cacheFolder,
  shaderCache() {
    const folder = shaderCacheFolder();
    return folder === undefined ? undefined : inspectShaderCache(folder);
  },
};

function readText(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return undefined; // the kernel has no such thing, or does not say
  }
}
