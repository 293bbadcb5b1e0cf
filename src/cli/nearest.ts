/**
 * "Did you mean": the nearest of a list of names to a mistyped one.
 *
 * @module
 */

/** Edits (insert, delete, replace, swap of neighbours) from one word to another: the optimal string alignment distance. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j], before[j - 2] + 1);
      }
    }
    before = previous;
    previous = row;
  }
  return previous[b.length];
}

/** The name nearest to `word`: one that it begins, or one at most a third of its length (and at least one edit) away. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const lower = word.toLowerCase();
  const begun = lower.length >= 2 ? names.find((name) => name.startsWith(lower)) : undefined;
  if (begun !== undefined) return begun;
  let best: string | undefined, least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const name of names) {
    const distance = editDistance(lower, name.toLowerCase());
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** ` (did you mean X?)`, or nothing when no name is near. */
export function didYouMean(word: string, names: readonly string[], prefix = ""): string {
  const name = nearest(word, names);
  return name === undefined ? "" : ` (did you mean ${prefix}${name}?)`;
}
