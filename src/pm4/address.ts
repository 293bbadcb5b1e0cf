/**
 * Joins the two halves of an address in a packet: bits 47..0, sign-extended, as an unsigned 64-bit value. Packets and registers carry 48 address
 * bits; where the high half holds more, the rest repeats bit 47 (validation has made sure of that: {@linkcode isAddressHigh}).
 */
export function packetAddress(lo: number, hi: number): bigint {
  const address = BigInt.asIntN(48, BigInt(hi & 0xffff) << 32n | BigInt(lo >>> 0));
  return address < 0n ? BigInt.asUintN(64, address) : address;
}

/** True when `hi` can be the high half of a 48-bit address: either bits 31..16 are zero, or they repeat bit 15. */
export function isAddressHigh(hi: number): boolean {
  return hi >>> 16 === 0 || hi >>> 15 === 0x1ffff;
}
