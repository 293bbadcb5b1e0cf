import { assertEquals, assertThrows } from "@std/assert";
import { InvalidInputError } from "../../../../src/errors.ts";
import { Declarations } from "../../../../tools/corpus/spirv/declarations.ts";
import { moduleOf, readModule, SpirvModule } from "../../../../tools/corpus/spirv/module.ts";
import { reflectBindings, reflectCompute } from "../../../../tools/corpus/spirv/reflect.ts";
import { corpusFile, corpusTest } from "../../../support/corpus.ts";
import { assemble, bytesOf, emptyModule, scaleModule } from "../support.ts";

/** A module with resources of every kind that is read, push constants with a matrix, and constants that are computed. */
const resources = `
  OpCapability Shader
  OpCapability Int64
  OpCapability Float64
  OpCapability SampledBuffer
  OpCapability ImageBuffer
  OpMemoryModel Logical GLSL450
  OpEntryPoint GLCompute %first "first" %texture %sampler %combined %storage %texels %writable %blocks %old %alias %push
  OpEntryPoint GLCompute %second "second"
  OpExecutionMode %first LocalSize 4 3 2
  OpExecutionMode %second LocalSize 7 1 1
  OpName %texture "texture"
  OpName %blocks_t "Blocks"
  OpDecorate %texture DescriptorSet 2
  OpDecorate %texture Binding 1
  OpDecorate %sampler DescriptorSet 2
  OpDecorate %sampler Binding 0
  OpDecorate %combined DescriptorSet 0
  OpDecorate %combined Binding 9
  OpDecorate %storage DescriptorSet 0
  OpDecorate %storage Binding 8
  OpDecorate %texels DescriptorSet 0
  OpDecorate %texels Binding 7
  OpDecorate %writable DescriptorSet 0
  OpDecorate %writable Binding 6
  OpDecorate %blocks DescriptorSet 0
  OpDecorate %blocks Binding 5
  OpDecorate %old DescriptorSet 0
  OpDecorate %old Binding 4
  OpDecorate %alias DescriptorSet 0
  OpDecorate %alias Binding 4
  OpDecorate %blocks_t Block
  OpMemberDecorate %blocks_t 0 Offset 0
  OpMemberDecorate %blocks_t 1 Offset 16
  OpMemberDecorate %blocks_t 1 ColMajor
  OpMemberDecorate %blocks_t 1 MatrixStride 16
  OpMemberDecorate %blocks_t 2 Offset 48
  OpMemberDecorate %blocks_t 2 RowMajor
  OpMemberDecorate %blocks_t 2 MatrixStride 16
  OpMemberDecorate %blocks_t 3 Offset 96
  OpDecorate %vec4s ArrayStride 16
  OpDecorate %uints ArrayStride 4
  OpDecorate %buffer_t Block
  OpMemberDecorate %buffer_t 0 Offset 0
  OpDecorate %push_t Block
  OpMemberDecorate %push_t 0 Offset 8
  OpMemberDecorate %push_t 1 Offset 24
  OpDecorate %flag SpecId 11
  OpDecorate %count SpecId 3
  OpDecorate %big SpecId 4
  OpDecorate %double SpecId 5
  OpDecorate %negative SpecId 6
  %void = OpTypeVoid
  %fn = OpTypeFunction %void
  %bool = OpTypeBool
  %u32 = OpTypeInt 32 0
  %i32 = OpTypeInt 32 1
  %u64 = OpTypeInt 64 0
  %f32 = OpTypeFloat 32
  %f64 = OpTypeFloat 64
  %v2 = OpTypeVector %f32 2
  %v3 = OpTypeVector %f32 3
  %v4 = OpTypeVector %f32 4
  %m2x3 = OpTypeMatrix %v3 2
  %two = OpConstant %u32 2
  %five = OpConstant %u32 5
  %flag = OpSpecConstantTrue %bool
  %count = OpSpecConstant %u32 3
  %big = OpSpecConstant %u64 0x123456789A
  %double = OpSpecConstant %f64 1.5
  %negative = OpSpecConstant %i32 -2
  %twice = OpSpecConstantOp %u32 IMul %count %two
  %image = OpTypeImage %f32 2D 0 0 0 1 Unknown
  %storage_image = OpTypeImage %u32 2D 0 0 0 2 R32ui
  %texel_image = OpTypeImage %f32 Buffer 0 0 0 1 Unknown
  %storage_texels = OpTypeImage %f32 Buffer 0 0 0 2 R32f
  %sampler_t = OpTypeSampler
  %combined_t = OpTypeSampledImage %image
  %combineds = OpTypeArray %combined_t %twice
  %images = OpTypeArray %storage_image %two
  %image_p = OpTypePointer UniformConstant %image
  %sampler_p = OpTypePointer UniformConstant %sampler_t
  %combined_p = OpTypePointer UniformConstant %combineds
  %storage_p = OpTypePointer UniformConstant %images
  %texels_p = OpTypePointer UniformConstant %texel_image
  %writable_p = OpTypePointer UniformConstant %storage_texels
  %vec4s = OpTypeArray %v4 %five
  %blocks_t = OpTypeStruct %f32 %m2x3 %m2x3 %vec4s
  %blocks_p = OpTypePointer Uniform %blocks_t
  %uints = OpTypeRuntimeArray %u32
  %buffer_t = OpTypeStruct %uints
  %buffer_p = OpTypePointer StorageBuffer %buffer_t
  %push_t = OpTypeStruct %v2 %f64
  %push_p = OpTypePointer PushConstant %push_t
  %texture = OpVariable %image_p UniformConstant
  %sampler = OpVariable %sampler_p UniformConstant
  %combined = OpVariable %combined_p UniformConstant
  %storage = OpVariable %storage_p UniformConstant
  %texels = OpVariable %texels_p UniformConstant
  %writable = OpVariable %writable_p UniformConstant
  %blocks = OpVariable %blocks_p Uniform
  %old = OpVariable %buffer_p StorageBuffer
  %alias = OpVariable %buffer_p StorageBuffer
  %push = OpVariable %push_p PushConstant
  %first = OpFunction %void None %fn
  %l1 = OpLabel
  OpReturn
  OpFunctionEnd
  %second = OpFunction %void None %fn
  %l2 = OpLabel
  OpReturn
  OpFunctionEnd`;

