import { assertEquals, assertThrows } from "@std/assert";
import { openSpirvTools } from "../../ffi/spirv_tools.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import { buildSpirvTools } from "../../tools/spirv_tools/build.ts";
import { runSpirv } from "./spirv_oracle.ts";
import { computeEntryPoints, reflectBindings } from "./spirv_reflect.ts";
import { deviceTest } from "./vulkan.ts";

await buildSpirvTools();

function assemble(text: string): Uint32Array<ArrayBuffer> {
  const words = openSpirvTools().assemble(text);
  openSpirvTools().requireValid(words, "the test module");
  return words;
}

/**
 * For a texel (x, y) of 4 x 2: `image[x, y] = texture[x, y] + 1` (r32ui), `out[y * 4 + x] = texel * uniform + push`; `out` is binding 0.0, the uniform
 * 1.0, the texture (combined, r32ui) 1.2, the storage image 1.3[1] of an array of two.
 */
const MODULE = `
  OpCapability Shader
  OpMemoryModel Logical GLSL450
  OpEntryPoint GLCompute %main "work" %id %out %uniform %texture %images %push
  OpExecutionMode %main LocalSize 4 2 1
  OpDecorate %id BuiltIn LocalInvocationId
  OpDecorate %words ArrayStride 4
  OpDecorate %out_t Block
  OpMemberDecorate %out_t 0 Offset 0
  OpDecorate %out DescriptorSet 0
  OpDecorate %out Binding 0
  OpDecorate %uniform_t Block
  OpMemberDecorate %uniform_t 0 Offset 0
  OpDecorate %uniform DescriptorSet 1
  OpDecorate %uniform Binding 0
  OpDecorate %texture DescriptorSet 1
  OpDecorate %texture Binding 2
  OpDecorate %images DescriptorSet 1
  OpDecorate %images Binding 3
  OpDecorate %push_t Block
  OpMemberDecorate %push_t 0 Offset 0
  %void = OpTypeVoid
  %u32 = OpTypeInt 32 0
  %i32 = OpTypeInt 32 1
  %v2 = OpTypeVector %u32 2
  %v3 = OpTypeVector %u32 3
  %v4 = OpTypeVector %u32 4
  %n0 = OpConstant %u32 0
  %n1 = OpConstant %u32 1
  %n2 = OpConstant %u32 2
  %n4 = OpConstant %u32 4
  %words = OpTypeRuntimeArray %u32
  %out_t = OpTypeStruct %words
  %uniform_t = OpTypeStruct %u32
  %push_t = OpTypeStruct %u32
  %sampled_t = OpTypeImage %u32 2D 0 0 0 1 Unknown
  %combined_t = OpTypeSampledImage %sampled_t
  %storage_t = OpTypeImage %u32 2D 0 0 0 2 R32ui
  %storage_array_t = OpTypeArray %storage_t %n2
  %out_p = OpTypePointer StorageBuffer %out_t
  %word_p = OpTypePointer StorageBuffer %u32
  %uniform_p = OpTypePointer Uniform %uniform_t
  %uniform_word_p = OpTypePointer Uniform %u32
  %push_p = OpTypePointer PushConstant %push_t
  %push_word_p = OpTypePointer PushConstant %u32
  %combined_p = OpTypePointer UniformConstant %combined_t
  %storage_array_p = OpTypePointer UniformConstant %storage_array_t
  %storage_p = OpTypePointer UniformConstant %storage_t
  %id_p = OpTypePointer Input %v3
  %out = OpVariable %out_p StorageBuffer
  %uniform = OpVariable %uniform_p Uniform
  %texture = OpVariable %combined_p UniformConstant
  %images = OpVariable %storage_array_p UniformConstant
  %push = OpVariable %push_p PushConstant
  %id = OpVariable %id_p Input
  %fn = OpTypeFunction %void
  %main = OpFunction %void None %fn
  %entry = OpLabel
  %at = OpLoad %v3 %id
  %x = OpCompositeExtract %u32 %at 0
  %y = OpCompositeExtract %u32 %at 1
  %xy = OpCompositeConstruct %v2 %x %y
  %combined = OpLoad %combined_t %texture
  %sampled = OpImage %sampled_t %combined
  %texel4 = OpImageFetch %v4 %sampled %xy Lod %n0
  %texel = OpCompositeExtract %u32 %texel4 0
  %more = OpIAdd %u32 %texel %n1
  %more4 = OpCompositeConstruct %v4 %more %more %more %more
  %storage_at = OpAccessChain %storage_p %images %n1
  %storage = OpLoad %storage_t %storage_at
  OpImageWrite %storage %xy %more4
  %factor_at = OpAccessChain %uniform_word_p %uniform %n0
  %factor = OpLoad %u32 %factor_at
  %add_at = OpAccessChain %push_word_p %push %n0
  %add = OpLoad %u32 %add_at
  %product = OpIMul %u32 %texel %factor
  %sum = OpIAdd %u32 %product %add
  %row = OpIMul %u32 %y %n4
  %index = OpIAdd %u32 %row %x
  %to = OpAccessChain %word_p %out %n0 %index
  OpStore %to %sum
  OpReturn
  OpFunctionEnd`;

deviceTest("the SPIR-V oracle runs a module with buffers, images and push constants in several sets", (device) => {
  const spirv = assemble(MODULE);
  assertEquals(computeEntryPoints(spirv), ["work"]);
  assertEquals(reflectBindings(spirv), [
    { set: 0, binding: 0, kind: "storage_buffer", count: 1 },
    { set: 1, binding: 0, kind: "uniform_buffer", count: 1 },
    { set: 1, binding: 2, kind: "combined_image_sampler", count: 1 },
    { set: 1, binding: 3, kind: "storage_image", count: 2 },
  ]);
  const texels = Uint32Array.of(1, 2, 3, 4, 50, 60, 70, 0xffff_ffff);
  const image = { kind: "image" as const, width: 4, height: 2, format: vk.VK_FORMAT_R32_UINT, texelBytes: 4 };
  const resources = {
    "0.0": { kind: "buffer" as const, data: new Uint32Array(9).fill(7) },
    "1.0": { kind: "buffer" as const, data: Uint32Array.of(10) },
    "1.2": { ...image, data: texels },
    "1.3[0]": image,
    "1.3[1]": image,
  };
  const request = { spirv, entryPoint: "work", groups: [1, 1, 1] as const, resources, pushConstants: [5] };
  const results = runSpirv(device, request);
  const words = (key: string) => [...new Uint32Array(results.get(key)!.buffer)];
  assertEquals(words("0.0"), [15, 25, 35, 45, 505, 605, 705, 0xffff_fffb, 7]);
  assertEquals(words("1.3[1]"), [2, 3, 4, 5, 51, 61, 71, 0]);
  assertEquals(words("1.3[0]"), [0, 0, 0, 0, 0, 0, 0, 0]);
  assertEquals(words("1.2"), [...texels]);

  const { "1.0": _uniform, ...without } = resources;
  assertThrows(() => runSpirv(device, { ...request, resources: without }), Error, "binding 1.0 is a uniform_buffer");
});
