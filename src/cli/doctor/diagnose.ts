/**
 * What this machine can do for AnyAGC and what it lacks, each lack with its fix.
 *
 * @module
 */
import { AnyAgcError } from "../../errors.ts";
import type { DeviceCapabilities } from "../../gpu/capabilities.ts";
import type { DeviceSummary } from "../../gpu/choose_device.ts";
import type { CacheInspection } from "../../driver/shader_cache/inspect.ts";
import { checkDevice } from "./device_checks.ts";
import { checkLimits, type HostLimits } from "./limits.ts";
import { bytesText } from "./units.ts";

/** Asks the machine. Tests give their own answers. */
export interface Probes {
  /** For example `x86_64 linux`. */
  platform(): { arch: string; os: string };
  /** Version of the Vulkan loader. @throws HostError without one */
  loader(): string;
  /** All devices. @throws HostError without a loader or a driver */
  devices(): DeviceSummary[];
  /** Index of the device that a run would take. @throws HostError when none fits */
  choose(devices: readonly DeviceSummary[]): number;
  /** Loads the validation layer once. @throws HostError without it */
  validationLayer(): void;
  /** Names of all layers that the loader knows. */
  layers(): string[];
  /** Loads SPIRV-Tools. @returns its path and version @throws HostError without it */
  spirvTools(): { path: string; version: string };
  /** Starts a worker. @returns the threads of both isolates @throws HostError when it does not run */
  isolates(): Promise<{ main: number; worker: number }>;
  /** Limits of control groups and of the process. */
  limits(): HostLimits;
  /** Folder for caches; undefined when none can be used. */
  cacheFolder(): string | undefined;
  /** What earlier runs left of recompiled shaders; undefined when nothing is kept, or nothing is there. */
  shaderCache(): CacheInspection | undefined;
}

/** One line of the diagnosis. */
export interface Check {
  name: string;
  /** `problem`: programs cannot run. `warning`: something that is not needed for every run is missing. */
  state: "ok" | "warning" | "problem";
  text: string;
}

/** A device as `doctor` shows it. */
export interface DiagnosedDevice extends DeviceSummary {
  /** A run would take it. */
  chosen: boolean;
}

/** The whole diagnosis. */
export interface Diagnosis {
  /** No problems. */
  ok: boolean;
  checks: Check[];
  devices: DiagnosedDevice[];
}

/** Makes the diagnosis. Every failure becomes a check: one missing thing does not hide the next. */
export async function diagnose(probes: Probes): Promise<Diagnosis> {
  const checks: Check[] = [];
  const check = async <T>(
    name: string,
    lack: "warning" | "problem",
    probe: () => [T, string] | Promise<[T, string]>,
  ): Promise<T | undefined> => {
    try {
      const [value, text] = await probe();
      checks.push({ name, state: "ok", text });
      return value;
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      checks.push({ name, state: lack, text: error.message });
    }
  };

  const { arch, os } = probes.platform();
  const fits = arch === "x86_64" && os === "linux";
  checks.push({
    name: "platform",
    state: fits ? "ok" : "problem",
    text: fits ? `${arch} ${os}` : `${arch} ${os}: native calls are supported on x86-64 Linux only`,
  });
  await check("isolates", "problem", async () => {
    const { main, worker } = await probes.isolates();
    return [worker, `workers run on threads of their own (${main}, ${worker}) and share memory`];
  });
  await check("loader", "problem", () => {
    const version = probes.loader();
    return [version, `libvulkan.so.1, Vulkan ${version}`];
  });
  const summaries = await check("Vulkan", "problem", () => {
    const list = probes.devices();
    return [list, `${list.length} device${list.length === 1 ? "" : "s"}`];
  }) ?? [];
  let chosen = -1;
  if (summaries.length > 0) {
    chosen = await check("device", "problem", () => {
      const index = probes.choose(summaries);
      return [index, `runs would use "${summaries[index].capabilities.name}"`];
    }) ?? -1;
    if (chosen >= 0) checks.push(...checkDevice(summaries[chosen].capabilities));
  }
  await check("layers", "warning", () => {
    const layers = probes.layers();
    return [layers, layers.length === 0 ? "none" : layers.join(", ")];
  });
  await check("validation layer", "warning", () => [probes.validationLayer(), "VK_LAYER_KHRONOS_validation loads"]);
  await check("SPIRV-Tools", "warning", () => {
    const { path, version } = probes.spirvTools();
    return [path, `${version} (${path})`];
  });
  checks.push(...checkLimits(probes.limits(), isGpu(summaries[chosen]?.capabilities)));
  const cache = probes.cacheFolder();
  checks.push(
    cache === undefined
      ? {
        name: "cache",
        state: "warning",
        text: "no folder can be used, so starts are slower: name one that is yours alone, ANYAGC_CACHE_DIR=FOLDER",
      }
      : { name: "cache", state: "ok", text: cache },
  );
  const shaders = probes.shaderCache();
  if (shaders !== undefined) checks.push(shaderCacheCheck(shaders));
  return {
    ok: checks.every((c) => c.state !== "problem"),
    checks,
    devices: summaries.map((summary, index) => ({ ...summary, chosen: index === chosen })),
  };
}

/** What is damaged is recompiled, and written anew by the run that needs it. */
function shaderCacheCheck({ folder, entries, otherVersions, damaged, bytes }: CacheInspection): Check {
  const others = otherVersions === 0 ? "" : `, ${otherVersions} of other versions`;
  const text = `${entries} recompiled shader${entries === 1 ? "" : "s"}${others}, ${bytesText(bytes)} in ${folder}`;
  if (damaged.length === 0) return { name: "shader cache", state: "ok", text };
  const files = damaged.slice(0, 3).join(", ") + (damaged.length > 3 ? ", ..." : "");
  return {
    name: "shader cache",
    state: "warning",
    text: `${text}; ${damaged.length} damaged, which will be made again: ${files}`,
  };
}

/** Its driver pins guest memory. */
function isGpu(device: DeviceCapabilities | undefined): boolean {
  return device !== undefined && device.type !== "software";
}

/** The properties of a device that decide what runs on it and how: rows of name and value. */
export function deviceRows(c: DeviceCapabilities): [string, string][] {
  const { subgroup, limits, floatControls: { f32 } } = c;
  const modes = [
    f32.denormPreserve && "keep denormals",
    f32.denormFlushToZero && "flush denormals",
    f32.roundToNearestEven && "round to nearest even",
    f32.roundTowardZero && "round toward zero",
    f32.signedZeroInfNanPreserve && "keep signed zero, infinity, NaN",
  ].filter((mode) => mode !== false);
  const widths = (["shaderInt8", "shaderInt16", "shaderFloat16", "shaderFloat64"] as const)
    .filter((feature) => c.features.includes(feature)).map((feature) => feature.slice(6).toLowerCase());
  const sizes = subgroup.minimumSize === subgroup.maximumSize
    ? `${subgroup.size}`
    : `${subgroup.size} (${subgroup.minimumSize} to ${subgroup.maximumSize})`;
  return [
    ["kind", c.type],
    ["driver", `${c.driver.name} ${c.driver.info}`.trim()],
    ["Vulkan", c.apiVersion],
    ["lanes per subgroup", sizes],
    ["f32 modes", modes.join(", ") || "none"],
    ["optional types", widths.join(", ") || "none"],
    ["workgroup", `${limits.workgroupInvocations} threads, ${bytesText(limits.computeSharedMemory)} of shared memory`],
    ["largest allocation", bytesText(limits.memoryAllocation)],
    ["host memory", limits.hostImportAlignment > 0 ? "imported in place" : "mirrored"],
  ];
}
