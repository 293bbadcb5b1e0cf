import { HostError } from "../errors.ts";
import { Arena } from "../../ffi/arena.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import { prepareValidationLog, validationLayer, validationMissing } from "./validation.ts";

/** Vulkan 1.3, as VkApplicationInfo wants it. */
export const requiredApiVersion = (1 << 22) | (3 << 12);

/** Sentence for a machine without any Vulkan device. */
const noDeviceFix =
  "Install a driver for the GPU, or the software device (Debian: apt install mesa-vulkan-drivers), then see `vulkaninfo --summary`.";

/** A Vulkan instance. */
export interface Instance {
  /** Vulkan's commands. */
  readonly vulkan: vk.CoreCommands;
  /** VkInstance. */
  readonly handle: bigint;
  /** The validation layer is enabled. */
  readonly validation: boolean;
  /** Destroys it; its devices must be gone. */
  destroy(): void;
}

/** Options of {@linkcode createInstance}. */
export interface InstanceOptions {
  /** Enable the Khronos validation layer; read its messages with collectValidationMessages. */
  readonly validation?: boolean;
  /** Instance extensions that the caller needs, for example those of a window library. */
  readonly extensions?: readonly string[];
}

/**
 * Creates an instance of Vulkan 1.3.
 *
 * @throws {HostError} `host.library-missing` without a loader, `host.vulkan-version` with one that is too old,
 * `host.validation-layer-missing`, `host.no-vulkan-device` when no driver is installed
 */
export function createInstance(options: InstanceOptions = {}): Instance {
  const { validation = false, extensions = [] } = options;
  if (validation) prepareValidationLog(); // before the loader is used
  const vulkan = vk.openVulkan();
  const arena = new Arena(64 * 1024);
  const version = versionOf(vulkan);
  if (version < requiredApiVersion) {
    throw new HostError(
      "host.vulkan-version",
      `the Vulkan loader is version ${versionText(version)}; 1.3 or newer is needed`,
    );
  }
  if (validation && !layerNames(vulkan, arena).includes(validationLayer)) throw validationMissing();
  const layers = validation ? [validationLayer] : [];
  const application = vk.VkApplicationInfo.make(arena, {
    pApplicationName: arena.string("AnyAGC"),
    applicationVersion: 0,
    engineVersion: 0,
    apiVersion: requiredApiVersion,
  });
  const info = vk.VkInstanceCreateInfo.make(arena, {
    pApplicationInfo: application,
    enabledLayerCount: layers.length,
    ppEnabledLayerNames: arena.strings(layers),
    enabledExtensionCount: extensions.length,
    ppEnabledExtensionNames: arena.strings(extensions),
  });
  const out = arena.allocate(8);
  try {
    vulkan.vkCreateInstance(info, 0n, arena.address(out));
  } catch (error) {
    if (error instanceof vk.VulkanError && error.result === vk.VK_ERROR_INCOMPATIBLE_DRIVER) {
      throw noDevice("no Vulkan driver is installed");
    }
    throw error;
  }
  const handle = arena.getU64(out);
  return { vulkan, handle, validation, destroy: () => vulkan.vkDestroyInstance(handle, 0n) };
}

/** The error for a machine without a (fitting) device. */
export function noDevice(what: string): HostError {
  return new HostError("host.no-vulkan-device", `${what}. ${noDeviceFix}`);
}

/** Text of a Vulkan version number. */
export function versionText(version: number): string {
  return `${(version >>> 22) & 0x7f}.${(version >>> 12) & 0x3ff}.${version & 0xfff}`;
}

/**
 * Calls a Vulkan command that lists something: first for the count, then for the elements.
 *
 * @param list calls the command with the addresses of the count and of the elements (0 for none)
 * @param allocate makes room for that many elements; returns the offset of the first
 * @param read reads that many elements
 */
export function enumerate<T>(
  arena: Arena,
  list: (count: bigint, elements: bigint) => unknown,
  allocate: (count: number) => number,
  read: (offset: number, count: number) => T[],
): T[] {
  const count = arena.allocate(4, 4);
  list(arena.address(count), 0n);
  const available = arena.getU32(count);
  if (available === 0) return [];
  const elements = allocate(available);
  list(arena.address(count), arena.address(elements));
  return read(elements, Math.min(available, arena.getU32(count)));
}

/** Version of the Vulkan loader, as text. @throws {HostError} `host.library-missing` without one */
export function loaderVersion(): string {
  return versionText(versionOf(vk.openVulkan()));
}

/** Names of all layers that the loader knows. @throws {HostError} `host.library-missing` without a loader */
export function listLayers(): string[] {
  return layerNames(vk.openVulkan(), new Arena(64 * 1024));
}

function versionOf(vulkan: vk.CoreCommands): number {
  const arena = new Arena(4096), version = arena.allocate(4, 4);
  vulkan.vkEnumerateInstanceVersion(arena.address(version));
  return arena.getU32(version);
}

function layerNames(vulkan: vk.CoreCommands, arena: Arena): string[] {
  return arena.scope(() =>
    enumerate(
      arena,
      (count, elements) => vulkan.vkEnumerateInstanceLayerProperties(count, elements),
      (count) => vk.VkLayerProperties.allocateArray(arena, count),
      (offset, count) => vk.VkLayerProperties.readArray(arena, offset, count),
    )
  ).map((layer) => layer.layerName);
}
