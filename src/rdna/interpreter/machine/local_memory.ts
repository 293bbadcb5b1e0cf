/**
 * LDS of a workgroup, or GDS: bytes with addresses from 0 on (AMD RDNA2 ISA, section 10 "Data share").
 *
 * Out of range, each dword of a load reads 0 and each dword of a store is dropped; narrower accesses likewise as a whole. Loads and stores work at any
 * address; an atomic whose address is not a multiple of its size is a fault (as in src/recompiler/spirv/runtime/lds.ts).
 */
export class LocalMemory {
  readonly view: DataView;

  constructor(
    /** The bytes. */
    readonly bytes: Uint8Array,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Whether `bytes` bytes from `address` (a non-negative number) on exist. */
  holds(address: number, bytes: number): boolean {
    return address + bytes <= this.bytes.length;
  }

  /** The dword at an address, as int32; 0 out of range. */
  dword(address: number): number {
    return this.holds(address, 4) ? this.view.getInt32(address, true) : 0;
  }

  /** Writes a dword; nothing out of range. */
  setDword(address: number, value: number): void {
    if (this.holds(address, 4)) this.view.setInt32(address, value, true);
  }

  /** The 64-bit word at an address; 0 out of range. */
  quad(address: number): bigint {
    return this.holds(address, 8) ? this.view.getBigUint64(address, true) : 0n;
  }

  /** Writes a 64-bit word; nothing out of range. */
  setQuad(address: number, value: bigint): void {
    if (this.holds(address, 8)) this.view.setBigUint64(address, value, true);
  }
}
