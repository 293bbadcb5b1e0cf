import { AnyAgcError, hex } from "../errors.ts";
import { packetAddress } from "./address.ts";
import { type Packet, scanPackets } from "./decode.ts";
import { layoutOf } from "./lookup.ts";
import { wordLayout } from "./packets/layout.ts";
import { markerText } from "./packets/nop.ts";
import { EVENT_NAMES } from "./packets/sync.ts";
import { Bank, BANKS, fieldValue, registerAt, type RegisterField, registerName } from "./registers.ts";
import type { CommandMemory } from "./sink.ts";

/** What the disassembler may look at. */
export interface DisassembleOptions {
  /** Guest memory: register tables and indirect buffers are listed with their contents. */
  memory?: CommandMemory;
  /** Guest address of the first word: addresses are printed instead of word indices. */
  address?: bigint;
}

/** How deep indirect buffers are listed. */
const MAX_LISTED_NESTING = 8;
/** Words in a line of raw words. */
const WORDS_PER_LINE = 8;
/** This many equal registers in a row are listed in one line. */
const RUN = 4;

const SET: ReadonlyMap<number, Bank> = new Map([
  [0x68, Bank.Config],
  [0x69, Bank.Context],
  [0x76, Bank.Sh],
  [0x79, Bank.Uconfig],
  [0x7a, Bank.Uconfig],
]);
const SET_INDIRECT: ReadonlyMap<number, Bank> = new Map([
  [0x63, Bank.Sh],
  [0x64, Bank.Uconfig],
  [0x9f, Bank.Context],
]);

/**
 * A stream as text: one line for each packet (word index or address, header, name, flags, and why it is not executed), and indented lines for its
 * registers and fields. Only fields that are not zero are listed. A stream that cannot be walked to its end is listed as far as it goes, with the
 * reason in the last line.
 */
export function disassemble(words: Uint32Array, options: DisassembleOptions = {}): string[] {
  return listStream(words, options, options.address, 0);
}

function listStream(
  words: Uint32Array,
  options: DisassembleOptions,
  address: bigint | undefined,
  nesting: number,
): string[] {
  const label = (at: number) => address === undefined ? hex(at, 4) : hex(address + BigInt(at * 4), 12);
  const { packets, end, problem } = scanPackets(words);
  const lines: string[] = [];
  for (const packet of packets) {
    lines.push(`${label(packet.offset)}: ${titleOf(packet)}`);
    for (const detail of detailsOf(packet, words, options, nesting)) lines.push(`    ${detail}`);
  }
  if (problem !== undefined) lines.push(`${label(end)}: stops here: ${problem}`);
  return lines;
}

function titleOf(packet: Packet): string {
  const { header, name, size, definition } = packet;
  const parts = [hex(header, 8), name];
  if (size > 1) parts.push(`${size} words`);
  if (packet.predicate) parts.push("predicate");
  if (packet.compute) parts.push("compute");
  if (packet.resetFilter) parts.push("reset-filter");
  if (definition === undefined) parts.push("; not executed: the packet is unknown");
  else if (definition.refused !== undefined) parts.push(`; not executed: ${definition.refused}`);
  return parts.join(" ");
}

/** The lines below a packet's title. */
function detailsOf(packet: Packet, words: Uint32Array, options: DisassembleOptions, nesting: number): string[] {
  const { offset, size, opcode, code } = packet;
  const body = words.subarray(offset + 1, offset + size);
  if (code === 0) return [];
  if (code === 0x0b) {
    const text = markerText(words, offset, size);
    return text === null ? rawWords(body) : [JSON.stringify(text)];
  }
  const bank = SET.get(opcode);
  if (bank !== undefined && body.length >= 2) {
    const first = body[0] & 0xffff;
    return registerLines(bank, Array.from(body.subarray(1), (value, i) => [first + i, value] as const));
  }
  const lines = layoutLines(packet, body);
  const tableBank = SET_INDIRECT.get(opcode);
  if (tableBank !== undefined && size === 5) lines.push(...tableLines(tableBank, body, options));
  if (opcode === 0x3f && size === 4) lines.push(...indirectBufferLines(body, options, nesting));
  return lines;
}

