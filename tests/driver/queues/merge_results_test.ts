import { assertEquals } from "@std/assert";
import type { ProgramReport } from "../../../src/driver/executor.ts";
import { inOrder, mergeDeviceMs, mergePrograms } from "../../../src/driver/queues/merge_results.ts";

function report(own: Partial<ProgramReport>): ProgramReport {
  return {
    address: 0x100n,
    instructions: 5,
    words: 900,
    waveSize: 32,
    laneMode: "laneless",
    laneModeReason: "test",
    workgroupSize: [64, 1, 1],
    recompileMs: 1,
    createMs: 2,
    dispatches: 3,
    ...own,
  };
}

Deno.test("what queues did is in the order of its numbers, whoever did it", () => {
  assertEquals(inOrder([[{ a: 1, order: 4 }, { a: 2, order: 7 }], [], [{ a: 3, order: 1 }, { a: 4, order: 5 }]]), [
    { a: 3 },
    { a: 1 },
    { a: 4 },
    { a: 2 },
  ]);
});

Deno.test("a program that several queues dispatched is one, its numbers are sums", () => {
  const words = Uint32Array.of(1, 2, 3);
  const merged = mergePrograms([
    { programs: [report({}), report({ address: 0x200n })], modules: [undefined, words] },
    { programs: [report({ address: 0x200n, dispatches: 10, instructions: 6 })], modules: [Uint32Array.of(9)] },
  ]);
  assertEquals(merged, [
    { report: report({}), words: undefined },
    {
      report: report({ address: 0x200n, dispatches: 13, instructions: 6, recompileMs: 2, createMs: 4 }),
      words,
    },
  ]);
});

Deno.test("programs of one queue are different ones, also where their reports look the same", () => {
  const twice = { programs: [report({}), report({})], modules: [] };
  assertEquals(mergePrograms([twice, twice]).map(({ report }) => report.dispatches), [6, 6]);
  const others = [
    report({ waveSize: 64 }),
    report({ words: 901 }),
    report({ laneMode: "native" }),
    report({ workgroupSize: [32, 1, 1] }),
    report({ laneModeReason: "other" }),
  ];
  assertEquals(mergePrograms([{ programs: [report({})], modules: [] }, { programs: others, modules: [] }]).length, 6);
});

Deno.test("milliseconds of devices are added, and unknown where no device tells", () => {
  assertEquals(mergeDeviceMs([{}, { deviceMs: 2 }, { deviceMs: 3 }]), 5);
  assertEquals(mergeDeviceMs([{}, {}]), undefined);
});
