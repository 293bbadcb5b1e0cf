import { InvalidInputError } from "../../errors.ts";

/** Raises the error for machine code that is no instruction; `why` completes "not an instruction: ...". */
export function noInstruction(words: Uint32Array, at: number, why: string): never {
  throw new InvalidInputError("rdna.no-instruction", `not an RDNA2 instruction: ${why}`, place(words, at));
}

/** Raises the error for an instruction whose words reach past the end of the program. */
export function truncated(words: Uint32Array, at: number): never {
  throw new InvalidInputError("rdna.truncated", "the program ends inside an instruction", place(words, at));
}

function place(words: Uint32Array, at: number) {
  return { pc: at * 4, words: Array.from(words.subarray(at, at + 2)) };
}
