/** Bytes in a guest page: the granularity of windows, and the alignment that imports of host memory need. */
export const PAGE_BYTES = 4096;

/** One past the highest guest address. */
export const ADDRESS_SPACE_END = 1n << 64n;

/**
 * Sign-extends a 48-bit guest address to 64 bits, given back as an unsigned 64-bit value.
 *
 * The GPU's virtual addresses have 48 bits; bit 47 fills the upper 16 (AMD RDNA2 ISA, "Memory address space"): 0x8000_0000_1000 is the same place
 * as 0xFFFF_8000_0000_1000. Registers such as COMPUTE_PGM_HI hold only the low 48 bits and need this.
 */
export function canonicalAddress(address: bigint): bigint {
  return BigInt.asUintN(64, BigInt.asIntN(48, address));
}

/** True when `address` is an unsigned 64-bit value whose bits 63..48 repeat bit 47. */
export function isCanonical(address: bigint): boolean {
  return address >= 0n && canonicalAddress(address) === address;
}

/** Joins two 32-bit halves to an address without sign extension. Halves may be signed or unsigned numbers. */
export function joinAddress(lo: number, hi: number): bigint {
  return BigInt(hi >>> 0) << 32n | BigInt(lo >>> 0);
}

/** Rounds a byte count or an offset up to whole pages. */
export function roundUpToPage(bytes: number): number {
  return Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
}
