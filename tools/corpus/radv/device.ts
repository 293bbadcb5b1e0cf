/**
 * RADV's null device: a Vulkan device that compiles and does not run. It exists when RADV_FORCE_FAMILY is set (see environment.ts).
 *
 * @module
 */
import { Arena } from "../../../ffi/arena.ts";
import * as vk from "../../../ffi/vulkan/mod.ts";
import { HostError } from "../../../src/errors.ts";
import { createInstance, enumerate } from "../../../src/gpu/instance.ts";
import { MESA_VERSION } from "./cache_data.ts";
import { MESSAGE_PREFIX } from "./job.ts";

/** The null device of this process. It is not destroyed: the process ends instead. */
export interface NullDevice {
  readonly vulkan: vk.CoreCommands;
  readonly drawing: vk.DrawingCommands;
  /** VkDevice. */
  readonly handle: bigint;
  readonly name: string;
  /** Name and version of the driver. */
  readonly driver: string;
}

/** Accesses outside of buffers would be checked in the code; an application that wants that is the exception. */
const OFF = ["robustBufferAccess", "robustImageAccess"];

/**
 * Opens the device with every core feature but the checks of accesses. RADV compiles a module with what the module declares, enabled or not, so
 * no extension is enabled.
 *
 * @throws {HostError} `host.no-vulkan-device`, `host.radv`
 */
export function openNullDevice(): NullDevice {
  const instance = createInstance({ extensions: ["VK_EXT_debug_report"] });
  const { vulkan, handle } = instance;
  reportMessages(vulkan, handle);
  const arena = new Arena(64 * 1024);
  const [physical] = enumerate(
    arena,
    (count, elements) => vulkan.vkEnumeratePhysicalDevices(handle, count, elements),
    (count) => arena.allocate(8 * count),
    (offset, count) => Array.from({ length: count }, (_, i) => arena.getU64(offset + 8 * i)),
  );
  if (physical === undefined) throw new HostError("host.radv", "RADV has no null device");
  const driverProperties = vk.VkPhysicalDeviceVulkan12Properties.allocate(arena);
  const properties = vk.VkPhysicalDeviceProperties2.allocate(arena, arena.address(driverProperties));
  vulkan.vkGetPhysicalDeviceProperties2(physical, arena.address(properties));
  const { driverID, driverName, driverInfo } = vk.VkPhysicalDeviceVulkan12Properties.read(arena, driverProperties);
  const driver = `${driverName} ${driverInfo}`;
  if (driverID !== vk.VK_DRIVER_ID_MESA_RADV || !driverInfo.startsWith(MESA_VERSION)) {
    throw new HostError("host.radv", `the driver is ${driver}; only the structures of radv ${MESA_VERSION} are known`);
  }
  const { deviceName } = vk.VkPhysicalDeviceProperties2.read(arena, properties).properties;
  return { vulkan, drawing: vk.openVulkanDrawing(), handle: createDevice(vulkan, physical), name: deviceName, driver };
}

function createDevice(vulkan: vk.CoreCommands, physical: bigint): bigint {
  const arena = new Arena(64 * 1024);
  const v13 = vk.VkPhysicalDeviceVulkan13Features.allocate(arena);
  const v12 = vk.VkPhysicalDeviceVulkan12Features.allocate(arena, arena.address(v13));
  const v11 = vk.VkPhysicalDeviceVulkan11Features.allocate(arena, arena.address(v12));
  const features = vk.VkPhysicalDeviceFeatures2.allocate(arena, arena.address(v11));
  vulkan.vkGetPhysicalDeviceFeatures2(physical, arena.address(features));
  const v10 = features + vk.VkPhysicalDeviceFeatures2.fields.features.at;
  for (
    const [struct, at] of [[vk.VkPhysicalDeviceFeatures, v10], [vk.VkPhysicalDeviceVulkan13Features, v13]] as const
  ) {
    for (const [name, field] of Object.entries(struct.fields)) {
      if (OFF.includes(name)) arena.setU32(at + field.at, 0);
    }
  }
  const queue = vk.VkDeviceQueueCreateInfo.make(arena, {
    queueFamilyIndex: 0,
    queueCount: 1,
    pQueuePriorities: arena.u32s([0x3f800000]), // 1.0
  });
  const info = vk.VkDeviceCreateInfo.make(arena, {
    pNext: arena.address(features),
    queueCreateInfoCount: 1,
    pQueueCreateInfos: queue,
  });
  const out = arena.allocate(8);
  vulkan.vkCreateDevice(physical, info, 0n, arena.address(out));
  return arena.getU64(out);
}

/** Writes what RADV's compiler says to the error stream at once: it may crash in the next moment. */
function reportMessages(vulkan: vk.CoreCommands, instance: bigint): void {
  const callback = new Deno.UnsafeCallback({
    parameters: ["u32", "i32", "u64", "usize", "i32", "pointer", "pointer", "pointer"],
    result: "u32",
  }, (_flags, _objectType, _object, _location, _code, _layer, message) => {
    const text = message === null ? "" : new Deno.UnsafePointerView(message).getCString();
    const line = MESSAGE_PREFIX + text.replaceAll(/\s+/g, " ");
    Deno.stderr.writeSync(new TextEncoder().encode(line + "\n"));
    return 0;
  });
  const { commands } = vk.loadInstanceExtension(
    vulkan,
    instance,
    vk.vkExtDebugReportSymbols,
    vk.bindVkExtDebugReport,
  );
  const arena = new Arena();
  const info = vk.VkDebugReportCallbackCreateInfoEXT.make(arena, {
    flags: vk.VK_DEBUG_REPORT_ERROR_BIT_EXT | vk.VK_DEBUG_REPORT_WARNING_BIT_EXT,
    pfnCallback: Deno.UnsafePointer.value(callback.pointer),
  });
  const out = arena.allocate(8);
  commands.vkCreateDebugReportCallbackEXT(instance, info, 0n, arena.address(out));
}
