/** Launches that the tests of the harness share, and what came of them. */
import { assert } from "@std/assert";
import type { Launch, LaunchRequest } from "../../../src/guest/harness.ts";
import { mapProgram } from "../../../src/guest/map_program.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import type { ShaderAbi, ShaderSource } from "../../../src/guest/shader_source.ts";
import { computeProgram, computeUserData, QueueExecutor, validateSubmission } from "../../../src/pm4/mod.ts";
import type { CommandSink, DispatchCommand } from "../../../src/pm4/mod.ts";

export const S_ENDPGM = 0xBF810000;

/** A shader as ACO compiles it: two buffers of a set, three push constants of which two are inline. */
export function acoShader(
  abi: Partial<ShaderAbi & { kind: "aco" }> = {},
  change: Partial<ShaderSource> = {},
): ShaderSource {
  return {
    name: "own",
    file: "own.rdna.bin",
    target: "gfx1030",
    stage: "compute",
    code: Uint32Array.of(S_ENDPGM, 0x3F800000),
    codeFileOffset: 0,
    execBytes: 4,
    waveSize: 32,
    workgroupSize: [64, 1, 1],
    userSgprs: [
      { name: "ring_offsets", sgpr: 0, count: 2 },
      { name: "inline_push_constants", sgpr: 3, count: 2 },
      { name: "descriptor_set_ptr", set: 0, sgpr: 2, count: 1 },
    ],
    userSgprCount: 5,
    systemSgprs: [],
    rsrc1: 0x602C0001,
    rsrc2: 0x8A,
    rsrc3: 0,
    ldsBytes: 0,
    abi: {
      kind: "aco",
      bindings: [
        { set: 0, binding: 0, type: "storage_buffer", count: 1, offset: 0, stride: 16, name: "A" },
        { set: 0, binding: 1, type: "storage_buffer", count: 2, offset: 16, stride: 16, name: "B" },
      ],
      inlinePushMask: 0b101,
      pushConstantBytes: 12,
      address32Hi: 0xFFFF8000,
      scratchBytesPerWave: 0,
      ...abi,
    },
    ...change,
  };
}

/** Contents of the shader's buffers. */
export const A = Uint32Array.of(1, 2, 3), B0 = new Uint8Array(10).fill(7), B1 = new Uint8Array(4);

/** A launch of {@linkcode acoShader} with all that it asks for. */
export function acoRequest(shader = acoShader(), change: Partial<LaunchRequest> = {}): LaunchRequest {
  return {
    shader,
    grid: [3, 2, 1],
    resources: {
      A: { kind: "buffer", data: A },
      "0.1": { kind: "buffer", data: B0 },
      "B[1]": { kind: "buffer", data: B1 },
    },
    pushConstants: [10, 11, -1],
    ...change,
  };
}

/** A shader as LLVM compiles it: two pointers and a float in its kernarg segment, scratch memory. */
export const LLVM: ShaderSource = {
  ...acoShader(),
  workgroupSize: undefined,
  userSgprs: [
    { name: "private_segment_buffer", sgpr: 0, count: 4 },
    { name: "kernarg_segment_ptr", sgpr: 4, count: 2 },
    { name: "flat_scratch_init", sgpr: 6, count: 2 },
  ],
  userSgprCount: 8,
  rsrc2: 0x91,
  abi: {
    kind: "llvm",
    kernargBytes: 20,
    scratchBytesPerLane: 132,
    arguments: [
      { offset: 0, size: 8, kind: "global_buffer", type: "u32*" },
      { offset: 8, size: 8, kind: "global_buffer", type: "u32*" },
      { offset: 16, size: 4, kind: "by_value", type: "float" },
    ],
  },
};

/** The memory of a launch, mapped. */
export function mapped(built: Launch): GuestMemory {
  const memory = new GuestMemory(new ArrayAllocator());
  mapProgram(built.program, memory);
  return memory;
}

/** The user data of a launch's stream, found by walking the packets. */
export function userData(built: Launch): number[] {
  const { words } = built.program.submissions[0];
  for (let at = 0; at < words.length; at += (words[at] >>> 16 & 0x3FFF) + 2) {
    if ((words[at] >>> 8 & 0xFF) === 0x76 && words[at + 1] === 0x240) {
      return [...words.subarray(at + 2, at + (words[at] >>> 16 & 0x3FFF) + 2)];
    }
  }
  return [];
}

/** The dispatch that the command processor makes of a launch. */
export function dispatched(
  built: Launch,
): { userData: number[]; address: bigint; groups: number[]; waveSize: number; threads: number[] } {
  const memory = mapped(built), submission = built.program.submissions[0];
  let seen: ReturnType<typeof dispatched> | undefined;
  const sink: CommandSink = {
    readU32: (address) => memory.readU32(address),
    readU64: (address) => memory.readU64(address),
    readWords: (address, count) => memory.readWords(address, count),
    writeWords: () => {},
    fill: () => {},
    copy: () => {},
    dispatch: (command: DispatchCommand) => {
      const { address, userSgprCount, numThreadsX, numThreadsY, numThreadsZ } = computeProgram(command.registers);
      seen = {
        userData: [...computeUserData(command.registers)].slice(0, userSgprCount),
        address,
        groups: [command.x, command.y, command.z],
        waveSize: command.waveSize,
        threads: [numThreadsX, numThreadsY, numThreadsZ],
      };
    },
    dispatchIndirect: () => {},
    barrier: () => {},
    release: () => {},
    clock: () => 0n,
  };
  const executor = new QueueExecutor(submission.queue, sink);
  executor.submit(validateSubmission(submission, memory));
  executor.run();
  assert(seen !== undefined);
  return seen;
}
