import type { ErrorPlace } from "../errors.ts";
import type { RegisterState } from "./registers.ts";

/**
 * Guest memory as the command processor reads it. Addresses are sign-extended 48-bit values as unsigned 64-bit bigints; words are little endian.
 * A range that is not mapped throws (the executor adds the packet's place).
 */
export interface CommandMemory {
  /** A 32-bit word; the address is a multiple of 4. */
  readU32(address: bigint): number;
  /** A 64-bit word; the address is a multiple of 8. */
  readU64(address: bigint): bigint;
  /** A copy of `count` 32-bit words; the address is a multiple of 4. */
  readWords(address: bigint, count: number): Uint32Array;
}

/** Names the packet that a command came from. */
export interface PacketSource {
  /** For errors: queue, file offset or guest address, words. */
  errorPlace(): ErrorPlace;
  /** The submission's. */
  readonly snapshot?: number;
}

/** What DISPATCH_DIRECT and DISPATCH_INDIRECT have in common. */
export interface DispatchState {
  /** The queue's registers at this packet. Valid during the call only: later packets change them. See `computeProgram`. */
  readonly registers: RegisterState;
  /** COMPUTE_DISPATCH_INITIATOR of the packet. */
  readonly initiator: number;
  /** Lanes per wave (initiator bit 15). */
  readonly waveSize: 32 | 64;
  /** The dimensions count threads, and groups at the edges are cut (initiator bit 5). Otherwise they count groups. */
  readonly partialThreads: boolean;
  readonly source: PacketSource;
}

/** A dispatch whose size the packet holds. No dimension is zero: empty dispatches do not reach the sink. */
export interface DispatchCommand extends DispatchState {
  /** Groups, or threads with `partialThreads`. */
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

/** A dispatch whose size (three 32-bit words) lies in guest memory when the GPU gets to it; it may be zero. */
export interface DispatchIndirectCommand extends DispatchState {
  /** Guest address of the three words, a multiple of 4. */
  readonly address: bigint;
}

/** A point in the stream that orders work or caches. Later packets see its effect; nothing is written. */
export interface BarrierCommand {
  /**
   * `acquire`: caches in front of `address`..`address + bytes` are written back and made to read anew (ACQUIRE_MEM).
   * `compute-done`, `vertex-done`, `pixel-done`: later packets wait until shaders of that kind that are under way have finished (EVENT_WRITE partial flush).
   * `target-caches`: colour and depth caches are flushed (EVENT_WRITE).
   */
  readonly kind: "acquire" | "compute-done" | "vertex-done" | "pixel-done" | "target-caches";
  /** First byte (`acquire`). */
  readonly address: bigint;
  /** Bytes; -1n is all memory. */
  readonly bytes: bigint;
  /** Instruction caches are made to read anew (`acquire`): code that earlier work wrote may be executed from here on. */
  readonly instructions: boolean;
  readonly source: PacketSource;
}

/** RELEASE_MEM: when all earlier work of the queue is complete and its writes are visible, write a value and perhaps raise an interrupt. */
export interface ReleaseCommand {
  /** `clock` writes the 64-bit GPU clock (100 MHz) of the moment of completion. */
  readonly data: "none" | "u32" | "u64" | "clock";
  /** Guest address, a multiple of the written size; meaningless when `data` is `none`. */
  readonly address: bigint;
  /** Value for `u32` and `u64`. */
  readonly value: bigint;
  /** End-of-pipe interrupt to the guest after the write. */
  readonly interrupt: boolean;
  /** Last word of the packet, which the interrupt carries. */
  readonly interruptContext: number;
  readonly source: PacketSource;
}

/**
 * What the executor acts on; the driver implements it. Calls come in stream order, one queue at a time from one executor.
 *
 * Writes are those of the command processor. Whether a write is recorded into the GPU's batch or done at once is the sink's affair, as long as
 * (1) memory reads through the sink give what the guest could read at that point, (2) a write does not appear before work that a preceding
 * `release` or `barrier` waits for, and (3) two writes of one queue appear in order.
 */
export interface CommandSink extends CommandMemory {
  /** WRITE_DATA and COPY_DATA of constants: whole words at a multiple of 4. `words` is valid during the call only. */
  writeWords(address: bigint, words: Uint32Array, source: PacketSource): void;
  /** DMA_DATA of a constant: `bytes` (a multiple of 4) filled with a 32-bit value, from a multiple of 4 on. */
  fill(address: bigint, bytes: number, value: number, source: PacketSource): void;
  /** DMA_DATA and COPY_DATA from memory to memory; the ranges do not overlap. */
  copy(target: bigint, from: bigint, bytes: number, source: PacketSource): void;
  dispatch(command: DispatchCommand): void;
  dispatchIndirect(command: DispatchIndirectCommand): void;
  barrier(command: BarrierCommand): void;
  release(command: ReleaseCommand): void;
  /** The GPU clock now: 64 bits, 100 MHz. */
  clock(): bigint;
  /** PUSH_MARKER (with its text) and POP_MARKER (null): for traces. */
  marker?(text: string | null): void;
}
