import { assert, assertEquals, assertThrows } from "@std/assert";
import { recompileMergedShader } from "../../mod.ts";
import { openSpirvTools } from "../../ffi/spirv_tools.ts";
import { InvalidInputError } from "../../src/errors.ts";
import { corpusFile, corpusTest } from "../support/corpus.ts";

const pair = (name: string) =>
  [corpusFile("openagc", `${name}_front.sb`), corpusFile("openagc", `${name}_back.sb`)] as const;

corpusTest("two files of a merged program become one valid module, a vertex shader or a group", "openagc", () => {
  const vertex = recompileMergedShader(...pair("runtime_triangle_vert"));
  assertEquals([vertex.kind, vertex.backOffset, vertex.layout], ["vertex", undefined, undefined]);
  const group = recompileMergedShader(...pair("triangle_ngg_amplify"));
  assertEquals([group.kind, group.backOffset, group.layout?.targets], ["group", 256, [12, 13, 32, 33]]);
  assertEquals(group.code.length, 64 + 392);
  for (const { spirv, instructions } of [vertex, group]) {
    assertEquals(openSpirvTools().validate(spirv), []);
    assert(instructions > 20);
  }
});

corpusTest("files that are no halves of one program are refused with their names", "openagc", () => {
  const [front] = pair("triangle_ngg"), [, back] = pair("triangle_tess_gs");
  assertThrows(() => recompileMergedShader(front, back), InvalidInputError, "VGT_SHADER_STAGES_EN");
  // Of the same stages, but with groups of other sizes, or other primitives that come out.
  const others = [["triangle_ngg_amplify", "GE_CNTL are 0xf655 and 0xf22a"], [
    "triangle_ngg_invocations",
    "GE_CNTL are 0xf655 and 0xf22a",
  ]];
  for (const [name, message] of others) {
    assertThrows(() => recompileMergedShader(front, pair(name)[1]), InvalidInputError, message);
  }
});
