import { assertEquals, assertStringIncludes } from "@std/assert";
import { type CreationRow, median } from "../../../tools/real/creation_module.ts";
import { creationText, ratioOf } from "../../../tools/real/creation_report.ts";

const row = (module: string, wave: 32 | 64, laneMode: string, create: number, run: number): CreationRow => ({
  module,
  wave,
  laneMode,
  instructions: 10,
  words: { original: 100, recompiled: 150 },
  createMs: { original: 10, recompiled: create },
  runUs: { original: 4, recompiled: run },
  recompileMs: 1,
  wordsWritten: 1,
  ulp: 2,
});

Deno.test("the median is a value of the list", () => {
  assertEquals([median([3, 1, 2]), median([4, 1]), ratioOf({ original: 4, recompiled: 6 })], [2, 4, 1.5]);
});

Deno.test("the table names the device, the lane modes, medians by wave and mode, and what was left out", () => {
  const rows = [row("a", 32, "laneless", 10, 4), row("b", 64, "spanned", 20, 8), row("c", 64, "spanned", 30, 12)];
  const about = { device: "GPU", driver: "driver 1", seed: 7, rounds: 3, dispatches: 16, emptyUs: 2 };
  const text = creationText(rows, [{ module: "d", wave: 32, reason: "idle: nothing" }], about);
  assertStringIncludes(text, "GPU (driver 1), seed 7");
  assertStringIncludes(text, "one that does nothing takes 2.0");
  const summary = text.split("\n").filter((line) => /^(all|wave\d+|laneless|spanned) /.test(line));
  assertEquals(summary.map((line) => line.split(/\s{2,}/).slice(0, 4)), [
    ["all", "3", "1.50 (1.50 to 1.50)", "2.00 (1.00 to 3.00)"],
    ["wave32", "1", "1.50 (1.50 to 1.50)", "1.00 (1.00 to 1.00)"],
    ["laneless", "1", "1.50 (1.50 to 1.50)", "1.00 (1.00 to 1.00)"],
    ["wave64", "2", "1.50 (1.50 to 1.50)", "3.00 (2.00 to 3.00)"],
    ["spanned", "2", "1.50 (1.50 to 1.50)", "3.00 (2.00 to 3.00)"],
  ]);
  assertStringIncludes(text, "3 modules with the same results, largest difference 2 ULP; 1 others were left out");
  assertStringIncludes(text, "idle: nothing");
});
