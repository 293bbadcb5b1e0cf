import { assert, assertEquals, assertThrows } from "@std/assert";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { Random } from "../random.ts";
import { DeviceMemory } from "./memory.ts";
import { parseSpirv } from "./parse.ts";
import { evaluateDispatch } from "./workgroup.ts";

const ADDRESS = 0x1000n;

/** A module of 64 invocations: `at` is the invocation's number, `%out` the address of its word in the buffer, `s` a pointer to its word of `shared`. */
function assemble(body: string): Uint32Array {
  return openSpirvTools().assemble(`
    OpCapability Shader
    OpCapability Int64
    OpCapability PhysicalStorageBufferAddresses
    OpCapability GroupNonUniform
    OpCapability GroupNonUniformBallot
    OpMemoryModel PhysicalStorageBuffer64 GLSL450
    OpEntryPoint GLCompute %main "main" %index %shared
    OpExecutionMode %main LocalSize 64 1 1
    OpDecorate %index BuiltIn LocalInvocationIndex
    %void = OpTypeVoid
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %ulong = OpTypeInt 64 0
    %v4uint = OpTypeVector %uint 4
    %0 = OpConstant %uint 0
    %1 = OpConstant %uint 1
    %2 = OpConstant %uint 2
    %3 = OpConstant %uint 3
    %4 = OpConstant %uint 4
    %33 = OpConstant %uint 33
    %63 = OpConstant %uint 63
    %64 = OpConstant %uint 64
    %semantics = OpConstant %uint 264
    %base = OpConstant %ulong ${ADDRESS}
    %four = OpConstant %ulong 4
    %array = OpTypeArray %uint %64
    %p_in = OpTypePointer Input %uint
    %p_array = OpTypePointer Workgroup %array
    %p_shared = OpTypePointer Workgroup %uint
    %p_out = OpTypePointer PhysicalStorageBuffer %uint
    %index = OpVariable %p_in Input
    %shared = OpVariable %p_array Workgroup
    %f = OpTypeFunction %void
    %main = OpFunction %void None %f
    %begin = OpLabel
    %at = OpLoad %uint %index
    %wide = OpUConvert %ulong %at
    %offset = OpIMul %ulong %wide %four
    %address = OpIAdd %ulong %base %offset
    %out = OpConvertUToPtr %p_out %address
    %s = OpAccessChain %p_shared %shared %at
    ${body}
    OpReturn
    OpFunctionEnd`);
}

/** Runs a module; returns the words of the buffer. */
function run(body: string, subgroupSize: number, seed = 1): Uint32Array {
  const bytes = new Uint8Array(256), memory = new DeviceMemory();
  memory.add({ address: ADDRESS, bytes });
  evaluateDispatch({
    module: parseSpirv(assemble(body)),
    memory,
    push: new DataView(new ArrayBuffer(128)),
    groups: [1, 1, 1],
    subgroupSize,
    random: new Random(seed),
    stepLimit: 100_000,
  });
  return new Uint32Array(bytes.buffer);
}

const WIDTHS = [8, 16, 32, 64];
const BARRIER = "OpControlBarrier %2 %2 %semantics";

/** A loop of `%limit` rounds around `inside`; `%n` is the round. */
function loop(limit: string, inside: string): string {
  return `${limit}
    OpBranch %head
    %head = OpLabel
    %n = OpPhi %uint %0 %begin %next %again
    OpLoopMerge %done %again None
    OpBranch %test
    %test = OpLabel
    %more = OpULessThan %bool %n %limit
    OpBranchConditional %more %body %done
    %body = OpLabel
    ${inside}
    OpBranch %again
    %again = OpLabel
    %next = OpIAdd %uint %n %1
    OpBranch %head
    %done = OpLabel
    OpStore %out %n Aligned 4`;
}

/** Invocations for which `condition` holds execute `inside`. */
function branch(condition: string, inside: string): string {
  return `%condition = ${condition}
    OpSelectionMerge %join None
    OpBranchConditional %condition %then %join
    %then = OpLabel
    ${inside}
    OpBranch %join
    %join = OpLabel`;
}

