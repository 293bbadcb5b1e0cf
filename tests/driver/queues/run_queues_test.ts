import { assert, assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import type { RunResult } from "../../../src/driver/run_program.ts";
import { GuestFaultError } from "../../../src/errors.ts";
import type { Program } from "../../../src/guest/program.ts";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { COPY, STEP } from "../../support/machine_code.ts";
import {
  dispatchDirect,
  dmaCopy,
  dmaFill,
  releaseMem32,
  waitMemoryAtLeast64,
  waitMemoryEquals,
  writeData,
} from "../../support/packets.ts";
import { chain, pingPong, randomProgram } from "./programs.ts";
import { KeptWorkers, runAtOnce, runInTurns, steady } from "./support.ts";

/** Of all tests here. */
const workers = new KeptWorkers();
await workers.warm();
globalThis.addEventListener("unload", () => workers[Symbol.dispose]());

/** Runs a program both ways, and compares everything. */
async function bothWays(program: Program): Promise<RunResult> {
  const turns = runInTurns(program), atOnce = await runAtOnce(program, workers.options);
  assertEquals(steady(atOnce.result), steady(turns.result));
  assertEquals(atOnce.memory, turns.memory);
  return atOnce.result;
}

Deno.test("two queues hand over to each other 1,000 times", async () => {
  const { program, labels } = pingPong(1000);
  const { result, word } = await runAtOnce(program, workers.options);
  assertEquals([result.outcome, result.error], ["passed", undefined]);
  assertEquals([word(labels.address), word(labels.address + 8n)], [1000, 1000]);
  // Each label was caused by the one before it: that order is the only one.
  assertEquals(
    result.labels.map(({ queue, value }) => [queue, value]),
    Array.from({ length: 2000 }, (_, i) => [i % 2 === 0 ? 0 : 0x20, BigInt((i >> 1) + 1)]),
  );
});

Deno.test("a producer, a worker and a consumer on three queues do as in turns", async () => {
  const { program, results, expected } = chain(40);
  await bothWays(program);
  const { memory } = await runAtOnce(program, workers.options);
  const bytes = memory.get(results.address)!;
  assertEquals(new Uint32Array(bytes.buffer, 0, expected.length), expected);
});

Deno.test("twenty random programs whose labels form a graph do as in turns", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const program = randomProgram(seed);
    const result = await bothWays(program);
    assertEquals([result.outcome, result.error?.message], ["passed", undefined], `seed ${seed}`);
  }
  assertEquals(workers.count, 4, "as many as there are queues at most: workers serve one run after another");
});

Deno.test("every write of the command processor ends the wait of another queue", async () => {
  for (const way of ["writeData", "writeData64", "fill", "copy", "release"] as const) {
    const guest = new GuestProgram(way), words = guest.buffer(Uint32Array.of(0, 0, 0, 0, 7, 8));
    const go = words.address, label = go + 8n, source = go + 16n;
    const packets = {
      writeData: writeData(label, 7),
      writeData64: writeData(label, 7, 8),
      fill: dmaFill(label, 4, 7),
      copy: dmaCopy(label, source, 8),
      release: releaseMem32(label, 7),
    };
    // The write is its queue's last packet, and comes when the other queue waits already.
    guest.submit(0x20, writeData(go, 1), waitMemoryEquals(label, 7));
    guest.submit(0x21, waitMemoryEquals(go, 1), packets[way]);
    const { result } = await runAtOnce(guest.program, workers.options);
    assertEquals([result.outcome, result.error?.message], ["passed", undefined], way);
  }
});

