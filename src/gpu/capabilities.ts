import { Arena } from "../../ffi/arena.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import { type Extension, type Feature, optionalExtensions, queryFeatures } from "./features.ts";
import { enumerate, requiredApiVersion, versionText } from "./instance.ts";

/** What a Vulkan device is and can do, as plain data (it survives structuredClone, and JSON but for nothing). Sizes are in bytes. */
export interface DeviceCapabilities {
  /** Name, as Vulkan gives it. */
  readonly name: string;
  /** Kind of device. */
  readonly type: "discrete" | "integrated" | "virtual" | "software" | "other";
  /** PCI vendor, or a Khronos vendor number. */
  readonly vendorId: number;
  /** Device number of the vendor. */
  readonly deviceId: number;
  /** For example 1.3.230. */
  readonly apiVersion: string;
  /** The driver. */
  readonly driver: {
    readonly name: string;
    readonly info: string;
    /** Driver's own version number. */
    readonly version: number;
    /** Hexadecimal. Device and driver together identify what a pipeline cache is good for. */
    readonly uuid: string;
  };
  /** Hexadecimal; the same in every process. */
  readonly deviceUuid: string;
  /** Hexadecimal; the header of pipeline cache data holds it. */
  readonly pipelineCacheUuid: string;
  /** Features of those that AnyAGC uses which the device has; a created device has them enabled. */
  readonly features: readonly Feature[];
  /** Required features that the device lacks: empty for a usable one. */
  readonly missingFeatures: readonly Feature[];
  /** Extensions of those that AnyAGC uses which the device has; a created device has them enabled. */
  readonly extensions: readonly Extension[];
  /** Subgroups. */
  readonly subgroup: {
    /** Lanes of a subgroup where nothing else is asked for. */
    readonly size: number;
    /** Sizes that a pipeline may require (powers of two from minimum to maximum), where `canRequireSize`. */
    readonly minimumSize: number;
    readonly maximumSize: number;
    /** A compute pipeline may require one of these sizes. */
    readonly canRequireSize: boolean;
    /** A compute pipeline may ask for full subgroups. */
    readonly canRequireFull: boolean;
    /** Subgroups per workgroup, for pipelines with a required size. */
    readonly maximumPerWorkgroup: number;
    /** Graphics stages that have the operations, too. */
    readonly stages: { readonly fragment: boolean; readonly vertex: boolean };
    /** Operations in compute shaders. */
    readonly operations: {
      readonly basic: boolean;
      readonly vote: boolean;
      readonly arithmetic: boolean;
      readonly ballot: boolean;
      readonly shuffle: boolean;
      readonly shuffleRelative: boolean;
      readonly clustered: boolean;
      readonly quad: boolean;
    };
  };
  /** Which float-control execution modes shaders may declare, by width. */
  readonly floatControls: { readonly f16: FloatControls; readonly f32: FloatControls; readonly f64: FloatControls };
  /** Whether modes of different widths may differ. */
  readonly denormBehaviorIndependence: "none" | "32 bit only" | "all";
  /** The same for rounding modes. */
  readonly roundingModeIndependence: "none" | "32 bit only" | "all";
  /** Limits. */
  readonly limits: {
    readonly computeSharedMemory: number;
    readonly workgroupInvocations: number;
    readonly workgroupSize: readonly [number, number, number];
    readonly workgroupCount: readonly [number, number, number];
    readonly pushConstants: number;
    /** Largest single allocation, and largest import of host memory. */
    readonly memoryAllocation: number;
    readonly bufferSize: number;
    /** Alignment of address and size of host memory to import; 0 when it cannot be imported. */
    readonly hostImportAlignment: number;
    /** Nanoseconds per timestamp tick. */
    readonly timestampPeriod: number;
    /** Valid bits of a timestamp on the used queue family; 0 when it has none. */
    readonly timestampBits: number;
  };
  /** Queue family that does graphics and compute (or compute only), and its number of queues. */
  readonly queueFamily: number;
  /** Number of queues of the family. */
  readonly queueCount: number;
}

/** Float-control execution modes of one width. Without a mode the device may do as it likes; see the Vulkan specification, "Float Controls". */
export interface FloatControls {
  /** Execution mode SignedZeroInfNanPreserve may be declared. */
  readonly signedZeroInfNanPreserve: boolean;
  /** Execution mode DenormPreserve may be declared. */
  readonly denormPreserve: boolean;
  /** Execution mode DenormFlushToZero may be declared. */
  readonly denormFlushToZero: boolean;
  /** Execution mode RoundingModeRTE may be declared. */
  readonly roundToNearestEven: boolean;
  /** Execution mode RoundingModeRTZ may be declared. */
  readonly roundTowardZero: boolean;
}

/** A physical device of an instance. */
export interface PhysicalDevice {
  /** VkPhysicalDevice. */
  readonly handle: bigint;
  /** What it can do. */
  readonly capabilities: DeviceCapabilities;
}

