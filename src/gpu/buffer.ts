import { viewMemory } from "../../ffi/libc.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import type { GpuDevice } from "./device.ts";

/** What buffers over guest memory and host buffers may be used for: whatever a command takes. */
const generalUsage = vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT |
  vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
  vk.VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | vk.VK_BUFFER_USAGE_INDEX_BUFFER_BIT | vk.VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
  vk.VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | vk.VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

/** A buffer with its own memory and device address. */
export interface BoundBuffer {
  /** VkBuffer. */
  readonly handle: bigint;
  /** VkDeviceMemory. */
  readonly memory: bigint;
  /** What shaders use to reach the first byte. */
  readonly deviceAddress: bigint;
  /** Index of the memory type. */
  readonly memoryType: number;
}

/** Memory to import instead of allocating. */
export interface HostImport {
  /** Page-aligned host address. */
  readonly address: bigint;
  /** Memory types that can import it, a bit each. */
  readonly memoryTypeBits: number;
}

/**
 * Creates a buffer of `byteLength` bytes with memory of its own.
 *
 * @param required VkMemoryPropertyFlags that the memory must have
 * @param preferred flags that it should have
 * @param hostImport host memory to use as the buffer's memory
 */
export function createBoundBuffer(
  device: GpuDevice,
  byteLength: number,
  required: number,
  preferred: number,
  hostImport?: HostImport,
): BoundBuffer {
  const { vulkan, handle: owner, scratch, memoryTypes } = device;
  return scratch.scope(() => {
    const handleType = vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    const out = scratch.allocate(8);
    const info = vk.VkBufferCreateInfo.make(scratch, {
      pNext: hostImport === undefined
        ? 0n
        : vk.VkExternalMemoryBufferCreateInfo.make(scratch, { handleTypes: handleType }),
      size: BigInt(byteLength),
      usage: generalUsage,
      sharingMode: vk.VK_SHARING_MODE_EXCLUSIVE,
    });
    vulkan.vkCreateBuffer(owner, info, 0n, scratch.address(out));
    const handle = scratch.getU64(out);
    let memory = 0n;
    try {
      const requirements = vk.VkMemoryRequirements2.allocate(scratch);
      vulkan.vkGetBufferMemoryRequirements2(
        owner,
        vk.VkBufferMemoryRequirementsInfo2.make(scratch, { buffer: handle }),
        scratch.address(requirements),
      );
      const { size, memoryTypeBits } = vk.VkMemoryRequirements2.read(scratch, requirements).memoryRequirements;
      const allowed = memoryTypeBits & (hostImport?.memoryTypeBits ?? 0xffff_ffff);
      const memoryType = memoryTypes.require(allowed, required, preferred);
      const importInfo = hostImport === undefined
        ? 0n
        : vk.VkImportMemoryHostPointerInfoEXT.make(scratch, { handleType, pHostPointer: hostImport.address });
      const allocation = vk.VkMemoryAllocateInfo.make(scratch, {
        pNext: vk.VkMemoryAllocateFlagsInfo.make(scratch, {
          pNext: importInfo,
          flags: vk.VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
          deviceMask: 0,
        }),
        // An import takes exactly the host range: more would reach over its end.
        allocationSize: hostImport === undefined ? size : BigInt(byteLength),
        memoryTypeIndex: memoryType,
      });
      vulkan.vkAllocateMemory(owner, allocation, 0n, scratch.address(out));
      memory = scratch.getU64(out);
      vulkan.vkBindBufferMemory2(
        owner,
        1,
        vk.VkBindBufferMemoryInfo.make(scratch, { buffer: handle, memory, memoryOffset: 0n }),
      );
      const deviceAddress = vulkan.vkGetBufferDeviceAddress(
        owner,
        vk.VkBufferDeviceAddressInfo.make(scratch, { buffer: handle }),
      );
      return { handle, memory, deviceAddress, memoryType };
    } catch (error) {
      vulkan.vkDestroyBuffer(owner, handle, 0n);
      if (memory !== 0n) vulkan.vkFreeMemory(owner, memory, 0n);
      throw error;
    }
  });
}

/** Destroys a buffer and its memory. The device must not be using it, unless for work that was given up ({@linkcode GpuDevice.giveUp}). */
export function destroyBoundBuffer(device: GpuDevice, buffer: BoundBuffer): void {
  device.release(() => {
    device.vulkan.vkDestroyBuffer(device.handle, buffer.handle, 0n);
    device.vulkan.vkFreeMemory(device.handle, buffer.memory, 0n);
  });
}

/** A buffer in device memory that the host sees: for context blocks, staging, readback. Coherent, so that no flush is needed. */
export class HostBuffer {
  /** Size in bytes. */
  readonly byteLength: number;
  /** VkBuffer. */
  readonly handle: bigint;
  /** What shaders use to reach the first byte. */
  readonly deviceAddress: bigint;
  /** The memory, as the host sees it. */
  readonly buffer: ArrayBuffer;
  readonly #device: GpuDevice;
  readonly #bound: BoundBuffer;

  /**
   * Allocates and maps the buffer.
   *
   * @param byteLength size in bytes
   * @param contents what it holds at first; zeros when left out (fresh device memory holds anything)
   */
  constructor(device: GpuDevice, byteLength: number, contents?: Uint8Array) {
    this.#device = device;
    this.byteLength = byteLength;
    this.#bound = createBoundBuffer(
      device,
      byteLength,
      vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
      device.hostBufferMemory,
    );
    this.handle = this.#bound.handle;
    this.deviceAddress = this.#bound.deviceAddress;
    const { scratch, vulkan } = device;
    this.buffer = scratch.scope(() => {
      const out = scratch.allocate(8);
      vulkan.vkMapMemory(device.handle, this.#bound.memory, 0n, vk.VK_WHOLE_SIZE, 0, scratch.address(out));
      return viewMemory(scratch.getU64(out), byteLength);
    });
    if (contents === undefined) new Uint8Array(this.buffer).fill(0);
    else new Uint8Array(this.buffer).set(contents);
  }

  /** Frees it. The device must not be using it; views of `buffer` are empty afterwards. */
  destroy(): void {
    this.buffer.transfer(0); // a stale view becomes empty instead of touching unmapped pages
    destroyBoundBuffer(this.#device, this.#bound);
  }
}
