/**
 * Loads the Vulkan drivers on another thread, while this one has something else to do: most of the time that a first vkCreateInstance
 * takes goes into loading the libraries of all drivers (llvmpipe and RADV bring LLVM: 120 to 160 ms; a second instance takes 8 ms).
 *
 * @module
 */

/** VkInstanceCreateInfo without anything in it: only sType is set (the Vulkan specification, VkStructureType). */
const CREATE_INFO_BYTES = 64, VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO = 1;
const PAGE = 4096;

/** Drivers that are being loaded. */
export interface PreloadedDrivers {
  /** Resolves when they are loaded, or cannot be. */
  readonly loaded: Promise<void>;
  /** Waits until they are loaded, and lets go of them; instances of others keep them. The process must not end before. */
  release(): Promise<void>;
}

/** Starts loading. Without a loader or a driver nothing happens: whoever needs one says so. */
export function preloadDrivers(): PreloadedDrivers {
  const symbols = {
    vkCreateInstance: { parameters: ["buffer", "u64", "buffer"], result: "i32", nonblocking: true },
    vkDestroyInstance: { parameters: ["u64", "u64"], result: "void" },
  } as const;
  let vulkan: Deno.DynamicLibrary<typeof symbols>["symbols"];
  try {
    vulkan = Deno.dlopen("libvulkan.so.1", symbols).symbols;
  } catch {
    return { loaded: Promise.resolve(), release: () => Promise.resolve() };
  }
  const memory = new ArrayBuffer(PAGE), view = new DataView(memory); // a page, so that it does not move
  view.setUint32(0, VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, true);
  const info = new Uint8Array(memory, 0, CREATE_INFO_BYTES), out = new Uint8Array(memory, CREATE_INFO_BYTES, 8);
  const created = vulkan.vkCreateInstance(info, 0n, out);
  return {
    loaded: created.then(() => {}),
    async release() {
      if (await created === 0) vulkan.vkDestroyInstance(view.getBigUint64(CREATE_INFO_BYTES, true), 0n);
    },
  };
}
