import { assert, assertEquals, assertThrows } from "@std/assert";
import { DriverSink } from "../../src/driver/driver_sink.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemoryError } from "../../src/guest/memory/fault.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import { Permission } from "../../src/guest/memory/window.ts";
import { QueueExecutor } from "../../src/pm4/execute.ts";
import { computeState } from "../support/guest_program.ts";
import {
  acquireMem,
  computeFlush,
  dispatchDirect,
  dispatchIndirect,
  dmaCopy,
  dmaFill,
  releaseMem32,
  waitMemoryEquals,
  writeData,
} from "../support/packets.ts";
import { FakeExecutor } from "./fake_executor.ts";

const BASE = 0x2_0000_0000n, READ_ONLY = 0x4_0000_0000n;

/** Runs packets on queue 0 of a sink whose dispatches add s0 to the word at BASE. */
function run(...packets: number[][]) {
  const memory = new GuestMemory(new ArrayAllocator());
  memory.map(BASE, 4096);
  memory.map(READ_ONLY, 4096, Permission.Read);
  const executor = new FakeExecutor(({ userData }, memory) =>
    memory.writeU32(BASE, memory.readU32(BASE) + userData[0])
  );
  executor.attach(memory);
  const sink = new DriverSink(memory, executor);
  const queue = new QueueExecutor(0, sink);
  queue.submit({ queue: 0, words: Uint32Array.from(packets.flat()) });
  const result = queue.run();
  return { memory, executor, sink, result, log: executor.log.slice(1) };
}

const dispatch = (add: number) => [...computeState({ code: BASE, userData: [add] }), ...dispatchDirect([1, 2, 3])];

Deno.test("dispatches are not waited for until somebody looks at memory", () => {
  const { log, memory, sink } = run(dispatch(1), computeFlush(), acquireMem(), dispatch(2), dispatch(4));
  assertEquals(log, Array(3).fill("dispatch 1 2 3 wave32"));
  assertEquals([memory.readU32(BASE), sink.dispatches], [0, 3]);
  sink.settle();
  sink.settle();
  assertEquals(log.length + 1, sink.dispatches + 1);
  assertEquals(memory.readU32(BASE), 7);
});

const ACCESSES: [string, number[]][] = [
  ["WRITE_DATA", writeData(BASE + 8n, 1)],
  ["DMA_DATA that fills", dmaFill(BASE + 8n, 16, 1)],
  ["DMA_DATA that copies", dmaCopy(BASE + 8n, BASE, 4)],
  ["RELEASE_MEM", releaseMem32(BASE + 8n, 1)],
  ["WAIT_REG_MEM", waitMemoryEquals(BASE, 5)],
  ["DISPATCH_INDIRECT", dispatchIndirect(BASE + 0x100n)],
  ["an ACQUIRE_MEM that invalidates the instruction caches", acquireMem(true)],
];
for (const [name, packet] of ACCESSES) {
  Deno.test(`${name} waits for the dispatches before it, once`, () => {
    const { log, result } = run(dispatch(5), packet, dispatch(1));
    assertEquals(log, ["dispatch 1 2 3 wave32", "drain 1", "dispatch 1 2 3 wave32"]);
    assertEquals(result, "done");
    assertEquals(run(computeState({ code: BASE, userData: [] }), packet).log, []); // nothing to wait for
  });
}

Deno.test("a size in threads that makes whole groups is one in groups", () => {
  const state = computeState({ code: BASE, userData: [0], threads: [8, 4, 2] });
  const { log } = run(
    state,
    dispatchDirect([16, 4, 6], { threads: true }),
    dispatchDirect([16, 5, 6], { threads: true }),
    dispatchDirect([16, 4, 6]),
  );
  assertEquals(log, ["dispatch 2 1 3 wave32", "dispatch 16 5 6 wave32 threads", "dispatch 16 4 6 wave32"]);
});

Deno.test("what the command processor reads and copies is what dispatches wrote", () => {
  const { memory } = run(dispatch(5), dmaCopy(BASE + 64n, BASE, 4), dispatch(6), dmaCopy(BASE + 68n, BASE, 4));
  assertEquals([memory.readU32(BASE + 64n), memory.readU32(BASE + 68n)], [5, 11]);
});

Deno.test("labels are listed in order, with their queue; the clock counts 100 MHz and does not go back", () => {
  const release64 = [0xc0064900, 0x0030c528, 0x4000_0000, 0x10, 2, 0x9abc_def0, 0x1234_5678, 0];
  const clock = (offset: number) => [0xc0064900, 0x0030c528, 0x6000_0000, offset, 2, 0, 0, 0];
  const interrupt = [0xc0064900, 0x0030c528, 0x0200_0000, 0, 0, 0, 0, 7];
  const start = performance.now();
  const { memory, sink } = run(releaseMem32(BASE + 8n, 9), release64, clock(0x20), clock(0x28), interrupt);
  const elapsed = (performance.now() - start) * 100_000;
  assertEquals(sink.labels.slice(0, 2), [
    { queue: 0, address: BASE + 8n, value: 9n, kind: "u32" },
    { queue: 0, address: BASE + 16n, value: 0x1234_5678_9abc_def0n, kind: "u64" },
  ]);
  assertEquals([memory.readU32(BASE + 8n), memory.readU64(BASE + 16n)], [9, 0x1234_5678_9abc_def0n]);
  assertEquals(sink.labels.length, 4);
  const [first, second] = [memory.readU64(BASE + 0x20n), memory.readU64(BASE + 0x28n)];
  assertEquals(sink.labels[2], { queue: 0, address: BASE + 0x20n, value: first, kind: "clock" });
  assert(second >= first && Number(second - first) <= elapsed + 1, `${first} ${second} ${elapsed}`);
  assertEquals(sink.interrupts, 1);
});

Deno.test("the command processor does not write to windows that may only be read", () => {
  for (const packet of [writeData(READ_ONLY, 1), dmaFill(READ_ONLY, 8, 1), releaseMem32(READ_ONLY, 1)]) {
    assertThrows(() => run(packet), Error, "is r--, the access needs -w-");
  }
  assertThrows(() => run(dmaCopy(BASE, 0x9_0000_0000n, 8)), Error, "no window holds the address");
  assertEquals(run(dmaCopy(BASE, READ_ONLY, 8)).result, "done");
  assert(new GuestMemoryError("Unmapped", 0n, 1, "").exitCode === 1);
});
