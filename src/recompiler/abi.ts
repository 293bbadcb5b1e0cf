/**
 * What a recompiled module and the host agree on: push constants and the context block. Units are bytes, little endian.
 *
 * A module has one entry point "main", no descriptor set, and one push constant block. All memory is reached by device address: guest
 * addresses are translated through the window table of the context block. A failing access writes the fault record (first one wins),
 * a failing read gives zeros, a failing write goes to the sink.
 */

/** Offsets in the push constant block (std430-like layout). */
export const Push = {
  /** u64 device address of the context block. */
  Context: 0,
  /** u32 x 3: number of threads in each axis (partial dispatches only; otherwise unread). */
  ThreadLimit: 8,
  /** u32: bytes of scratch memory of a wave (programs with SCRATCH_EN only; otherwise unread). */
  ScratchWaveBytes: 20,
  /** u32 x 16: user data registers COMPUTE_USER_DATA_0... */
  UserData: 32,
  /** Size of the block. */
  Bytes: 96,
} as const;

/**
 * Offsets in the push constants of a graphics stage, from where its part begins. Each stage has a context block of its own, and its user data are in memory:
 * together they would not fit the 128 bytes that every device has.
 */
export const StagePush = {
  /** u64 device address of the stage's context block. */
  Context: 0,
  /** u64 device address of the stage's user data: u32 x 32, a multiple of 16. */
  UserData: 8,
  /** Size of a stage's part. */
  Bytes: 16,
  /** Where the parts begin. */
  Vertex: 0,
  Pixel: 16,
} as const;

/** Offsets in the context block. */
export const Context = {
  /** The fault record, {@linkcode FaultRecord}. */
  Fault: 0,
  /** u32: number of entries of the window table. */
  WindowCount: 32,
  /** 64 zero bytes that failing or inactive reads read (never written). */
  Zero: 64,
  /** 64 bytes that failing or inactive writes write. */
  Sink: 128,
  /** What the host has resolved for the dispatch: numbers, addresses and sizes of buffers, laid out as `Resources` says. */
  Resolved: 192,
  /** Size of that area. */
  ResolvedBytes: 2048,
  /** The window table, sorted by begin, {@linkcode WindowEntry} each. There is always room for one entry, which is zero when there is no window. */
  Windows: 2240,
} as const;

/** Offsets in an entry of the window table. */
export const WindowEntry = {
  /** u64: first guest address. */
  Begin: 0,
  /** u64: first guest address after the window; 0 stands for 2^64. */
  End: 8,
  /** u64: device address of the window's first byte minus `Begin` (wraps). */
  Delta: 16,
  /** u32: {@linkcode Access} bits that are allowed. */
  Access: 24,
  Bytes: 32,
} as const;

/**
 * Guest address of GDS in programs that use it (`Artifact.usesGds`): the host puts a window there. Addresses of guest memory are 48 bits with a sign, so it
 * is none of them.
 */
export const GDS_ADDRESS = 0x4744_5300_0000_0000n;
/** Guest address of the records of merged groups (`Artifact.group`), in the same way; 4 GiB at most: user data 16 to 31, then a record for each group (stages/group.ts). */
export const GROUP_ADDRESS = 0x4752_5000_0000_0000n;

/** Access bits. */
export const Access = { Read: 1, Write: 2, Execute: 4 } as const;

/** Offsets in the fault record; 16 bytes. `readFaultRecord` of fault_record.ts reads it. */
export const FaultRecord = {
  /** u32: 0 none, 1 recorded (set by compare-exchange, so that the first fault wins). */
  State: 0,
  /** u32: which access of the program, see `accessInfo` of fault_record.ts. */
  Info: 4,
  /** u64: guest address. */
  Address: 8,
} as const;

/** Why an access failed. */
export const FaultReason = {
  Unmapped: 1,
  Permission: 2,
  Overflow: 3,
  Unaligned: 4,
  /**
   * The guest may do it, the module could not: the access crosses from one window into an adjoining one, or its window is beyond those that the module
   * looks at (`RecompileRequest.windows`). A refusal, and not the guest's fault.
   */
  Elsewhere: 5,
  /** No access: the device may have ended a loop that had not ended (spirv/loop_limit.ts). A refusal, and not the guest's fault. */
  LoopLimit: 6,
  /** The four that follow are refusals as well: of what shows at run time only. Their accesses go to an address that is none, {@linkcode nowhere}. */
  /** A V# that asks for what is implemented for constant descriptors only. */
  BufferDescriptor: 7,
  /** A V# with a format or selectors that are not implemented. */
  BufferFormat: 8,
  /** An element in scratch memory that crosses a dword of its lane. */
  ScratchCrossing: 9,
  /** A sample whose footprint crosses an edge of a cube map's face. */
  CubeEdge: 10,
  /** A sample of an image by a number that it has not. */
  SampleNumber: 11,
} as const;

/** First byte of the addresses of {@linkcode nowhere}: no address is the 48-bit sign extension of itself that has it. */
const NOWHERE = 0x0b;

/**
 * High half of an address that is none, and that says why: bits 31:24 are 0x0b, 23:16 the {@linkcode FaultReason}. What an address computation adds (offsets
 * of less than 2^48 bytes) leaves them alone.
 */
export function nowhere(reason: number): number {
  return NOWHERE << 24 | reason << 16;
}

/** The reason of a guest address that {@linkcode nowhere} made; undefined for others. */
export function nowhereReason(address: bigint): number | undefined {
  const high = Number(BigInt.asUintN(64, address) >> 48n), reason = high & 0xff;
  return high >>> 8 === NOWHERE && reason >= FaultReason.BufferDescriptor && reason <= FaultReason.SampleNumber
    ? reason
    : undefined;
}
