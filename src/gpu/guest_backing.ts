import { hex, HostError } from "../errors.ts";
import { viewMemory } from "../../ffi/libc.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import { type BoundBuffer, createBoundBuffer, destroyBoundBuffer, HostBuffer } from "./buffer.ts";
import type { GpuDevice } from "./device.ts";

/**
 * Makes a range of guest memory, which is host memory of this process, reachable for the device. Either the device works on the host memory
 * itself (imported), or on a copy that the driver keeps equal by upload and download (mirrored).
 */
export interface GuestBacking {
  /** How. */
  readonly kind: "imported" | "mirrored";
  /** Host address of the first byte. */
  readonly hostAddress: bigint;
  /** Size in bytes. */
  readonly byteLength: number;
  /** What shaders use to reach the first byte. */
  readonly deviceAddress: bigint;
  /** VkBuffer over the range, for commands that take buffers (indirect dispatch, copies). */
  readonly buffer: bigint;
  /** Makes what the host wrote visible to work submitted afterwards. Nothing to do for an imported range. */
  upload(offset: number, byteLength: number): void;
  /** Makes what finished work wrote visible to the host. Nothing to do for an imported range. */
  download(offset: number, byteLength: number): void;
  /** The device must not be using it any more. The host memory stays. */
  destroy(): void;
}

/** How to back guest memory: `imported` and `mirrored` insist, `automatic` imports where the device can. */
export type BackingKind = "automatic" | "imported" | "mirrored";

/**
 * Backs a range of host memory, in pieces that the device can take in one allocation (lavapipe: 2 GiB). Device addresses of neighbouring
 * pieces need not be neighbours.
 *
 * @param hostAddress address of the first byte, a multiple of the page size
 * @param byteLength size in bytes, a multiple of the page size
 * @param maximumPiece largest piece in bytes; for tests
 * @throws {HostError} when `imported` is asked for and not possible; `gpu.unaligned-range`
 */
export function backGuestMemory(
  device: GpuDevice,
  hostAddress: bigint,
  byteLength: number,
  kind: BackingKind = "automatic",
  maximumPiece = Infinity,
): GuestBacking[] {
  const { limits } = device.capabilities;
  const imports = kind !== "mirrored" && (limits.hostImportAlignment > 0 || kind === "imported");
  const alignment = imports && limits.hostImportAlignment > 0 ? limits.hostImportAlignment : 4096;
  if (hostAddress % BigInt(alignment) !== 0n || byteLength % alignment !== 0 || byteLength <= 0) {
    throw new HostError(
      "gpu.unaligned-range",
      `guest memory at host ${hex(hostAddress)}, ${hex(byteLength)} bytes, is not a whole number of ${
        hex(alignment)
      }-byte pages`,
    );
  }
  // maxMemoryAllocationSize itself may be refused by a driver that adds to it, so stay one piece of alignment below.
  const largest = Math.min(maximumPiece, limits.memoryAllocation - alignment, limits.bufferSize - alignment);
  const pieceBytes = Math.max(alignment, Math.floor(largest / alignment) * alignment);
  const pieces: GuestBacking[] = [];
  try {
    for (let offset = 0; offset < byteLength; offset += pieceBytes) {
      const address = hostAddress + BigInt(offset), bytes = Math.min(pieceBytes, byteLength - offset);
      pieces.push(imports ? new ImportedBacking(device, address, bytes) : new MirroredBacking(device, address, bytes));
    }
  } catch (error) {
    for (const piece of pieces) piece.destroy();
    throw error;
  }
  return pieces;
}

/** Host memory imported with VK_EXT_external_memory_host: one memory, no copies. */
class ImportedBacking implements GuestBacking {
  readonly kind = "imported";
  readonly hostAddress: bigint;
  readonly byteLength: number;
  readonly deviceAddress: bigint;
  readonly buffer: bigint;
  readonly #device: GpuDevice;
  readonly #bound: BoundBuffer;

  constructor(device: GpuDevice, hostAddress: bigint, byteLength: number) {
    const { hostMemory, scratch } = device;
    if (hostMemory === undefined) {
      throw new HostError(
        "host.no-memory-import",
        `the device "${device.capabilities.name}" cannot import host memory (VK_EXT_external_memory_host)`,
      );
    }
    const memoryTypeBits = scratch.scope(() => {
      const properties = vk.VkMemoryHostPointerPropertiesEXT.allocate(scratch);
      hostMemory.vkGetMemoryHostPointerPropertiesEXT(
        device.handle,
        vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        hostAddress,
        scratch.address(properties),
      );
      return vk.VkMemoryHostPointerPropertiesEXT.read(scratch, properties).memoryTypeBits;
    });
    // Coherent memory only: then upload and download have nothing to flush.
    this.#bound = createBoundBuffer(
      device,
      byteLength,
      vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
      vk.VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
      { address: hostAddress, memoryTypeBits },
    );
    this.#device = device;
    this.hostAddress = hostAddress;
    this.byteLength = byteLength;
    this.deviceAddress = this.#bound.deviceAddress;
    this.buffer = this.#bound.handle;
  }

  upload(offset: number, byteLength: number): void {
    checkRange(this, offset, byteLength);
  }

  download(offset: number, byteLength: number): void {
    checkRange(this, offset, byteLength);
  }

  destroy(): void {
    destroyBoundBuffer(this.#device, this.#bound);
  }
}

/** A copy in coherent device memory; equal to the guest's memory at first. */
class MirroredBacking implements GuestBacking {
  readonly kind = "mirrored";
  readonly hostAddress: bigint;
  readonly byteLength: number;
  readonly deviceAddress: bigint;
  readonly buffer: bigint;
  readonly #guest: Uint8Array;
  readonly #copy: Uint8Array;
  readonly #owned: HostBuffer;

  constructor(device: GpuDevice, hostAddress: bigint, byteLength: number) {
    this.#guest = new Uint8Array(viewMemory(hostAddress, byteLength));
    this.#owned = new HostBuffer(device, byteLength, this.#guest);
    this.hostAddress = hostAddress;
    this.byteLength = byteLength;
    this.deviceAddress = this.#owned.deviceAddress;
    this.buffer = this.#owned.handle;
    this.#copy = new Uint8Array(this.#owned.buffer);
  }

  upload(offset: number, byteLength: number): void {
    checkRange(this, offset, byteLength);
    this.#copy.set(this.#guest.subarray(offset, offset + byteLength), offset);
  }

  download(offset: number, byteLength: number): void {
    checkRange(this, offset, byteLength);
    this.#guest.set(this.#copy.subarray(offset, offset + byteLength), offset);
  }

  destroy(): void {
    this.#owned.destroy();
  }
}

function checkRange(backing: GuestBacking, offset: number, byteLength: number): void {
  if (offset >= 0 && byteLength >= 0 && offset + byteLength <= backing.byteLength) return;
  throw new HostError(
    "gpu.range",
    `${hex(byteLength)} bytes at offset ${hex(offset)} are not in a range of ${hex(backing.byteLength)} bytes`,
  );
}
