import { assertEquals } from "@std/assert";
import { compareRecorded } from "../../../src/driver/results/compare.ts";
import { recordResults } from "../../../src/driver/results/record.ts";
import type { ProgramRun } from "../../../src/driver/device.ts";
import type { RunResult } from "../../../src/driver/run_program.ts";
import { GuestFaultError } from "../../../src/errors.ts";
import { mapProgram } from "../../../src/guest/map_program.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { Permission } from "../../../src/guest/memory/window.ts";
import type { Program } from "../../../src/guest/program.ts";
import { seededNumbers } from "../../guest/support/mutations.ts";

const DEVICE = { name: "a", type: "other", apiVersion: "1", driver: "d" } as const;
/** A window of more than one chunk, one that nobody may read, one that adjoins it. */
const PROGRAM: Program = {
  name: "p",
  target: "gfx1013",
  memory: [
    {
      name: "large",
      base: 0x3_0000_0000n,
      bytes: 5 << 20,
      permissions: Permission.ReadWrite,
      contents: [{ offset: 0xF_FFF0, data: new Uint8Array(64).fill(7) }, { offset: 5, data: Uint8Array.of(1, 2, 3) }],
    },
    { name: "secret", base: 0x2_0000_0000n, bytes: 0x1000, permissions: Permission.Write, contents: [] },
    { name: "next", base: 0x2_0000_1000n, bytes: 0x1000, permissions: Permission.Read, contents: [] },
  ],
  submissions: [],
  expectations: [],
  untouched: [],
  notes: [],
};

/** What a run gave that changed memory as `change` does. */
function ran(
  change: (memory: GuestMemory) => void,
  result: Partial<RunResult> = {},
): Pick<ProgramRun, "result" | "memory"> {
  const memory = new GuestMemory(new ArrayAllocator());
  mapProgram(PROGRAM, memory);
  change(memory);
  return {
    memory,
    result: {
      outcome: "passed",
      differences: [],
      compared: 0,
      queues: [],
      submissions: 0,
      dispatches: 2,
      labels: [],
      waits: [],
      programs: [],
      notes: [],
      timings: { mapMs: 0, runMs: 0 },
      ...result,
    },
  };
}

const put = (memory: GuestMemory, address: bigint, ...bytes: number[]) =>
  memory.initialize(address, Uint8Array.from(bytes));
const label = (value: bigint, kind: "u32" | "u64" | "clock" = "u32", queue = 0, address = 0x3_0000_0100n) => ({
  queue,
  address,
  value,
  kind,
});

Deno.test("a run that changes nothing records nothing, and is equal to itself", () => {
  const run = ran(() => {}), recorded = recordResults(PROGRAM, run, DEVICE);
  assertEquals(recorded, {
    device: { ...DEVICE },
    outcome: "passed",
    dispatches: 2,
    labels: [],
    memory: [],
    volatile: [],
  });
  assertEquals(compareRecorded(PROGRAM, run, recorded), []);
});

Deno.test("changes are recorded by rising address, near ones together, each in its window, whatever its permissions", () => {
  const run = ran((memory) => {
    put(memory, 0x3_0000_0006n, 9, 9);
    put(memory, 0x3_0000_0020n, 1);
    put(memory, 0x3_0000_0200n, 5);
    put(memory, 0x3_0010_0000n, 1);
    put(memory, 0x2_0000_0FFFn, 1, 2);
  });
  const { memory } = recordResults(PROGRAM, run, DEVICE);
  assertEquals(memory.map(({ address, data }) => [address, data.length]), [
    [0x2_0000_0FFFn, 1],
    [0x2_0000_1000n, 1],
    [0x3_0000_0006n, 0x1B],
    [0x3_0000_0200n, 1],
    [0x3_0010_0000n, 1],
  ]);
  assertEquals([...memory[2].data.subarray(0, 3)], [9, 9, 0]);
});

Deno.test("many scattered changes become fewer ranges, and still compare equal", () => {
  const random = seededNumbers(3);
  const run = ran((memory) => {
    for (let i = 0; i < 5 << 20; i += 65 + random(3)) put(memory, 0x3_0000_0000n + BigInt(i), 0x55);
    for (let i = 0; i < 0x1000; i += 80) put(memory, 0x2_0000_0000n + BigInt(i), 1);
  });
  const recorded = recordResults(PROGRAM, run, DEVICE);
  assertEquals(
    recorded.memory.length > 40 && recorded.memory.length <= 1 << 16,
    true,
    `${recorded.memory.length} ranges`,
  );
  assertEquals(compareRecorded(PROGRAM, run, recorded), []);
});

Deno.test("any byte that is not as recorded is found, with its address and what is around it", () => {
  const recorded = recordResults(PROGRAM, ran((memory) => put(memory, 0x3_0000_0006n, 9, 9)), DEVICE);
  for (
    const [address, window] of [[0x3_0000_0007n, "large"], [0x3_002F_FFFFn, "large"], [0x2_0000_0000n, "secret"], [
      0x3_000F_FFF0n,
      "large",
    ]] as const
  ) {
    const other = ran((memory) => {
      put(memory, 0x3_0000_0006n, 9, 9);
      put(memory, address, 0xAB);
    });
    const [difference, ...rest] = compareRecorded(PROGRAM, other, recorded);
    assertEquals(rest, []);
    assertEquals([difference.kind, difference.what, difference.address, difference.bytes], [
      "memory",
      `window ${window}`,
      address,
      1,
    ]);
    assertEquals(difference.actual.slice(0, 2), "ab");
  }
  // A change that the replay does not make is a difference too.
  const [{ address, expected, actual }] = compareRecorded(PROGRAM, ran(() => {}), recorded);
  assertEquals([address, expected.slice(0, 5), actual.slice(0, 5)], [0x3_0000_0006n, "09 09", "02 03"]);
});

