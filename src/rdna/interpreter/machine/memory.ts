/**
 * Guest memory as the interpreter sees it.
 *
 * A guest address is a signed 64-bit number: sign-extended 48-bit addresses are exact JavaScript numbers. Accesses give it as high word, low word and
 * a byte offset, so that the address in a fault report is exact even for garbage pointers, and no bigint is made unless something fails.
 */

/** Access bits; the same numbers as in the recompiler's interface (src/recompiler/abi.ts). */
export const Access = { Read: 1, Write: 2, Execute: 4 } as const;

/** Why an access failed; the same numbers as in the recompiler's interface. In this order: the highest one that applies below is reported. */
export const FaultReason = { None: 0, Unmapped: 1, Permission: 2, Overflow: 3, Unaligned: 4 } as const;

/** Names of {@linkcode FaultReason}, for messages. */
export const FAULT_NAMES = ["none", "unmapped", "permission", "overflow", "unaligned"];

/** A failed access. */
export interface Fault {
  /** Guest address, unsigned 64-bit (of LDS: the byte address in it). */
  address: bigint;
  /** Bytes of the access. */
  bytes: number;
  /** One of {@linkcode FaultReason}. */
  reason: number;
  /** Byte offset of the instruction from the program's entry. */
  pc: number;
}

/** What the interpreter needs of an address space. */
export interface MemorySpace {
  /**
   * Finds a range of at most 16 bytes, and leaves where it is in `view` and `offset`. A range that runs from one window into an adjoining one is
   * collected in a buffer; what is written there takes effect with {@linkcode settle}.
   *
   * @param address signed 64-bit address, an exact number
   * @param access bits of {@linkcode Access} that are needed
   * @returns one of {@linkcode FaultReason}: None, Unmapped or Permission
   */
  locate(address: number, bytes: number, access: number): number;
  /** Completes the last access. */
  settle(): void;
  /** Host memory of the last range found. */
  readonly view: DataView;
  /** Byte offset in `view` of the last range found. */
  readonly offset: number;
}

/** A guest address as an unsigned 64-bit value. */
function exactAddress(hi: number, lo: number, delta: number): bigint {
  return BigInt.asUintN(64, (BigInt(hi | 0) << 32n | BigInt(lo >>> 0)) + BigInt(delta));
}

/**
 * The memory of a running dispatch: a failing read gives zeros, a failing write is dropped, the first fault is kept, and execution goes on.
 *
 * Loads work at any address, like the console's in unaligned access mode. Stores of a dword or more need a multiple of 4, stores of 2 bytes a multiple of 2,
 * atomics a multiple of their size (the recompiler's rules, src/recompiler/spirv/runtime/memory.ts).
 */
export class DispatchMemory {
  /** The first fault of the dispatch. */
  fault: Fault | null = null;
  /** Where the last access is. */
  view: DataView = new DataView(new ArrayBuffer(0));
  offset = 0;

  constructor(private readonly space: MemorySpace) {}

  /**
   * Checks an access and leaves its place in `view` and `offset`; false when it failed.
   *
   * @param hi high word of the base address
   * @param lo low word of it
   * @param delta bytes to add
   * @param alignment what the address must be a multiple of
   * @param pc of the instruction
   */
  locate(
    hi: number,
    lo: number,
    delta: number,
    bytes: number,
    access: number,
    alignment: number,
    pc: number,
  ): boolean {
    this.space.settle();
    const address = (hi | 0) * 0x1_0000_0000 + (lo >>> 0) + delta;
    let reason: number;
    if (address < 0 && address + bytes > 0) reason = FaultReason.Overflow;
    else if (!Number.isSafeInteger(address)) reason = FaultReason.Unmapped;
    else reason = this.space.locate(address, bytes, access);
    if (reason === FaultReason.None && alignment > 1 && (lo + delta) % alignment !== 0) {
      reason = FaultReason.Unaligned;
    }
    if (reason !== FaultReason.None) {
      this.record(exactAddress(hi, lo, delta), bytes, reason, pc);
      return false;
    }
    this.view = this.space.view;
    this.offset = this.space.offset;
    return true;
  }

  /** Completes the last access. */
  settle(): void {
    this.space.settle();
  }

  /** Notes a fault unless there was one before. */
  record(address: bigint, bytes: number, reason: number, pc: number): void {
    if (this.fault === null) this.fault = { address, bytes, reason, pc };
  }
}
