import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { bundle } from "../../../tools/build/bundle.ts";
import { denoCompile } from "../../../tools/build/deno_compile.ts";
import { findEsbuild } from "../../../tools/build/esbuild.ts";
import { ElfProgram } from "../../../tools/build/elf.ts";
import { HostError } from "../../../src/errors.ts";
import { cannotBuild } from "./support.ts";

function bundlerTest(name: string, body: (folder: string) => Promise<void>): void {
  const ignore = cannotBuild !== undefined;
  Deno.test({
    name: ignore ? `${name} [ignored: ${cannotBuild}]` : name,
    ignore,
    async fn() {
      const folder = await Deno.makeTempDir({ prefix: "anyagc-bundle-test-" });
      try {
        await body(folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    Deno.mkdirSync(`${folder}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    Deno.writeTextFileSync(`${folder}/${path}`, text);
  }
}

const START = (url: string) => `
  const worker = new Worker(new URL("${url}", import.meta.url), { type: "module" });
  const answer = await new Promise((resolve) => worker.onmessage = ({ data }) => resolve(data));`;

bundlerTest("workers come along, also of the same name, and those that workers start", async (folder) => {
  write(folder, {
    "tools/std/cli/mod.ts": "export {};",
    "src/main.ts":
      `import { ask } from "./a/ask.ts"; console.log(await ask(), (await import("./b/ask.ts")).ask2 !== undefined,
      await (await import("./b/ask.ts")).ask2());`,
    "src/a/ask.ts": `export async function ask() {${START("./worker.ts")} return answer; }`,
    "src/b/ask.ts": `export async function ask2(): Promise<string> {${START("./worker.ts")} return answer; }`,
    "src/a/worker.ts": `import { shared } from "../shared.ts"; postMessage("a" + shared); close();`,
    "src/b/worker.ts": `import { shared } from "../shared.ts"; ${
      START("../c/inner.ts")
    } postMessage("b" + shared + answer); close();`,
    "src/c/inner.ts": `postMessage("inner"); close();`,
    "src/shared.ts":
      `declare const __BUILD_STAMP__: { commit: string }; export const shared: string = __BUILD_STAMP__.commit;`,
  });
  const files = await bundle({
    esbuild: findEsbuild()!,
    root: `${folder}/`,
    entries: { entry: "src/main.ts" },
    stamp: { commit: "-1-", id: "", assets: {} },
  });
  const out = `${folder}/out`;
  Deno.mkdirSync(out);
  for (const [name, data] of files) Deno.writeFileSync(`${out}/${name}`, data);
  Deno.removeSync(`${folder}/src`, { recursive: true });
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-config", "--no-lock", `${out}/entry.js`],
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(new TextDecoder().decode(stdout), "a-1- true b-1-inner\n", new TextDecoder().decode(stderr));
});

bundlerTest("a file that is named by URL and is no module is an error, not a missing file later", async (folder) => {
  write(folder, {
    "tools/std/cli/mod.ts": "export {};",
    "src/main.ts": `console.log(Deno.readTextFileSync(new URL("./data.json", import.meta.url)));`,
    "src/data.json": "{}",
  });
  const error = await assertRejects(() =>
    bundle({ esbuild: findEsbuild()!, root: `${folder}/`, entries: { entry: "src/main.ts" } })
  );
  assertStringIncludes((error as Error).message, "names ./data.json by URL");
});

bundlerTest("a module that the bundler cannot read is an error with its words", async (folder) => {
  write(folder, { "tools/std/cli/mod.ts": "export {};", "src/main.ts": "const = 1;" });
  const error = await assertRejects(
    () => bundle({ esbuild: findEsbuild()!, root: `${folder}/`, entries: { entry: "src/main.ts" } }),
    HostError,
  );
  assertStringIncludes(error.message, "src/main.ts:1:6");
});

bundlerTest(
  "deno compile with a base binary that carries no program is refused, and writes nothing",
  async (folder) => {
    // Deno's own executable is such a one. What `deno compile` itself makes of it takes a moment, so the files are few.
    const before = Deno.env.get("DENORT_BIN");
    try {
      Deno.env.set("DENORT_BIN", Deno.execPath());
      const files = new Map([["entry.js", new TextEncoder().encode('console.log("1")')]]);
      const error = await assertRejects(
        () => denoCompile({ deno: Deno.execPath(), output: `${folder}/made`, files }),
        HostError,
      );
      assertEquals((error as HostError).code, "build.denort");
      assertStringIncludes(error.message, "does not fit");
      assertEquals([...Deno.readDirSync(folder)], []);
    } finally {
      if (before === undefined) Deno.env.delete("DENORT_BIN");
      else Deno.env.set("DENORT_BIN", before);
    }
  },
);

Deno.test("what is no position-independent x86-64 program cannot carry one", () => {
  for (const bytes of [new Uint8Array(10), new Uint8Array(200), new TextEncoder().encode("#!/bin/sh\n".repeat(20))]) {
    let message = "";
    try {
      new ElfProgram(bytes);
    } catch (error) {
      message = (error as Error).message;
    }
    assertStringIncludes(message, "this Deno cannot carry a program");
  }
});
