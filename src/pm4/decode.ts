import { hex, InvalidInputError } from "../errors.ts";
import { HeaderFlag, NOP_OPCODE, nopCode, packetOpcode, packetType, packetWords } from "./header.ts";
import { packetDefinition, packetName } from "./lookup.ts";
import type { PacketDefinition } from "./packets/definition.ts";

/** One packet of a stream. */
export interface Packet {
  /** Index of the header in the stream, in words. */
  readonly offset: number;
  /** The header. */
  readonly header: number;
  /** 2 (filler) or 3. */
  readonly type: number;
  /** Opcode; 0 for fillers. */
  readonly opcode: number;
  /** AGC sub-code of a NOP; undefined for others. */
  readonly code: number | undefined;
  /** Words, header included. */
  readonly size: number;
  /** Name; unknown packets are named by their number. */
  readonly name: string;
  /** Header bit 0: executed only if the predicate holds. */
  readonly predicate: boolean;
  /** Header bit 1: belongs to compute. */
  readonly compute: boolean;
  /** Header bit 2. */
  readonly resetFilter: boolean;
  /** Row of the packet table; undefined when the packet is unknown. */
  readonly definition: PacketDefinition | undefined;
}

/** Splits a stream into packets. The bodies are `words[offset + 1]`... Throws where {@linkcode scanPackets} stops. */
export function decodePackets(words: Uint32Array): Packet[] {
  const { packets, problem, end } = scanPackets(words);
  if (problem !== undefined) {
    throw new InvalidInputError("pm4.truncated", `at word ${hex(end)}: ${problem}`, {
      fileOffset: end * 4,
      words: Array.from(words.subarray(end, end + 4)),
    });
  }
  return packets;
}

/** Splits a stream into packets as far as it goes. `end` is the index of the first word that belongs to no whole packet. */
export function scanPackets(words: Uint32Array): { packets: Packet[]; end: number; problem?: string } {
  const packets: Packet[] = [];
  let at = 0;
  while (at < words.length) {
    const header = words[at];
    const type = packetType(header);
    if (type < 2) {
      return { packets, end: at, problem: `${hex(header, 8)} is no header: packets of type ${type} are not accepted` };
    }
    const size = packetWords(header);
    if (at + size > words.length) {
      return {
        packets,
        end: at,
        problem: `${packetName(header)} has ${size} words, but only ${words.length - at} are left`,
      };
    }
    const opcode = type === 2 ? 0 : packetOpcode(header);
    const isNop = opcode === NOP_OPCODE;
    packets.push({
      offset: at,
      header,
      type,
      opcode,
      code: isNop ? nopCode(header) : undefined,
      size,
      name: packetName(header),
      predicate: type === 3 && (header & HeaderFlag.Predicate) !== 0,
      compute: type === 3 && (header & HeaderFlag.Compute) !== 0,
      resetFilter: type === 3 && !isNop && (header & HeaderFlag.ResetFilter) !== 0,
      definition: packetDefinition(header),
    });
    at += size;
  }
  return { packets, end: at };
}
