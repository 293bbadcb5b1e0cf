import { assert, assertEquals } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { IsolateRegistry } from "../../src/sync/isolates.ts";
import { JobBoard } from "../../src/sync/job_board.ts";
import { reached, startIsolate, sweepUntil, warmUp } from "./support/isolate.ts";
import { Members } from "./support/members.ts";

/** So long that a waiter that nobody wakes does not wake in this test. */
const NEVER_MS = 600_000;
/** When the test says that a waiter was not woken. */
const PATIENCE_MS = 10_000;

function setUp() {
  const members = new Members(1);
  const arena = Arena.create(members.isolates[0], { bytes: 1 << 16, blobs: 64 });
  const options = { pools: [{ workers: 2 }], jobs: 16, limitBytes: 100 };
  return JobBoard.create(members.isolates[0], arena, options, NEVER_MS);
}

/** What comes first: the promise, or the end of patience. */
async function soon<T>(promise: Promise<T>): Promise<T | "nobody woke it"> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<"nobody woke it">((resolve) =>
    timer = setTimeout(() => resolve("nobody woke it"), PATIENCE_MS)
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer!);
  }
}

for (
  const [how, end, state] of [
    ["finished", (board: JobBoard, ticket: number) => board.finish(board.claim(ticket)!.ticket, 5n), "done"],
    ["failed", (board: JobBoard, ticket: number) => board.fail(board.claim(ticket)!.ticket, new Error("x")), "failed"],
    ["cancelled", (board: JobBoard, ticket: number) => board.cancel(ticket), "cancelled"],
  ] as const
) {
  Deno.test(`a job that is ${how} wakes all who wait for it, at once`, async () => {
    const board = setUp();
    const ticket = board.submit({ pool: 0, kind: 1, keep: true });
    const waiters = Array.from({ length: 4 }, () => soon(board.waitAsync(ticket)));
    // They sleep now: waitAsync gives control back only there.
    end(board, ticket);
    const outcomes = await Promise.all(waiters);
    assertEquals(
      outcomes.map((outcome) => typeof outcome === "string" ? outcome : outcome.state),
      Array(4).fill(state),
    );
    board.release(ticket);
    assertEquals([board.stats().kept, board.stats().pins], [0, 0]);
  });
}

Deno.test("the last job of a pool wakes who waits for the pool to drain, at once", async () => {
  const board = setUp();
  const ticket = board.submit({ pool: 0, kind: 1 });
  const drained = soon(board.drainAsync(0));
  board.finish(board.claim(ticket)!.ticket);
  assertEquals(await drained, true);
});

Deno.test("who needs a job that is put back by who ran it is woken at once, and runs it", async () => {
  const registry = IsolateRegistry.create(16);
  const self = registry.enter();
  const arena = Arena.create(self, { bytes: 1 << 16, blobs: 64 });
  const board = JobBoard.create(self, arena, { pools: [{ workers: 2 }], jobs: 16, limitBytes: 100 });
  const flags = new Int32Array(new SharedArrayBuffer(64));
  const structures = { registry, arena, board, flags };
  await warmUp(structures);
  const ticket = board.submit({ pool: 0, kind: 1, keep: true });
  board.claim(ticket);
  const helper = startIsolate(structures, "helpOnce", ticket);
  await reached(flags, 0, 1);
  // It keeps the job, as this isolate does, and sleeps a moment later.
  for (let tries = 0; board.stats().pins < 2; tries++) {
    assert(tries < 10_000);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
  board.requeue(ticket, 500);
  const { outcome, sleeps } = await helper.result as { outcome: { state: string; value: bigint }; sleeps: number };
  // Sleeps that ended by the interval after which a sleeper looks whether the other one lives come before; after it there is none.
  assertEquals([outcome.state, outcome.value], ["done", 9n]);
  assert(sleeps <= 1, `${sleeps} sleeps`);
  assertEquals(board.wait(ticket, 0).state, "done");
  board.release(ticket);
  await sweepUntil(registry, 1);
});
