/** Indices outside of arrays and buffers are led back inside, and no others. */
import { assert, assertEquals } from "@std/assert";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { SpirvModule } from "../../../tools/corpus/spirv/module.ts";
import { redirected, REDIRECTIONS } from "../../../tools/real/outside.ts";
import { runSpirv } from "../../support/spirv_oracle.ts";
import { deviceTest } from "../../support/vulkan.ts";

/** out[thread] = table[in[thread]], where the table has 4 entries, 10 to 13. */
const LOOKUP = `OpCapability Shader
  OpMemoryModel Logical GLSL450
  OpEntryPoint GLCompute %main "main" %thread %in %out
  OpExecutionMode %main LocalSize 8 1 1
  OpDecorate %thread BuiltIn LocalInvocationIndex
  OpDecorate %words ArrayStride 4
  OpMemberDecorate %block 0 Offset 0
  OpDecorate %block Block
  OpDecorate %in DescriptorSet 0
  OpDecorate %in Binding 0
  OpDecorate %out DescriptorSet 0
  OpDecorate %out Binding 1
  %void = OpTypeVoid
  %function = OpTypeFunction %void
  %int = OpTypeInt 32 1
  %uint = OpTypeInt 32 0
  %words = OpTypeRuntimeArray %int
  %block = OpTypeStruct %words
  %c0 = OpConstant %int 0
  %c4 = OpConstant %int 4
  %c10 = OpConstant %int 10
  %c11 = OpConstant %int 11
  %c12 = OpConstant %int 12
  %c13 = OpConstant %int 13
  %table = OpTypeArray %int %c4
  %values = OpConstantComposite %table %c10 %c11 %c12 %c13
  %p_table = OpTypePointer Function %table
  %p_function = OpTypePointer Function %int
  %p_block = OpTypePointer StorageBuffer %block
  %p_word = OpTypePointer StorageBuffer %int
  %p_uint = OpTypePointer Input %uint
  %thread = OpVariable %p_uint Input
  %in = OpVariable %p_block StorageBuffer
  %out = OpVariable %p_block StorageBuffer
  %main = OpFunction %void None %function
  %label = OpLabel
  %local = OpVariable %p_table Function %values
  %n = OpLoad %uint %thread
  %at_in = OpAccessChain %p_word %in %c0 %n
  %index = OpLoad %int %at_in
  %at = OpAccessChain %p_function %local %index
  %value = OpLoad %int %at
  %at_out = OpAccessChain %p_word %out %c0 %n
  OpStore %at_out %value
  OpReturn
  OpFunctionEnd`;

deviceTest("an index outside becomes the first, the last, or one by modulo; one inside stays", (gpu) => {
  const module = new SpirvModule(openSpirvTools().assemble(LOOKUP));
  // -1 is 2^32 - 1: all are taken for unsigned ones. The buffer of 6 words has no place for threads 6 and 7, which become others.
  const data = Uint32Array.of(0, 3, 4, 5, 0xffff_ffff, 1);
  const expected = {
    first: [10, 13, 10, 10, 10, 11],
    last: [10, 13, 13, 13, 13, 11],
    modulo: [10, 13, 10, 11, 13, 11],
  };
  for (const how of REDIRECTIONS) {
    const changed = redirected(module, how);
    assert(changed !== undefined);
    const results = runSpirv(gpu, {
      spirv: changed.words,
      groups: [1, 1, 1],
      resources: { "0.0": { kind: "buffer", data }, "0.1": { kind: "buffer", data: new Uint32Array(6) } },
    });
    const words = [...new Uint32Array(results.get("0.1")!.buffer)];
    // Two threads store one word then, the same value: what they read is redirected as well.
    assertEquals(words, expected[how], how);
  }
});

Deno.test("a module whose indices are constants inside of arrays is left alone", () => {
  const constant = LOOKUP.replace(
    "%at_in = OpAccessChain %p_word %in %c0 %n",
    "%at_in = OpAccessChain %p_word %in %c0 %c0",
  )
    .replace("%at_out = OpAccessChain %p_word %out %c0 %n", "%at_out = OpAccessChain %p_word %out %c0 %c0");
  const tools = openSpirvTools();
  const inside = (index: string) =>
    redirected(new SpirvModule(tools.assemble(constant.replace("%local %index", `%local ${index}`))), "first");
  // The length of the buffers is not known: an index of them is looked at even if it is a constant.
  const buffers = inside("%c0")!, table = inside("%c4")!;
  const chains = (module: SpirvModule) => [...module.instructions()].filter((at) => module.opcode(at) === 169).length;
  assertEquals(chains(buffers), 2);
  assertEquals(chains(table), 3);
  const none = LOOKUP.split("\n").filter((line) => !/%at|%index|OpStore|%value =/.test(line)).join("\n");
  assertEquals(redirected(new SpirvModule(tools.assemble(none)), "first"), undefined);
});
