import { Arena } from "../../ffi/arena.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import { type DeviceCapabilities, listPhysicalDevices } from "./capabilities.ts";
import { chooseDevice, type DeviceSummary, problemsOf } from "./choose_device.ts";
import { enableFeatures, type Extension } from "./features.ts";
import { createInstance, type Instance, type InstanceOptions } from "./instance.ts";
import { MemoryTypes } from "./memory_types.ts";

/** Options of {@linkcode GpuDevice.create}. */
export interface DeviceOptions extends InstanceOptions {
  /** Part of the device's name, or `software`; ANYPS5_GPU when left out. */
  readonly device?: string;
  /** How many queues to create, at most as many as the family has. */
  readonly queues?: number;
  /** Act as if the device lacked these extensions (to test the other paths). */
  readonly withoutExtensions?: readonly Extension[];
}

/** A device as plain data, for other isolates of the process: {@linkcode GpuDevice.attach}. */
export interface SharedDevice {
  /** VkInstance. */
  readonly instance: bigint;
  /** VkPhysicalDevice. */
  readonly physicalDevice: bigint;
  /** VkDevice. */
  readonly handle: bigint;
  /** VkQueues. */
  readonly queues: readonly bigint[];
  /** The validation layer is enabled. */
  readonly validation: boolean;
  /** What it can do. */
  readonly capabilities: DeviceCapabilities;
}

/** Work that was given up because it took too long: it may run on. */
export interface UnfinishedWork {
  /** How much was submitted. */
  readonly submitted: number;
  /** How much of it the device has done. */
  completed(): number;
}

/**
 * A logical device with its queues. Handles are valid in the whole process; each isolate has its own `GpuDevice` over the same handles, and
 * the one that created it destroys it, after all others have stopped using it.
 */
export class GpuDevice {
  /** Vulkan's commands. */
  readonly vulkan: vk.CoreCommands;
  /** VkInstance. */
  readonly instance: bigint;
  /** VkPhysicalDevice. */
  readonly physicalDevice: bigint;
  /** VkDevice. */
  readonly handle: bigint;
  /** VkQueues of family `capabilities.queueFamily`. A queue must be used by one isolate at a time. */
  readonly queues: readonly bigint[];
  /** The validation layer is enabled. */
  readonly validation: boolean;
  /** What it can do; all listed features and extensions are enabled. */
  readonly capabilities: DeviceCapabilities;
  /** Memory types. */
  readonly memoryTypes: MemoryTypes;
  /** VkMemoryPropertyFlags that host buffers should have: memory that the host reads fast. Who measures programs asks for the device's own. */
  hostBufferMemory: number = vk.VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  /** Memory for structs of calls that are not on the hot path; use it within `scratch.scope`. */
  readonly scratch: Arena = new Arena(256 * 1024);
  readonly #owner: Instance | undefined;
  #hostMemory: vk.ExtensionCommands<vk.VkExtExternalMemoryHost> | undefined;
  /** What this isolate submitted and gave up. */
  readonly #unfinished = new Set<UnfinishedWork>();
  /** What is to be destroyed when that has come to its end. */
  #kept: (() => void)[] = [];

  private constructor(vulkan: vk.CoreCommands, shared: SharedDevice, owner?: Instance) {
    this.vulkan = vulkan;
    this.instance = shared.instance;
    this.physicalDevice = shared.physicalDevice;
    this.handle = shared.handle;
    this.queues = shared.queues;
    this.validation = shared.validation;
    this.capabilities = shared.capabilities;
    this.memoryTypes = new MemoryTypes(vulkan, this.scratch, shared.physicalDevice);
    this.#owner = owner;
  }

  /**
   * Creates an instance and a device on it.
   *
   * @throws {HostError} when the loader, a usable device or the validation layer is missing; the message says what to install
   */
  static create(options: DeviceOptions = {}): GpuDevice {
    const chosen = choose(options), { instance, physicalDevice, info, out } = chosen;
    try {
      instance.vulkan.vkCreateDevice(physicalDevice, info, 0n, out);
      return GpuDevice.#finish(chosen);
    } catch (error) {
      instance.destroy();
      throw error;
    }
  }

