import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { UsageError } from "../../src/errors.ts";
import { writeOutput } from "../../src/cli/files.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

async function inFolder(body: (folder: string) => Promise<void>) {
  const folder = Deno.makeTempDirSync({ prefix: "anyagc-test-" });
  try {
    await body(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const names = (folder: string) => [...Deno.readDirSync(folder)].map((entry) => entry.name).sort();

Deno.test("an output file replaces an older one whole, and nothing else is left in the folder", () =>
  inFolder(async (folder) => {
    await writeOutput(`${folder}/a`, bytes("first, longer"));
    await writeOutput(`${folder}/a`, bytes("second"));
    assertEquals(Deno.readTextFileSync(`${folder}/a`), "second");
    assertEquals(names(folder), ["a"]);
  }));

Deno.test("an output file appears under its name in one step: whoever has the old one open keeps all of it", () =>
  inFolder(async (folder) => {
    await writeOutput(`${folder}/a`, bytes("old contents"));
    using old = Deno.openSync(`${folder}/a`);
    await writeOutput(`${folder}/a`, bytes("new"));
    const buffer = new Uint8Array(64), read = old.readSync(buffer);
    assertEquals(new TextDecoder().decode(buffer.subarray(0, read ?? 0)), "old contents");
  }));

Deno.test("an output named by a link replaces what the link leads to", () =>
  inFolder(async (folder) => {
    Deno.mkdirSync(`${folder}/there`);
    Deno.writeTextFileSync(`${folder}/there/real`, "old");
    Deno.symlinkSync(`${folder}/there/real`, `${folder}/link`);
    await writeOutput(`${folder}/link`, bytes("new"));
    assertEquals(Deno.readTextFileSync(`${folder}/there/real`), "new");
    assertEquals(Deno.lstatSync(`${folder}/link`).isSymlink, true);
  }));

Deno.test("an output that is no regular file is written to, not replaced", () =>
  inFolder(async () => {
    await writeOutput("/dev/null", bytes("gone"));
    assertEquals(Deno.statSync("/dev/null").isCharDevice, true);
  }));

Deno.test("an output that cannot be written is refused with its path and the cause, and leaves nothing behind", () =>
  inFolder(async (folder) => {
    const error = await assertRejects(() => writeOutput(`${folder}/none/a`, bytes("x")), UsageError);
    assertStringIncludes(error.message, `cannot write ${folder}/none/a: no such file or folder`);
    Deno.mkdirSync(`${folder}/taken`);
    assertStringIncludes(
      (await assertRejects(() => writeOutput(`${folder}/taken`, bytes("x")), UsageError)).message,
      "it is a folder",
    );
    assertEquals(names(folder), ["taken"]);
  }));
