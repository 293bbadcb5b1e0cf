import { hex, InvalidInputError } from "../../errors.ts";
import { OPCODES } from "../table.ts";
import { type Target, TARGETS } from "../target.ts";
import type { Encoding } from "../instruction.ts";

/** Raises the error for machine code that is no instruction; `why` completes "not an instruction: ...". */
export function noInstruction(words: Uint32Array, at: number, why: string): never {
  throw new InvalidInputError("rdna.no-instruction", `not an RDNA2 instruction: ${why}`, place(words, at));
}

/** Raises the error for an opcode number that the target lacks, naming the opcode if another target has it. */
export function unknownOpcode(
  words: Uint32Array,
  at: number,
  encoding: Encoding,
  name: string,
  number: number,
  target: Target,
  segment = 0,
): never {
  const elsewhere = OPCODES.find((opcode) => opcode.numbers[encoding] === number && opcode.segment === segment);
  if (elsewhere === undefined) noInstruction(words, at, `${name} opcode ${hex(number)} is unassigned`);
  const owners = TARGETS.filter((_, bit) => elsewhere.targets >> bit & 1).join(", ");
  noInstruction(
    words,
    at,
    `${name} opcode ${hex(number)} is ${elsewhere.name} on ${owners}, and unassigned on ${target}`,
  );
}

/** Raises the error for an instruction whose words reach past the end of the program. */
export function truncated(words: Uint32Array, at: number): never {
  throw new InvalidInputError("rdna.truncated", "the program ends inside an instruction", place(words, at));
}

function place(words: Uint32Array, at: number) {
  return { pc: at * 4, words: Array.from(words.subarray(at, at + 2)) };
}
