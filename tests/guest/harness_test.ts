import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type AnyAgcError, RefusedError, UsageError } from "../../src/errors.ts";
import { type Launch, launch, type LaunchRequest } from "../../src/guest/harness.ts";
import { linearImageDescriptor, privateSegmentDescriptor } from "../../src/guest/harness/descriptors.ts";
import { loadFile } from "../../src/guest/loaders/load_file.ts";
import { loadSb } from "../../src/guest/loaders/sb.ts";
import { compareResults, mapProgram } from "../../src/guest/map_program.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import type { ShaderAbi, ShaderSource } from "../../src/guest/shader_source.ts";
import { computeProgram, computeUserData, QueueExecutor, validateSubmission } from "../../src/pm4/mod.ts";
import type { CommandSink, DispatchCommand } from "../../src/pm4/mod.ts";
import { corpusFile, corpusNames, corpusTest } from "../support/corpus.ts";
import { buildRecord } from "./support/records.ts";

const S_ENDPGM = 0xBF810000;

function acoShader(abi: Partial<ShaderAbi & { kind: "aco" }> = {}, change: Partial<ShaderSource> = {}): ShaderSource {
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

const A = Uint32Array.of(1, 2, 3), B0 = new Uint8Array(10).fill(7), B1 = new Uint8Array(4);
function acoRequest(shader = acoShader(), change: Partial<LaunchRequest> = {}): LaunchRequest {
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

function mapped(built: Launch): GuestMemory {
  const memory = new GuestMemory(new ArrayAllocator());
  mapProgram(built.program, memory);
  return memory;
}

/** The user data of a launch's stream, found by walking the packets. */
function userData(built: Launch): number[] {
  const { words } = built.program.submissions[0];
  for (let at = 0; at < words.length; at += (words[at] >>> 16 & 0x3FFF) + 2) {
    if ((words[at] >>> 8 & 0xFF) === 0x76 && words[at + 1] === 0x240) {
      return [...words.subarray(at + 2, at + (words[at] >>> 16 & 0x3FFF) + 2)];
    }
  }
  return [];
}

Deno.test("the stream sets registers like a console stream, dispatches, flushes and writes the marker", () => {
  const { program, codeAddress, marker } = launch(acoRequest());
  const set = Number(BigInt(userData(launch(acoRequest()))[2]));
  assertEquals([...program.submissions[0].words], [
    ...[0xC0037600, 0x204, 0, 0, 0],
    ...[0xC0037600, 0x207, 64, 1, 1],
    ...[0xC0027600, 0x20C, Number(codeAddress >> 8n & 0xFFFFFFFFn), 0],
    ...[0xC0027600, 0x212, 0x602C0001, 0x8A],
    ...[0xC0017600, 0x215, 0],
    ...[0xC0017600, 0x228, 0],
    ...[0xC0057600, 0x240, 0, 0, set, 10, 0xFFFFFFFF],
    ...[0xC0031500, 3, 2, 1, 0x8041],
    ...[0xC0004600, 0x407],
    ...[0xC0064900, 0x0030C528, 0x20000000, Number(marker.address & 0xFFFFFFFFn), 2, marker.value, 0, 0],
  ]);
  assertEquals([program.submissions[0].queue, codeAddress % 256n], [0, 0n]);
});

Deno.test("wave64, a grid in threads and a compute queue show in the dispatch", () => {
  const built = launch(
    acoRequest(acoShader({}, { waveSize: 64 }), { grid: [100, 1, 1], gridUnit: "threads", queue: 0x21 }),
  );
  const { words, queue } = built.program.submissions[0];
  const at = words.indexOf(0xC0031500);
  assertEquals([...words.subarray(at, at + 5), queue], [0xC0031500, 100, 1, 1, 0x61, 0x21]);
});

Deno.test("ACO code finds its set at 0xFFFF8000_xxxxxxxx, the buffers through it, and the code with its constants", () => {
  const built = launch(acoRequest()), memory = mapped(built);
  const [ring0, ring1, set, push0, push2] = userData(built);
  assertEquals([ring0, ring1, push0, push2], [0, 0, 10, 0xFFFFFFFF]);
  const setAddress = 0xFFFF_8000_0000_0000n + BigInt(set);
  const buffers = [0, 1, 2].map((index) => [...memory.readWords(setAddress + 16n * BigInt(index), 4)]);
  const contents = buffers.map(([lo, hi, bytes, word3]) => {
    assertEquals([hi, word3], [2, 0x31016FAC]);
    return memory.read(BigInt(hi) << 32n | BigInt(lo), bytes);
  });
  assertEquals(contents, [new Uint8Array(A.buffer), B0, B1]);
  assertEquals([...memory.readWords(built.codeAddress, 2)], [S_ENDPGM, 0x3F800000]);
  const placed = built.resources.get("0.1")!;
  assertEquals(memory.read(placed.address, placed.bytes), B0);
});

Deno.test("a launch's own checks notice a missing end and writes beside the buffers or into code and descriptors", () => {
  const built = launch(acoRequest()), memory = mapped(built);
  assertEquals(compareResults(built.program, memory).map((each) => each.address), [built.marker.address]);
  memory.writeU32(built.marker.address, built.marker.value);
  assertEquals(compareResults(built.program, memory), []);
  const placed = built.resources.get("A")!;
  memory.writeU32(placed.address, 99);
  assertEquals(compareResults(built.program, memory), []);
  const setAddress = 0xFFFF_8000_0000_0000n + BigInt(userData(built)[2]);
  for (const address of [placed.address + BigInt(placed.bytes), built.codeAddress, setAddress, setAddress + 60n]) {
    const before = memory.readU32(address);
    memory.writeU32(address, before ^ 1);
    assertEquals(compareResults(built.program, memory).map((each) => [each.kind, each.address]), [[
      "untouched",
      address,
    ]]);
    memory.writeU32(address, before);
  }
});

Deno.test("push constants behind a pointer and the grid's size reach ACO code", () => {
  const pointers = acoShader({ bindings: [] }, {
    userSgprs: [
      { name: "ring_offsets", sgpr: 0, count: 2 },
      { name: "push_constants_ptr", sgpr: 2, count: 1 },
      { name: "grid_size", sgpr: 3, count: 3 },
    ],
    userSgprCount: 6,
    rsrc2: 0x8C,
  });
  const built = launch(
    acoRequest(pointers, { resources: { C: { kind: "buffer", data: A } }, pushConstants: [5, { addressOf: "C" }] }),
  );
  const memory = mapped(built), data = userData(built);
  assertEquals(data.slice(3), [3, 2, 1]);
  const [first, lo, hi] = memory.readWords(0xFFFF_8000_0000_0000n + BigInt(data[2]), 3);
  assertEquals([first, BigInt(hi) << 32n | BigInt(lo)], [5, built.resources.get("C")!.address]);
  pointers.userSgprs[2] = { name: "grid_size", sgpr: 3, count: 2 };
  pointers.userSgprCount = 5;
  const navi10 = launch(
    acoRequest({ ...pointers, rsrc2: 0x8A }, {
      resources: {},
      pushConstants: [1, 2, 3],
      grid: [65, 3, 2],
      gridUnit: "threads",
    }),
  );
  const [, , , low, high] = userData(navi10);
  assertEquals([...mapped(navi10).readWords(BigInt(high) << 32n | BigInt(low), 3)], [2, 3, 2]);
});

Deno.test("a linear image descriptor has the words that a console capture has for the same image", () => {
  // 64x36 pixels, 8_8_8_8 UNORM (format 56), at 0x200034000; words of a captured T#.
  const words = [0x02000340, 0xC3800000, 0x8008C00F, 0x90000FAC, 0, 0x00400000, 0, 0];
  assertEquals(linearImageDescriptor(0x2_0003_4000n, { width: 64, height: 36, format: 56, texelBytes: 4 }), words);
  // 50 pixels of 4 bytes are padded to 256 bytes: word 4 is the pitch of 64 pixels, less one.
  assertEquals(
    linearImageDescriptor(0x7F_1234_5600n, { width: 50, height: 1, format: 20, texelBytes: 4 }).slice(0, 5),
    [
      0x7F123456,
      20 << 20 | 1 << 30,
      0x8000000C,
      0x90000FAC,
      63,
    ],
  );
});

Deno.test("images are placed with padded rows, and combined bindings get a sampler", () => {
  const shader = acoShader({
    bindings: [
      { set: 0, binding: 0, type: "storage_image", count: 1, offset: 0, stride: 32, name: "img" },
      { set: 0, binding: 1, type: "combined_image_sampler", count: 1, offset: 32, stride: 96, name: "tex" },
    ],
    inlinePushMask: 0,
  }, {
    userSgprs: [{ name: "ring_offsets", sgpr: 0, count: 2 }, { name: "descriptor_set_ptr", set: 0, sgpr: 2, count: 1 }],
    userSgprCount: 3,
    rsrc2: 0x86,
  });
  const pixels = Uint8Array.from({ length: 3 * 4 * 2 }, (_, i) => i + 1);
  const built = launch({
    shader,
    grid: [1, 1, 1],
    resources: {
      img: { kind: "image", width: 3, height: 2, format: 56, texelBytes: 4, data: pixels },
      tex: { kind: "image", width: 4, height: 4, format: 56, texelBytes: 4, sampler: [1, 2, 3, 4] },
    },
  });
  const memory = mapped(built), set = 0xFFFF_8000_0000_0000n + BigInt(userData(built)[2]);
  const { address, pitchBytes, bytes } = built.resources.get("img")!;
  assertEquals([pitchBytes, bytes, address % 256n], [256, 512, 0n]);
  assertEquals([...memory.read(address, 13)], [...pixels.subarray(0, 12), 0]);
  assertEquals([...memory.read(address + 256n, 12)], [...pixels.subarray(12)]);
  assertEquals(memory.readU32(set), Number(address >> 8n));
  assertEquals(memory.readU32(set + 32n), Number(built.resources.get("tex")!.address >> 8n));
  assertEquals([...memory.readWords(set + 32n + 80n, 4)], [1, 2, 3, 4]);
});

const LLVM: ShaderSource = {
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

Deno.test("LDS_SIZE of LLVM code is what the kernel asks for, in units of 512 bytes", () => {
  const rsrc2 = (ldsBytes: number, value: number) => {
    const { words } = launch({
      shader: { ...LLVM, ldsBytes, rsrc2: value },
      grid: [1, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: {
        0: { kind: "buffer", data: A },
        1: { kind: "buffer", data: B0 },
        2: { kind: "value", data: Float32Array.of(1.5) },
      },
    }).program.submissions[0];
    return words[words.indexOf(0x212) + 2];
  };
  assertEquals([0, 4, 512, 513, 65536].map((bytes) => rsrc2(bytes, 0x91) - 0x91 >>> 15), [0, 1, 1, 2, 128]);
  assertEquals(rsrc2(4, 0x91 | 3 << 15), 0x91 | 3 << 15);
});

Deno.test("LLVM code gets pointers and values in its kernarg segment, and scratch memory for every wave", () => {
  const built = launch({
    shader: LLVM,
    grid: [4, 1, 1],
    workgroupSize: [64, 1, 1],
    resources: {
      0: { kind: "buffer", data: A },
      1: { kind: "buffer", data: B0 },
      2: { kind: "value", data: Float32Array.of(1.5) },
    },
  });
  const memory = mapped(built), data = userData(built);
  const kernarg = BigInt(data[5]) << 32n | BigInt(data[4]);
  assertEquals([memory.readU64(kernarg), memory.readU64(kernarg + 8n), memory.readU32(kernarg + 16n)], [
    built.resources.get("0")!.address,
    built.resources.get("1")!.address,
    0x3FC00000,
  ]);
  // 132 bytes a lane, 32 lanes: 4224 bytes, in units of 1 KiB 5; 4 groups of 2 waves.
  const scratch = BigInt(data[7]) << 32n | BigInt(data[6]);
  assertEquals(memory.read(scratch, 8 * 5120).length, 40960);
  assertEquals(data.slice(0, 4), privateSegmentDescriptor(scratch, 40960, 32));
  const { words } = built.program.submissions[0], at = words.indexOf(0x218);
  assertEquals(words[at + 1], 8 | 5 << 12);
});

Deno.test("ACO code gets scratch memory for every wave, as the first words of a descriptor", () => {
  const built = launch(acoRequest(acoShader({ scratchBytesPerWave: 1500 }), { grid: [3, 2, 1] }));
  const memory = mapped(built), data = userData(built);
  // SWIZZLE_ENABLE; the code makes an address of them by adding 0x7fff0000 to the upper one.
  assertEquals(data[1], 0x8000_8000);
  const scratch = BigInt(data[1] + 0x7fff_0000) << 32n | BigInt(data[0]);
  // 1500 bytes are 2 units of 1 KiB; 6 groups of 2 waves.
  assertEquals(memory.read(scratch, 12 * 2048).length, 12 * 2048);
  const { words } = built.program.submissions[0], at = words.indexOf(0x218);
  assertEquals(words[at + 1], 12 | 2 << 12);
});

Deno.test("the private segment's descriptor swizzles by lane of its wave size", () => {
  const [lo, hi, bytes, word3] = privateSegmentDescriptor(0x2_1234_5000n, 4096, 64);
  assertEquals([lo, hi >>> 31, hi & 0xFFFF, bytes], [0x1234_5000, 1, 2, 4096]);
  // INDEX_STRIDE 22:21 (3 is 64 lanes), ADD_TID_ENABLE 23, OOB_SELECT 29:28, type 31:30.
  assertEquals([word3 >>> 21 & 3, word3 >>> 23 & 1, word3 >>> 28 & 3, word3 >>> 30], [3, 1, 2, 0]);
  assertEquals(privateSegmentDescriptor(0n, 4096, 32)[3] >>> 21 & 3, 2);
});

Deno.test("AGC code gets its set below upper half 2 and push constants in the SGPRs that are left", () => {
  const { bytes } = buildRecord(
    {
      type: 0,
      sh: [[0x20C, 0], [0x20D, 0], [0x212, 0x602C0000], [0x213, 0x8A], [0x228, 0], [0x242, 0x44530000]],
      code: [S_ENDPGM],
    },
    { form: "file-offset" },
  );
  const shader = loadSb("own.sb", bytes);
  const built = launch({
    shader,
    grid: [1, 1, 1],
    workgroupSize: [64, 1, 1],
    bindings: [{ set: 0, binding: 0, type: "storage_buffer", count: 1, offset: 0, stride: 16, name: "out" }],
    resources: { out: { kind: "buffer", data: A } },
    pushConstants: [64, 0xFF00FF00],
  });
  const [, , set, count, colour] = userData(built), memory = mapped(built);
  assertEquals([count, colour, built.program.memory.length], [64, 0xFF00FF00, 1]);
  const address = memory.readU64(0x2_0000_0000n + BigInt(set)) & 0xFFFF_FFFF_FFFFn;
  assertEquals(address, built.resources.get("out")!.address);
  assert(built.program.submissions[0].words.includes(0x8041), "AGC compute code is wave32 unless told otherwise");
});

Deno.test("a request that does not fit is refused with the reason", () => {
  const refused = (request: LaunchRequest, type: typeof AnyAgcError, message: string) => {
    assertStringIncludes(assertThrows(() => launch(request), type).message, message);
  };
  const usage = UsageError as typeof AnyAgcError, refusal = RefusedError as typeof AnyAgcError;
  refused(acoRequest(acoShader({}, { stage: "pixel" })), refusal, "launches compute shaders");
  refused(acoRequest(acoShader({}, { rsrc2: undefined })), refusal, "no PGM_RSRC1 and PGM_RSRC2");
  refused(acoRequest(acoShader({}, { rsrc2: 0x88 })), usage, "RSRC2 asks for 4 user SGPRs, the description for 5");
  refused(acoRequest(undefined, { grid: [0, 1, 1] }), usage, "grid 0x1x1");
  refused(acoRequest(undefined, { grid: [1.5, 1, 1] }), usage, "grid 1.5x1x1");
  refused(acoRequest(undefined, { waveSize: 64 }), usage, "is wave32 code");
  refused(acoRequest(undefined, { workgroupSize: [32, 1, 1] }), usage, "compiled for 64x1x1 threads, not 32x1x1");
  refused(acoRequest(acoShader({}, { workgroupSize: undefined })), usage, "does not say its workgroup size");
  refused(
    acoRequest(acoShader({}, { workgroupSize: undefined }), { workgroupSize: [1025, 1, 1] }),
    usage,
    "1 to 1024 threads",
  );
  refused(acoRequest(undefined, { pushConstants: [1, 2] }), usage, "reads push-constant dword 2, only 2 are given");
  refused(
    acoRequest(undefined, { pushConstants: [1, 2, 3, 4] }),
    usage,
    "4 push-constant dwords, but the shader has 12 bytes",
  );
  refused(acoRequest(undefined, { pushConstants: [1.5, 2, 3] }), usage, "1.5 is no 32-bit value");
  refused(acoRequest(undefined, { resources: { A: { kind: "buffer", data: A } } }), usage, "a resource named B or 0.1");
  refused(
    acoRequest(undefined, { resources: { ...acoRequest().resources, extra: { kind: "buffer", data: A } } }),
    usage,
    "named extra",
  );
  refused(
    acoRequest(undefined, { resources: { ...acoRequest().resources, A: { kind: "sampler", words: [] } } }),
    usage,
    "resource A is a sampler",
  );
  refused(
    acoRequest(undefined, { resources: { ...acoRequest().resources, A: { kind: "buffer", data: new Uint8Array() } } }),
    usage,
    "buffer A is empty",
  );
  refused(
    acoRequest(acoShader({}, { userSgprs: [{ name: "view_index", sgpr: 0, count: 1 }] })),
    refusal,
    "user SGPR view_index",
  );
  refused(
    acoRequest(acoShader({}, { userSgprs: [{ name: "ring_offsets", sgpr: 4, count: 2 }] })),
    usage,
    "ring_offsets needs 2 SGPRs",
  );
  const llvm = (resources: LaunchRequest["resources"]) =>
    ({ shader: LLVM, grid: [1, 1, 1], workgroupSize: [64, 1, 1], resources }) as LaunchRequest;
  const buffer = { kind: "buffer", data: A } as const;
  refused(llvm({ 0: buffer, 1: buffer, 2: buffer }), usage, "argument 2 is a value of 4 bytes, not a buffer");
  refused(llvm({ 0: buffer, 1: buffer, 2: { kind: "value", data: A } }), usage, "argument 2 has 4 bytes, not 12");
  refused(llvm({ 0: buffer }), usage, "a resource named 1");
});

/** The dispatch that the command processor makes of a launch. */
function dispatched(
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

Deno.test("the command processor takes the stream and sees the launch that was meant", () => {
  const built = launch(acoRequest());
  assertEquals(dispatched(built), {
    userData: userData(built),
    address: built.codeAddress,
    groups: [3, 2, 1],
    waveSize: 32,
    threads: [64, 1, 1],
  });
});

corpusTest("every compute shader of the corpus can be launched with buffers that its description names", "llvm", () => {
  let launched = 0;
  for (const folder of ["aco", "llvm"]) {
    for (const name of corpusNames(folder, /\.json$/)) {
      const loaded = loadFile(corpusFile(folder, name));
      assert(loaded.kind === "shader");
      const { shader } = loaded;
      if (shader.stage !== "compute") continue;
      const resources: Record<string, LaunchRequest["resources"][string]> = {};
      const data = new Uint8Array(4096), { abi } = shader;
      if (abi.kind === "aco") {
        for (const { name, type } of abi.bindings) {
          resources[name] = type.endsWith("buffer")
            ? { kind: "buffer", data }
            : { kind: "image", width: 16, height: 16, format: 20, texelBytes: 4 };
        }
      } else if (abi.kind === "llvm") {
        abi.arguments.forEach(({ kind, size }, index) =>
          resources[index] = kind === "by_value"
            ? { kind: "value", data: data.subarray(0, size) }
            : { kind: "buffer", data }
        );
      }
      const pushConstants = abi.kind === "aco" ? new Array(abi.pushConstantBytes / 4).fill(1) : [];
      const built = launch({
        shader,
        grid: [2, 1, 1],
        workgroupSize: shader.workgroupSize ?? [64, 1, 1],
        resources,
        pushConstants,
      });
      const seen = dispatched(built);
      assertEquals([seen.address, seen.waveSize, seen.userData], [built.codeAddress, shader.waveSize, userData(built)]);
      launched++;
    }
  }
  assertEquals(launched, 16 + 20);
});

corpusTest("the compute records of the corpus launch with the ABI that their disassembly shows", "openagc", () => {
  const sb = (name: string) => loadSb(name, Deno.readFileSync(corpusFile("openagc", `${name}.sb`)));
  const buffer = { kind: "buffer", data: new Uint8Array(256) } as const;
  const binding = (index: number, offset: number, type: string, name: string) => ({
    set: 0,
    binding: index,
    type,
    count: 1,
    offset,
    stride: 16,
    name,
  });
  const requests: LaunchRequest[] = [
    {
      shader: sb("fill_color"),
      grid: [1, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: { buf: buffer },
      pushConstants: [{ addressOf: "buf" }, 64, 0xFF],
    },
    {
      shader: sb("fill_color_native"),
      grid: [1, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: { out: buffer },
      bindings: [binding(0, 0, "storage_buffer", "out")],
      pushConstants: [64, 0xFF],
    },
    {
      shader: sb("copy_consume_native"),
      grid: [1, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: { in: buffer, out: buffer },
      bindings: [binding(0, 0, "storage_buffer", "in"), binding(1, 16, "storage_buffer", "out")],
      pushConstants: [64],
    },
    {
      shader: sb("render_consume_native"),
      grid: [8, 8, 1],
      workgroupSize: [8, 8, 1],
      resources: {
        in: { kind: "image", width: 64, height: 64, format: 56, texelBytes: 4 },
        out: { kind: "buffer", data: new Uint8Array(16384) },
      },
      bindings: [binding(0, 0, "sampled_image", "in"), binding(1, 64, "storage_buffer", "out")],
    },
    {
      shader: sb("htile_rmw"),
      grid: [1, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: { w: buffer },
      pushConstants: [{ addressOf: "w" }, 64, 0xF0, 0xFF],
    },
  ];
  for (const request of requests) {
    const built = launch(request), seen = dispatched(built);
    assertEquals([seen.address, seen.waveSize, seen.userData], [built.codeAddress, 32, userData(built)]);
  }
  const htile = launch(requests[4]), { address } = htile.resources.get("w")!;
  assertEquals(userData(htile), [0, 0, Number(address & 0xFFFFFFFFn), 2, 64, 0xF0, 0xFF]);
});
