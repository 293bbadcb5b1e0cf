/** Host memory for windows with pages of a pattern on both sides, to see that nothing outside of guest memory is written. */
import { mapAnonymous, type Mapping, unmap, viewMemory } from "../../ffi/libc.ts";
import type { HostAllocator, HostBlock } from "../../src/guest/memory/allocator.ts";

const CANARY_BYTES = 64 * 1024;
const CANARY = 0xc5;

/** See the file comment. */
export class CanaryAllocator implements HostAllocator {
  readonly #mappings = new Map<bigint, Mapping>();

  allocate(bytes: number): HostBlock {
    const mapping = mapAnonymous(bytes + 2 * CANARY_BYTES);
    const around = new Uint8Array(viewMemory(mapping.address, mapping.byteLength));
    around.fill(CANARY, 0, CANARY_BYTES);
    around.fill(CANARY, CANARY_BYTES + bytes);
    const pointer = mapping.address + BigInt(CANARY_BYTES);
    this.#mappings.set(pointer, mapping);
    return { bytes: new Uint8Array(viewMemory(pointer, bytes)), pointer };
  }

  /** Byte offsets from the nearest window of canary bytes that have changed. */
  damage(): string[] {
    const result: string[] = [];
    for (const { address, byteLength } of this.#mappings.values()) {
      const around = new Uint8Array(viewMemory(address, byteLength));
      const end = byteLength - CANARY_BYTES;
      for (let i = 0; i < byteLength; i = i === CANARY_BYTES - 1 ? end : i + 1) {
        if (around[i] !== CANARY) result.push(i < end ? `${i - CANARY_BYTES} before` : `${i - end} behind`);
      }
    }
    return result;
  }

  release(block: HostBlock): void {
    block.bytes.buffer.transfer(0);
    unmap(this.#mappings.get(block.pointer)!);
    this.#mappings.delete(block.pointer);
  }

  attach(): HostBlock {
    throw new Error("canary memory is not attached");
  }

  detach(): void {
    throw new Error("canary memory is not attached");
  }
}