Deno.test("a queue waits for what another queue's shader stores, though no packet says so", async () => {
  const guest = new GuestProgram("store"), copy = guest.code(COPY);
  const source = guest.buffer(Uint32Array.of(0xffff_fff0, 1)), label = guest.buffer(new Uint32Array(2));
  const seen = guest.buffer(new Uint32Array(1)), never = guest.buffer(new Uint32Array(1));
  guest.submit(0x20, waitMemoryAtLeast64(label.address, 0x1_ffff_fff0n), writeData(seen.address, 0x5ee));
  // The store is the last thing that its queue does but a wait; and then the very last.
  const store = [
    ...computeState({
      code: copy,
      userData: [...words64(source.address), ...words64(label.address), 0],
      threads: [2, 1, 1],
    }),
    ...dispatchDirect([1, 1, 1]),
  ];
  guest.submit(0x57, store, waitMemoryEquals(seen.address, 0x5ee));
  const result = await bothWays(guest.program);
  assertEquals([result.outcome, result.error?.message], ["passed", undefined]);
  const last = new GuestProgram("last"), code = last.code(COPY);
  const from = last.buffer(Uint32Array.of(1, 0)), to = last.buffer(new Uint32Array(2));
  last.submit(0x20, waitMemoryEquals(to.address, 1));
  last.submit(
    0x57,
    computeState({ code, userData: [...words64(from.address), ...words64(to.address), 0], threads: [2, 1, 1] }),
    dispatchDirect([1, 1, 1]),
  );
  assertEquals((await bothWays(last.program)).error?.message, undefined);
  assert(never.bytes > 0);
});

Deno.test("several submissions of a queue run in order, with the registers that the one before left", async () => {
  const guest = new GuestProgram("submissions"), code = guest.code(STEP);
  const data = guest.buffer(new Uint32Array(64).fill(1)), label = guest.buffer(new Uint32Array(1)).address;
  guest.submit(0x20, computeState({ code, userData: [...words64(data.address), 5] }));
  guest.submit(0, waitMemoryEquals(label, 1), releaseMem32(label, 2));
  guest.submit(0x20, dispatchDirect([1, 1, 1]));
  guest.submit(0x20, releaseMem32(label, 1), waitMemoryEquals(label, 2), dispatchDirect([1, 1, 1]));
  guest.submit(0x20);
  const result = await bothWays(guest.program);
  assertEquals([result.outcome, result.submissions, result.dispatches, result.queues], ["passed", 5, 2, [0x20, 0]]);
});

Deno.test("waits that nothing can end are reported at once, as in turns: all of them, with packets and values", async () => {
  const guest = new GuestProgram("forever"), code = guest.code(STEP);
  const data = guest.buffer(new Uint32Array(64).fill(1)), labels = guest.buffer(new Uint32Array(8));
  const at = (i: number) => labels.address + BigInt(8 * i);
  const step = [...computeState({ code, userData: [...words64(data.address), 5] }), ...dispatchDirect([1, 1, 1])];
  // Queue 0x21 ends, the others wait: one for a value that another would only write later, one for one that was there too early.
  guest.submit(0x22, writeData(at(1), 1), waitMemoryEquals(at(2), 1), waitMemoryEquals(at(1), 2), writeData(at(0), 7));
  guest.submit(0, step, waitMemoryEquals(at(0), 7), step);
  guest.submit(0x21, releaseMem32(at(2), 1));
  guest.submit(0x23, waitMemoryEquals(at(2), 1), waitMemoryAtLeast64(at(3), 0x1_0000_0000n));
  guest.program.sourceFile = "own.json";
  const result = await bothWays({ ...guest.program, sourceFile: "own.json" });
  const { error } = result;
  assertInstanceOf(error, GuestFaultError);
  assertEquals([error.code, error.place.queue, error.place.file], ["driver.wait-forever", 0x22, "own.json"]);
  assertStringIncludes(
    error.message,
    `queue 0x22 waits for [0x${at(1).toString(16)}] & 0xffffffff == 0x2, it holds 0x1`,
  );
  assertStringIncludes(error.message, `>= 0x100000000, it holds 0x0`);
});

