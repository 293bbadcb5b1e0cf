import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { openSpirvTools } from "../../../../ffi/spirv_tools.ts";
import { InvalidInputError } from "../../../../src/errors.ts";
import type { SpirvModule } from "../../../../tools/corpus/spirv/module.ts";
import { readModule } from "../../../../tools/corpus/spirv/module.ts";
import { treat } from "../../../../tools/corpus/spirv/treat.ts";
import { corpusFile, corpusNames, corpusTest } from "../../../support/corpus.ts";
import { assemble, emptyModule, scaleModule } from "../support.ts";

/** A function body with every kind of floating-point arithmetic, in three widths. */
const arithmetic = `
  OpCapability Shader
  OpCapability Float16
  OpCapability Float64
  OpCapability Matrix
  %glsl = OpExtInstImport "GLSL.std.450"
  OpMemoryModel Logical GLSL450
  OpEntryPoint GLCompute %main "main"
  OpExecutionMode %main LocalSize 1 1 1
  OpName %exact "exact"
  OpDecorate %exact NoContraction
  %void = OpTypeVoid
  %fn = OpTypeFunction %void
  %u32 = OpTypeInt 32 0
  %f16 = OpTypeFloat 16
  %f32 = OpTypeFloat 32
  %f64 = OpTypeFloat 64
  %bool = OpTypeBool
  %v2 = OpTypeVector %f32 2
  %m2 = OpTypeMatrix %v2 2
  %u = OpConstant %u32 3
  %h = OpConstant %f16 1.5
  %f = OpConstant %f32 1.5
  %d = OpConstant %f64 1.5
  %v = OpConstantComposite %v2 %f %f
  %m = OpConstantComposite %m2 %v %v
  %main = OpFunction %void None %fn
  %l = OpLabel
  %r1 = OpFAdd %f32 %f %f
  %r2 = OpFSub %f16 %h %h
  %r3 = OpFMul %f64 %d %d
  %r4 = OpFDiv %f32 %f %f
  %r5 = OpFRem %f32 %f %f
  %r6 = OpFMod %f32 %f %f
  %r7 = OpFNegate %v2 %v
  %r8 = OpVectorTimesScalar %v2 %v %f
  %r9 = OpMatrixTimesScalar %m2 %m %f
  %r10 = OpVectorTimesMatrix %v2 %v %m
  %r11 = OpMatrixTimesVector %v2 %m %v
  %r12 = OpMatrixTimesMatrix %m2 %m %m
  %r13 = OpOuterProduct %m2 %v %v
  %r14 = OpDot %f32 %v %v
  %exact = OpFAdd %f32 %f %f
  %fma = OpExtInst %v2 %glsl Fma %v %v %v
  %sqrt = OpExtInst %f32 %glsl Sqrt %f
  %i = OpIAdd %u32 %u %u
  %less = OpFOrdLessThan %bool %f %f
  %c = OpConvertUToF %f32 %u
  OpReturn
  OpFunctionEnd`;

function textOf(module: SpirvModule): string {
  return openSpirvTools().disassemble(module.words, { rawIds: true });
}

/** Result ids and opcodes of the text's instructions that are decorated NoContraction. */
function decoratedIn(text: string): string[] {
  const ids = [...text.matchAll(/OpDecorate (%\d+) NoContraction/g)].map(([, id]) => id);
  assertEquals(new Set(ids).size, ids.length, "an id is decorated twice");
  return ids.map((id) => new RegExp(`${id} = (Op\\w+)`).exec(text)?.[1] ?? id).sort();
}

const ARITHMETIC = [
  "OpDot",
  "OpFAdd",
  "OpFAdd",
  "OpFDiv",
  "OpFMod",
  "OpFMul",
  "OpFNegate",
  "OpFRem",
  "OpFSub",
  "OpMatrixTimesMatrix",
  "OpMatrixTimesScalar",
  "OpMatrixTimesVector",
  "OpOuterProduct",
  "OpVectorTimesMatrix",
  "OpVectorTimesScalar",
];

Deno.test("every floating-point arithmetic result and nothing else is decorated, and denormals of all widths in use are preserved", () => {
  const treated = treat(assemble(arithmetic));
  openSpirvTools().requireValid(treated.module.words, "the treated module");
  const text = textOf(treated.module);
  assertEquals(decoratedIn(text), ARITHMETIC);
  assertEquals([treated.decorated, treated.split, treated.widths], [14, 0, [16, 32, 64]]);
  for (const width of [16, 32, 64]) {
    assert(new RegExp(`OpExecutionMode %\\d+ DenormPreserve ${width}\\n`).test(text), text);
  }
  assertStringIncludes(text, "OpCapability DenormPreserve");
  assertEquals(text.includes("SignedZeroInfNanPreserve"), false);
  assertEquals(text.includes("OpExtension"), false); // SPIR-V 1.6 has float controls
});

