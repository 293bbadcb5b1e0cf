import { BUFFER_WORDS } from "./words/buffer.ts";
import { IMAGE_WORDS } from "./words/image.ts";
import { MEMORY_WORDS } from "./words/memory.ts";
import { SCALAR_WORDS } from "./words/scalar.ts";
import { VECTOR_WORDS } from "./words/vector.ts";

/**
 * Machine words of the assembler lines in the interpreter's tests, by target and wave size, as LLVM 19 (llvm-mc) assembles them; words_test.ts
 * compares them with it where it is installed.
 */
export const WORDS: Readonly<Record<string, string>> = {
  ...SCALAR_WORDS,
  ...VECTOR_WORDS,
  ...MEMORY_WORDS,
  ...BUFFER_WORDS,
  ...IMAGE_WORDS,
};
