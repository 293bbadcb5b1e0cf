/**
 * Machine code of lines of text. Tests need no assembler: the words that llvm-mc-19 gives for each line are kept as data beside them, and a test compares
 * those with the assembler where there is one.
 */

/** Words as they are kept: hexadecimal, with spaces between. */
export function parseWords(text: string): number[] {
  return text.split(" ").map((word) => parseInt(word, 16));
}

/** Opcodes of the SOPP branches that may name a label (AMD RDNA2 ISA, section 12.5). */
const BRANCHES: Readonly<Record<string, number>> = {
  s_branch: 2,
  s_cbranch_scc0: 4,
  s_cbranch_scc1: 5,
  s_cbranch_vccz: 6,
  s_cbranch_vccnz: 7,
  s_cbranch_execz: 8,
  s_cbranch_execnz: 9,
};

/**
 * The words of lines, one after the other. A line may be a label (`name:`), and a branch name one: its distance, in words from the next instruction, is
 * found here.
 *
 * @param wordsOf the words of any other line
 */
export function assembleLines(lines: readonly string[], wordsOf: (line: string) => readonly number[]): number[] {
  const labels = new Map<string, number>(), words: number[] = [];
  const branches: { at: number; label: string }[] = [];
  for (const line of lines) {
    const [name, label] = line.split(" ");
    if (name.endsWith(":")) labels.set(name.slice(0, -1), words.length);
    else if (name in BRANCHES) branches.push({ at: words.push(0xbf80_0000 + (BRANCHES[name] << 16)) - 1, label });
    else words.push(...wordsOf(line));
  }
  for (const { at, label } of branches) {
    const to = labels.get(label);
    if (to === undefined) throw new Error(`no label ${label}`);
    words[at] += to - at - 1 & 0xffff;
  }
  return words;
}
