import { assertEquals } from "@std/assert";
import { linearImageDescriptor, privateSegmentDescriptor } from "../../../src/guest/harness/descriptors.ts";

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

Deno.test("the private segment's descriptor swizzles by lane of its wave size", () => {
  const [lo, hi, bytes, word3] = privateSegmentDescriptor(0x2_1234_5000n, 4096, 64);
  assertEquals([lo, hi >>> 31, hi & 0xFFFF, bytes], [0x1234_5000, 1, 2, 4096]);
  // INDEX_STRIDE 22:21 (3 is 64 lanes), ADD_TID_ENABLE 23, OOB_SELECT 29:28, type 31:30.
  assertEquals([word3 >>> 21 & 3, word3 >>> 23 & 1, word3 >>> 28 & 3, word3 >>> 30], [3, 1, 2, 0]);
  assertEquals(privateSegmentDescriptor(0n, 4096, 32)[3] >>> 21 & 3, 2);
});
