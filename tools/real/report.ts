/**
 * Figures of many modules, for people.
 *
 * @module
 */
import { table } from "../corpus/table.ts";
import type { CompareRow } from "./compare_module.ts";
import { reasonClass, type RecompiledRow, type RecompileRow } from "./recompile_modules.ts";

/** Limits that the median and the largest ratio are held against. */
export const MEDIAN_LIMIT = 2, LARGEST_LIMIT = 6;

/** Recompiled modules out of those that RADV compiles, as a fraction; 0 when there are none. */
export function recompiledShare(rows: readonly RecompileRow[]): number {
  const compiled = rows.filter(({ outcome }) => outcome !== "no-code").length;
  return compiled === 0 ? 0 : rows.filter(({ outcome }) => outcome === "recompiled").length / compiled;
}

/** How often each reason occurs, most often first. */
export function countReasons(reasons: readonly string[]): [reason: string, count: number][] {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/** Value below which the fraction `q` of the sorted values lies. */
export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}

/** Counts, reasons, and the distribution of the word ratios. */
export function recompileText(rows: readonly RecompileRow[]): string {
  const count = (outcome: string) => rows.filter((row) => row.outcome === outcome).length;
  const compiled = rows.length - count("no-code");
  const recompiled = rows.filter((row): row is RecompiledRow => row.outcome === "recompiled");
  const reasons = countReasons(
    rows.flatMap((row) => "reason" in row ? [`${row.outcome}: ${reasonOf(row)}`] : []),
  );
  const invalid = recompiled.filter((row) => row.invalid !== undefined);
  return [
    `${rows.length} modules found = ${compiled} compiled by RADV + ${count("no-code")} without machine code`,
    `${compiled} compiled = ${count("recompiled")} recompiled + ${count("refused")} refused + ${
      count("error")
    } failed; ` +
    `${(100 * recompiledShare(rows)).toFixed(1)} % recompiled (wanted: 95 %)`,
    table(["why not", "modules"], reasons),
    `${invalid.length} recompiled modules are not valid SPIR-V${
      invalid.length > 0 ? `: ${invalid[0].module}: ${invalid[0].invalid}` : ""
    }`,
    ratioText(recompiled),
  ].join("\n\n");
}

/** Where the words of all recompiled modules are: the mean over the modules of what each cause adds to the ratio, and the share of all words. */
export function wordsText(rows: readonly RecompileRow[]): string {
  const recompiled = rows.filter((row): row is RecompiledRow => row.outcome === "recompiled");
  const ratios = new Map<string, number>(), words = new Map<string, number>();
  let total = 0;
  for (const { causes, originalWords } of recompiled) {
    for (const [cause, count] of Object.entries(causes)) {
      ratios.set(cause, (ratios.get(cause) ?? 0) + count / originalWords / recompiled.length);
      words.set(cause, (words.get(cause) ?? 0) + count);
      total += count;
    }
  }
  return table(
    ["where the words are", "adds to the ratio", "share of all"],
    [...ratios].sort((a, b) => b[1] - a[1]).map(([cause, ratio]) => [
      cause,
      ratio.toFixed(3),
      `${(100 * words.get(cause)! / total).toFixed(1)} %`,
    ]),
  );
}

/** The five numbers of a distribution. */
function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (q: number) => quantile(sorted, q).toFixed(2);
  return `least ${at(0)}, 10 % ${at(0.1)}, median ${at(0.5)} (wanted: at most ${MEDIAN_LIMIT}), 90 % ${at(0.9)}, ` +
    `most ${sorted.at(-1)!.toFixed(2)} (wanted: at most ${LARGEST_LIMIT})`;
}

/** The ratios with all functions inlined, where they were counted. */
function inliningText(rows: readonly RecompiledRow[]): string[] {
  const counted = rows.flatMap(({ inlining }) =>
    inlining === undefined ? [] : [inlining.words / inlining.originalWords]
  );
  return counted.length === 0 ? [] : [`The same with all functions inlined in both: ${spread(counted)}`];
}

/** Distribution of the ratios of words, and the worst ten. */
export function ratioText(rows: readonly RecompiledRow[]): string {
  if (rows.length === 0) return "no ratios";
  const ratio = ({ words, originalWords }: RecompiledRow) => words / originalWords;
  const sorted = rows.map(ratio).sort((a, b) => a - b);
  const bounds = [1, 1.5, 2, 3, 4, 6, 8, 12, Infinity];
  const bins = bounds.map((bound, i) => {
    const low = bounds[i - 1] ?? 0;
    return [
      bound === Infinity ? `above ${low}` : `${low} to ${bound}`,
      sorted.filter((r) => r > low && r <= bound).length,
    ] as const;
  });
  const usual = medianFactors(rows);
  const worst = rows.toSorted((a, b) => ratio(b) - ratio(a)).slice(0, 10);
  return [
    `Words recompiled / original over ${rows.length} modules, both without debug information: ${spread(sorted)}`,
    ...inliningText(rows),
    `Descriptors and constants from the host in ${rows.filter(({ resolved }) => resolved).length} of them`,
    table(["ratio", "modules"], bins),
    factorsText(rows),
    table(
      ["worst", "ratio", "words", "original", "guest instructions", "words per instruction", "lanes", "reason"],
      worst.map((row) => [
        row.module.slice(0, 17),
        ratio(row).toFixed(2),
        row.words,
        row.originalWords,
        row.instructions,
        (row.words / row.instructions).toFixed(1),
        row.laneMode,
        whyLong(row, usual),
      ]),
    ),
  ].join("\n\n");
}

