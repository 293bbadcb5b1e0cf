/**
 * PM4 packets of the tests' own streams, written from the public headers (Linux `nvd.h`, Mesa `sid.h`) like tools/shaders/packets.ts, whose packets it
 * gives on. Shares nothing with src/pm4.
 */
export {
  releaseMem32,
  setComputeProgram,
  setComputeRegisters,
  waitMemoryEquals,
  writeData,
} from "../../tools/shaders/packets.ts";

const low = (address: bigint) => Number(address & 0xffff_ffffn);
const high = (address: bigint) => Number(address >> 32n & 0xffff_ffffn);

/** A type-3 packet. */
function packet(opcode: number, body: readonly number[], flags = 0): number[] {
  return [(0xc000_0000 | (body.length - 1) << 16 | opcode << 8 | flags) >>> 0, ...body.map((word) => word >>> 0)];
}

/** How a dispatch counts, and its waves. */
export interface DispatchOptions {
  waveSize?: 32 | 64;
  /** The dimensions count threads; groups at the edges are partial. */
  threads?: boolean;
}

/** COMPUTE_SHADER_EN and ORDER_MODE; USE_THREAD_DIMENSIONS; CS_W32_EN. */
function initiator({ waveSize = 32, threads = false }: DispatchOptions): number {
  return 0x41 | (threads ? 0x20 : 0) | (waveSize === 32 ? 0x8000 : 0);
}

/** Bit 1 of a header: the packet works on the compute state. */
const COMPUTE = 2;

/** DISPATCH_DIRECT. */
export function dispatchDirect(size: readonly [number, number, number], options: DispatchOptions = {}): number[] {
  return packet(0x15, [...size, initiator(options)], COMPUTE);
}

/** DISPATCH_INDIRECT of four words: the size lies at `address`. */
export function dispatchIndirect(address: bigint, options: DispatchOptions = {}): number[] {
  return packet(0x16, [low(address), high(address), initiator(options)], COMPUTE);
}

/** SET_BASE of the compute state's indirect arguments. */
export function setDispatchBase(address: bigint): number[] {
  return packet(0x11, [1, low(address), high(address)], COMPUTE);
}

/** DISPATCH_INDIRECT of three words: the size lies `offset` bytes behind the base. */
export function dispatchIndirectOffset(offset: number, options: DispatchOptions = {}): number[] {
  return packet(0x16, [offset, initiator(options)], COMPUTE);
}

/** EVENT_WRITE CS_PARTIAL_FLUSH: later packets wait until compute shaders under way are done. */
export function computeFlush(): number[] {
  return packet(0x46, [0x407]);
}

/** ACQUIRE_MEM over all memory with write-back and invalidation of the data caches, and of the instruction caches (GLI_INV) where asked for. */
export function acquireMem(instructions = false): number[] {
  return packet(0x58, [0x8000_0000, 0xffff_ffff, 0xff_ffff, 0, 0, 0xa, 0xc3f0 | (instructions ? 1 : 0)]);
}

/** WAIT_REG_MEM64: goes on when the 64-bit word at `address` is not below `value`. */
export function waitMemoryAtLeast64(address: bigint, value: bigint): number[] {
  return packet(0x93, [5 | 1 << 4, low(address), high(address), low(value), high(value), 0xffff_ffff, 0xffff_ffff, 4]);
}

/** DMA_DATA that fills `bytes` bytes with a word. */
export function dmaFill(address: bigint, bytes: number, word: number): number[] {
  // SRC_SEL 2 (data in the packet), DST_SEL 3 (memory through L2).
  return packet(0x50, [2 << 29 | 3 << 20, word, 0, low(address), high(address), bytes]);
}

/** DMA_DATA from memory to memory. */
export function dmaCopy(target: bigint, source: bigint, bytes: number): number[] {
  // SRC_SEL 3 and DST_SEL 3: memory through L2.
  return packet(0x50, [3 << 29 | 3 << 20, low(source), high(source), low(target), high(target), bytes]);
}
