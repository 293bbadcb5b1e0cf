import type { Arena } from "../../ffi/arena.ts";
import * as vk from "../../ffi/vulkan/mod.ts";

/** Feature structs of Vulkan 1.3; `v10` is VkPhysicalDeviceFeatures. */
export const structs = {
  v10: vk.VkPhysicalDeviceFeatures,
  v11: vk.VkPhysicalDeviceVulkan11Features,
  v12: vk.VkPhysicalDeviceVulkan12Features,
  v13: vk.VkPhysicalDeviceVulkan13Features,
} as const;

/** Names of the features of one struct. */
export type FeatureName<S extends keyof typeof structs> = Exclude<keyof typeof structs[S]["fields"], "pNext">;

/** A device without these is refused: the recompiler's memory model and the host's synchronization stand on them. */
const required: { readonly [S in keyof typeof structs]: readonly FeatureName<S>[] } = {
  v10: ["shaderInt64"],
  v11: [],
  v12: ["bufferDeviceAddress", "timelineSemaphore"],
  v13: ["synchronization2"],
};

/** Enabled where the device has them. Everything else stays off; robustBufferAccess in particular, which costs time and hides faults. */
const optional: { readonly [S in keyof typeof structs]: readonly FeatureName<S>[] } = {
  v10: [
    "shaderFloat64",
    "shaderInt16",
    // Draws and images.
    "depthBiasClamp",
    "depthClamp",
    "drawIndirectFirstInstance",
    "dualSrcBlend",
    "fillModeNonSolid",
    "fragmentStoresAndAtomics",
    "fullDrawIndexUint32",
    "imageCubeArray",
    "independentBlend",
    "multiDrawIndirect",
    "multiViewport",
    "sampleRateShading",
    "samplerAnisotropy",
    "shaderClipDistance",
    "shaderCullDistance",
    "shaderImageGatherExtended",
    "shaderSampledImageArrayDynamicIndexing",
    "shaderStorageImageArrayDynamicIndexing",
    "shaderStorageImageExtendedFormats",
    "shaderStorageImageMultisample",
    "shaderStorageImageReadWithoutFormat",
    "shaderStorageImageWriteWithoutFormat",
    "textureCompressionBC",
    "vertexPipelineStoresAndAtomics",
  ],
  v11: ["storageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess", "shaderDrawParameters"],
  v12: [
    "descriptorBindingPartiallyBound",
    "descriptorIndexing",
    "hostQueryReset",
    "runtimeDescriptorArray",
    "samplerFilterMinmax",
    "samplerMirrorClampToEdge",
    "scalarBlockLayout",
    "shaderBufferInt64Atomics",
    "shaderFloat16",
    "shaderInt8",
    "shaderOutputLayer",
    "shaderOutputViewportIndex",
    "shaderSampledImageArrayNonUniformIndexing",
    "shaderSharedInt64Atomics",
    "shaderStorageImageArrayNonUniformIndexing",
    "shaderSubgroupExtendedTypes",
    "storageBuffer8BitAccess",
    "uniformAndStorageBuffer8BitAccess",
    "vulkanMemoryModel",
    "vulkanMemoryModelDeviceScope",
  ],
  v13: [
    "computeFullSubgroups",
    "dynamicRendering",
    "maintenance4",
    "pipelineCreationCacheControl",
    "shaderDemoteToHelperInvocation",
    "shaderZeroInitializeWorkgroupMemory",
    "subgroupSizeControl",
  ],
};

/** Names of all features that AnyAGC knows how to use. */
export type Feature = { [S in keyof typeof structs]: FeatureName<S> }[keyof typeof structs];

/** Extensions that are enabled where the device has them. */
export const optionalExtensions = [
  "VK_EXT_external_memory_host",
  "VK_KHR_pipeline_library",
  "VK_EXT_graphics_pipeline_library",
  "VK_EXT_memory_budget",
  "VK_EXT_shader_stencil_export",
  "VK_KHR_fragment_shader_barycentric",
  "VK_KHR_swapchain",
] as const;

/** Name of an extension in {@linkcode optionalExtensions}. */
export type Extension = typeof optionalExtensions[number];

/** What a device offers of the features that AnyAGC uses. */
export interface FeatureSupport {
  /** Features that it has, sorted. */
  readonly present: readonly Feature[];
  /** Required features that it lacks. */
  readonly missing: readonly Feature[];
}

/** Asks a physical device which features it has. */
export function queryFeatures(vulkan: vk.CoreCommands, arena: Arena, physicalDevice: bigint): FeatureSupport {
  return arena.scope(() => {
    const v13 = structs.v13.allocate(arena);
    const v12 = structs.v12.allocate(arena, arena.address(v13));
    const v11 = structs.v11.allocate(arena, arena.address(v12));
    const root = vk.VkPhysicalDeviceFeatures2.allocate(arena, arena.address(v11));
    vulkan.vkGetPhysicalDeviceFeatures2(physicalDevice, arena.address(root));
    const offsets = { v10: root + vk.VkPhysicalDeviceFeatures2.fields.features.at, v11, v12, v13 };
    const has = (version: keyof typeof structs, name: string) => {
      const fields = structs[version].fields as Record<string, { at: number }>;
      return arena.getU32(offsets[version] + fields[name].at) !== 0;
    };
    const present: Feature[] = [], missing: Feature[] = [];
    for (const version of ["v10", "v11", "v12", "v13"] as const) {
      for (const name of required[version] as readonly Feature[]) (has(version, name) ? present : missing).push(name);
      for (const name of optional[version] as readonly Feature[]) if (has(version, name)) present.push(name);
    }
    return { present: present.sort(), missing };
  });
}

/** Writes the feature chain for vkCreateDevice that enables exactly `features`; returns the address of its VkPhysicalDeviceFeatures2. */
export function enableFeatures(arena: Arena, features: readonly Feature[], pNext = 0n): bigint {
  const chosen = (version: keyof typeof structs) => {
    const names = [...required[version], ...optional[version]] as readonly Feature[];
    return Object.fromEntries(names.filter((name) => features.includes(name)).map((name) => [name, 1]));
  };
  const v13 = structs.v13.make(arena, { ...chosen("v13"), pNext });
  const v12 = structs.v12.make(arena, { ...chosen("v12"), pNext: v13 });
  const v11 = structs.v11.make(arena, { ...chosen("v11"), pNext: v12 });
  return vk.VkPhysicalDeviceFeatures2.make(arena, { pNext: v11, features: chosen("v10") });
}
