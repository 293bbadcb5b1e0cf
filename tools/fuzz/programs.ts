/**
 * The program part of the long run: random programs, recompiled and on the device against the interpreter. Those that fail are made smaller and saved as trees;
 * a tree that is put into tests/fuzz/programs/found is a test from then on.
 */
import type { ProgramSettings } from "../../tests/fuzz/programs/tree.ts";
import { emptyProgramReport, fuzzPrograms, programReportLines } from "../../tests/fuzz/programs/report.ts";
import type { Sides } from "../../tests/fuzz/batch.ts";

/**
 * Runs programs, prints what came of them, and saves the failing ones.
 *
 * @param first seed of the first program
 * @param out folder for failing programs
 * @returns the number of programs that failed
 */
export function runPrograms(
  first: number,
  count: number,
  sides: (settings: ProgramSettings) => Sides,
  out: string,
): number {
  const report = emptyProgramReport();
  let saved = 0;
  for (let seed = first; seed < first + count; seed += ROUND) {
    fuzzPrograms(seed, Math.min(ROUND, first + count - seed), sides, report);
    for (; saved < report.failures.length; saved++) {
      const { seed: at, tree, outcome } = report.failures[saved];
      Deno.mkdirSync(out, { recursive: true });
      const file = `${out}/program-${at}.json`;
      Deno.writeTextFileSync(file, JSON.stringify(tree, null, 2) + "\n");
      console.log(`${outcome.kind.toUpperCase()} (${file}): ${outcome.text}`);
    }
    console.log(`programs: ${programReportLines(report)[0]}`);
  }
  console.log(programReportLines(report).slice(1).join("\n"));
  return report.failures.length;
}

/** Programs between two lines of progress. */
const ROUND = 100;
