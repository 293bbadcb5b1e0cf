import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { summarize, summaryText } from "../../../tools/corpus/summary.ts";
import { table } from "../../../tools/corpus/table.ts";
import { assemble, bytesOf, emptyModule, radvTest, scaleModule, withFolder } from "./support.ts";

Deno.test("tables set words to the left and numbers to the right", () => {
  assertEquals(
    table(["name", "count", "sizes"], [["a", 7, "1 / 2 / 30"], ["longer", 1234, "4 / 5 / 6"]]),
    ["name    count       sizes", "a           7  1 / 2 / 30", "longer   1234   4 / 5 / 6"].join("\n"),
  );
});

radvTest("a summary counts what was compiled and why the rest was not", () =>
  withFolder(async (folder) => {
    const words = assemble(emptyModule).words.slice();
    words[6] = 6022;
    Deno.mkdirSync(`${folder}/modules`);
    Deno.writeFileSync(`${folder}/modules/crash.spv`, new Uint8Array(words.buffer));
    Deno.writeFileSync(`${folder}/modules/empty.spv`, bytesOf(assemble(emptyModule)));
    Deno.writeFileSync(`${folder}/modules/scale.spv`, bytesOf(assemble(scaleModule)));
    Deno.writeFileSync(
      `${folder}/modules/two.spv`,
      bytesOf(assemble(emptyModule.replace(
        "OpExecutionMode",
        'OpEntryPoint GLCompute %main "again"\nOpExecutionMode',
      ))),
    );
    const progress: number[][] = [];
    const summary = await summarize({
      folder: `${folder}/modules`,
      output: `${folder}/out`,
      family: "navi21",
      waveSizes: [32, 64],
      progress: (done, all) => progress.push([done, all]),
    });
    const crash = "crash: SPIR-V parsing FAILED: Unhandled capability: CooperativeMatrixKHR; SIGSEGV";
    for (const wave of ["32", "64"]) {
      const { compiled, failed, reasons } = summary.waves[wave];
      assertEquals([compiled, failed], [2, 2]);
      assertEquals(reasons[crash], 1);
      const other = Object.keys(reasons).filter((reason) => reason !== crash);
      assertEquals(other, ["refused: one compute entry point is needed; the module has: main, again"]);
    }
    assertEquals(summary.features["uniform buffers"], { modules: 1, compiled: 1 });
    assertEquals(summary.features["cooperative matrices"], { modules: 1, compiled: 0 });
    assertEquals(summary.capabilities, {
      CooperativeMatrixKHR: { modules: 1, compiled: 0 },
      Shader: { modules: 3, compiled: 2 },
    });
    assertEquals(summary.exact, 2);
    assertEquals(progress, [[1, 4], [2, 4], [3, 4], [4, 4]]);
    const names = [...Deno.readDirSync(`${folder}/out`)].map(({ name }) => name).sort();
    assertEquals(names, [
      ...["empty", "scale"].flatMap((name) => ["w32", "w64"].map((wave) => `${name}.${wave}`)).flatMap((
        name,
      ) => [`${name}.json`, `${name}.rdna.bin`]),
      "summary.json",
    ]);
    assertEquals(JSON.parse(Deno.readTextFileSync(`${folder}/out/summary.json`)), summary);
    const text = summaryText(summary);
    assertStringIncludes(text, "4 modules in ");
    assert(/^ +32 +2 +2 /m.test(text), text);
    assertStringIncludes(text, crash);
  }));