Deno.test("a treated module says otherwise what it said before", () => {
  const before = textOf(assemble(arithmetic)).split("\n"),
    after = textOf(treat(assemble(arithmetic)).module).split("\n");
  const added = /NoContraction|DenormPreserve/;
  assertEquals(after.filter((line) => !added.test(line)), before.filter((line) => !added.test(line)));
});

Deno.test("the version before 1.4 gets the extension, special values are preserved when asked, and 16 and 64 bits only when in use", () => {
  const older = scaleModule.replace("%id %in %out %params", "%id").replace(
    "OpExecutionModeId %main LocalSizeId %size_x %one %one",
    "OpExecutionMode %main LocalSize 1 1 1",
  );
  const treated = treat(assemble(older, "vulkan1.1"), { preserveSpecials: true });
  openSpirvTools().requireValid(treated.module.words, "the treated module", { environment: "vulkan1.1" });
  const text = textOf(treated.module);
  assertStringIncludes(text, 'OpExtension "SPV_KHR_float_controls"');
  assertStringIncludes(text, "OpCapability SignedZeroInfNanPreserve");
  assert(/OpExecutionMode %\d+ SignedZeroInfNanPreserve 32\n/.test(text), text);
  assertEquals(treated.widths, [32]);
  assertEquals(decoratedIn(text), ["OpFAdd", "OpFMul"]);
});

Deno.test("Fma becomes a multiplication and an addition when asked", () => {
  const treated = treat(assemble(arithmetic), { splitFma: true });
  openSpirvTools().requireValid(treated.module.words, "the treated module");
  assertEquals([treated.decorated, treated.split], [16, 1]);
  const text = textOf(treated.module);
  assertEquals(decoratedIn(text), [...ARITHMETIC, "OpFAdd", "OpFMul"].sort());
  assertEquals(text.includes("Fma"), false);
  // The result keeps its id, and the sum's first operand is the product.
  const result = /(%\d+) = OpExtInst (%\d+) %\d+ Fma (%\d+) (%\d+) (%\d+)/.exec(textOf(assemble(arithmetic)))!;
  const [, id, type, a, b, c] = result;
  const sum = new RegExp(`(%\\d+) = OpFMul ${type} ${a} ${b}\\n\\s+${id} = OpFAdd ${type} \\1 ${c}\\n`);
  assert(sum.test(text), text);
});

Deno.test("treating a treated module changes nothing", () => {
  for (const options of [{}, { splitFma: true }, { preserveSpecials: true }]) {
    const once = treat(assemble(arithmetic), options).module, twice = treat(once, options);
    assertEquals(twice.module.words, once.words);
    assertEquals([twice.decorated, twice.split], [0, 0]);
  }
});

Deno.test("a module without annotations gets its modes in the right section", () => {
  const treated = treat(assemble(emptyModule));
  openSpirvTools().requireValid(treated.module.words, "the treated module");
  assertEquals(treated.decorated, 0);
});

Deno.test("modules that contradict the treatment are refused", () => {
  const flush = emptyModule.replace("OpCapability Shader", "OpCapability Shader\nOpCapability DenormFlushToZero")
    .replace(
      "LocalSize 1 1 1",
      "LocalSize 1 1 1\nOpExecutionMode %main DenormFlushToZero 32",
    );
  assertThrows(() => treat(assemble(flush)), InvalidInputError, "the module asks for flushed denormals");
});

corpusTest("treated shaders of the corpus are valid, and none is left undecorated", "aco", () => {
  const names = corpusNames("aco", /\.comp\.spv$/);
  assert(names.length >= 8, `${names.length} modules`);
  for (const name of names) {
    const treated = treat(readModule(corpusFile("aco", name)), { splitFma: true, preserveSpecials: true });
    openSpirvTools().requireValid(treated.module.words, name);
    const text = textOf(treated.module);
    const results = text.match(/= Op(FAdd|FSub|FMul|FDiv|FNegate|FRem|FMod|Dot|\w+Times\w+|OuterProduct) /g) ?? [];
    assertEquals(decoratedIn(text).length, results.length, name);
  }
});
