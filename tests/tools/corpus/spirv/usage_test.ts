import { assertEquals } from "@std/assert";
import { usageOf } from "../../../../tools/corpus/spirv/usage.ts";
import { assemble, emptyModule, scaleModule } from "../support.ts";

Deno.test("features and inexact operations of a module are named", () => {
  assertEquals(usageOf(assemble(emptyModule)), { capabilities: [1], features: [], inexact: [], partial: [] });
  assertEquals(usageOf(assemble(scaleModule)), {
    capabilities: [1],
    features: ["uniform buffers", "specialization constants"],
    inexact: [],
    partial: ["UMod"],
  });
  const busy = emptyModule.replace(
    "OpMemoryModel",
    `OpCapability Float16
     OpCapability Int8
     OpCapability GroupNonUniform
     OpCapability GroupNonUniformVote
     %glsl = OpExtInstImport "GLSL.std.450"
     OpMemoryModel`,
  ).replace('"main"', '"main" %shared').replace(
    "%main = OpF",
    `%bool = OpTypeBool
     %true = OpConstantTrue %bool
     %u32 = OpTypeInt 32 0
     %f32 = OpTypeFloat 32
     %one = OpConstant %f32 1
     %subgroup = OpConstant %u32 3
     %workgroup = OpConstant %u32 2
     %none = OpConstant %u32 0
     %shared_p = OpTypePointer Workgroup %u32
     %shared = OpVariable %shared_p Workgroup
     %main = OpF`,
  ).replace(
    "OpReturn",
    `%any = OpGroupNonUniformAny %bool %subgroup %true
     %rest = OpUMod %u32 %subgroup %workgroup
     %quotient = OpFDiv %f32 %one %one
     %root = OpExtInst %f32 %glsl Sqrt %one
     %floor = OpExtInst %f32 %glsl Floor %one
     %old = OpAtomicIAdd %u32 %shared %workgroup %none %subgroup
     OpControlBarrier %workgroup %workgroup %none
     OpReturn`,
  );
  assertEquals(usageOf(assemble(busy)), {
    capabilities: [1, 9, 39, 61, 62],
    features: ["int8", "float16", "shared memory", "barrier", "atomics", "subgroup operations"],
    inexact: ["FDiv", "Sqrt"],
    partial: ["UMod"],
  });
});
