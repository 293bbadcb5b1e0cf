/**
 * Instructions as text and as the words that llvm-mc-19 (Debian package llvm-19) assembles them to. The words are kept as data, so that the tests
 * need no assembler; assembled_test.ts compares them with the assembler where there is one.
 */
import { parseWords } from "../../support/assemble.ts";
import { WORDS } from "./assembled_words.ts";

/** Target and wave size of assembled lines. */
export type Dialect = "gfx1030 w32" | "gfx1030 w64" | "gfx1013 w32" | "gfx1013 w64";

/** The words of some lines in a dialect, one after the other. */
export function assembled(dialect: Dialect, lines: readonly string[]): number[] {
  return lines.flatMap((line) => {
    const words = WORDS[`${dialect} ${line}`];
    if (words === undefined) throw new Error(`assembled_words.ts has no words for "${dialect} ${line}"`);
    return parseWords(words);
  });
}

/** Wave 32, gfx1030. */
export function asm(...lines: string[]): number[] {
  return assembled("gfx1030 w32", lines);
}

/** Wave 64, gfx1030. */
export function asm64(...lines: string[]): number[] {
  return assembled("gfx1030 w64", lines);
}

/** Wave 32, gfx1013. */
export function asm1013(...lines: string[]): number[] {
  return assembled("gfx1013 w32", lines);
}
