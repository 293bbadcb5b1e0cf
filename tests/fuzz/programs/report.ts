/** Runs many random programs and keeps account of them. */
import { Random } from "../../support/random.ts";
import type { Sides } from "../batch.ts";
import { randomProgram } from "./generate.ts";
import { compareProgram, minimize, type Outcome } from "./run.ts";
import { countStatements, type ProgramSettings, type ProgramTree } from "./tree.ts";

/** A program on which the two sides do not agree. */
export interface FailedProgram {
  seed: number;
  outcome: Outcome & { text: string };
  /** As small as it could be made. */
  tree: ProgramTree;
}

/** What came of many programs. */
export interface ProgramFuzzReport {
  programs: number;
  equal: number;
  /** Programs that were refused, by who refused and why. */
  refused: Map<string, number>;
  failures: FailedProgram[];
  /** Programs with the same result, by what they are: waves of a workgroup, wave size, absent lanes, thread limit. */
  shapes: Map<string, number>;
}

/** A report of nothing yet. */
export function emptyProgramReport(): ProgramFuzzReport {
  return { programs: 0, equal: 0, refused: new Map(), failures: [], shapes: new Map() };
}

/** Runs the programs of `count` seeds from `first` on. @param tries programs to run at most to make a failing one smaller */
export function fuzzPrograms(
  first: number,
  count: number,
  sides: (settings: ProgramSettings) => Sides,
  report: ProgramFuzzReport,
  tries = 300,
): void {
  for (let seed = first; seed < first + count; seed++) {
    const tree = randomProgram(new Random(seed));
    const run = (each: ProgramTree) => compareProgram(each, sides(each.settings));
    const outcome = run(tree);
    report.programs++;
    if (outcome.kind === "equal") {
      report.equal++;
      add(report.shapes, shapeOf(tree.settings));
    } else if (outcome.kind === "refused") add(report.refused, `${outcome.by}: ${outcome.why}`);
    else {
      console.log(`program ${seed} ${outcome.kind}: ${outcome.text.slice(0, 300)}; making it smaller`);
      const small = minimize(tree, (each) => run(each).kind === outcome.kind, tries);
      report.failures.push({ seed, outcome, tree: small });
    }
  }
}

/** The report for people. */
export function programReportLines(report: ProgramFuzzReport): string[] {
  const share = (100 * report.equal / Math.max(1, report.programs)).toFixed(1);
  const sorted = (map: ReadonlyMap<string, number>) => [...map].sort((a, b) => b[1] - a[1]);
  const refused = sorted(report.refused);
  return [
    `${report.programs} programs: ${report.equal} equal (${share} %), ${
      sum(report.refused)
    } refused, ${report.failures.length} failed`,
    ...sorted(report.shapes).map(([shape, count]) => `  equal ${count}: ${shape}`),
    ...refused.map(([why, count]) => `  refused ${count}: ${why}`),
    ...report.failures.map(({ seed, outcome, tree }) =>
      `  seed ${seed} ${outcome.kind}: ${outcome.text} (${countStatements(tree.body)} statements are left)`
    ),
  ];
}

/** What kind of dispatch a program is. */
function shapeOf({ waveSize, threads, limit }: ProgramSettings): string {
  const waves = threads > waveSize ? "several waves" : "one wave";
  return `wave${waveSize}, ${waves}${threads % waveSize !== 0 ? ", absent lanes" : ""}${
    limit !== undefined ? ", thread limit" : ""
  }`;
}

function add(map: Map<string, number>, key: string): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}

function sum(map: ReadonlyMap<string, number>): number {
  return [...map.values()].reduce((total, count) => total + count, 0);
}
