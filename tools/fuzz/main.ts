/**
 * The long run of the fuzzers (`deno task fuzz`): random instructions and programs, recompiled code on the device against the interpreter, until a number
 * of cases is reached. What differs is narrowed down and saved as a program file for `anyagc run`.
 *
 *     deno run -A tools/fuzz/main.ts [--cases=1000000] [--round=N] [--group=alu|lanes|memory|lds|programs] [--programs=4000] [--out=dist/fuzz] [--update-refusals]
 *
 * @module
 */
import { GpuDevice } from "../../src/gpu/device.ts";
import { type GroupName, GROUPS, SPOTLIGHTS } from "../../tests/fuzz/deck.ts";
import {
  emptyReport,
  fuzzBatch,
  type InstructionReport,
  planRound,
  SUITE,
  suiteRound,
} from "../../tests/fuzz/instructions.ts";
import { addRefusals, knownRefusals, newRefusals, writeRefusals } from "../../tests/fuzz/refusals.ts";
import { SideMaker } from "../../tests/fuzz/sides.ts";
import { runPrograms } from "./programs.ts";

/** Share of the cases that each group gets. */
const SHARES: Readonly<Record<GroupName, number>> = { alu: 0.6, lanes: 0.15, memory: 0.2, lds: 0.05 };

const options = Object.fromEntries(Deno.args.map((argument) => {
  const [key, value = "1"] = argument.replace(/^--/, "").split("=");
  return [key, value];
}));
const wanted = Number(options.cases ?? 1_000_000);
const firstRound = Number(options.round ?? Math.floor(Date.now() / 1000) % 100_000);
const out = options.out ?? "dist/fuzz";
const groups = options.group === undefined ? GROUPS : options.group === "programs" ? [] : [options.group as GroupName];

const device = GpuDevice.create({});
let failed = 0;
const all = emptyReport();
try {
  using sides = new SideMaker(device);
  if (options["update-refusals"] !== undefined) {
    for (const part of SUITE) all.refused.push(...suiteRound(part, (set) => sides.take(set.target)).refused);
  }
  for (const group of groups) {
    const share = groups.length === 1 ? 1 : SHARES[group];
    const report = run(group, Math.ceil(wanted * share), sides);
    failed += report.failures.length;
    all.cases += report.cases;
    all.batches += report.batches;
    all.refused.push(...report.refused);
    for (const [name, count] of report.ran) all.ran.set(name, (all.ran.get(name) ?? 0) + count);
  }
  if (options.group === undefined || options.group === "programs") {
    failed += runPrograms(firstRound, Number(options.programs ?? 4000), (set) => sides.take(set.target), out);
  }
} finally {
  device.destroy();
}
console.log(`${all.cases} cases in ${all.batches} programs, ${all.ran.size} mnemonics, ${failed} differences`);
const table = knownRefusals();
const unknown = newRefusals(all.refused, table);
if (unknown.length > 0) console.log(`refusals that tests/fuzz/refusals.json does not list:\n  ${unknown.join("\n  ")}`);
if (options["update-refusals"] !== undefined) {
  addRefusals(all.refused, table);
  writeRefusals(table);
}
Deno.exit(failed > 0 ? 1 : 0);

/** Runs rounds of a group until it has enough cases. */
function run(group: GroupName, cases: number, sides: SideMaker): InstructionReport {
  const report = emptyReport();
  let saved = 0;
  for (let round = firstRound; report.cases < cases; round++) {
    // A third of the rounds look at one modifier.
    const spotlight = round % 3 === 0 ? SPOTLIGHTS[group][round / 3 % SPOTLIGHTS[group].length] : undefined;
    for (const batch of planRound(group, round, spotlight === undefined ? {} : { spotlight })) {
      fuzzBatch(batch, (set) => sides.take(set.target), report);
      for (; saved < report.failures.length; saved++) {
        const { seed, text, program } = report.failures[saved];
        Deno.mkdirSync(out, { recursive: true });
        const file = `${out}/${group}-${seed}-${saved}.json`;
        Deno.writeTextFileSync(file, program);
        console.log(`DIFFERENCE (${file}): ${text}`);
      }
      if (report.cases >= cases) break;
    }
    console.log(`${group}: round ${round}, ${report.cases} of ${cases} cases, ${report.failures.length} differences`);
  }
  return report;
}
