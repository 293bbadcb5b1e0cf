/**
 * Random programs with fixed seeds, recompiled and on the device against the interpreter: control flow as compilers write it, with loops that lanes leave one by
 * one. The long run is `deno task fuzz`. Programs that once gave other results are kept in programs/found.
 */
import { assert, assertEquals } from "@std/assert";
import { deviceTest } from "../support/vulkan.ts";
import { emptyProgramReport, fuzzPrograms, programReportLines } from "./programs/report.ts";
import { compareProgram } from "./programs/run.ts";
import { countStatements, partsOf, type ProgramTree, type Statement } from "./programs/tree.ts";
import { randomProgram } from "./programs/generate.ts";
import { SideMaker } from "./sides.ts";
import { Random } from "../support/random.ts";

/** Seeds of the suite. */
const FIRST = 1, COUNT = 64;
/** Instructions that a program may take: none of them needs a tenth of it. */
const INSTRUCTIONS = 1_000_000;

deviceTest(
  "random programs reconverge as in the interpreter after divergent breaks, continues and nested loops, with LDS, waterfalls, calls and partial groups",
  (device) => {
    using sides = new SideMaker(device, INSTRUCTIONS);
    const report = emptyProgramReport();
    fuzzPrograms(FIRST, COUNT, (settings) => sides.take(settings.target), report, 40);
    const lines = programReportLines(report);
    console.log(lines.join("\n"));
    assertEquals(report.failures.map(({ seed, outcome }) => `seed ${seed}: ${outcome.text}`), []);
    // A fuzzer that runs nothing finds nothing.
    assert(report.equal >= 0.9 * report.programs, lines.join("\n"));
    assert(report.shapes.size >= 10, `kinds of dispatch: ${[...report.shapes.keys()]}`);
  },
  { validation: false },
);

Deno.test("the random programs of the suite hold every kind of statement, and lanes leave loops from inside of conditions", () => {
  const kinds = new Map<string, number>();
  let deep = 0;
  const count = (list: readonly Statement[], depth: number) => {
    for (const statement of list) {
      const { kind } = statement;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      if (kind === "leave" && depth > 1) deep++;
      for (const part of partsOf(statement)) count(part, kind === "loop" ? 1 : depth > 0 ? depth + 1 : 0);
    }
  };
  let statements = 0;
  for (let seed = FIRST; seed < FIRST + COUNT; seed++) {
    const tree = randomProgram(new Random(seed));
    for (const list of [tree.body, ...tree.subroutines]) {
      count(list, 0);
      statements += countStatements(list);
    }
  }
  assert(statements > 10 * COUNT, `${statements} statements`);
  for (const kind of "code if waveIf loop leave waveLoop next waterfall exchange lds call ladder".split(" ")) {
    assert((kinds.get(kind) ?? 0) >= 10, `${kind}: ${kinds.get(kind)}`);
  }
  assert(deep >= 10, `${deep} leave a loop from inside of a condition`);
});

const FOUND = new URL("programs/found/", import.meta.url);
for (const { name } of [...Deno.readDirSync(FOUND)].sort((a, b) => a.name < b.name ? -1 : 1)) {
  if (!name.endsWith(".json")) continue;
  deviceTest(`a program on which the two sides differed once gives the interpreter's results: ${name}`, (device) => {
    using sides = new SideMaker(device, INSTRUCTIONS);
    const tree: ProgramTree = JSON.parse(Deno.readTextFileSync(new URL(name, FOUND)));
    assertEquals(compareProgram(tree, sides.take(tree.settings.target)).kind, "equal");
  });
}
