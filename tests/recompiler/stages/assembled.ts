/** Machine code of the stage tests: lines of text to the words that llvm-mc-19 gives for them, which are kept as data in words.ts. */
import { assembleLines, parseWords } from "../../support/assemble.ts";
import { WORDS } from "./words.ts";

/** The words of lines, one after the other. A line may be a label (`name:`), and a branch name one; the target is gfx1030. */
export function assemble(waveSize: 32 | 64, lines: readonly string[]): Uint32Array<ArrayBuffer> {
  return Uint32Array.from(assembleLines(lines, (line) => {
    const known = WORDS[`w${waveSize} ${line}`];
    if (known === undefined) throw new Error(`words.ts has no words for "w${waveSize} ${line}"`);
    return parseWords(known);
  }));
}
