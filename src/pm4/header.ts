/**
 * The first word of a packet. Bits 31..30 are the type, and type 3 has the number of body words minus one in 29..16, the opcode in 15..8 and flags
 * below: bit 0 predicate, bit 1 shader type (1 = compute), bit 2 reset of the register filter (AMD SI programming guide, "PM4 packets"; Linux
 * soc15d.h). AGC uses bits 7..2 of a NOP for sub-codes of its own.
 */

/** Opcode of NOP. */
export const NOP_OPCODE = 0x10;
/** Count field of a NOP that is its header alone (Mesa sid.h, PKT3_NOP_PAD). */
const HEADER_ONLY_COUNT = 0x3fff;

/** Flag bits of a type 3 header. */
export const HeaderFlag = { Predicate: 1, Compute: 2, ResetFilter: 4 } as const;

/** Packet type 0..3. */
export function packetType(header: number): number {
  return header >>> 30;
}

/** Opcode of a type 3 header. */
export function packetOpcode(header: number): number {
  return header >>> 8 & 0xff;
}

/** AGC sub-code of a NOP header. */
export function nopCode(header: number): number {
  return header >>> 2 & 0x3f;
}

/** Words of the packet with this header, which is type 2 or 3. */
export function packetWords(header: number): number {
  if (header >>> 30 === 2) return 1;
  const count = header >>> 16 & 0x3fff;
  if (count === HEADER_ONLY_COUNT && packetOpcode(header) === NOP_OPCODE && nopCode(header) === 0) return 1;
  return count + 2;
}

/** The header of a type 3 packet of `words` words (2..0x4001), for tools and tests. `low` holds bits 7..0. */
export function packetHeader(opcode: number, words: number, low = 0): number {
  return (0xc0000000 | words - 2 << 16 | opcode << 8 | low) >>> 0;
}