/** All physical devices, in the loader's order, usable or not. */
export function listPhysicalDevices(vulkan: vk.CoreCommands, instance: bigint): PhysicalDevice[] {
  const arena = new Arena(256 * 1024);
  const handles = enumerate(
    arena,
    (count, elements) => vulkan.vkEnumeratePhysicalDevices(instance, count, elements),
    (count) => arena.allocate(8 * count),
    (offset, count) => Array.from({ length: count }, (_, i) => arena.getU64(offset + 8 * i)),
  );
  return handles.map((handle) => ({
    handle,
    capabilities: arena.scope(() => queryCapabilities(vulkan, arena, handle)),
  }));
}

function queryCapabilities(vulkan: vk.CoreCommands, arena: Arena, handle: bigint): DeviceCapabilities {
  const extensions = enumerate(
    arena,
    (count, elements) => vulkan.vkEnumerateDeviceExtensionProperties(handle, 0n, count, elements),
    (count) => vk.VkExtensionProperties.allocateArray(arena, count),
    (offset, count) => vk.VkExtensionProperties.readArray(arena, offset, count),
  ).map((one) => one.extensionName);
  const present = optionalExtensions.filter((name) => extensions.includes(name));

  const hostImport = vk.VkPhysicalDeviceExternalMemoryHostPropertiesEXT.allocate(arena);
  const canImport = present.includes("VK_EXT_external_memory_host");
  const p13 = vk.VkPhysicalDeviceVulkan13Properties.allocate(arena, canImport ? arena.address(hostImport) : 0n);
  const p12 = vk.VkPhysicalDeviceVulkan12Properties.allocate(arena, arena.address(p13));
  const p11 = vk.VkPhysicalDeviceVulkan11Properties.allocate(arena, arena.address(p12));
  const root = vk.VkPhysicalDeviceProperties2.allocate(arena, arena.address(p11));
  vulkan.vkGetPhysicalDeviceProperties2(handle, arena.address(root));
  const { properties } = vk.VkPhysicalDeviceProperties2.read(arena, root);
  const v11 = vk.VkPhysicalDeviceVulkan11Properties.read(arena, p11);
  const v12 = vk.VkPhysicalDeviceVulkan12Properties.read(arena, p12);
  const v13 = vk.VkPhysicalDeviceVulkan13Properties.read(arena, p13);
  const importAlignment =
    vk.VkPhysicalDeviceExternalMemoryHostPropertiesEXT.read(arena, hostImport).minImportedHostPointerAlignment;
  const { limits } = properties;

  // A driver of an older Vulkan does not know the 1.3 feature struct: nothing can be asked of it, and nothing is used.
  const isCurrent = properties.apiVersion >= requiredApiVersion;
  const features = isCurrent ? queryFeatures(vulkan, arena, handle) : { present: [], missing: [] };
  const family = chooseQueueFamily(vulkan, arena, handle);
  const has = (feature: Feature) => features.present.includes(feature);
  const compute = vk.VK_SHADER_STAGE_COMPUTE_BIT;
  const operation = (bit: number) =>
    (v11.subgroupSupportedStages & compute) !== 0 && (v11.subgroupSupportedOperations & bit) !== 0;
  return {
    name: properties.deviceName,
    type: deviceTypes.get(properties.deviceType) ?? "other",
    vendorId: properties.vendorID,
    deviceId: properties.deviceID,
    apiVersion: versionText(properties.apiVersion),
    driver: {
      name: v12.driverName,
      info: v12.driverInfo,
      version: properties.driverVersion,
      uuid: hexadecimal(v11.driverUUID),
    },
    deviceUuid: hexadecimal(v11.deviceUUID),
    pipelineCacheUuid: hexadecimal(properties.pipelineCacheUUID),
    features: features.present,
    missingFeatures: features.missing,
    extensions: present,
    subgroup: {
      size: v11.subgroupSize,
      minimumSize: v13.minSubgroupSize,
      maximumSize: v13.maxSubgroupSize,
      canRequireSize: has("subgroupSizeControl") && (v13.requiredSubgroupSizeStages & compute) !== 0,
      canRequireFull: has("computeFullSubgroups"),
      maximumPerWorkgroup: v13.maxComputeWorkgroupSubgroups,
      stages: {
        fragment: (v11.subgroupSupportedStages & vk.VK_SHADER_STAGE_FRAGMENT_BIT) !== 0,
        vertex: (v11.subgroupSupportedStages & vk.VK_SHADER_STAGE_VERTEX_BIT) !== 0,
      },
      operations: {
        basic: operation(vk.VK_SUBGROUP_FEATURE_BASIC_BIT),
        vote: operation(vk.VK_SUBGROUP_FEATURE_VOTE_BIT),
        arithmetic: operation(vk.VK_SUBGROUP_FEATURE_ARITHMETIC_BIT),
        ballot: operation(vk.VK_SUBGROUP_FEATURE_BALLOT_BIT),
        shuffle: operation(vk.VK_SUBGROUP_FEATURE_SHUFFLE_BIT),
        shuffleRelative: operation(vk.VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT),
        clustered: operation(vk.VK_SUBGROUP_FEATURE_CLUSTERED_BIT),
        quad: operation(vk.VK_SUBGROUP_FEATURE_QUAD_BIT),
      },
    },
    floatControls: {
      f16: {
        signedZeroInfNanPreserve: v12.shaderSignedZeroInfNanPreserveFloat16 !== 0,
        denormPreserve: v12.shaderDenormPreserveFloat16 !== 0,
        denormFlushToZero: v12.shaderDenormFlushToZeroFloat16 !== 0,
        roundToNearestEven: v12.shaderRoundingModeRTEFloat16 !== 0,
        roundTowardZero: v12.shaderRoundingModeRTZFloat16 !== 0,
      },
      f32: {
        signedZeroInfNanPreserve: v12.shaderSignedZeroInfNanPreserveFloat32 !== 0,
        denormPreserve: v12.shaderDenormPreserveFloat32 !== 0,
        denormFlushToZero: v12.shaderDenormFlushToZeroFloat32 !== 0,
        roundToNearestEven: v12.shaderRoundingModeRTEFloat32 !== 0,
        roundTowardZero: v12.shaderRoundingModeRTZFloat32 !== 0,
      },
      f64: {
        signedZeroInfNanPreserve: v12.shaderSignedZeroInfNanPreserveFloat64 !== 0,
        denormPreserve: v12.shaderDenormPreserveFloat64 !== 0,
        denormFlushToZero: v12.shaderDenormFlushToZeroFloat64 !== 0,
        roundToNearestEven: v12.shaderRoundingModeRTEFloat64 !== 0,
        roundTowardZero: v12.shaderRoundingModeRTZFloat64 !== 0,
      },
    },
    denormBehaviorIndependence: independence(v12.denormBehaviorIndependence),
    roundingModeIndependence: independence(v12.roundingModeIndependence),
    limits: {
      computeSharedMemory: limits.maxComputeSharedMemorySize,
      workgroupInvocations: limits.maxComputeWorkGroupInvocations,
      workgroupSize: triple(limits.maxComputeWorkGroupSize),
      workgroupCount: triple(limits.maxComputeWorkGroupCount),
      pushConstants: limits.maxPushConstantsSize,
      memoryAllocation: clampToNumber(v11.maxMemoryAllocationSize),
      bufferSize: clampToNumber(v13.maxBufferSize),
      hostImportAlignment: canImport ? clampToNumber(importAlignment) : 0,
      timestampPeriod: limits.timestampPeriod,
      timestampBits: family.timestampBits,
    },
    queueFamily: family.index,
    queueCount: family.queueCount,
  };
}

