/** What code of each compiler finds in its SGPRs, and behind them. */
import { assert, assertEquals } from "@std/assert";
import { launch } from "../../../src/guest/harness.ts";
import { privateSegmentDescriptor } from "../../../src/guest/harness/descriptors.ts";
import { loadSb } from "../../../src/guest/loaders/sb.ts";
import { A, acoRequest, acoShader, B0, B1, LLVM, mapped, S_ENDPGM, userData } from "../support/launches.ts";
import { buildRecord } from "../support/records.ts";

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