Deno.test("differences are counted by window, and the first is told", () => {
  const recorded = recordResults(PROGRAM, ran(() => {}), DEVICE);
  const other = ran((memory) => {
    put(memory, 0x3_0020_0000n, 1, 1, 1);
    put(memory, 0x3_0010_0000n, 1, 1);
    put(memory, 0x2_0000_1004n, 8);
  });
  assertEquals(compareRecorded(PROGRAM, other, recorded).map(({ address, bytes }) => [address, bytes]), [
    [0x3_0010_0000n, 5],
    [0x2_0000_1004n, 1],
  ]);
});

Deno.test("where the clock was written nothing is recorded or compared, next to it everything is", () => {
  const labels = [label(123n, "clock"), label(1n, "u32", 0, 0x3_0000_0200n)];
  const change = (clock: number) => (memory: GuestMemory) => {
    put(memory, 0x3_0000_00FFn, 1);
    put(memory, 0x3_0000_0100n, clock, clock, 0, 0, 0, 0, 0, 0);
    put(memory, 0x3_0000_0108n, 2);
  };
  const first = recordResults(PROGRAM, ran(change(1), { labels }), DEVICE);
  assertEquals(first.volatile, [{ address: 0x3_0000_0100n, bytes: 8, reason: "the clock was written here" }]);
  assertEquals(first.memory.map(({ address, data }) => [address, [...data]]), [[0x3_0000_00FFn, [1]], [0x3_0000_0108n, [
    2,
  ]]]);
  const later = ran(change(2), { labels: [label(456n, "clock"), labels[1]] });
  assertEquals(recordResults(PROGRAM, later, DEVICE), first);
  assertEquals(compareRecorded(PROGRAM, later, first), []);
  const [{ address }] = compareRecorded(PROGRAM, ran((memory) => put(memory, 0x3_0000_00FFn, 1), { labels }), first);
  assertEquals(address, 0x3_0000_0108n);
});

Deno.test("labels are compared queue by queue in their order; queues may overtake each other", () => {
  const a = label(1n), b = label(2n, "u64", 0x20), c = label(3n);
  const recorded = recordResults(PROGRAM, ran(() => {}, { labels: [a, b, c] }), DEVICE);
  const compare = (...labels: ReturnType<typeof label>[]) =>
    compareRecorded(PROGRAM, ran(() => {}, { labels }), recorded).map((
      { what, expected, actual },
    ) => [what, expected, actual]);
  assertEquals(compare(b, a, c), []);
  const first = "u32 0x1 to 0x300000100", third = "u32 0x3 to 0x300000100";
  assertEquals(compare(c, b, a), [["label 0 of queue 0x0", first, third]]);
  assertEquals(compare(a, b), [["label 1 of queue 0x0", third, "none"]]);
  assertEquals(compare(a, b, c, c), [["label 2 of queue 0x0", "none", third]]);
  assertEquals(compare(a, c), [["label 0 of queue 0x20", "u64 0x2 to 0x300000100", "none"]]);
  assertEquals(compare(a, { ...b, kind: "u32" }, c).length, 1);
});

Deno.test("the number of dispatches and the outcome are compared", () => {
  const recorded = recordResults(PROGRAM, ran(() => {}), DEVICE);
  const kinds = (result: Partial<RunResult>) =>
    compareRecorded(PROGRAM, ran(() => {}, result), recorded).map(({ kind }) => kind);
  assertEquals(kinds({ dispatches: 1 }), ["dispatches"]);
  assertEquals(kinds({ outcome: "differs" }), ["outcome"]);
});

Deno.test("of a run that failed the error and its instruction are compared, not memory", () => {
  const error = (code: string, pc: number) => new GuestFaultError(code, "m", { pc, queue: 3, guestAddress: 5n });
  const failed = (code: string, pc: number) =>
    ran((memory) => put(memory, 0x3_0000_0000n, pc), { outcome: "failed", error: error(code, pc) });
  const recorded = recordResults(PROGRAM, failed("memory.unmapped", 8), DEVICE);
  assertEquals(recorded.error, {
    code: "memory.unmapped",
    message: error("", 8).message,
    queue: 3,
    guestAddress: 5n,
    pc: 8,
  });
  assertEquals(recorded.memory, []);
  const compare = (run: ReturnType<typeof ran>, with_ = recorded) =>
    compareRecorded(PROGRAM, run, with_).map((d) => [d.expected, d.actual]);
  assertEquals(compare(failed("memory.unmapped", 8)), []);
  assertEquals(compare(failed("memory.unmapped", 12)), [["memory.unmapped at pc 0x8", "memory.unmapped at pc 0xc"]]);
  assertEquals(compare(failed("memory.permission", 8)), [["memory.unmapped at pc 0x8", "memory.permission at pc 0x8"]]);
  assertEquals(compare(ran(() => {})), [["memory.unmapped at pc 0x8", "passed"]]);
  const passed = recordResults(PROGRAM, ran(() => {}), DEVICE);
  assertEquals(compare(failed("memory.unmapped", 8), passed), [["passed", "memory.unmapped at pc 0x8"]]);
});
