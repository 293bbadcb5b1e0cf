/** SPIR-V programs of the tests of src/gpu, as assembly text. Written for these tests. */
import { openSpirvTools } from "../../ffi/spirv_tools.ts";
import { buildSpirvTools } from "../../tools/spirv_tools/build.ts";

await buildSpirvTools();

/** Assembles and validates. */
export function assemble(text: string): Uint32Array<ArrayBuffer> {
  const tools = openSpirvTools();
  const words = tools.assemble(text);
  tools.requireValid(words, "the test program");
  return words;
}

/**
 * One invocation per element: `target[i] = source[i] * 3 + add`, for i below `count`. Push constants: u64 source, u64 target, u32 count.
 * `add` is specialization constant 0 (default 7); workgroups of 64.
 */
export const multiplyAdd = `
  OpCapability Shader
  OpCapability Int64
  OpCapability PhysicalStorageBufferAddresses
  OpMemoryModel PhysicalStorageBuffer64 GLSL450
  OpEntryPoint GLCompute %main "main" %push %global_id
  OpExecutionMode %main LocalSize 64 1 1
  OpDecorate %global_id BuiltIn GlobalInvocationId
  OpDecorate %push_t Block
  OpMemberDecorate %push_t 0 Offset 0
  OpMemberDecorate %push_t 1 Offset 8
  OpMemberDecorate %push_t 2 Offset 16
  OpDecorate %words_t Block
  OpMemberDecorate %words_t 0 Offset 0
  OpDecorate %array_t ArrayStride 4
  OpDecorate %add SpecId 0
  %void = OpTypeVoid
  %bool = OpTypeBool
  %u32 = OpTypeInt 32 0
  %u64 = OpTypeInt 64 0
  %v3 = OpTypeVector %u32 3
  %array_t = OpTypeRuntimeArray %u32
  %words_t = OpTypeStruct %array_t
  %words_p = OpTypePointer PhysicalStorageBuffer %words_t
  %word_p = OpTypePointer PhysicalStorageBuffer %u32
  %push_t = OpTypeStruct %u64 %u64 %u32
  %push_p = OpTypePointer PushConstant %push_t
  %push_u64_p = OpTypePointer PushConstant %u64
  %push_u32_p = OpTypePointer PushConstant %u32
  %v3_p = OpTypePointer Input %v3
  %push = OpVariable %push_p PushConstant
  %global_id = OpVariable %v3_p Input
  %c0 = OpConstant %u32 0
  %c1 = OpConstant %u32 1
  %c2 = OpConstant %u32 2
  %c3 = OpConstant %u32 3
  %add = OpSpecConstant %u32 7
  %fn = OpTypeFunction %void
  %main = OpFunction %void None %fn
  %entry = OpLabel
  %id = OpLoad %v3 %global_id
  %i = OpCompositeExtract %u32 %id 0
  %count_at = OpAccessChain %push_u32_p %push %c2
  %count = OpLoad %u32 %count_at
  %inside = OpULessThan %bool %i %count
  OpSelectionMerge %done None
  OpBranchConditional %inside %work %done
  %work = OpLabel
  %source_at = OpAccessChain %push_u64_p %push %c0
  %source_address = OpLoad %u64 %source_at
  %source = OpConvertUToPtr %words_p %source_address
  %from = OpAccessChain %word_p %source %c0 %i
  %value = OpLoad %u32 %from Aligned 4
  %tripled = OpIMul %u32 %value %c3
  %result = OpIAdd %u32 %tripled %add
  %target_at = OpAccessChain %push_u64_p %push %c1
  %target_address = OpLoad %u64 %target_at
  %target = OpConvertUToPtr %words_p %target_address
  %to = OpAccessChain %word_p %target %c0 %i
  OpStore %to %result Aligned 4
  OpBranch %done
  %done = OpLabel
  OpReturn
  OpFunctionEnd`;

/** Every invocation stores its subgroup's size at `target[LocalInvocationIndex]`. Push constants: u64 target; one workgroup of 64. */
export const subgroupSize = `
  OpCapability Shader
  OpCapability Int64
  OpCapability GroupNonUniform
  OpCapability PhysicalStorageBufferAddresses
  OpMemoryModel PhysicalStorageBuffer64 GLSL450
  OpEntryPoint GLCompute %main "main" %push %local %size
  OpExecutionMode %main LocalSize 64 1 1
  OpDecorate %local BuiltIn LocalInvocationIndex
  OpDecorate %size BuiltIn SubgroupSize
  OpDecorate %push_t Block
  OpMemberDecorate %push_t 0 Offset 0
  OpDecorate %words_t Block
  OpMemberDecorate %words_t 0 Offset 0
  OpDecorate %array_t ArrayStride 4
  %void = OpTypeVoid
  %u32 = OpTypeInt 32 0
  %u64 = OpTypeInt 64 0
  %array_t = OpTypeRuntimeArray %u32
  %words_t = OpTypeStruct %array_t
  %words_p = OpTypePointer PhysicalStorageBuffer %words_t
  %word_p = OpTypePointer PhysicalStorageBuffer %u32
  %push_t = OpTypeStruct %u64
  %push_p = OpTypePointer PushConstant %push_t
  %push_u64_p = OpTypePointer PushConstant %u64
  %in_p = OpTypePointer Input %u32
  %push = OpVariable %push_p PushConstant
  %local = OpVariable %in_p Input
  %size = OpVariable %in_p Input
  %c0 = OpConstant %u32 0
  %fn = OpTypeFunction %void
  %main = OpFunction %void None %fn
  %entry = OpLabel
  %at = OpAccessChain %push_u64_p %push %c0
  %address = OpLoad %u64 %at
  %target = OpConvertUToPtr %words_p %address
  %i = OpLoad %u32 %local
  %lanes = OpLoad %u32 %size
  %to = OpAccessChain %word_p %target %c0 %i
  OpStore %to %lanes Aligned 4
  OpReturn
  OpFunctionEnd`;
