/** The figures of tools/real: what they count, and how far two memories are apart. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { CompareRow } from "../../../tools/real/compare_module.ts";
import { bufferWords, pushWords } from "../../../tools/real/inputs.ts";
import { reasonClass, type RecompiledRow, type RecompileRow } from "../../../tools/real/recompile_modules.ts";
import {
  compareText,
  countReasons,
  OUTCOMES,
  quantile,
  recompiledShare,
  recompileText,
} from "../../../tools/real/report.ts";
import { wordUlp } from "../../../tools/real/ulp.ts";

function recompiled(module: string, originalWords: number, words: number): RecompiledRow {
  return {
    module,
    outcome: "recompiled",
    originalWords,
    words,
    causes: {},
    resolved: false,
    instructions: originalWords,
    laneMode: "laneless",
    insertedBarriers: 0,
    milliseconds: 1,
  };
}

const refused = (module: string, reason: string): RecompileRow => ({ module, outcome: "refused", code: "c", reason });

Deno.test("words are as far apart as the floats or halves that they may be", () => {
  assertEquals(wordUlp(0x3f80_0000, 0x3f80_0002), 2);
  assertEquals(wordUlp(0x3f80_0000, 0x3f7f_ffff), 1);
  assertEquals(wordUlp(0x0000_0000, 0x8000_0000), 1);
  assertEquals(wordUlp(0x3c00_3c00, 0x3c01_3bff), 1, "two halves, 1 each");
  assertEquals(wordUlp(0x0001_0001, 0x8001_0001), 3);
  assertEquals(wordUlp(0x7fc0_0000, 0xffc0_0001), 1, "NaN is NaN");
  assertEquals(wordUlp(0x7f80_0000, 0x7fc0_0000), Infinity);
});

Deno.test("refusals of one kind are one class, whatever their places and registers", () => {
  const at = (pc: string, register: string) => `an exchange of ${register} in 3 loops (guest address ${pc}, pc ${pc})`;
  assertEquals(reasonClass(at("0x38", "v17")), reasonClass(at("0x1320", "v[2:3]")).replace("4", "3"));
  assert(!/0x|17/.test(reasonClass(at("0x38", "v17"))));
  assert(reasonClass("an exchange") !== reasonClass("a barrier"));
  assertEquals(countReasons(["b", "a", "b", "c"]), [["b", 2], ["a", 1], ["c", 1]]);
});

Deno.test("found modules are recompiled, refused, failed, or have no machine code; the share leaves the last out", () => {
  const rows: RecompileRow[] = [
    recompiled("m0", 100, 150),
    recompiled("m1", 100, 700),
    refused("m2", "a barrier (pc 0x4)"),
    { module: "m3", outcome: "no-code" },
  ];
  assertEquals(recompiledShare(rows), 2 / 3);
  const text = recompileText(rows);
  assertStringIncludes(text, "4 modules found = 3 compiled by RADV + 1 without machine code");
  assertStringIncludes(text, "3 compiled = 2 recompiled + 1 refused + 0 failed; 66.7 % recompiled");
  assertStringIncludes(text, "most 7.00");
  assert(text.indexOf("m1") < text.indexOf("m0"), "the worst ratio comes first");
  assertEquals(recompiledShare([]), 0);
});

Deno.test("each run is in one row of the table, which has a row for each outcome", () => {
  const outcomes = Object.keys(OUTCOMES) as CompareRow["outcome"][];
  const rows = outcomes.flatMap((outcome, k) =>
    Array.from({ length: k + 1 }, () => ({ module: "m", outcome, reason: "why" }) as CompareRow)
  );
  const lines = compareText(rows).split("\n");
  assertStringIncludes(lines[0], `${rows.length} modules run, 3 of them compared and right`);
  for (const [k, outcome] of outcomes.entries()) {
    const found = lines.filter((line) => line.startsWith(`${outcome} `) && line.includes(OUTCOMES[outcome]));
    assertEquals(found.length, 1, outcome);
    assert(new RegExp(` ${k + 1} `).test(found[0]), found[0]);
  }
});

Deno.test("quantiles are values of the list", () => {
  const sorted = [1, 2, 3, 4];
  assertEquals([0, 0.5, 0.9, 1].map((q) => quantile(sorted, q)), [1, 3, 4, 4]);
});

Deno.test("buffers hold moderate numbers, as f32 and as f16, and are the same for the same seed", () => {
  const words = bufferWords("numbers", 5);
  assertEquals(words, bufferWords("numbers", 5));
  for (const value of new Float32Array(words.buffer)) assert(Math.abs(value) < 2 && Math.abs(value) > 1e-20);
  for (const half of new Uint16Array(words.buffer)) assert((half & 0x7c00) > 0 && (half & 0x7c00) < 0x4000);
  for (const word of bufferWords("small integers", 5)) assert(word < 16);
});

Deno.test("float push constants are floats, the others the profile's number", () => {
  assertEquals(pushWords(3, (word) => word === 2, 64), [64, 64, 0x3f80_0000]);
});
