import { assertEquals, assertStringIncludes } from "@std/assert";
import { corpus } from "../../../tools/corpus/main.ts";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { readModule } from "../../../tools/corpus/spirv/module.ts";
import { assemble, bytesOf, radvTest, scaleModule, withFolder } from "./support.ts";

/** Runs the command line; returns the exit code and what it printed. */
async function run(...args: string[]): Promise<{ code: number; text: string }> {
  const lines: string[] = [];
  const { log, error } = console;
  console.log = console.error = (line: string) => void lines.push(line);
  try {
    return { code: await corpus(args), text: lines.join("\n") };
  } finally {
    Object.assign(console, { log, error });
  }
}

Deno.test("wrong command lines end with code 2 and say what is wrong", async () => {
  for (
    const [args, message] of [
      [["explode"], "unknown command explode: compile, extract, treat, graphics, summary"],
      [["compile"], "compile needs SPIR-V files"],
      [["treat"], "treat needs SPIR-V files or folders"],
      [["compile", "--wave", "16", "x.spv"], "--wave 16: a wave has 32 or 64 lanes"],
      [["compile", "--family", "gfx1030", "x.spv"], "unknown family gfx1030; known: navi21, navi10"],
      [["compile", "--spec", "x=1", "x.spv"], "--spec x=1: ID=VALUE is needed"],
      [["compile", "--timeout", "soon", "x.spv"], "--timeout soon: a number of seconds is needed"],
      [["compile", "--loud", "x.spv"], "unknown option --loud"],
      [["treat", "no-such-file.spv"], "the file cannot be read"],
      [["summary", "no-such-folder"], "no-such-folder is no folder"],
      [[], "Usage: "],
    ] as const
  ) {
    const { code, text } = await run(...args);
    assertEquals(code, 2, args.join(" "));
    assertStringIncludes(text, message);
  }
  assertEquals((await run("--help")).code, 0);
});

Deno.test("treat writes valid modules under their own names", () =>
  withFolder(async (folder) => {
    Deno.mkdirSync(`${folder}/in`);
    Deno.writeFileSync(`${folder}/in/scale.spv`, bytesOf(assemble(scaleModule)));
    const { code, text } = await run("treat", `${folder}/in`, "--preserve-specials", "-o", `${folder}/out`);
    assertEquals([code, text], [0, `1 modules in ${folder}/out: 2 results decorated, 0 Fma split`]);
    openSpirvTools().requireValid(readModule(`${folder}/out/scale.spv`).words, "scale.spv");
  }));

Deno.test("extract takes modules out of named files", () =>
  withFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/x.so`, Uint8Array.from([0, ...bytesOf(assemble(scaleModule))]));
    const { code, text } = await run("extract", `${folder}/x.so`, "-o", `${folder}/out`);
    assertEquals(code, 0);
    assertStringIncludes(text, `1 compute modules in ${folder}/out`);
  }));

radvTest(
  "compile writes code and description, and ends with code 1 when a module was not compiled",
  () =>
    withFolder(async (folder) => {
      const file = `${folder}/scale.spv`;
      Deno.writeFileSync(file, bytesOf(assemble(scaleModule)));
      assertEquals((await run("compile", file, "--wave", "32", "--spec", "0=64", "-o", folder)).code, 0);
      const { local_size, code_size } = JSON.parse(Deno.readTextFileSync(`${folder}/scale.w32.json`));
      assertEquals(local_size, [64, 1, 1]);
      assertEquals(Deno.statSync(`${folder}/scale.w32.rdna.bin`).size, code_size);
      const { code, text } = await run("compile", file, "--entry", "main", "-o", folder);
      assertEquals(code, 1);
      assertStringIncludes(text, "scale.w64: refused: no compute entry point is named main; the module has: scale");
    }),
);
