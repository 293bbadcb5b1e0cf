/** What a run over mutants found, as a file and as text: shards of a run are merged here. */
import { whySurvives } from "./equivalents.ts";
import type { Verdict } from "./judge.ts";
import { type Mutant, mutantName } from "./mutant.ts";

/** Verdicts by the names of the mutants, as `--out` writes them. */
export interface VerdictFile {
  /** Time that the run took; the sum of all runs in a merged file. */
  seconds: number;
  /** Mutants that were to be judged, but time was up. */
  left: string[];
  verdicts: Record<string, Verdict>;
}

/** Figures of one table. */
export interface TableRow {
  table: string;
  entries: number;
  mutants: number;
  caught: number;
  survived: number;
  /** Mutants that nothing makes act. */
  void: number;
  /** Caught, in per cent. */
  share: number;
}

/** A mutant that was not caught. */
export interface Survivor {
  name: string;
  note: string;
  outcome: Verdict["outcome"];
  /** Why, where somebody has looked. */
  reason: string | undefined;
}

/**
 * One of several files: the verdicts of all of them. A later file's verdict replaces an earlier one's, so that what survived can be judged again; what one
 * file left and another judged is not left.
 */
export function mergeVerdicts(files: readonly VerdictFile[]): VerdictFile {
  const verdicts: Record<string, Verdict> = Object.assign({}, ...files.map((file) => file.verdicts));
  const left = new Set(files.flatMap((file) => file.left).filter((name) => !Object.hasOwn(verdicts, name)));
  return { seconds: files.reduce((sum, { seconds }) => sum + seconds, 0), left: [...left], verdicts };
}

/** Every n-th of a list, from the k-th on (k from 1): neighbours, which cost alike, go to different shards. */
export function shardOf<T>(list: readonly T[], shard: number, shards: number): T[] {
  if (!Number.isInteger(shard) || !Number.isInteger(shards) || shard < 1 || shard > shards) {
    throw new RangeError(`There is no shard ${shard} of ${shards}; they are counted from 1.`);
  }
  return list.filter((_, k) => k % shards === shard - 1);
}

/** Figures of both tables. @param mutants all that exist; those without a verdict do not count */
export function tableRows(mutants: readonly Mutant[], verdicts: Readonly<Record<string, Verdict>>): TableRow[] {
  return ["lift", "emit"].map((table) => {
    const judged = mutants.filter((each) => each.table === table && Object.hasOwn(verdicts, mutantName(each)));
    const count = (...outcomes: Verdict["outcome"][]) =>
      judged.filter((each) => outcomes.includes(verdicts[mutantName(each)].outcome)).length;
    const caught = count("caught"), survived = count("survived", "unexercised");
    return {
      table,
      entries: new Set(judged.map(({ entry }) => entry)).size,
      mutants: caught + survived,
      caught,
      survived,
      void: count("void"),
      share: caught + survived === 0 ? 100 : 100 * caught / (caught + survived),
    };
  });
}

/** The mutants that were not caught, in the order of the tables. */
export function survivorsOf(mutants: readonly Mutant[], verdicts: Readonly<Record<string, Verdict>>): Survivor[] {
  return mutants.flatMap((mutant) => {
    const name = mutantName(mutant), outcome = verdicts[name]?.outcome;
    if (outcome !== "survived" && outcome !== "unexercised") return [];
    return [{ name, note: mutant.note, outcome, reason: whySurvives(name) }];
  });
}

/** All as text: figures, survivors, and what a rule took out of those that were drawn. */
export function reportLines(drawn: readonly Mutant[], { verdicts, left, seconds }: VerdictFile): string[] {
  const lines = tableRows(drawn, verdicts).map(({ table, entries, mutants, caught, share, void: nothing }) =>
    `${table}: ${caught} of ${mutants} mutants of ${entries} entries caught (${share.toFixed(1)} %); ` +
    `${nothing} more never act`
  );
  if (left.length > 0) lines.push(`${left.length} mutants were not judged: time was up`);
  for (const { name, note, outcome, reason } of survivorsOf(drawn, verdicts)) {
    lines.push(`  ${outcome}: ${name} (${note})${reason === undefined ? "" : `: ${reason}`}`);
  }
  const equivalent = drawn.filter((mutant) => mutant.equivalent !== undefined);
  for (const rule of new Set(equivalent.map((mutant) => mutant.equivalent))) {
    const names = equivalent.filter((mutant) => mutant.equivalent === rule).map(mutantName);
    lines.push(`  no mutants, because ${rule}: ${names.join(", ")}`);
  }
  lines.push(`${Math.round(seconds)} s`);
  return lines;
}
