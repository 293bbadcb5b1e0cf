/** docs/isa.md says what the code does. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { coverage } from "../../../tools/isa/coverage.ts";
import { refusals } from "../../../tools/isa/forms.ts";
import { document, table } from "../../../tools/isa/main.ts";

Deno.test("docs/isa.md is what `deno task gen` makes of the tables", () => {
  const text = Deno.readTextFileSync(new URL("../../../docs/isa.md", import.meta.url));
  assert(text === document(), "docs/isa.md is stale: run `deno task gen`");
});

Deno.test("every opcode decodes and disassembles on its targets, and who refuses it says why", () => {
  const rows = coverage();
  assertEquals(rows.filter(({ decoder }) => !decoder).map(({ opcode }) => opcode.name), []);
  assertEquals(rows.filter(({ disassembler }) => !disassembler).map(({ opcode }) => opcode.name), []);
  for (const { opcode, interpreter, recompiler } of rows) {
    for (const status of [interpreter, recompiler]) if (!status.done) assert(status.why.length > 5, opcode.name);
  }
  const why = (name: string) => {
    const { recompiler } = rows.find(({ opcode }) => opcode.name === name)!;
    return recompiler.done ? recompiler.how : recompiler.why;
  };
  assertEquals([why("v_add_f32"), why("s_branch"), why("s_trap")], ["", "control flow", "there is no trap handler"]);
  // The same as tests/rdna/interpreter/coverage_test.ts finds by executing plain forms in compute waves, less four of graphics stages.
  assertEquals(rows.filter(({ interpreter }) => !interpreter.done).length, 34);
});

Deno.test("the texts of refuse calls are found, with their expressions left out", () => {
  const source = [
    'refuse("one, of \\"two\\"");',
    "refuse(\n    `bits ${list.map(() => ({ x: 1 }))} of v_a`,\n  );",
    'other("none");',
    'refuse("one, of \\"two\\"")',
  ].join("\n");
  assertEquals(refusals(source), ['one, of "two"', "bits … of v\\_a"]);
});

Deno.test("tables have columns of one width", () => {
  assertEquals(table(["a", "bcde"], [["123456", "x"]]), "| a      | bcde |\n| ------ | ---- |\n| 123456 | x    |");
  assertStringIncludes(document(), "| encoding | opcodes |");
});
