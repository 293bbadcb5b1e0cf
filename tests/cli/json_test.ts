import { assert, assertEquals } from "@std/assert";
import { COMMANDS } from "../../src/cli/commands.ts";
import { writeAgcap } from "../../src/guest/agcap/write_agcap.ts";
import { everything } from "../guest/agcap/support.ts";
import { withCache, writeJournal } from "./journal/support.ts";
import { anyagc, projectFile, vulkanTest } from "./support.ts";

const PROGRAM = projectFile("shaders/julia/program.json");

/** Section of docs/cli-json.md about a schema. */
function section(schema: string): string {
  const text = Deno.readTextFileSync(projectFile("docs/cli-json.md"));
  const start = text.indexOf(`## ${schema}\n`);
  assert(start >= 0, `docs/cli-json.md has no section ${schema}`);
  const end = text.indexOf("\n## ", start + 1);
  return text.slice(start, end < 0 ? undefined : end);
}

function documented(
  schema: string,
  name: string,
  keys: readonly string[],
  register: (name: string, body: () => Promise<void>) => void,
  ...args: string[]
) {
  register(`${name} --json is one object of schema ${schema} with the keys that docs/cli-json.md tells`, async () => {
    const { text } = await anyagc(...args, "--json");
    const data = JSON.parse(text);
    assertEquals(data.schema, schema);
    const about = section(schema);
    for (const key of Object.keys(data)) {
      if (key !== "schema") assert(new RegExp(`\`${key}[.\`]`).test(about), `${schema}: ${key} is not documented`);
    }
    for (const key of keys) assert(key in data, `${schema}: ${key} is missing`);
  });
}

documented("anyagc.version/1", "--version", ["name", "version", "kind", "deno", "target"], Deno.test, "--version");
documented("anyagc.error/1", "a wrong command line", ["error"], Deno.test, "rnu");
documented("anyagc.disasm/1", "disasm", ["file", "kind", "submissions", "shaders"], Deno.test, "disasm", PROGRAM);
documented("anyagc.inspect/1", "inspect", ["inputs"], Deno.test, "inspect", PROGRAM);
documented("anyagc.bench/1", "bench", ["quick", "tables"], Deno.test, "bench", "recompile", "--quick");
documented("anyagc.completions/1", "completions", ["shell", "script"], Deno.test, "completions", "zsh");
documented("anyagc.doctor/1", "doctor", ["ok", "version", "checks", "devices"], vulkanTest, "doctor");
documented(
  "anyagc.run/1",
  "run",
  ["program", "device", "outcome", "differences", "queues", "programs", "labels", "waits", "timings", "frame"],
  vulkanTest,
  "run",
  PROGRAM,
);
documented(
  "anyagc.capture/1",
  "capture",
  ["file", "output", "bytes", "program", "device", "outcome", "dispatches", "labels", "changedBytes", "volatile"],
  vulkanTest,
  "capture",
  PROGRAM,
  "-o",
  "/dev/null",
);
documented("anyagc.convert/1", "convert", ["inputs"], Deno.test, "convert", PROGRAM, "-o", "/dev/null");
documented("anyagc.replay/1", "replay", ["equal", "inputs"], vulkanTest, "replay", PROGRAM);
for (const more of [[], ["--dump", "final"], ["--dump", "list"]]) {
  documented(
    "anyagc.recompile/1",
    ["recompile", ...more].join(" "),
    ["file"],
    Deno.test,
    "recompile",
    PROGRAM,
    "--device",
    "generic",
    ...more,
  );
}

/** Every key of every input must be in the section, and the ones of `keys` in the first input. */
async function inputsDocumented(schema: string, keys: readonly string[], ...args: string[]) {
  const data = JSON.parse((await anyagc(...args, "--json")).text), about = section(schema);
  for (const input of data.inputs) {
    for (const key of Object.keys(input)) {
      assert(about.includes(`\`${key}\``), `${schema}: inputs.${key} is not documented`);
    }
  }
  for (const key of keys) assert(key in data.inputs[0], `${schema}: inputs.${key} is missing`);
}

vulkanTest("the inputs of convert and replay have the keys that docs/cli-json.md tells, refused ones too", async () => {
  const bad = projectFile("LICENSE");
  await inputsDocumented(
    "anyagc.convert/1",
    ["file", "output", "kind", "bytes"],
    "convert",
    PROGRAM,
    "-o",
    "/dev/null",
  );
  await inputsDocumented("anyagc.convert/1", ["file", "error"], "convert", bad, "-o", "/dev/null");
  const keys = ["file", "kind", "outcome", "device", "compared", "differences", "timings"];
  await inputsDocumented("anyagc.replay/1", keys, "replay", PROGRAM, bad);
});

Deno.test("the inputs of inspect have the keys that docs/cli-json.md tells, whatever they are; so have the journals", () =>
  withCache(async (cache) => {
    const capture = `${cache}/x.agcap`, { name, path } = writeJournal(cache);
    Deno.writeFileSync(capture, writeAgcap(everything()));
    const files = [PROGRAM, capture, path, projectFile("LICENSE")];
    const keys = [
      "file",
      "bytes",
      "format",
      "kind",
      "memory",
      "submissions",
      "packets",
      "dispatches",
      "programs",
      "labels",
    ];
    await inputsDocumented("anyagc.inspect/1", keys, "inspect", ...files);
    // What is in the lists, too.
    const { inputs } = JSON.parse((await anyagc("inspect", ...files, "--json")).text),
      about = section("anyagc.inspect/1");
    const lists = ["memory", "submissions", "dispatches", "programs", "shaders", "expectations", "untouched"] as const;
    for (const list of lists) {
      const found = inputs.flatMap((input: Record<string, object[]>) => input[list] ?? []);
      assert(found.length > 0, list);
      for (const key of found.flatMap(Object.keys)) assert(about.includes(`\`${key}\``), `${list}[].${key}`);
    }
    for (const args of [["list"], ["show", name], ["verify"], ["clear"]]) {
      const data = JSON.parse((await anyagc("journal", ...args, "--json")).text), about = section("anyagc.journal/1");
      assertEquals([data.schema, data.action], ["anyagc.journal/1", args[0]]);
      const { schema: _, ...rest } = data, rows: object[] = [rest, ...data.journals ?? [], ...data.removed ?? []];
      for (const key of rows.flatMap(Object.keys)) assert(about.includes(`\`${key}\``), `${args[0]}: ${key}`);
    }
  }));

Deno.test("an error's place is data", async () => {
  const { code, text } = await anyagc("disasm", projectFile("LICENSE"), "--json");
  assertEquals(code, 2);
  const { error } = JSON.parse(text);
  assertEquals(error.place.file, projectFile("LICENSE"));
  assertEquals(typeof error.code, "string");
});

Deno.test("every command's schema has a section in docs/cli-json.md", () => {
  for (const { name } of COMMANDS) section(`anyagc.${name}/1`);
});
