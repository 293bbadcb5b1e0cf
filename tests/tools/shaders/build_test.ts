import { assertEquals } from "@std/assert";
import { assemblerAvailable } from "../../../tools/shaders/assemble.ts";
import { sampleCode, samplePath, SAMPLES } from "../../../tools/shaders/build.ts";
import { programText } from "../../../tools/shaders/sample.ts";

const assembler = await assemblerAvailable();

for (const sample of SAMPLES) {
  Deno.test(`shaders/${sample.folder}/program.json is what its script gives`, () => {
    assertEquals(Deno.readTextFileSync(samplePath(sample, "program.json")), programText(sample.program));
  });

  Deno.test({
    name: `shaders/${sample.folder}/${sample.binary} is what its source assembles to` +
      (assembler ? "" : " [ignored: no llvm-mc-19; deno task setup --tests installs it]"),
    ignore: !assembler,
    fn: async () => {
      assertEquals(Deno.readFileSync(samplePath(sample, sample.binary)), await sampleCode(sample));
    },
  });
}
