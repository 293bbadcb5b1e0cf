import { assertEquals } from "@std/assert";
import { dispatchingQueues, usefulQueues } from "../../../src/driver/queues/dispatching.ts";
import { dispatchDirect, waitMemoryEquals, writeData } from "../../support/packets.ts";

const program = (...queues: [queue: number, ...words: number[]][]) => ({
  submissions: queues.map(([queue, ...words]) => ({ queue, words: Uint32Array.from(words) })),
});

Deno.test("a queue that dispatches counts once, one that only waits and writes does not", () => {
  const dispatch = dispatchDirect([1, 1, 1]), wait = waitMemoryEquals(0x1000n, 1), write = writeData(0x1000n, 1);
  const one = program([0, ...wait, ...write], [0x20, ...dispatch], [0x20, ...dispatch, ...dispatch]);
  assertEquals([dispatchingQueues(one), usefulQueues(one)], [1, 1]);
  const two = program([0, ...wait], [0x20, ...dispatch], [0x28, ...write, ...dispatch]);
  assertEquals([dispatchingQueues(two), usefulQueues(two)], [2, 3]);
  assertEquals([dispatchingQueues(program([0, ...write])), usefulQueues(program([0, ...write]))], [0, 1]);
});

Deno.test("a queue whose stream goes on in memory, or depends on it, may dispatch", () => {
  // INDIRECT_BUFFER and COND_EXEC: PM4 opcodes 0x3f and 0x22 (Linux, nvd.h).
  const packet = (
    opcode: number,
    body: number[],
  ) => [(0xc000_0000 | body.length - 1 << 16 | opcode << 8) >>> 0, ...body];
  for (const words of [packet(0x3f, [0x1000, 0, 16]), packet(0x22, [0x1000, 0, 0, 4])]) {
    assertEquals(dispatchingQueues(program([0x20, ...words], [0x28, ...dispatchDirect([1, 1, 1])])), 2);
  }
});
