/**
 * What the tests of tools/corpus share: modules written for them, and registration of tests that need RADV. Without RADV those are reported as
 * ignored, with the reason in their name.
 */
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { HostError } from "../../../src/errors.ts";
import { RadvProcess } from "../../../tools/corpus/radv/process.ts";
import { SpirvModule } from "../../../tools/corpus/spirv/module.ts";
import { buildSpirvTools } from "../../../tools/spirv_tools/build.ts";

await buildSpirvTools();

/** Assembles a module and checks it by SPIRV-Tools. */
export function assemble(text: string, environment: "vulkan1.3" | "vulkan1.1" = "vulkan1.3"): SpirvModule {
  const tools = openSpirvTools();
  const words = tools.assemble(text, environment);
  tools.requireValid(words, "the test module", { environment });
  return new SpirvModule(words, "test.spv");
}

/** A module's words as bytes. */
export function bytesOf({ words }: SpirvModule): Uint8Array<ArrayBuffer> {
  return new Uint8Array(words.slice().buffer);
}

/** Why RADV cannot be used; undefined when it can. */
export const missingRadv: string | undefined = await findProblem();

async function findProblem(): Promise<string | undefined> {
  try {
    await using radv = new RadvProcess();
    await radv.start();
    return undefined;
  } catch (error) {
    if (error instanceof HostError) return error.message;
    throw error;
  }
}

/** Registers a test that needs RADV, and perhaps more that may be missing. */
export function radvTest(name: string, body: () => Promise<void>, alsoMissing?: string): void {
  const missing = missingRadv ?? alsoMissing;
  Deno.test({ name: missing ? `${name} [ignored: ${missing}]` : name, ignore: missing !== undefined, fn: body });
}

/** Runs `body` with a folder that is removed afterwards. */
export async function withFolder(body: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = Deno.makeTempDirSync({ prefix: "anyagc-corpus-test-" });
  try {
    await body(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Nothing but an entry point. */
export const emptyModule = `
  OpCapability Shader
  OpMemoryModel Logical GLSL450
  OpEntryPoint GLCompute %main "main"
  OpExecutionMode %main LocalSize 1 1 1
  %void = OpTypeVoid
  %fn = OpTypeFunction %void
  %main = OpFunction %void None %fn
  %l = OpLabel
  OpReturn
  OpFunctionEnd`;

/**
 * `out[id.x] = in[id.x] * scale + bias`: f32 buffers in set 0 (binding 0: in, 2: out) and a uniform block {scale, bias} in set 1, binding 3.
 * The workgroup's x size is specialization constant 0, twice: 1 in the workgroup size, 32 in %lanes.
 */
export const scaleModule = `
  OpCapability Shader
  OpMemoryModel Logical GLSL450
  OpEntryPoint GLCompute %main "scale" %id %in %out %params
  OpExecutionModeId %main LocalSizeId %size_x %one %one
  OpName %in ""
  OpName %in_t "Input"
  OpName %out "output"
  OpName %out_t "Output"
  OpDecorate %id BuiltIn GlobalInvocationId
  OpDecorate %size_x SpecId 0
  OpDecorate %lanes SpecId 0
  OpDecorate %floats ArrayStride 4
  OpDecorate %in_t Block
  OpMemberDecorate %in_t 0 Offset 0
  OpDecorate %out_t Block
  OpMemberDecorate %out_t 0 Offset 0
  OpDecorate %params_t Block
  OpMemberDecorate %params_t 0 Offset 0
  OpMemberDecorate %params_t 1 Offset 4
  OpDecorate %in DescriptorSet 0
  OpDecorate %in Binding 0
  OpDecorate %out DescriptorSet 0
  OpDecorate %out Binding 2
  OpDecorate %params DescriptorSet 1
  OpDecorate %params Binding 3
  %void = OpTypeVoid
  %fn = OpTypeFunction %void
  %u32 = OpTypeInt 32 0
  %f32 = OpTypeFloat 32
  %v3 = OpTypeVector %u32 3
  %zero = OpConstant %u32 0
  %one = OpConstant %u32 1
  %size_x = OpSpecConstant %u32 1
  %lanes = OpSpecConstant %u32 32
  %floats = OpTypeRuntimeArray %f32
  %in_t = OpTypeStruct %floats
  %out_t = OpTypeStruct %floats
  %params_t = OpTypeStruct %f32 %f32
  %in_p = OpTypePointer StorageBuffer %in_t
  %out_p = OpTypePointer StorageBuffer %out_t
  %params_p = OpTypePointer Uniform %params_t
  %id_p = OpTypePointer Input %v3
  %u32_in = OpTypePointer Input %u32
  %f32_s = OpTypePointer StorageBuffer %f32
  %f32_u = OpTypePointer Uniform %f32
  %id = OpVariable %id_p Input
  %in = OpVariable %in_p StorageBuffer
  %out = OpVariable %out_p StorageBuffer
  %params = OpVariable %params_p Uniform
  %main = OpFunction %void None %fn
  %l = OpLabel
  %x_p = OpAccessChain %u32_in %id %zero
  %x = OpLoad %u32 %x_p
  %i = OpUMod %u32 %x %lanes
  %a_p = OpAccessChain %f32_s %in %zero %i
  %a = OpLoad %f32 %a_p
  %s_p = OpAccessChain %f32_u %params %zero
  %s = OpLoad %f32 %s_p
  %b_p = OpAccessChain %f32_u %params %one
  %b = OpLoad %f32 %b_p
  %product = OpFMul %f32 %a %s
  %sum = OpFAdd %f32 %product %b
  %o_p = OpAccessChain %f32_s %out %zero %x
  OpStore %o_p %sum
  OpReturn
  OpFunctionEnd`;