/** The first family that does graphics and compute, else the first that does compute. Every Vulkan device has one or the other. */
function chooseQueueFamily(vulkan: vk.CoreCommands, arena: Arena, handle: bigint) {
  const families = enumerate(
    arena,
    (count, elements) => vulkan.vkGetPhysicalDeviceQueueFamilyProperties2(handle, count, elements),
    (count) => vk.VkQueueFamilyProperties2.allocateArray(arena, count),
    (offset, count) => vk.VkQueueFamilyProperties2.readArray(arena, offset, count),
  ).map((one) => one.queueFamilyProperties);
  const both = vk.VK_QUEUE_GRAPHICS_BIT | vk.VK_QUEUE_COMPUTE_BIT;
  const universal = families.findIndex((family) => (family.queueFlags & both) === both);
  const index = universal >= 0
    ? universal
    : families.findIndex((family) => (family.queueFlags & vk.VK_QUEUE_COMPUTE_BIT) !== 0);
  const family = families[index];
  return { index, queueCount: family?.queueCount ?? 0, timestampBits: family?.timestampValidBits ?? 0 };
}

const deviceTypes = new Map<number, DeviceCapabilities["type"]>([
  [vk.VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, "discrete"],
  [vk.VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, "integrated"],
  [vk.VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, "virtual"],
  [vk.VK_PHYSICAL_DEVICE_TYPE_CPU, "software"],
]);

function independence(value: number): "none" | "32 bit only" | "all" {
  if (value === vk.VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL) return "all";
  return value === vk.VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY ? "32 bit only" : "none";
}

function hexadecimal(bytes: readonly number[]): string {
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function triple(values: readonly number[]): [number, number, number] {
  return [values[0], values[1], values[2]];
}

/** Sizes that drivers give as "no limit" (2^64 - 1) become the largest exact number. */
function clampToNumber(value: bigint): number {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}
