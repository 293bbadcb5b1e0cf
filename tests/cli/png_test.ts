import { assertEquals, assertThrows } from "@std/assert";
import { encodePng } from "../../src/cli/png.ts";
import { decodePng } from "./png_decoder.ts";

Deno.test("a picture survives encoding", () => {
  const width = 7, height = 5, rgba = Uint8Array.from({ length: width * height * 4 }, (_, i) => i * 37 ^ i >> 3);
  assertEquals(decodePng(encodePng(rgba, width, height)), { width, height, rgba });
});

Deno.test("padding between rows is left out", () => {
  const padded = new Uint8Array(2 * 12);
  padded.fill(9);
  padded.set([1, 2, 3, 4, 5, 6, 7, 8], 0);
  padded.set([11, 12, 13, 14, 15, 16, 17, 18], 12);
  const { rgba } = decodePng(encodePng(padded, 2, 2, 12));
  assertEquals([...rgba], [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18]);
});

Deno.test("a picture that does not fit its bytes is an error", () => {
  assertThrows(() => encodePng(new Uint8Array(15), 2, 2), RangeError, "2 x 2");
  assertThrows(() => encodePng(new Uint8Array(16), 2, 2, 4), RangeError);
  assertThrows(() => encodePng(new Uint8Array(0), 0, 0), RangeError);
});
