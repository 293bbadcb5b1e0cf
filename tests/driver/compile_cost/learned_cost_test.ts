import { assertEquals } from "@std/assert";
import { ASSUMED_COST, type CostSample, learnedCost } from "../../../src/driver/compile_cost/learned_cost.ts";

const sample = (kib: number, memoryPerByte: number, ms: number): CostSample => ({
  bytes: kib * 1024,
  peakBytes: kib * 1024 * memoryPerByte,
  ms,
});

Deno.test("until three compiles have taught something, a gigabyte for 3.2 MB of SPIR-V is assumed", () => {
  assertEquals(ASSUMED_COST.memory * 3.2e6, 1.024e9);
  assertEquals(learnedCost([]), ASSUMED_COST);
  assertEquals(learnedCost([sample(100, 10, 1), sample(100, 10, 1)]), ASSUMED_COST);
  assertEquals(learnedCost([sample(100, 10, 1), sample(100, 10, 1), sample(100, 10, 1)]).memory, 10);
});

Deno.test("memory is what nine of ten samples do not pass, time is the median", () => {
  const samples = Array.from({ length: 10 }, (_, i) => sample(100, i + 1, 102400 * (i + 1)));
  assertEquals(learnedCost(samples.reverse()), { memory: 9, ms: 5, samples: 10 });
});

Deno.test("small modules teach nothing: what every pipeline needs is most of theirs", () => {
  const large = Array.from({ length: 3 }, () => sample(100, 10, 1));
  assertEquals(learnedCost([...large, sample(31, 500, 1), sample(1, 9000, 1)]), learnedCost(large));
});

Deno.test("a driver that compiles elsewhere costs at least a byte for a byte, so that nothing is divided by zero", () => {
  assertEquals(learnedCost([sample(64, 0, 1), sample(64, 0, 1), sample(64, 0, 1)]).memory, 1);
});