  /** {@linkcode GpuDevice.create}, the device itself on another thread: some drivers take a quarter of a second for it. */
  static async createAsync(options: DeviceOptions = {}): Promise<GpuDevice> {
    const chosen = choose(options), { instance, physicalDevice, info, out } = chosen;
    try {
      await instance.vulkan.vkCreateDeviceAsync(physicalDevice, info, 0n, out);
      return GpuDevice.#finish(chosen);
    } catch (error) {
      instance.destroy();
      throw error;
    }
  }

  static #finish({ instance, physicalDevice, capabilities, queues, arena, out }: ChosenDevice): GpuDevice {
    const { vulkan } = instance, handle = arena.getU64(arena.offset(out));
    return new GpuDevice(vulkan, {
      instance: instance.handle,
      physicalDevice,
      handle,
      queues: getQueues(vulkan, handle, capabilities.queueFamily, queues),
      validation: instance.validation,
      capabilities,
    }, instance);
  }

  /** A device that another isolate created. */
  static attach(shared: SharedDevice): GpuDevice {
    return new GpuDevice(vk.openVulkan(), shared);
  }

  /** What {@linkcode GpuDevice.attach} needs; can be posted to a worker. */
  share(): SharedDevice {
    const { instance, physicalDevice, handle, queues, validation, capabilities } = this;
    return { instance, physicalDevice, handle, queues, validation, capabilities };
  }

  /** Commands of VK_EXT_external_memory_host; undefined when the device does not have it. */
  get hostMemory(): vk.VkExtExternalMemoryHost | undefined {
    if (!this.capabilities.extensions.includes("VK_EXT_external_memory_host")) return undefined;
    this.#hostMemory ??= vk.loadDeviceExtension(
      this.vulkan,
      this.handle,
      vk.vkExtExternalMemoryHostSymbols,
      vk.bindVkExtExternalMemoryHost,
    );
    return this.#hostMemory.commands;
  }

  /** Waits until the device has nothing to do. */
  waitIdle(): void {
    this.vulkan.vkDeviceWaitIdle(this.handle);
  }

  /**
   * Work that this isolate submitted to the device took too long, and nobody waits for it any more. Until it has come to its end, nothing is destroyed that
   * it may use: what is to be destroyed meanwhile ({@linkcode release}) stays until then, for ever if need be.
   */
  giveUp(work: UnfinishedWork): void {
    this.#unfinished.add(work);
  }

  /** Whether the device may still work on what this isolate gave up. What was kept for it is destroyed when it does no more. */
  get unfinished(): boolean {
    if (this.#unfinished.size === 0) return false;
    for (const work of this.#unfinished) if (hasEnded(work)) this.#unfinished.delete(work);
    if (this.#unfinished.size > 0) return true;
    for (const destroy of this.#kept.splice(0)) destroy();
    return false;
  }

  /**
   * Destroys something that was made from the device and that this isolate's work alone may use.
   *
   * @param destroy calls the driver; later, or never, while {@linkcode unfinished}
   */
  release(destroy: () => void): void {
    if (this.unfinished) this.#kept.push(destroy);
    else destroy();
  }

  /**
   * Destroys device and instance; in an isolate that attached, only what it loaded itself. Everything made from the device must be gone. A device with
   * {@linkcode unfinished} work stays, with all that is kept for it: the process can end, the driver's threads with it.
   */
  destroy(): void {
    if (this.unfinished) return;
    this.#hostMemory?.close();
    this.#hostMemory = undefined;
    if (this.#owner === undefined) return;
    this.vulkan.vkDestroyDevice(this.handle, 0n);
    this.#owner.destroy();
  }
}

/** A device that is lost does nothing any more. */
function hasEnded(work: UnfinishedWork): boolean {
  try {
    return work.completed() >= work.submitted;
  } catch (error) {
    if (error instanceof vk.VulkanError && error.result === vk.VK_ERROR_DEVICE_LOST) return true;
    throw error;
  }
}

/** All devices of the machine, with what keeps AnyAGC from using them. Throws a HostError when there is no loader or no driver. */
export function describeDevices(): DeviceSummary[] {
  const instance = createInstance();
  try {
    return listPhysicalDevices(instance.vulkan, instance.handle).map(({ capabilities }) => {
      const problems = problemsOf(capabilities);
      return { capabilities, usable: problems.length === 0, problems };
    });
  } finally {
    instance.destroy();
  }
}

/** A device that can be created: vkCreateDevice takes `info` and writes to `out`, both in `arena`. */
interface ChosenDevice {
  readonly instance: Instance;
  readonly physicalDevice: bigint;
  readonly capabilities: DeviceCapabilities;
  readonly queues: number;
  readonly arena: Arena;
  readonly info: bigint;
  readonly out: bigint;
}

/** Creates the instance, and chooses. */
function choose(options: DeviceOptions): ChosenDevice {
  const instance = createInstance(options);
  try {
    const { vulkan } = instance;
    const chosen = chooseDevice(listPhysicalDevices(vulkan, instance.handle), options.device);
    const hidden = options.withoutExtensions ?? [];
    const extensions = chosen.capabilities.extensions.filter((name) => !hidden.includes(name));
    const canImport = extensions.includes("VK_EXT_external_memory_host");
    const { limits } = chosen.capabilities;
    const capabilities: DeviceCapabilities = {
      ...chosen.capabilities,
      // A swapchain needs the surface extensions of the instance, which only a caller with a window asks for.
      extensions: extensions.filter((name) =>
        name !== "VK_KHR_swapchain" || (options.extensions ?? []).includes("VK_KHR_surface")
      ),
      limits: { ...limits, hostImportAlignment: canImport ? limits.hostImportAlignment : 0 },
    };
    const queues = Math.max(1, Math.min(options.queues ?? 1, capabilities.queueCount));
    const arena = new Arena(16 * 1024), info = deviceInfo(arena, capabilities, queues);
    return {
      instance,
      physicalDevice: chosen.handle,
      capabilities,
      queues,
      arena,
      info,
      out: arena.address(arena.allocate(8)),
    };
  } catch (error) {
    instance.destroy();
    throw error;
  }
}

/** VkDeviceCreateInfo. */
function deviceInfo(arena: Arena, capabilities: DeviceCapabilities, queues: number): bigint {
  const priorities = arena.allocate(4 * queues, 4);
  for (let i = 0; i < queues; i++) arena.view.setFloat32(priorities + 4 * i, 1, true);
  // A device that has one of these extensions has its feature (Vulkan specification, "Feature Requirements").
  let features = 0n;
  if (capabilities.extensions.includes("VK_EXT_graphics_pipeline_library")) {
    const own = { graphicsPipelineLibrary: 1, pNext: features };
    features = vk.VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT.make(arena, own);
  }
  if (capabilities.extensions.includes("VK_KHR_fragment_shader_barycentric")) {
    const own = { fragmentShaderBarycentric: 1, pNext: features };
    features = vk.VkPhysicalDeviceFragmentShaderBarycentricFeaturesKHR.make(arena, own);
  }
  return vk.VkDeviceCreateInfo.make(arena, {
    pNext: enableFeatures(arena, capabilities.features, features),
    queueCreateInfoCount: 1,
    pQueueCreateInfos: vk.VkDeviceQueueCreateInfo.make(arena, {
      queueFamilyIndex: capabilities.queueFamily,
      queueCount: queues,
      pQueuePriorities: arena.address(priorities),
    }),
    enabledExtensionCount: capabilities.extensions.length,
    ppEnabledExtensionNames: arena.strings(capabilities.extensions),
  });
}

function getQueues(vulkan: vk.CoreCommands, device: bigint, family: number, count: number): bigint[] {
  const arena = new Arena();
  const out = arena.allocate(8);
  return Array.from({ length: count }, (_, i) => {
    vulkan.vkGetDeviceQueue(device, family, i, arena.address(out));
    return arena.getU64(out);
  });
}
