/** The known answers of the compile budget's contract, over real isolates. */
import { assertEquals } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { IsolateRegistry } from "../../src/sync/isolates.ts";
import { JobBoard } from "../../src/sync/job_board.ts";
import { reached, signal, startIsolate, sweepUntil, warmUp } from "./support/isolate.ts";

const libc = () =>
  Deno.dlopen("libc.so.6", {
    pipe: { parameters: ["buffer"], result: "i32" },
    write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
    close: { parameters: ["i32"], result: "i32" },
  });

function setUp(limitBytes: number) {
  const registry = IsolateRegistry.create(16);
  const self = registry.enter();
  const arena = Arena.create(self, { bytes: 1 << 18, blobs: 64 });
  const board = JobBoard.create(self, arena, { pools: [{ workers: 4 }], limitBytes });
  const flags = new Int32Array(new SharedArrayBuffer(64));
  return { registry, self, arena, board, flags };
}

/** Waits until so many requests are in the budget's line. */
async function waiting(board: JobBoard, requests: number): Promise<void> {
  for (let tries = 0; board.stats().budget.waiting !== requests; tries++) {
    if (tries > 10_000) throw new Error(`${board.stats().budget.waiting} requests wait, not ${requests}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

for (
  const [name, limit, bytes, isolates, peak] of [
    ["eight 40-byte holds under a 100-byte limit never hold more than 80 bytes at once", 100, 40, 8, 80],
    ["limit 0 runs holds of several isolates one at a time", 0, 40, 4, 40],
    ["500-byte holds under a 100-byte limit run alone", 100, 500, 4, 500],
  ] as const
) {
  Deno.test(`${name}, in ${isolates} isolates`, async () => {
    const structures = setUp(limit);
    const { board, flags, registry } = structures;
    await warmUp(structures);
    const running = Array.from({ length: isolates }, () => startIsolate(structures, "holdInTurns", bytes, 10));
    await reached(flags, 0, isolates);
    signal(flags, 1);
    await Promise.all(running.map(({ result }) => result));
    // Bytes at once as the holders themselves counted them, and as the budget did.
    assertEquals([flags[5], flags[4]], [peak, 0]);
    const { budget } = board.stats();
    assertEquals([budget.peak, budget.held, budget.granted, budget.waiting], [peak, 0, isolates * 10, 0]);
    await sweepUntil(registry, 1);
  });
}

Deno.test("a waiting 500-byte hold of one isolate keeps out another's 40-byte hold that would fit, and runs first", async () => {
  const structures = setUp(100);
  const { board, registry } = structures;
  await warmUp(structures);
  const hold = board.hold(40)!;
  const large = startIsolate(structures, "holdOnce", 500);
  await waiting(board, 1);
  const small = startIsolate(structures, "holdOnce", 40);
  await waiting(board, 2);
  assertEquals(board.stats().budget.held, 40, "40 more would fit");
  board.releaseHold(hold);
  assertEquals(await Promise.all([large.result, small.result]), [0, 1], "the order of the grants");
  assertEquals(board.stats().budget.peak, 500);
  await sweepUntil(registry, 1);
});

Deno.test("an isolate that is terminated inside a native call keeps its bytes until the call returns, and they are given back once", async () => {
  const structures = setUp(100);
  const { board, flags, registry } = structures;
  await warmUp(structures);
  const native = libc(), ends = new Int32Array(2);
  assertEquals(native.symbols.pipe(new Uint8Array(ends.buffer)), 0);
  const { worker } = startIsolate(structures, "holdThroughCall", 60, ends[0]);
  await reached(flags, 0, 1);
  worker.terminate();
  for (let i = 0; i < 20; i++) {
    assertEquals(registry.sweep(), [], "its compile has not ended");
    assertEquals(board.stats().budget.held, 60);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  native.symbols.write(ends[1], new Uint8Array(1), 1n);
  const deaths = await sweepUntil(registry, 1);
  // Whether its `finally` still ran is V8's matter: if not, the sweep gives back what it had not.
  const bySweep = deaths.map(({ released }) => released["job board"] ?? 0).reduce((a, b) => a + b, 0);
  assertEquals(bySweep + flags[2], 1);
  const { budget, claimed, queued } = board.stats();
  assertEquals([budget.held, budget.holds, claimed, queued, board.check()], [0, 0, 0, 0, undefined]);
  for (const end of ends) native.symbols.close(end);
  native.close();
});
