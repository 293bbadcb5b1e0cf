/**
 * A small assembler for PM4 type-3 packets, enough for the sample programs: compute state, dispatch, labels. Written from the public
 * descriptions of the packets (Linux `drivers/gpu/drm/amd/amdgpu/nvd.h`, Mesa `src/amd/common/sid.h`); it shares nothing with src/pm4,
 * so that the samples are an input to it and not its mirror.
 *
 * @module
 */

/** Type-3 opcodes (nvd.h, `PACKET3_*`). */
const OPCODE = {
  DISPATCH_DIRECT: 0x15,
  WRITE_DATA: 0x37,
  WAIT_REG_MEM: 0x3c,
  RELEASE_MEM: 0x49,
  SET_SH_REG: 0x76,
} as const;

/** Compute registers: dword offsets in the SH bank (gc_10_1_0_offset.h, minus the bank's base 0x2c00). */
export const COMPUTE = {
  START_X: 0x204,
  NUM_THREAD_X: 0x207,
  PGM_LO: 0x20c,
  PGM_RSRC1: 0x212,
  PGM_RSRC2: 0x213,
  RESOURCE_LIMITS: 0x215,
  USER_DATA_0: 0x240,
} as const;

/** Bit 1 of a header: the packet works on the compute state. */
const SHADER_TYPE_COMPUTE = 1 << 1;

function packet(opcode: number, body: readonly number[], flags = 0): number[] {
  return [(0xc0000000 | (body.length - 1) << 16 | opcode << 8 | flags) >>> 0, ...body.map((word) => word >>> 0)];
}

function low(value: bigint): number {
  return Number(value & 0xffffffffn);
}

function high(value: bigint): number {
  return Number(value >> 32n & 0xffffffffn);
}

/** SET_SH_REG: `values` to consecutive compute registers from `register` on. */
export function setComputeRegisters(register: number, ...values: number[]): number[] {
  return packet(OPCODE.SET_SH_REG, [register, ...values]);
}

/** COMPUTE_PGM_LO and _HI of code at a 256-byte aligned address. */
export function setComputeProgram(address: bigint): number[] {
  return setComputeRegisters(COMPUTE.PGM_LO, Number(address >> 8n & 0xffffffffn), Number(address >> 40n & 0xffn));
}

/** DISPATCH_DIRECT of a grid of thread groups. Initiator: COMPUTE_SHADER_EN, ORDER_MODE, and CS_W32_EN for wave32. */
export function dispatchDirect(groups: readonly [number, number, number], waveSize: 32 | 64): number[] {
  const initiator = 1 << 0 | 1 << 6 | (waveSize === 32 ? 1 << 15 : 0);
  return packet(OPCODE.DISPATCH_DIRECT, [...groups, initiator], SHADER_TYPE_COMPUTE);
}

/**
 * RELEASE_MEM: once all work before it is done and its writes are visible, writes a 32-bit value. Event 40 (BOTTOM_OF_PIPE_TS) with event
 * index 5, and GCR bits that write back and invalidate the caches.
 */
export function releaseMem32(address: bigint, value: number): number[] {
  const event = 40 | 5 << 8 | 0x30c << 12;
  const dataSelect32 = 1 << 29;
  return packet(OPCODE.RELEASE_MEM, [event, dataSelect32, low(address), high(address), value, 0, 0]);
}

/** WAIT_REG_MEM: goes on when the 32-bit word at `address` equals `value`. Function 3 (equal), memory space, engine ME. */
export function waitMemoryEquals(address: bigint, value: number): number[] {
  const control = 3 | 1 << 4;
  return packet(OPCODE.WAIT_REG_MEM, [control, low(address), high(address), value, 0xffffffff, 4]);
}

/** WRITE_DATA of 32-bit words to memory through L2 (destination 2), confirmed. */
export function writeData(address: bigint, ...values: number[]): number[] {
  return packet(OPCODE.WRITE_DATA, [2 << 8 | 1 << 20, low(address), high(address), ...values]);
}

/** A raw buffer descriptor (V#): 32-bit elements, stride 0, bounds by bytes (RDNA2 ISA, "Buffer resource descriptor"). */
export function rawBuffer(address: bigint, bytes: number): [number, number, number, number] {
  return [low(address), high(address) & 0xffff, bytes, 0x31016fac];
}