/** Fields and numbers as the packet's layout has them, and the words after it. */
function layoutLines(packet: Packet, body: Uint32Array): string[] {
  const { definition } = packet;
  if (definition === undefined) return rawWords(body);
  const layout = layoutOf(definition, packet.size);
  const lines: string[] = [];
  for (let i = 0; i < layout.length && i < body.length; i++) {
    const { name, fields } = wordLayout(layout[i]);
    if (name === "") {
      const text = fieldText(body[i], fields);
      if (text !== "") lines.push(text);
    } else if (name.endsWith("_LO") && layout[i + 1]?.endsWith("_HI") && i + 1 < body.length) {
      lines.push(`${name.slice(0, -3)} = ${hex(BigInt(body[i + 1]) << 32n | BigInt(body[i]), 12)}`);
      i++;
    } else {
      lines.push(`${name} = ${hex(body[i], 8)}`);
    }
  }
  return lines.concat(rawWords(body.subarray(Math.min(layout.length, body.length))));
}

function fieldText(value: number, fields: readonly RegisterField[]): string {
  const parts: string[] = [];
  for (const field of fields) {
    const bits = fieldValue(value, field);
    if (bits === 0) continue;
    const name = field.name === "EVENT_TYPE" ? EVENT_NAMES.get(bits) : undefined;
    parts.push(`${field.name}=${name ?? (bits < 10 ? bits : hex(bits))}`);
  }
  return parts.join(" ");
}

function rawWords(words: Uint32Array): string[] {
  const lines: string[] = [];
  for (let i = 0; i < words.length; i += WORDS_PER_LINE) {
    lines.push(Array.from(words.subarray(i, i + WORDS_PER_LINE), (word) => hex(word, 8)).join(" "));
  }
  return lines;
}

/** One line for each register; runs of registers with one value become one line. */
function registerLines(bank: Bank, pairs: readonly (readonly [offset: number, value: number])[]): string[] {
  const lines: string[] = [];
  for (let i = 0; i < pairs.length;) {
    const [offset, value] = pairs[i];
    let count = 1;
    while (i + count < pairs.length && pairs[i + count][0] === offset + count && pairs[i + count][1] === value) count++;
    if (count < RUN) count = 1;
    const last = count === 1 ? "" : `..${registerName(bank, offset + count - 1)}`;
    const fields = count === 1 ? fieldText(value, registerAt(bank, offset)?.fields ?? []) : "";
    lines.push(`${registerName(bank, offset)}${last} = ${hex(value, 8)}${fields === "" ? "" : `  ${fields}`}`);
    i += count;
  }
  return lines;
}

function tableLines(bank: Bank, body: Uint32Array, { memory }: DisassembleOptions): string[] {
  if (memory === undefined) return [];
  return fromMemory(memory, packetAddress(body[0], body[1]), (body[3] & 0x3fff) * 2, (table) => {
    const pairs: [number, number][] = [];
    for (let i = 0; i < table.length; i += 2) pairs.push([table[i], table[i + 1]]);
    return [`table (${BANKS[bank].name}) as it is now:`, ...registerLines(bank, pairs).map((line) => `  ${line}`)];
  });
}

function indirectBufferLines(body: Uint32Array, options: DisassembleOptions, nesting: number): string[] {
  if (options.memory === undefined || nesting >= MAX_LISTED_NESTING) return [];
  const address = packetAddress(body[0], body[1]);
  return fromMemory(
    options.memory,
    address,
    body[2] & 0xfffff,
    (words) => listStream(words, options, address, nesting + 1),
  );
}

function fromMemory(
  memory: CommandMemory,
  address: bigint,
  count: number,
  list: (words: Uint32Array) => string[],
): string[] {
  try {
    return list(memory.readWords(address, count));
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    return [`cannot be read: ${error.message}`];
  }
}
