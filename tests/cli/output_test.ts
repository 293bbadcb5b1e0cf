import { assertEquals } from "@std/assert";
import { alignColumns, Output, toJson } from "../../src/cli/output.ts";

Deno.test("columns are as wide as their widest cell, and lines end without blanks", () => {
  assertEquals(alignColumns([["a", "long cell", "x"], ["bcd", "y", ""], ["e"]]), ["a    long cell  x", "bcd  y", "e"]);
  assertEquals(alignColumns([]), []);
});

Deno.test("JSON shows 64-bit integers as hexadecimal text and typed arrays as arrays", () => {
  assertEquals(JSON.parse(toJson({ a: 0xffff800000000000n, b: -1n, c: Uint32Array.of(1, 2), d: undefined })), {
    a: "0xffff800000000000",
    b: "0xffffffffffffffff",
    c: [1, 2],
  });
});

Deno.test("an output for machines prints no lines", () => {
  const lines: string[] = [];
  const sink = { out: (line: string) => void lines.push(line), err: () => {} };
  new Output(sink, true).line("no");
  new Output(sink, false).table([["yes", "1"]], "  ");
  assertEquals(lines, ["  yes  1"]);
});
