import { assertEquals, assertMatch } from "@std/assert";
import { reportData, reportRows } from "../../../src/cli/run/report.ts";
import type { RunResult } from "../../../src/driver/run_program.ts";
import { RefusedError } from "../../../src/errors.ts";

const passed: RunResult = {
  outcome: "passed",
  differences: [],
  compared: 2,
  queues: [0x20, 0],
  submissions: 2,
  dispatches: 1,
  labels: [{ queue: 0x20, address: 0x2_0001_0000n, value: 7n, kind: "u32" }],
  waits: [{ queue: 0, address: 0x2_0001_0000n, reference: 7n }],
  programs: [{
    address: 0x2_0000_0000n,
    instructions: 92,
    words: 1234,
    waveSize: 32,
    laneMode: "laneless",
    laneModeReason: "no exchange",
    workgroupSize: [8, 8, 1],
    recompileMs: 2.25,
    createMs: 11.75,
    dispatches: 1,
  }],
  notes: [],
  timings: { mapMs: 0.5, runMs: 150, deviceMs: 120.4 },
};

Deno.test("a report tells queues, programs, labels, waits, times and results", () => {
  assertEquals(reportRows(passed), [
    ["queues", "0x20, 0x0: 2 submissions, 1 dispatch"],
    [
      "program",
      "0x200000000: 92 instructions became 1234 SPIR-V words, wave32, 8 x 8 x 1 threads, laneless (no exchange), 1 dispatch",
    ],
    ["label", "queue 0x20 wrote 0x7 to 0x200010000"],
    ["wait", "queue 0x0 waited for 0x7 at 0x200010000, released"],
    ["time", "150 ms: recompile 2.3 ms, pipelines 11.8 ms, 120 ms on the device; mapping 500 us"],
    ["results", "2 of 2 as expected"],
  ]);
});

Deno.test("a report of differences names the first byte of each, and why it was expected", () => {
  const rows = reportRows({
    ...passed,
    outcome: "differs",
    differences: [{
      address: 0x2_0001_0000n,
      expected: 7,
      actual: 0,
      count: 1,
      kind: "expectation",
      reason: "the end label",
    }],
  });
  assertEquals(rows.slice(-2), [
    ["results", "1 of 2 as expected"],
    ["", "0x200010000 differs: 0x00, expected 0x07; 1 byte (the end label)"],
  ]);
});

Deno.test("a failed run compares nothing, and its data holds the error as data", () => {
  const failed: RunResult = {
    ...passed,
    outcome: "failed",
    error: new RefusedError("pm4.draw", "drawing is not executed yet"),
  };
  assertEquals(reportRows(failed).some(([name]) => name === "results"), false);
  const { outcome, error } = reportData(failed) as { outcome: string; error: { code: string; message: string } };
  assertEquals([outcome, error.code], ["failed", "pm4.draw"]);
  assertMatch(error.message, /^drawing/);
  assertEquals("error" in reportData(passed), false);
});
