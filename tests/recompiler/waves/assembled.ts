/** Machine code of the wave tests: lines of text to the words that llvm-mc-19 gives for them, which are kept as data in words.ts. */
import { WORDS } from "./words.ts";

/** The instruction sets that the tests use. */
export type Target = "gfx1013" | "gfx1030";

/** Branches to labels are put together here (AMD RDNA2 ISA, section 12.5): opcode, and the distance in words from the next instruction. */
const BRANCHES: Readonly<Record<string, number>> = {
  s_branch: 0xbf82_0000,
  s_cbranch_scc0: 0xbf84_0000,
  s_cbranch_scc1: 0xbf85_0000,
  s_cbranch_vccz: 0xbf86_0000,
  s_cbranch_vccnz: 0xbf87_0000,
  s_cbranch_execz: 0xbf88_0000,
  s_cbranch_execnz: 0xbf89_0000,
};

/** The words of lines, one after the other. A line may be a label (`name:`), and a branch name one. */
export function assemble(target: Target, waveSize: 32 | 64, lines: readonly string[]): number[] {
  const labels = new Map<string, number>();
  const branches: { at: number; label: string }[] = [];
  const words: number[] = [];
  for (const line of lines) {
    const [name, operand] = line.split(" ");
    if (name.endsWith(":")) labels.set(name.slice(0, -1), words.length);
    else if (BRANCHES[name] !== undefined) {
      branches.push({ at: words.length, label: operand });
      words.push(BRANCHES[name]);
    } else words.push(...wordsOf(target, waveSize, line));
  }
  for (const { at, label } of branches) {
    const to = labels.get(label);
    if (to === undefined) throw new Error(`no label ${label}`);
    words[at] += (to - at - 1) & 0xffff;
  }
  return words;
}

function wordsOf(target: Target, waveSize: 32 | 64, line: string): number[] {
  // Words that the ISA document has and LLVM does not know.
  if (line.startsWith(".long ")) return line.slice(6).split(",").map((word) => parseInt(word, 16));
  const words = WORDS[`${target} w${waveSize} ${line}`] ?? (target === "gfx1030" ? WORDS[line] : undefined);
  if (words === undefined) throw new Error(`words.ts has no words for "${target} w${waveSize} ${line}"`);
  return words.split(" ").map((word) => parseInt(word, 16));
}
