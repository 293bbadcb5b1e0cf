import { assertEquals } from "@std/assert";
import { wordUlp } from "../../../tools/real/ulp.ts";

Deno.test("the distance of two words is that of f32 or of two f16, whichever is closer", () => {
  assertEquals(wordUlp(0x3f800000, 0x3f800000), 0);
  assertEquals(wordUlp(0x3f800000, 0x3f800002), 2);
  assertEquals(wordUlp(0x3f7fffff, 0x3f800001), 2);
  assertEquals(wordUlp(0x00000000, 0x80000000), 1); // zeros of both signs are different bits
  assertEquals(wordUlp(0x3c003c00, 0x3c013bff), 1); // f16 1.0 and its neighbours
  assertEquals(wordUlp(0x7fc00000, 0x7fc00001), 1); // NaN of different bits
  assertEquals(wordUlp(0x7fc00000, 0x3f800000), Infinity);
  assertEquals(wordUlp(0x7e007e00, 0xfe00fe00), 1); // f16 NaN of both signs
  assertEquals(wordUlp(0x7e003c00, 0xfe003c02), 2);
  assertEquals(wordUlp(0x7e003c00, 0x3c003c00) > 1000, true); // a number is no NaN
  assertEquals(wordUlp(0x7e017e01, 0xfe01fe01) > 1000, true); // f32 numbers
});
