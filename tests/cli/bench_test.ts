import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { TABLES } from "../../bench/tables.ts";
import { anyagc, projectFile } from "./support.ts";

Deno.test("every table is a file of bench/ under its name, and knows it", async () => {
  for (const { name, load } of TABLES) {
    assert(Deno.statSync(projectFile(`bench/${name}.ts`)).isFile);
    const table = await load();
    assertEquals(table.name, name);
    assertMatch(table.summary, /\w/);
  }
});

Deno.test("bench prints a table for people, and its numbers with --json", async () => {
  const text = await anyagc("bench", "recompile", "--quick");
  assertEquals(text.code, 0, text.errors);
  assertStringIncludes(text.lines[0], "words/op");
  assertEquals(text.lines.length, 7);
  const json = JSON.parse((await anyagc("bench", "recompile", "--quick", "--json")).text);
  assertEquals([json.schema, json.quick, json.tables.length], ["anyagc.bench/1", true, 1]);
  const [table] = json.tables;
  assertEquals([table.name, table.schema, table.rows.length], ["recompile", "anyagc.bench.recompile/1", 6]);
  for (const row of table.rows) assert(row.words > 0 && row.ms.median >= row.ms.min);
});

Deno.test("an unknown table names the nearest", async () => {
  const { code, errors } = await anyagc("bench", "recompil3");
  assertEquals(code, 2);
  assertMatch(errors, /there is no table recompil3 \(did you mean recompile\?\)/);
});
