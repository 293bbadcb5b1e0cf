/** An isolate that dies after it has ended something, and before it wakes who waits for that: the sweep does it in its place. */
import { assertEquals, assertThrows } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { JobBoard } from "../../src/sync/job_board.ts";
import { KeyedTable } from "../../src/sync/keyed_table.ts";
import { setStepHook } from "../../src/sync/steps.ts";
import { Death, Members } from "./support/members.ts";

/** So long that a sleeper that nobody wakes does not wake in this test. */
const NEVER_MS = 600_000;
/** When the test says that nobody woke it. */
const PATIENCE_MS = 10_000;
const KEY = Uint32Array.of(1);

/** Three members, the first one the supervisor, the second one to die, the third one to wait. */
function setUp() {
  const members = new Members(3), [main, dying, waiting] = members.isolates;
  const arena = Arena.create(main, { bytes: 1 << 16, blobs: 64 });
  const board = JobBoard.create(main, arena, { pools: [{ workers: 2 }], jobs: 4 }, NEVER_MS);
  const table = KeyedTable.create(main, arena, { name: "table", capacity: 4, keyWords: 1 }, NEVER_MS);
  const of = (isolate: typeof main) => {
    const its = Arena.attach(isolate, arena.handle);
    return {
      board: JobBoard.attach(isolate, its, board.handle, NEVER_MS),
      table: KeyedTable.attach(isolate, its, "table", table.handle, NEVER_MS),
    };
  };
  const die = (point: string, action: () => void) => {
    setStepHook((at) => {
      if (at === point) throw new Death();
    });
    assertThrows(action, Death);
    setStepHook(undefined);
    members.kill(dying);
  };
  return { members, board, table, arena, die, dying: of(dying), waiting: of(waiting) };
}

async function soon<T>(promise: Promise<T>): Promise<T | "nobody woke it"> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<"nobody woke it">((resolve) => {
    timer = setTimeout(() => resolve("nobody woke it"), PATIENCE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer!);
  }
}

for (
  const [point, state, end] of [
    ["table.published", "ready", (table: KeyedTable, reference: number) => table.publish(reference, 9n)],
    ["table.ended", "abandoned", (table: KeyedTable, reference: number) => table.abandon(reference)],
    ["table.ended", "failed", (table: KeyedTable, reference: number) => table.fail(reference, new RangeError("no"))],
  ] as const
) {
  Deno.test(`who waits for a creation that is ${state} is woken, if its creator dies at ${point}`, async () => {
    const { members, table, arena, die, dying, waiting } = setUp();
    const { reference } = dying.table.begin(KEY), begun = waiting.table.begin(KEY);
    const ended = soon(waiting.table.waitAsync(begun.reference));
    die(point, () => end(dying.table, reference));
    members.registry.sweep();
    const outcome = await ended;
    assertEquals(typeof outcome === "string" ? outcome : outcome.state, state);
    waiting.table.unpin(begun.pin);
    assertEquals([table.stats().building, table.stats().pins, table.check()], [0, 0, undefined]);
    assertEquals(arena.stats().blobs, 0);
  });
}

Deno.test("who waits for a job that is put back is woken, if who put it back dies over it", async () => {
  const { members, board, die, dying, waiting } = setUp();
  const ticket = board.submit({ pool: 0, kind: 1, keep: true });
  dying.board.claim(ticket);
  const { waitAsync } = Atomics;
  let sleeps = 0;
  const woken = new Promise<void>((resolve) => {
    Atomics.waitAsync = ((...parameters: Parameters<typeof waitAsync>) => {
      if (++sleeps === 2) resolve();
      return waitAsync(...parameters);
    }) as typeof waitAsync;
  });
  try {
    const ended = soon(waiting.board.waitAsync(ticket));
    assertEquals(sleeps, 1);
    die("board.requeued", () => dying.board.requeue(ticket, 10));
    members.registry.sweep();
    // It wakes, and sleeps again: it does not help. Who helps would claim it.
    assertEquals(await soon(woken), undefined);
    board.finish(board.claim(ticket)!.ticket);
    assertEquals((await ended as { state: string }).state, "done");
  } finally {
    Atomics.waitAsync = waitAsync;
  }
  board.release(ticket);
});

for (const point of ["board.ended", "board.counted", "board.freed"]) {
  Deno.test(`who waits for a pool to drain is woken, if the last job's worker dies at ${point}`, async () => {
    const { members, board, die, dying, waiting } = setUp();
    board.submit({ pool: 0, kind: 1 });
    const { ticket } = dying.board.tryTake(0)!;
    const drained = soon(waiting.board.drainAsync(0));
    die(point, () => dying.board.finish(ticket));
    members.registry.sweep();
    assertEquals(await drained, true);
    assertEquals(board.check(), undefined);
  });
}

Deno.test("what an isolate announced and died before it had queued a job for it can be announced by others", () => {
  const { members, board, table, dying, waiting } = setUp();
  const queued = Uint32Array.of(2);
  dying.table.announce(KEY);
  dying.table.setJob(dying.table.announce(queued)!, board.submit({ pool: 0, kind: 1 }));
  members.kill(members.isolates[1]);
  assertEquals(waiting.table.announce(KEY), undefined, "somebody has");
  assertEquals(members.registry.sweep().map(({ released }) => released), [{ table: 1 }]);
  assertEquals([table.peek(KEY), table.peek(queued)], [undefined, "pending"]);
  assertEquals([typeof waiting.table.announce(KEY), table.check()], ["number", undefined]);
});