/** Invocation n reads what invocation 63 - n has written. */
const reverse = (between: string) => `
    OpStore %s %at
    ${between}
    %other = OpISub %uint %63 %at
    %theirs = OpAccessChain %p_shared %shared %other
    %value = OpLoad %uint %theirs
    OpStore %out %value Aligned 4`;

for (const width of WIDTHS) {
  Deno.test(`invocations exchange values through workgroup memory, ${width} lanes`, () => {
    assertEquals(run(reverse(BARRIER), width), Uint32Array.from({ length: 64 }, (_, n) => 63 - n));
  });

  Deno.test(`a loop that every invocation leaves in another round, ${width} lanes`, () => {
    const limit = "%limit = OpBitwiseAnd %uint %at %3";
    assertEquals(run(loop(limit, ""), width), Uint32Array.from({ length: 64 }, (_, n) => n & 3));
  });

  Deno.test(`a barrier that only some invocations of a subgroup come to is an error, ${width} lanes`, () => {
    assertThrows(() => run(branch("OpIEqual %bool %at %33", BARRIER), width), Error, "of a subgroup come to a barrier");
  });

  Deno.test(`a barrier in a loop that invocations leave in different rounds is an error, ${width} lanes`, () => {
    const limit = "%limit = OpBitwiseAnd %uint %at %3";
    assertThrows(() => run(loop(limit, BARRIER), width), Error, "barrier");
  });

  Deno.test(`a barrier behind a divergent branch is met by all, ${width} lanes`, () => {
    const body = branch("OpULessThan %bool %at %33", "OpStore %out %1 Aligned 4") + reverse(BARRIER);
    assertEquals(run(body, width), Uint32Array.from({ length: 64 }, (_, n) => 63 - n));
  });
}

Deno.test("without the barrier the order of the subgroups shows", () => {
  const results = Array.from({ length: 12 }, (_, seed) => run(reverse(""), 8, seed).join());
  assert(new Set(results).size > 1);
});

Deno.test("a barrier that whole subgroups miss is an error", () => {
  // Which invocations make a subgroup is random, so with some seed a subgroup has none of the lower half; with every seed somebody is missing.
  for (let seed = 0; seed < 8; seed++) {
    assertThrows(() => run(branch("OpULessThan %bool %at %33", BARRIER), 8, seed), Error, "barrier");
  }
  const single = "%zero = OpIMul %uint %at %0\n" + branch("OpINotEqual %bool %zero %0", BARRIER);
  run(single, 8); // nobody comes to it
});

Deno.test("an endless loop is an error", () => {
  assertThrows(() => run(loop("%limit = OpNot %uint %0", ""), 32), Error, "has not ended");
});

Deno.test("subgroup operations see the invocations that execute them, and no others", () => {
  const ballot = `%mask = OpGroupNonUniformBallot %v4uint %3 %condition
    %low = OpCompositeExtract %uint %mask 0
    %count = OpBitCount %uint %low
    OpStore %out %count Aligned 4`;
  const words = run(branch("OpULessThan %bool %at %33", ballot), 32);
  const voted = [...words].filter((n) => n !== 0), counts = [...new Set(voted)];
  assertEquals(voted.length, 33);
  // 33 is odd, so the two subgroups have different counts, each given by as many invocations.
  assertEquals(counts.reduce((sum, n) => sum + n, 0), 33);
  for (const count of counts) assertEquals(voted.filter((n) => n === count).length, count);
});

Deno.test("an access outside of all buffers, or less aligned than it says, is an error", () => {
  const at = (address: string) =>
    `%bad = OpIAdd %ulong %address ${address}
    %where = OpConvertUToPtr %p_out %bad
    OpStore %where %1 Aligned 4`;
  assertThrows(() => run(at("%base"), 32), Error, "are in no buffer");
  const half = "%two = OpUConvert %ulong %2\n" + at("%two");
  assertThrows(() => run(half, 32), Error, "no multiple of 4");
});
