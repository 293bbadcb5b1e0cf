import { mapAnonymous, type Mapping, unmap, viewMemory } from "../../../ffi/libc.ts";
import type { HostAllocator, HostBlock } from "./allocator.ts";

/**
 * Windows in anonymous mappings: page-aligned memory with an address that never moves, so that Vulkan can import it and other isolates can attach
 * it. The kernel commits a page when it is first touched.
 */
export class MmapAllocator implements HostAllocator {
  allocate(bytes: number): HostBlock {
    const { address } = mapAnonymous(bytes);
    return { bytes: new Uint8Array(viewMemory(address, bytes)), pointer: address };
  }

  release(block: HostBlock): void {
    const mapping: Mapping = { address: block.pointer, byteLength: block.bytes.byteLength };
    // Detach first: a stale view must become empty, because touching unmapped pages ends the process.
    this.detach(block);
    unmap(mapping);
  }

  attach(pointer: bigint, bytes: number): HostBlock {
    return { bytes: new Uint8Array(viewMemory(pointer, bytes)), pointer };
  }

  detach(block: HostBlock): void {
    block.bytes.buffer.transfer(0);
  }
}
