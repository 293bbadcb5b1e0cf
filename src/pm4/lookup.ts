import { hex } from "../errors.ts";
import { NOP_OPCODE, nopCode, packetOpcode } from "./header.ts";
import { FILLER, NOP_CODES, PACKETS } from "./packets.ts";
import type { PacketDefinition } from "./packets/definition.ts";

/** The row of the table for a header of type 2 or 3; undefined when the opcode or the sub-code is unknown. */
export function packetDefinition(header: number): PacketDefinition | undefined {
  if (header >>> 30 === 2) return FILLER;
  const opcode = packetOpcode(header);
  return opcode === NOP_OPCODE ? NOP_CODES.get(nopCode(header)) : PACKETS.get(opcode);
}

/** Name of a packet of type 2 or 3; unknown ones by number. */
export function packetName(header: number): string {
  const definition = packetDefinition(header);
  if (definition !== undefined) return definition.name;
  const opcode = packetOpcode(header);
  return opcode === NOP_OPCODE ? `NOP:${hex(nopCode(header), 2)}` : `opcode ${hex(opcode, 2)}`;
}

/** True when a packet of this kind may have `size` words. */
export function sizeFits(definition: PacketDefinition, size: number): boolean {
  const { sizes } = definition;
  return "min" in sizes ? size >= sizes.min : sizes.includes(size);
}

/** The sizes that a packet of this kind may have, for messages. */
export function sizesText({ sizes }: PacketDefinition): string {
  return "min" in sizes ? `at least ${sizes.min}` : sizes.join(" or ");
}

/** Layout of the words after the header, for a packet of `size` words. */
export function layoutOf(definition: PacketDefinition, size: number): readonly string[] {
  return typeof definition.layout === "function" ? definition.layout(size) : definition.layout;
}

/** Everything that the table knows, for documentation and tests. */
export function knownPackets(): { opcode: number; code?: number; definition: PacketDefinition }[] {
  return [
    ...[...PACKETS].map(([opcode, definition]) => ({ opcode, definition })),
    ...[...NOP_CODES].map(([code, definition]) => ({ opcode: NOP_OPCODE, code, definition })),
  ];
}
