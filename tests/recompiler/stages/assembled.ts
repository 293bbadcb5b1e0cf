/** Machine code of the stage tests: lines of text to the words that llvm-mc-19 gives for them, which are kept as data in words.ts. */
import { WORDS } from "./words.ts";

/** Opcodes of SOPP branches (AMD RDNA2 ISA, section 12.5). */
const BRANCHES: Readonly<Record<string, number>> = {
  s_branch: 2,
  s_cbranch_scc0: 4,
  s_cbranch_scc1: 5,
  s_cbranch_execz: 8,
  s_cbranch_execnz: 9,
};

/** The words of lines, one after the other. A line may be a label (`name:`), and a branch name one; the target is gfx1030. */
export function assemble(waveSize: 32 | 64, lines: readonly string[]): Uint32Array<ArrayBuffer> {
  const labels = new Map<string, number>(), words: number[] = [];
  const branches: { at: number; label: string }[] = [];
  for (const line of lines) {
    const [name, label] = line.split(" ");
    if (name.endsWith(":")) labels.set(name.slice(0, -1), words.length);
    else if (name in BRANCHES) branches.push({ at: words.push(0xbf80_0000 | BRANCHES[name] << 16) - 1, label });
    else {
      const known = WORDS[`w${waveSize} ${line}`];
      if (known === undefined) throw new Error(`words.ts has no words for "w${waveSize} ${line}"`);
      words.push(...known.split(" ").map((word) => parseInt(word, 16)));
    }
  }
  for (const { at, label } of branches) {
    const to = labels.get(label);
    if (to === undefined) throw new Error(`no label ${label}`);
    words[at] += to - at - 1 & 0xffff;
  }
  return Uint32Array.from(words);
}
