/**
 * Machine words of the assembler lines in the interpreter's tests, by target and wave size, as LLVM 19 (llvm-mc) assembles them; words_test.ts
 * compares them with it where it is installed.
 */
// deno-fmt-ignore-file
export const WORDS: Readonly<Record<string, string>> = {
};
