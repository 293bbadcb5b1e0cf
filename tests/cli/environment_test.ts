import { assertEquals, assertStringIncludes } from "@std/assert";
import { SWITCHES, switchFlag, switchValue } from "../../src/switches.ts";

const root = new URL("../../", import.meta.url);

Deno.test("ENVIRONMENT.md lists exactly the switches of src/switches.ts, with meaning, default and place", () => {
  const text = Deno.readTextFileSync(new URL("ENVIRONMENT.md", root));
  const rows = text.split("\n").filter((line) => line.startsWith("| `")).map((line) => {
    const [name, meaning, fallback, where] = line.slice(2, -2).split(" | ").map((cell) => cell.trim());
    return { name: name.replaceAll("`", ""), meaning, default: fallback, where: where.replaceAll("`", "") };
  });
  assertEquals<unknown>(rows, SWITCHES.map((s) => ({ ...s })));
});

Deno.test("the switches are sorted by name and each is named once", () => {
  const names = SWITCHES.map((s) => s.name);
  assertEquals<unknown>(names, [...new Set(names)].sort());
});

Deno.test("the module that a switch names reads it", () => {
  for (const s of SWITCHES) {
    const source = Deno.readTextFileSync(new URL(s.where, root));
    assertStringIncludes(source, `"${s.name}"`, `${s.where} does not read ${s.name}`);
  }
});

Deno.test("no module reads a variable of the environment but src/switches.ts, those of the operating system apart", async () => {
  const reading = /Deno\.env\.(?!get\("(TMPDIR|HOME|XDG_\w+)"\))/;
  const readers: string[] = [];
  const visit = async (folder: string) => {
    for await (const entry of Deno.readDir(new URL(folder, root))) {
      const path = folder + entry.name;
      if (entry.isDirectory) await visit(path + "/");
      else if (path.endsWith(".ts") && reading.test(Deno.readTextFileSync(new URL(path, root)))) {
        readers.push(path);
      }
    }
  };
  await visit("src/");
  await visit("ffi/");
  assertEquals(readers, ["src/switches.ts"]);
});

Deno.test("a flag is on unless it is unset, empty, 0, false, no or off", () => {
  const name = "ANYAGC_DEBUG", before = Deno.env.get(name);
  try {
    for (const value of ["", "0", "false", "No", "OFF"]) {
      Deno.env.set(name, value);
      assertEquals(switchFlag(name), false, value);
    }
    for (const value of ["1", "true", "yes"]) {
      Deno.env.set(name, value);
      assertEquals(switchFlag(name), true, value);
      assertEquals(switchValue(name), value);
    }
    Deno.env.delete(name);
    assertEquals(switchFlag(name), false);
    assertEquals(switchValue(name), undefined);
  } finally {
    if (before === undefined) Deno.env.delete(name);
    else Deno.env.set(name, before);
  }
});
