import type { HostBlock } from "./allocator.ts";

/** Permission bits of a window. */
export const Permission = { Read: 1, Write: 2, Execute: 4, ReadWrite: 3, All: 7 } as const;

/** Text of permission bits, for people: `rw-`. */
export function permissionText(bits: number): string {
  return (bits & Permission.Read ? "r" : "-") + (bits & Permission.Write ? "w" : "-") +
    (bits & Permission.Execute ? "x" : "-");
}

/** A contiguous range of guest addresses with its host memory. Made by `GuestMemory.map`; fields are read-only for everybody else but the driver. */
export class MemoryWindow {
  /** Name for messages. */
  readonly name: string;
  /** First guest address, canonical, as an unsigned 64-bit value, a multiple of 4 KiB. */
  readonly base: bigint;
  /** First guest address after the window. */
  readonly end: bigint;
  /** Lower and upper 32 bits of `base`, unsigned. */
  readonly baseLo: number;
  readonly baseHi: number;
  /** Size in bytes, a multiple of 4 KiB. */
  readonly byteLength: number;
  /** Bits of {@linkcode Permission}; change them through `GuestMemory.protect`. */
  permissions: number;
  /** Host address of the first byte; 0n when the host memory has no stable address. */
  readonly hostPointer: bigint;
  /** The host memory. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The host memory as little-endian data of any width. */
  readonly data: DataView<ArrayBuffer>;
  /** The host memory as 32-bit words (the hosts that Deno runs on are little-endian). */
  readonly words: Uint32Array<ArrayBuffer>;
  /** The host memory as 64-bit words. */
  readonly words64: BigUint64Array<ArrayBuffer>;
  /** Address of the first byte on the Vulkan device; 0n until the driver has set it. */
  deviceAddress = 0n;
  /** Whatever the driver keeps per window (an imported VkDeviceMemory, say). Nothing in `guest` looks at it. */
  driverState: unknown = undefined;
  /** The block that backs this window, for the allocator. */
  readonly block: HostBlock;
  /** True when another isolate owns the memory. */
  readonly attached: boolean;

  constructor(
    name: string,
    base: bigint,
    byteLength: number,
    permissions: number,
    block: HostBlock,
    attached: boolean,
  ) {
    this.name = name;
    this.base = base;
    this.baseLo = Number(base & 0xffff_ffffn);
    this.baseHi = Number(base >> 32n);
    this.end = base + BigInt(byteLength);
    this.byteLength = byteLength;
    this.permissions = permissions;
    this.hostPointer = block.pointer;
    this.block = block;
    this.attached = attached;
    this.bytes = block.bytes;
    this.data = new DataView(block.bytes.buffer, block.bytes.byteOffset, byteLength);
    this.words = new Uint32Array(block.bytes.buffer, block.bytes.byteOffset, byteLength / 4);
    this.words64 = new BigUint64Array(block.bytes.buffer, block.bytes.byteOffset, byteLength / 8);
  }

  /** Byte offset in the window of the address whose 32-bit halves are given; negative or not below `byteLength` when it is outside. */
  offsetOf(lo: number, hi: number): number {
    // Exact inside the window; outside it may round, but stays outside.
    return ((hi >>> 0) - this.baseHi) * 0x1_0000_0000 + ((lo >>> 0) - this.baseLo);
  }
}

/** One row of the table that translates guest addresses on the device. All values are unsigned 64-bit. */
export interface WindowTableEntry {
  /** First guest address. */
  base: bigint;
  /** First guest address after the window. */
  end: bigint;
  /** What to add, modulo 2^64, to a guest address in the window to get its device address. */
  delta: bigint;
  /** Bits of {@linkcode Permission}. */
  permissions: number;
}

/** What another isolate of this process needs to attach a window. Structured-cloneable. */
export interface WindowDescription {
  name: string;
  base: bigint;
  byteLength: number;
  permissions: number;
  hostPointer: bigint;
  deviceAddress: bigint;
}