Deno.test("bindings, push constants, specialization constants and workgroup size are read from a module", () => {
  const found = reflectCompute(assemble(resources), { entryPoint: "first" });
  const bare = { blockBytes: 0, name: "", count: 1 };
  assertEquals(found.bindings, [
    { ...bare, set: 0, binding: 4, type: "storage_buffer" },
    { ...bare, set: 0, binding: 5, type: "uniform_buffer", blockBytes: 96 + 5 * 16, name: "Blocks" },
    { ...bare, set: 0, binding: 6, type: "storage_texel_buffer" },
    { ...bare, set: 0, binding: 7, type: "uniform_texel_buffer" },
    { ...bare, set: 0, binding: 8, type: "storage_image", count: 2 },
    { ...bare, set: 0, binding: 9, type: "combined_image_sampler", count: 6 },
    { ...bare, set: 2, binding: 0, type: "sampler" },
    { ...bare, set: 2, binding: 1, type: "sampled_image", name: "texture" },
  ]);
  assertEquals(found.pushConstantBytes, 32);
  assertEquals(found.workgroupSize, [4, 3, 2]);
  assertEquals(found.specConstants, [
    { id: 3, type: "uint", bits: 32, value: 3n },
    { id: 4, type: "uint", bits: 64, value: 0x12_3456_789an },
    { id: 5, type: "float", bits: 64, value: 0x3ff8_0000_0000_0000n },
    { id: 6, type: "int", bits: 32, value: 0xffff_fffen },
    { id: 11, type: "bool", bits: 1, value: 1n },
  ]);
  assertEquals(reflectCompute(assemble(resources), { entryPoint: "second" }).workgroupSize, [7, 1, 1]);
});

Deno.test("given values replace defaults, also where other constants are computed from them", () => {
  const specialization = new Map([[3, 5n], [11, 0n]]);
  const found = reflectCompute(assemble(resources), { entryPoint: "first", specialization });
  assertEquals(found.bindings.find(({ binding }) => binding === 9)?.count, 10);
  assertEquals(found.specConstants.map(({ value }) => value).filter((value) => value < 10n), [5n, 0n]);
});

Deno.test("a specialization constant with several defaults has the largest", () => {
  const found = reflectCompute(assemble(scaleModule));
  assertEquals(found.specConstants, [{ id: 0, type: "uint", bits: 32, value: 32n }]);
  assertEquals(found.workgroupSize, [32, 1, 1]);
  assertEquals(reflectCompute(assemble(scaleModule), { specialization: new Map([[0, 8n]]) }).workgroupSize, [8, 1, 1]);
  assertEquals(found.entryPoint, "scale");
  assertEquals(found.bindings.map(({ name, set, binding }) => [name, set, binding]), [
    ["Input", 0, 0],
    ["output", 0, 2],
    ["", 1, 3],
  ]);
});

