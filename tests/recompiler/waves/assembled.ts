/** Machine code of the wave tests: lines of text to the words that llvm-mc-19 gives for them, which are kept as data in words.ts. */
import { assembleLines, parseWords } from "../../support/assemble.ts";
import { WORDS } from "./words.ts";

/** The instruction sets that the tests use. */
export type Target = "gfx1013" | "gfx1030";

/** The words of lines, one after the other. A line may be a label (`name:`), and a branch name one. */
export function assemble(target: Target, waveSize: 32 | 64, lines: readonly string[]): number[] {
  return assembleLines(lines, (line) => {
    // Words that the ISA document has and LLVM does not know.
    if (line.startsWith(".long ")) return line.slice(6).split(",").map((word) => parseInt(word, 16));
    const words = WORDS[`${target} w${waveSize} ${line}`] ?? (target === "gfx1030" ? WORDS[line] : undefined);
    if (words === undefined) throw new Error(`words.ts has no words for "${target} w${waveSize} ${line}"`);
    return parseWords(words);
  });
}
