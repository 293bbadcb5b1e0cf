/**
 * What the chosen device lacks, and what of a guest program does not run for it.
 *
 * @module
 */
import type { DeviceCapabilities } from "../../gpu/capabilities.ts";
import type { LimitCheck } from "./limits.ts";
import { bytesText } from "./units.ts";

/** LDS of a workgroup on the console ("AMD RDNA2 ISA", section 2.2: 64 KiB for a workgroup in CU mode). */
const GUEST_LDS_BYTES = 64 * 1024;
/** Threads of a workgroup: "AMD RDNA2 ISA", section 2.2. */
const GUEST_WORKGROUP_THREADS = 1024;

/** Lines for everything that is missing; none for a device that has it all. */
export function checkDevice(device: DeviceCapabilities): LimitCheck[] {
  const { limits, features, subgroup: { operations }, floatControls: { f32 }, name } = device;
  const lacks: LimitCheck[] = [];
  const lack = (what: string, text: string) => lacks.push({ name: what, state: "warning", text: `"${name}" ${text}` });
  if (device.type === "software") {
    lack("device speed", "runs on the CPU. For a GPU, install its Vulkan driver, and see `vulkaninfo --summary`");
  }
  if (limits.hostImportAlignment === 0) {
    lack("memory", "cannot import host memory (VK_EXT_external_memory_host): guest memory is mirrored");
  }
  if (limits.computeSharedMemory < GUEST_LDS_BYTES) {
    const has = bytesText(limits.computeSharedMemory);
    lack("LDS", `has ${has} of shared memory: workgroups that use more of their 64 KiB of LDS are refused`);
  }
  if (limits.workgroupInvocations < GUEST_WORKGROUP_THREADS) {
    lack("workgroups", `allows ${limits.workgroupInvocations} threads: larger workgroups are refused`);
  }
  const types = (["shaderInt8", "shaderInt16", "shaderFloat16", "shaderFloat64"] as const)
    .filter((feature) => !features.includes(feature)).map((feature) => feature.slice(6).toLowerCase());
  if (types.length > 0) {
    lack("types", `has no ${types.join(", ")}: those instructions are emulated, or refused where that is not exact`);
  }
  if (!f32.signedZeroInfNanPreserve) {
    lack(
      "float modes",
      "does not promise to keep signed zeros, infinities and NaN: results may differ from the console's",
    );
  }
  const exchanges = (["ballot", "shuffle", "vote"] as const).filter((operation) => !operations[operation]);
  if (exchanges.length > 0) {
    lack("subgroups", `has no subgroup ${exchanges.join(", ")}: lanes exchange through shared memory instead`);
  }
  return lacks;
}