Deno.test("a queue that waits alone is reported at once, also before and behind queues that are done", async () => {
  for (const place of [0, 1, 2]) {
    const guest = new GuestProgram("alone"), label = guest.buffer(new Uint32Array(4)).address;
    for (let i = 0; i < 3; i++) {
      guest.submit(0x20 + i, i === place ? waitMemoryEquals(label, 9) : writeData(label + BigInt(4 * i + 4), i));
    }
    assertEquals((await bothWays(guest.program)).error?.code, "driver.wait-forever");
  }
});

Deno.test("errors of the guest are those of the run in turns: refused, malformed and faulting work", async () => {
  const code = (which: (guest: GuestProgram, copy: bigint, label: bigint) => void) => {
    const guest = new GuestProgram("errors"), copy = guest.code(COPY);
    which(guest, copy, guest.buffer(new Uint32Array(4)).address);
    return { ...guest.program, sourceFile: "own.json" };
  };
  const fault = (copy: bigint, label: bigint) => [
    ...computeState({ code: copy, userData: [...words64(0x6_0000_0000n), ...words64(label), 0] }),
    ...dispatchDirect([1, 1, 1]),
  ];
  const programs: [code: string, queue: number, program: Program][] = [
    // A wait for a queue that faults, and the fault before something that fails sooner.
    [
      "driver.memory-fault",
      0x20,
      code((guest, copy, label) => {
        guest.submit(0, waitMemoryEquals(label, 1));
        guest.submit(0x20, fault(copy, label), releaseMem32(label, 1));
      }),
    ],
    [
      "driver.memory-fault",
      0x20,
      code((guest, copy, label) => {
        guest.submit(0, waitMemoryEquals(label, 1));
        guest.submit(0x20, fault(copy, label), computeState({ code: 0n, userData: [] }), dispatchDirect([1, 1, 1]));
      }),
    ],
    // A fault at the very end of its queue.
    [
      "driver.memory-fault",
      0x21,
      code((guest, copy, label) => {
        guest.submit(0, waitMemoryEquals(label, 1));
        guest.submit(0x21, fault(copy, label));
      }),
    ],
    [
      "driver.no-program",
      0x20,
      code((guest, _, label) => {
        guest.submit(0x20, computeState({ code: 0n, userData: [] }), dispatchDirect([1, 1, 1]));
        guest.submit(0x30, waitMemoryEquals(label, 1));
      }),
    ],
    [
      "memory.unmapped",
      0x20,
      code((guest, _, label) => {
        guest.submit(0x30, waitMemoryEquals(label, 1));
        guest.submit(0x20, writeData(0x7_0000_0000n, 1));
      }),
    ],
    // Nothing runs where one submission is malformed, or its queue is none.
    [
      "pm4.unknown-packet",
      0x20,
      code((guest, _, label) => {
        guest.submit(0, writeData(label, 1));
        guest.submit(0x20, [0xc000_ff00, 0]);
      }),
    ],
    [
      "pm4.queue-number",
      0x11,
      code((guest, _, label) => {
        guest.submit(0, writeData(label, 1));
        guest.submit(0x11, writeData(label, 1));
      }),
    ],
  ];
  for (const [expected, queue, program] of programs) {
    const result = await bothWays(program);
    assertEquals([result.error?.code, result.error?.place.queue], [expected, queue]);
  }
});

Deno.test("memory that cannot be mapped is the guest's failure, and isolates end", async () => {
  const { program } = pingPong(1);
  const again = { ...program, memory: [...program.memory, { ...program.memory[0], name: "again" }] };
  const { result } = await runAtOnce(again, workers.options);
  assertEquals([result.outcome, result.error?.code], ["failed", "memory.overlap"]);
});

Deno.test("a submission is announced when it is handed over, once, in the program's order", async () => {
  const { program } = chain(2), announced: number[] = [];
  await runAtOnce(program, {
    ...workers.options,
    announce: ({ submission, root }) => void announced.push(submission.queue, root.words.length),
  });
  assertEquals(announced, program.submissions.flatMap(({ queue, words }) => [queue, words.length]));
});
