import { assertEquals, assertThrows } from "@std/assert";
import { InvalidInputError } from "../../../../src/errors.ts";
import { readComputeBinary } from "../../../../tools/corpus/radv/cache_data.ts";

/** Offsets in the made cache: header of 32 bytes, entry of 200, then the binary. */
const ENTRY = 32, BINARY = ENTRY + 200;

/** A cache with one compute stage: two instructions, then eight bytes of constants; two sets, two of four push-constant dwords inline. */
function madeCache(): { data: Uint8Array<ArrayBuffer>; view: DataView } {
  const codeBytes = 16, binaryBytes = 1328 + codeBytes;
  const data = new Uint8Array(BINARY + binaryBytes);
  const view = new DataView(data.buffer);
  const u32 = (at: number, value: number) => view.setUint32(at, value, true);
  u32(0, 32);
  u32(ENTRY + 20 + 4 * 5, binaryBytes);
  u32(BINARY + 4, 5); // stage
  [12, 16, 20, 24, 28, 32].forEach((at, i) => u32(BINARY + at, 100 + i));
  u32(BINARY + 44, 0xf0);
  u32(BINARY + 48, 1024);
  u32(BINARY + 52, 0x1111);
  u32(BINARY + 56, 7 << 1 | 0x80);
  u32(BINARY + 60, 0x3333);
  view.setBigUint64(BINARY + 64, 0b1011_0000n, true);
  u32(BINARY + 76, 0b101);
  data[BINARY + 83] = 64;
  data.fill(0xff, BINARY + 88, BINARY + 188); // no user SGPRs
  data.set([2, 1], BINARY + 88); // set 0
  data.set([3, 1], BINARY + 88 + 4); // set 2
  data.set([0, 2], BINARY + 152); // ring offsets
  data.set([4, 1], BINARY + 154); // push constants
  data.set([5, 2], BINARY + 156); // inline push constants
  u32(BINARY + 296, 6);
  data.set([1, 0, 1], BINARY + 773);
  data.set([0, 1, 0], BINARY + 776);
  data[BINARY + 779] = 1;
  [3, 2, 1].forEach((size, i) => u32(BINARY + 780 + 4 * i, size));
  u32(BINARY + 1296, binaryBytes);
  u32(BINARY + 1304, codeBytes);
  u32(BINARY + 1308, 8);
  for (let i = 0; i < codeBytes; i++) data[BINARY + 1324 + i] = i + 1;
  return { data, view };
}

Deno.test("code, registers and user SGPRs are read from a pipeline cache", () => {
  assertEquals(readComputeBinary(madeCache().data), {
    code: Uint8Array.from({ length: 16 }, (_, i) => i + 1),
    execBytes: 8,
    waveSize: 64,
    workgroupLanes: 6,
    workgroupSize: [3, 2, 1],
    numSgprs: 100,
    numVgprs: 101,
    numSharedVgprs: 102,
    spilledSgprs: 103,
    spilledVgprs: 104,
    ldsBytes: 105 * 512,
    scratchBytesPerWave: 1024,
    floatMode: 0xf0,
    rsrc: [0x1111, 0x8e, 0x3333],
    userData: [
      { name: "ring_offsets", sgpr: 0, count: 2 },
      { name: "push_constants_ptr", sgpr: 4, count: 1 },
      { name: "inline_push_constants", sgpr: 5, count: 2 },
      { name: "descriptor_set_ptr", set: 0, sgpr: 2, count: 1 },
      { name: "descriptor_set_ptr", set: 2, sgpr: 3, count: 1 },
    ],
    inlinePushMask: 0b0011_0000n, // the lowest two of those that could be inline
    setsUsed: 0b101,
    usesGroupId: [true, false, true],
    usesThreadId: [false, true, false],
    usesLocalIndex: true,
  });
});

Deno.test("a cache that is not what this version of Mesa writes is refused", () => {
  const refused = (change: (view: DataView) => void, message: string) => {
    const { data, view } = madeCache();
    change(view);
    assertThrows(() => readComputeBinary(data), InvalidInputError, message);
  };
  const u32 = (at: number, value: number) => (view: DataView) => view.setUint32(at, value, true);
  refused(u32(0, 16), "a header of 16 bytes");
  refused(u32(ENTRY + 20, 4), "stages of 4,0,0,0,0,1344");
  refused(u32(ENTRY + 40, 1300), "an entry of 1300");
  refused(u32(ENTRY + 76, 1), "stack sizes");
  refused(u32(BINARY, 1), "a binary of type 1");
  refused(u32(BINARY + 4, 4), "stage 4");
  refused(u32(BINARY + 1296, 4), "a binary of 4 bytes");
  refused(u32(BINARY + 1304, 20), "code of 20 bytes");
  refused(u32(BINARY + 1308, 20), "20 bytes to execute");
  refused(u32(BINARY + 56, 8 << 1), "7 user SGPRs, rsrc2 0x10");
  refused((view) => view.setUint8(BINARY + 773, 2), "a truth value of 2");
  assertThrows(() => readComputeBinary(new Uint8Array(16)), InvalidInputError, "16 bytes");
  assertThrows(() => readComputeBinary(madeCache().data.slice(0, 32)), InvalidInputError, "it has no entry");
  assertThrows(() => readComputeBinary(madeCache().data.slice(0, 900)), InvalidInputError, "its entry is cut off");
});
