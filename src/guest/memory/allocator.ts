import { HostError } from "../../errors.ts";

/** A piece of host memory that backs one window. */
export interface HostBlock {
  /** The memory itself, zero-filled when new. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Host address of the first byte; 0n when the memory has no stable address (it may move, and nothing outside JavaScript may use it). */
  readonly pointer: bigint;
}

/** Where windows get their host memory from. Unit tests and tools need no FFI: they use {@linkcode ArrayAllocator}. */
export interface HostAllocator {
  /** Gives zero-filled memory of `bytes` bytes, a whole number of 4 KiB pages, aligned to a page where it has an address. */
  allocate(bytes: number): HostBlock;
  /** Gives a block back. Its `bytes` must not be used afterwards; implementations detach the buffer, so that stale views are empty. */
  release(block: HostBlock): void;
  /** A second view of memory that another isolate of this process allocated. Throws where blocks have no stable address. */
  attach(pointer: bigint, bytes: number): HostBlock;
  /** Drops a view that `attach` gave, without giving the memory back. */
  detach(block: HostBlock): void;
}

/** Windows in ordinary array buffers: for tests and for tools that only look at memory. */
export class ArrayAllocator implements HostAllocator {
  allocate(bytes: number): HostBlock {
    try {
      return { bytes: new Uint8Array(bytes), pointer: 0n };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new HostError("memory.allocation", `no room for a window of ${bytes} bytes: ${error.message}`);
    }
  }

  release(block: HostBlock): void {
    block.bytes.buffer.transfer(0);
  }

  attach(_pointer: bigint, _bytes: number): HostBlock {
    throw new HostError(
      "memory.not-shareable",
      "memory in array buffers has no host address: another isolate cannot attach it",
    );
  }

  detach(_block: HostBlock): void {
    throw new HostError("memory.not-shareable", "memory in array buffers is never attached");
  }
}
