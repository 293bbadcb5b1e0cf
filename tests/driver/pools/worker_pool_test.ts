import { assert, assertEquals, assertRejects } from "@std/assert";
import { createRoom, Pool, type Room } from "../../../src/driver/pools/room.ts";
import { WorkerPool, type WorkerPoolOptions } from "../../../src/driver/pools/worker_pool.ts";
import { HostError } from "../../../src/errors.ts";

/** What a job's submitter is told. */
async function outcome(room: Room, kind: number): Promise<unknown> {
  const ticket = room.board.submit({ pool: Pool.Preparation, kind, keep: true });
  const outcome = await room.board.waitAsync(ticket);
  room.board.release(ticket);
  if (outcome.state === "failed") throw outcome.error;
  return outcome.state === "done" ? outcome.value : outcome.state;
}

/** A pool of one worker, of which so many end without a word there. */
function silentPool(room: Room, where: string, silent: number, options: Partial<WorkerPoolOptions> = {}) {
  Deno.env.set("SILENT_WORKERS", String(silent));
  const deaths: string[] = [], lines: string[] = [];
  const pool = new WorkerPool(room, {
    name: "preparation",
    module: new URL(`./silent_worker.ts?where=${where}`, import.meta.url),
    pool: Pool.Preparation,
    workers: 1,
    sweepMs: 10,
    onDeath: (_, message) => void deaths.push(message),
    onLog: (line) => void lines.push(line),
    ...options,
  });
  return { pool, deaths, lines };
}

const newRoom = () => createRoom({ workers: [1, 1, 1], arenaBytes: 1 << 26 });

async function end(room: Room, pool: WorkerPool) {
  room.board.stop("finish");
  assert(await pool.stopped());
  const { kept, pins, queued, claimed } = room.board.stats();
  assertEquals([room.registry.stats().live, room.board.check(), kept, pins, queued, claimed], [
    1,
    undefined,
    0,
    0,
    0,
    0,
  ]);
}

const WITHOUT_WORD = "its thread ended without a word";

for (const where of ["at-once", "entered", "ready"]) {
  const message = `${WITHOUT_WORD}${where === "ready" ? "" : ", before it was ready"}`;
  Deno.test(`a worker that ends without a word (${where}) is noticed, and another one takes its jobs over`, async () => {
    const room = newRoom(), { pool, deaths, lines } = silentPool(room, where, 1);
    assertEquals(await outcome(room, 5), 5n);
    await pool.ready();
    assertEquals([deaths.includes(message), pool.size, pool.failure, lines], [true, 1, undefined, []]);
    await end(room, pool);
  });
}

Deno.test("a pool whose workers keep ending without a word says so to who waits, then and later", async () => {
  const room = newRoom(), { pool, lines } = silentPool(room, "at-once", 100, { restarts: 1 });
  const said = `workers of preparation keep dying; the last said: ${WITHOUT_WORD}, before it was ready`;
  for (const kind of [1, 2]) {
    const error = await assertRejects(() => outcome(room, kind), HostError, said);
    assertEquals([error.code, pool.failure?.message, lines], ["driver.pool", said, [said]]);
  }
  await assertRejects(() => pool.ready(), HostError, said);
  room.board.submit({ pool: Pool.Preparation, kind: 3 });
  assertEquals(await pool.drained(), false);
  room.board.stop("cancel");
  assert(await pool.stopped());
});

Deno.test("jobs that are to be finished when the board is stopped are, also if the worker dies over one", async () => {
  const room = newRoom(), { pool } = silentPool(room, "ready", 1);
  await pool.ready();
  for (const kind of [1, 2, 3]) room.board.submit({ pool: Pool.Preparation, kind });
  await end(room, pool);
  assertEquals(room.board.stats().done, 3);
});

Deno.test("a worker whose thread has ended before main heard its last word has not died", async () => {
  const room = newRoom(), { Worker } = globalThis;
  let worker: { onmessage?: (event: { data: string }) => void } | undefined;
  // Its thread is gone already; what it said is still on its way.
  globalThis.Worker = class {
    constructor() {
      worker = this as unknown as typeof worker;
    }
    postMessage() {}
  } as unknown as typeof Worker;
  let pool: WorkerPool, deaths: string[];
  try {
    ({ pool, deaths } = silentPool(room, "nowhere", 0, { sweepMs: 20, restarts: 0 }));
  } finally {
    globalThis.Worker = Worker;
  }
  // After two looks.
  await new Promise((resolve) => setTimeout(resolve, 50));
  assertEquals([deaths, pool.size], [[], 1]);
  worker!.onmessage!({ data: "done" });
  assertEquals([pool.size, pool.failure], [0, undefined]);
  room.board.stop("finish");
  assert(await pool.stopped());
});

Deno.test("a pool whose workers cannot be started has given up, and says so to who waits", async () => {
  const room = newRoom(), { Worker } = globalThis;
  globalThis.Worker = class {
    constructor() {
      throw new TypeError("no more threads");
    }
  } as unknown as typeof Worker;
  let pool: WorkerPool, lines: string[];
  try {
    ({ pool, lines } = silentPool(room, "nowhere", 0));
  } finally {
    globalThis.Worker = Worker;
  }
  const error = await assertRejects(() => outcome(room, 1), HostError, "no more threads");
  assertEquals([lines, await pool.drained()], [[error.message], true]);
  room.board.submit({ pool: Pool.Preparation, kind: 2 });
  assertEquals(await pool.drained(), false);
  room.board.stop("cancel");
  assert(await pool.stopped());
});
