/**
 * The figures of creation_module.ts for people.
 *
 * @module
 */
import { table } from "../corpus/table.ts";
import { type CreationRow, median, type Pair, type Unmeasured } from "./creation_module.ts";
import { countReasons, quantile } from "./report.ts";
import { reasonClass } from "./recompile_modules.ts";

/** Limits that the medians are held against. */
export const CREATE_LIMIT = 1.5, RUN_LIMIT = 1.2;

/** What the figures are of. */
export interface CreationAbout {
  readonly device: string;
  readonly driver: string;
  readonly seed: number;
  readonly rounds: number;
  readonly dispatches: number;
  /** Microseconds of a dispatch that does nothing. */
  readonly emptyUs: number;
}

/** The table, medians by wave size and lane mode, and what was left out. */
export function creationText(rows: readonly CreationRow[], left: readonly Unmeasured[], about: CreationAbout): string {
  return [
    `${about.device} (${about.driver}), seed ${about.seed}: words without debug information, the first creation of the pipeline (driver caches off), ` +
    `microseconds of a dispatch (device clock, ${about.dispatches} in a row, least of ${about.rounds} runs; one that does nothing takes ${
      about.emptyUs.toFixed(1)
    })`,
    table(
      ["module", "wave", "lanes", "words", "original", "create ms", "original", "ratio", "run us", "original", "ratio"],
      rows.map((row) => [
        row.module.slice(0, 10),
        row.wave,
        row.laneMode,
        row.words.recompiled,
        row.words.original,
        row.createMs.recompiled.toFixed(1),
        row.createMs.original.toFixed(1),
        ratioOf(row.createMs).toFixed(2),
        row.runUs.recompiled.toFixed(1),
        row.runUs.original.toFixed(1),
        ratioOf(row.runUs).toFixed(2),
      ]),
    ),
    ...summaries(rows),
    `${rows.length} modules with the same results, largest difference ${
      Math.max(0, ...rows.map(({ ulp }) => ulp))
    } ULP; ${left.length} others were left out:`,
    table(
      ["why", "modules"],
      countReasons(left.map(({ reason }) => reasonClass(reason).slice(0, 120))),
    ),
  ].join("\n\n");
}

/** Recompiled over original. */
export function ratioOf({ original, recompiled }: Pair): number {
  return recompiled / original;
}

function summaries(rows: readonly CreationRow[]): string[] {
  const groups = new Map<string, CreationRow[]>();
  const add = (name: string, row: CreationRow) => groups.set(name, [...groups.get(name) ?? [], row]);
  for (const row of rows) {
    add("all", row);
    add(`wave${row.wave}`, row);
    add(row.laneMode, row);
  }
  const of = (list: readonly CreationRow[], pair: (row: CreationRow) => Pair) => {
    const ratios = list.map((row) => ratioOf(pair(row))).sort((a, b) => a - b);
    return `${median(ratios).toFixed(2)} (${quantile(ratios, 0.1).toFixed(2)} to ${quantile(ratios, 0.9).toFixed(2)})`;
  };
  const sum = (list: readonly CreationRow[], pair: (row: CreationRow) => Pair) => {
    const total = (side: keyof Pair) => list.reduce((all, row) => all + pair(row)[side], 0);
    return (total("recompiled") / total("original")).toFixed(2);
  };
  return [table(
    [
      "medians (10 % to 90 %)",
      "modules",
      "words",
      `create (wanted: ${CREATE_LIMIT})`,
      "of the sums",
      `run (wanted: ${RUN_LIMIT})`,
      "of the sums",
    ],
    [...groups].map(([name, list]) => [
      name,
      list.length,
      of(list, ({ words }) => words),
      of(list, ({ createMs }) => createMs),
      sum(list, ({ createMs }) => createMs),
      of(list, ({ runUs }) => runUs),
      sum(list, ({ runUs }) => runUs),
    ]),
  )];
}
