/**
 * Real modules: those that `deno run -A tools/corpus/main.ts extract` put into .cache/corpus/llama. They are not part of the project, so without
 * them these tests are reported as ignored.
 */
import { assert, assertEquals } from "@std/assert";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { readModule } from "../../../tools/corpus/spirv/module.ts";
import { findModules } from "../../../tools/corpus/spirv/boundary.ts";
import { reflectCompute } from "../../../tools/corpus/spirv/reflect.ts";
import { treat } from "../../../tools/corpus/spirv/treat.ts";
import "./support.ts"; // builds SPIRV-Tools

const folder = new URL("../../../.cache/corpus/llama/", import.meta.url).pathname;
const files = modulesIn(folder);
const STEP = 25;

function modulesIn(path: string): string[] {
  try {
    return [...Deno.readDirSync(path)].map(({ name }) => name).filter((name) => name.endsWith(".spv")).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

function extractedTest(name: string, body: () => void): void {
  const ignore = files.length === 0;
  const reason = ignore ? ` [ignored: no ${folder}; deno run -A tools/corpus/main.ts extract makes it]` : "";
  Deno.test({ name: name + reason, ignore, fn: body });
}

extractedTest("every extracted module is one module to its last byte, and has bindings and a workgroup", () => {
  for (const file of files) {
    const bytes = Deno.readFileSync(folder + file);
    assertEquals(findModules(bytes), { modules: [{ offset: 0, byteLength: bytes.length }], rejected: [] }, file);
    const { bindings, workgroupSize } = reflectCompute(readModule(folder + file));
    assert(bindings.length > 0 && workgroupSize.every((size) => size > 0), file);
  }
});

extractedTest(`every ${STEP}th extracted module that SPIRV-Tools knows is valid when it was treated`, () => {
  const tools = openSpirvTools();
  let valid = 0;
  for (let i = 0; i < files.length; i += STEP) {
    const module = readModule(folder + files[i]);
    const [before] = tools.validate(module.words);
    if (before !== undefined) {
      // Capabilities that are younger than SPIRV-Tools; anything else would be a module that was cut wrongly.
      assert(/Invalid capability operand/.test(before.message), `${files[i]}: ${before.message}`);
      continue;
    }
    tools.requireValid(treat(module, { splitFma: true, preserveSpecials: true }).module.words, files[i]);
    valid++;
  }
  assert(valid > files.length / STEP / 2, `only ${valid} modules were valid`);
});
