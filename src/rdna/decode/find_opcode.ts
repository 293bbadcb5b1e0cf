import { hex } from "../../errors.ts";
import { Encoding, type Instruction } from "../instruction.ts";
import { type OpcodeIndex, OPCODES } from "../table.ts";
import { type Target, TARGETS } from "../target.ts";
import { noInstruction } from "./fail.ts";

const ENCODING_NAMES = Object.keys(Encoding).map((name) => name.toUpperCase());
const SEGMENTS = ["FLAT", "SCRATCH", "GLOBAL"];

/**
 * Looks an opcode up and begins the instruction with it: opcode, encoding and size.
 *
 * @param at index of the first word
 * @param number opcode number; of FLAT, with 128 times the segment added
 * @param size words of the instruction, but for a literal or extra word
 * @returns index in the opcode table
 * @throws InvalidInputError if the target has no such opcode, naming the target that has.
 */
export function findOpcode(
  words: Uint32Array,
  at: number,
  encoding: Encoding,
  number: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
  size = 1,
): number {
  const op = index[encoding][number];
  if (op < 0) unknownOpcode(words, at, encoding, number, target);
  out.op = op;
  out.encoding = encoding;
  out.size = size;
  return op;
}

function unknownOpcode(words: Uint32Array, at: number, encoding: Encoding, index: number, target: Target): never {
  const isFlat = encoding === Encoding.Flat;
  const segment = isFlat ? index >>> 7 : 0, number = isFlat ? index & 127 : index;
  const name = isFlat ? SEGMENTS[segment] : ENCODING_NAMES[encoding];
  const elsewhere = OPCODES.find((opcode) => opcode.numbers[encoding] === number && opcode.segment === segment);
  if (elsewhere === undefined) noInstruction(words, at, `${name} opcode ${hex(number)} is unassigned`);
  const owners = TARGETS.filter((_, bit) => elsewhere.targets >> bit & 1).join(", ");
  noInstruction(
    words,
    at,
    `${name} opcode ${hex(number)} is ${elsewhere.name} on ${owners}, and unassigned on ${target}`,
  );
}