/** The two factors of a ratio: instructions of RADV's code for a word of the original (unrolled and specialized code has many), and words for each. */
interface Factors {
  readonly perWord: number;
  readonly perInstruction: number;
}

function factorsOf({ words, originalWords, instructions }: RecompiledRow): Factors {
  return { perWord: instructions / originalWords, perInstruction: words / instructions };
}

function medianFactors(rows: readonly RecompiledRow[]): Factors {
  const median = (of: (factors: Factors) => number) =>
    quantile(rows.map((row) => of(factorsOf(row))).sort((a, b) => a - b), 0.5);
  return { perWord: median(({ perWord }) => perWord), perInstruction: median(({ perInstruction }) => perInstruction) };
}

/** How both factors are distributed, and which of them makes the ratios above the limit: what these would be with the median of the other. */
function factorsText(rows: readonly RecompiledRow[]): string {
  const usual = medianFactors(rows);
  const line = (name: string, of: (factors: Factors) => number) => {
    const sorted = rows.map((row) => of(factorsOf(row))).sort((a, b) => a - b);
    return [name, ...[0.1, 0.5, 0.9, 0.99, 1].map((q) => quantile(sorted, q).toFixed(2))];
  };
  const above = rows.filter(({ words, originalWords }) => words / originalWords > LARGEST_LIMIT).map(factorsOf);
  const long = above.filter(({ perWord }) => perWord * usual.perInstruction > LARGEST_LIMIT).length;
  const wordy = above.filter(({ perInstruction }) => perInstruction * usual.perWord > LARGEST_LIMIT).length;
  return [
    table(["factors of the ratio", "10 %", "median", "90 %", "99 %", "most"], [
      line("guest instructions per original word", ({ perWord }) => perWord),
      line("words per guest instruction", ({ perInstruction }) => perInstruction),
    ]),
    `${above.length} modules are above ${LARGEST_LIMIT}. With the median of words per instruction ${long} of them still would be (long guest code); ` +
    `with the median of instructions per original word ${wordy} (long recompiled code).`,
  ].join("\n\n");
}

/** Both factors of a ratio against their medians, and what most words are for. */
function whyLong(row: RecompiledRow, usual: Factors): string {
  const { perWord, perInstruction } = factorsOf(row);
  const [largest] = Object.entries(row.causes).sort((a, b) => b[1] - a[1]);
  const most = largest === undefined ? "" : `; most in ${largest[0]} (${(100 * largest[1] / row.words).toFixed(0)} %)`;
  return `${perWord.toFixed(2)} guest instructions for a word of the original, ${
    (perWord / usual.perWord).toFixed(1)
  } x the median; ${perInstruction.toFixed(1)} words for each, ${
    (perInstruction / usual.perInstruction).toFixed(1)
  } x${most}`;
}

/** What the outcomes of runs mean, in the order of the table. Every run has exactly one. */
export const OUTCOMES: Readonly<Record<CompareRow["outcome"], string>> = {
  same: "the same bits as the oracle",
  bounded: "the interpreter's bits; the original's within the bounds of its operations",
  open: "only words differ that nobody defines, under every choice of inputs",
  "loop-limit": "the device gives up loops as long as these",
  slow: "not done in the time that a run has",
  "out-of-range": "accesses leave the buffers under every choice of inputs",
  idle: "the oracle writes nothing under any choice of inputs",
  "no-oracle": "the original or the interpreter cannot run it",
  refused: "refused by name",
  failed: "the run failed",
  wrong: "WRONG: not what the machine code does",
  unexplained: "UNEXPLAINED: what the machine code does, but not what the original does",
};

/** What came of running modules. */
export function compareText(rows: readonly CompareRow[]): string {
  const reasons = countReasons(
    rows.flatMap((row) => row.reason === undefined ? [] : [`${row.outcome}: ${reasonClass(row.reason)}`]),
  );
  const compared = rows.filter(({ outcome }) => ["same", "bounded"].includes(outcome)).length;
  const all = Object.keys(OUTCOMES) as CompareRow["outcome"][];
  return [
    `${rows.length} modules run, ${compared} of them compared and right`,
    table(
      ["outcome", "runs", "meaning"],
      all.map((outcome) => [outcome, rows.filter((row) => row.outcome === outcome).length, OUTCOMES[outcome]]),
    ),
    table(["reason", "modules"], reasons),
  ].join("\n\n");
}

/** The class of a refusal, with the instructions where it lists them. */
function reasonOf({ reason }: { reason: string }): string {
  const lines = reason.split("\n");
  if (lines.length < 2) return reasonClass(reason);
  const kinds = lines.slice(1).filter((line) => line.startsWith("  ")).map((line) =>
    reasonClass(line.replace(/ at pc .*?\): /, ": ").trim())
  );
  return [...new Set(kinds)].sort().join("; ");
}
