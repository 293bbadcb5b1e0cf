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

Deno.test("a program that is killed while it writes leaves a whole file under the name: the old one or the new one", () =>
  inFolder(async (folder) => {
    const module = new URL("../../src/cli/files.ts", import.meta.url).href, size = 8 << 20;
    const code = `import { writeOutput } from ${JSON.stringify(module)};
      const [a, b] = [97, 98].map((byte) => new Uint8Array(${size}).fill(byte));
      for (let i = 0;; i++) { await writeOutput(${
      JSON.stringify(`${folder}/a`)
    }, i & 1 ? b : a); if (i === 0) console.log("go"); }`;
    Deno.writeTextFileSync(`${folder}/writer.ts`, code);
    for (let i = 0; i < 5; i++) {
      const child = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", `${folder}/writer.ts`],
        stdout: "piped",
        stderr: "null",
      }).spawn();
      const reader = child.stdout.getReader();
      await reader.read();
      await new Promise((resolve) => setTimeout(resolve, 7 * i));
      child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
      const bytes = Deno.readFileSync(`${folder}/a`);
      assertEquals([bytes.length, bytes.every((byte) => byte === bytes[0])], [size, true]);
    }
  }));