Deno.test("a constant that is decorated WorkgroupSize wins over the execution mode", () => {
  const module = assemble(
    emptyModule.replace("%void =", "OpDecorate %size BuiltIn WorkgroupSize\nOpDecorate %y SpecId 1\n%void =").replace(
      "%main = OpF",
      `%u32 = OpTypeInt 32 0
       %v3 = OpTypeVector %u32 3
       %x = OpConstant %u32 8
       %y = OpSpecConstant %u32 4
       %size = OpSpecConstantComposite %v3 %x %y %y
       %main = OpF`,
    ),
    "vulkan1.1",
  );
  assertEquals(reflectCompute(module).workgroupSize, [8, 4, 4]);
});

Deno.test("decorations of a group hold for its members", () => {
  const text = scaleModule.replace(
    "OpDecorate %in DescriptorSet 0",
    "OpDecorate %group DescriptorSet 0\n%group = OpDecorationGroup",
  )
    .replace("OpDecorate %out DescriptorSet 0", "OpGroupDecorate %group %in %out");
  assertEquals(reflectCompute(assemble(text)).bindings, reflectCompute(assemble(scaleModule)).bindings);
});

Deno.test("modules that cannot be laid out are refused with the reason and the place", () => {
  const refused = (text: string, message: string, options = {}) => {
    const module = assemble(text);
    assertThrows(() => reflectCompute(module, options), InvalidInputError, message);
  };
  refused(resources, "one compute entry point is needed; the module has: first, second");
  refused(resources, "no compute entry point is named third", { entryPoint: "third" });
  const specialized = (id: number, value: bigint) => ({ specialization: new Map([[id, value]]) });
  refused(scaleModule, "the module has no specialization constant 7", specialized(7, 1n));
  refused(scaleModule, "4294967296 for specialization constant 0 has more than 32 bits", specialized(0, 1n << 32n));
  refused(
    scaleModule.replace("%out DescriptorSet 0", "%out DescriptorSet 1").replace("%out Binding 2", "%out Binding 3"),
    "binding 1.3 is a storage_buffer and a uniform_buffer",
  );
  const unsized = scaleModule.replace("OpCapability Shader", "OpCapability Shader\nOpCapability RuntimeDescriptorArray")
    .replace(
      "%in_p =",
      `%sampler = OpTypeSampler
     %samplers = OpTypeRuntimeArray %sampler
     %samplers_p = OpTypePointer UniformConstant %samplers
     %s_array = OpVariable %samplers_p UniformConstant
     %in_p =`,
    ).replace(
      "%void = OpTypeVoid",
      "OpDecorate %s_array DescriptorSet 3\nOpDecorate %s_array Binding 1\n%void = OpTypeVoid",
    )
    .replace("%in %out %params\n", "%in %out %params %s_array\n");
  refused(unsized, "binding 3.1 is an array of descriptors without a size");
  refused(resources.replace("IMul %count %two", "SDiv %count %two"), "the constant operation 135 is not evaluated", {
    entryPoint: "first",
  });
  const fragment = emptyModule.replace("GLCompute", "Fragment").replace("LocalSize 1 1 1", "OriginUpperLeft");
  refused(fragment, "one compute entry point is needed; the module has: none");
});

Deno.test("words that are no module are refused with the file and the offset", () => {
  const { words } = assemble(emptyModule);
  const refused = (changed: Uint32Array, code: string, offset: number) => {
    const error = assertThrows(() => new SpirvModule(changed, "x.spv"), InvalidInputError);
    assertEquals([error.code, error.place], [code, { file: "x.spv", fileOffset: offset }]);
  };
  refused(words.subarray(1), "spirv.no-module", 0);
  refused(words.subarray(0, 4), "spirv.no-module", 0);
  refused(words.with(7, 0), "spirv.instruction", 28);
  // The function is cut off in its first instruction, which has five words; nine are left from there.
  refused(words.subarray(0, words.length - 5), "spirv.instruction", (words.length - 9) * 4);
  assertThrows(() => moduleOf(new Uint8Array(21), "x.spv"), InvalidInputError, "21 bytes are no whole number of words");
  const bytes = bytesOf(assemble(emptyModule)), shifted = new Uint8Array(bytes.length + 1);
  shifted.set(bytes, 1);
  assertEquals(moduleOf(shifted.subarray(1), "x.spv").words, words);
});

corpusTest("uniform blocks and samplers of the corpus's graphics shaders are read", "aco", () => {
  const bindingsOf = (name: string) => reflectBindings(new Declarations(readModule(corpusFile("aco", name))));
  assertEquals(bindingsOf("tri.vert.spv"), [
    { set: 0, binding: 0, type: "uniform_buffer", count: 1, blockBytes: 1088, name: "U" },
  ]);
  assertEquals(bindingsOf("tri.frag.spv"), [
    { set: 0, binding: 1, type: "combined_image_sampler", count: 1, blockBytes: 0, name: "tex" },
    { set: 0, binding: 2, type: "combined_image_sampler", count: 1, blockBytes: 0, name: "sh" },
  ]);
});
