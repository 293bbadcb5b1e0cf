import { assert, assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { JobBoard } from "../../src/sync/job_board.ts";
import type { ClaimedJob } from "../../src/sync/job_types.ts";
import { KeyedTable } from "../../src/sync/keyed_table.ts";
import { setStepHook } from "../../src/sync/steps.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { Death, Members } from "./support/members.ts";

const POOL = { pools: [{ workers: 4 }], jobs: 16, limitBytes: 100 };

/** A board as several members have it; `boards[0]` is the supervisor's. */
function setUp(count: number, bytes = 1 << 20) {
  const members = new Members(count);
  const arenas = [Arena.create(members.isolates[0], { bytes, blobs: 256 })];
  const boards = [JobBoard.create(members.isolates[0], arenas[0], POOL, 1)];
  for (const isolate of members.isolates.slice(1)) {
    arenas.push(Arena.attach(isolate, arenas[0].handle));
    boards.push(JobBoard.attach(isolate, arenas.at(-1)!, boards[0].handle, 1));
  }
  return { members, arena: arenas[0], arenas, boards };
}

const split = (blob: number) => [blob % 2 ** 32 | 0, Math.floor(blob / 2 ** 32)];
const join = (payload: readonly number[]) => (payload[0] >>> 0) + payload[1] * 2 ** 32;

/** Queues a job with two blobs; `arena` and `board` are one member's. */
function submit(arena: Arena, board: JobBoard, keep = false): number {
  const blobs = [Uint8Array.of(1), Uint8Array.of(2, 2)].map((bytes) => arena.append(bytes));
  return board.submit({ pool: 0, kind: 1, payload: blobs.flatMap(split), blobs: 2, keep });
}

const read = (arena: Arena, { payload }: ClaimedJob) =>
  [payload, payload.slice(2)].map((words) => [...arena.read(join(words))]);

Deno.test("a job's blobs are retired when it has ended, however it ends", () => {
  type Ending = (board: JobBoard, ticket: number, setUpOf: ReturnType<typeof setUp>) => void;
  const endings: Record<string, Ending> = {
    done: (board, ticket) => board.finish(board.claim(ticket)!.ticket),
    failed: (board, ticket) => board.fail(board.claim(ticket)!.ticket, new RangeError("no")),
    cancelled: (board, ticket) => assert(board.cancel(ticket)),
    "cancelled with the board": (board) => board.stop("cancel"),
    "nobody is left to run it": (board) => board.failKept(0, new RangeError("gone")),
    "died over twice": (board, ticket, { members, arenas }) => {
      for (let death = 0; death < 2; death++) {
        const isolate = members.enter(), arena = Arena.attach(isolate, arenas[0].handle);
        const job = JobBoard.attach(isolate, arena, board.handle, 1).claim(ticket)!;
        assertEquals(read(arena, job), [[1], [2, 2]], "the second one has them still");
        members.kill(isolate);
        members.registry.sweep();
      }
    },
  };
  for (const [name, end] of Object.entries(endings)) {
    const all = setUp(1), { arena, boards: [board] } = all, ticket = submit(arena, board, true);
    assertEquals(arena.stats().blobs, 2);
    end(board, ticket, all);
    const outcome = board.wait(ticket, 0);
    assert(outcome.state !== "timed-out", name);
    // The outcome is kept; of the blobs, only an error is left.
    assertEquals([arena.stats().blobs, name], [outcome.state === "failed" ? 1 : 0, name]);
    board.release(ticket);
    assertEquals([arena.stats().blobs, board.check(), arena.check(), name], [0, undefined, undefined, name]);
  }
});

Deno.test("a job's blobs outlive who submitted it, and who puts it back", () => {
  const { members, arena, arenas, boards } = setUp(3), ticket = submit(arenas[1], boards[1]);
  members.kill(members.isolates[1]);
  members.registry.sweep();
  boards[2].requeue(boards[2].claim(ticket)!.ticket, 10);
  const job = boards[0].tryTake(0)!;
  assertEquals([read(arena, job), job.admitted], [[[1], [2, 2]], true]);
  boards[0].finish(ticket);
  assertEquals(arena.stats().blobs, 0);
});

Deno.test("wherever an isolate dies while it submits, cancels or ends a job, no blob is left behind", () => {
  let deaths = 0;
  for (const action of ["submit", "cancel", "finish", "fail"] as const) {
    for (let at = 0;; at++) {
      const { members, arena, arenas, boards } = setUp(2), [, own] = boards, where = `${action}, step ${at}`;
      const before = action === "submit" ? 0 : submit(arenas[1], own);
      if (action === "finish" || action === "fail") own.claim(before);
      let steps = 0, died = false;
      setStepHook(() => {
        if (steps++ === at) throw new Death();
      });
      try {
        if (action === "submit") submit(arenas[1], own);
        if (action === "cancel") own.cancel(before);
        if (action === "finish") own.finish(before);
        if (action === "fail") own.fail(before, new RangeError("no"));
      } catch (error) {
        assertInstanceOf(error, Death, where);
        died = true;
      }
      setStepHook(undefined);
      if (!died) {
        assert(at > 3, where);
        break;
      }
      deaths++;
      members.kill(members.isolates[1]);
      members.registry.sweep();
      for (let job = boards[0].tryTake(0); job !== undefined; job = boards[0].tryTake(0)) {
        // Who died right after queueing it had not given its blobs away.
        if (action !== "submit") assertEquals(read(arena, job), [[1], [2, 2]], where);
        boards[0].finish(job.ticket);
      }
      const { blobs, owned, pins } = arena.stats();
      const { kept, queued, claimed, submitted, done, failed, cancelled } = boards[0].stats();
      assertEquals(submitted, done + failed + cancelled, where);
      assertEquals([where, blobs, owned, pins, kept, queued, claimed], [where, 0, 0, 0, 0, 0, 0]);
      assertEquals([boards[0].check(), arena.check()], [undefined, undefined], where);
    }
  }
  assert(deaths > 30, `${deaths}`);
});

Deno.test("when the queued jobs of a stopped board are cancelled, those that would be put back or taken over are as well", () => {
  const { members, arena, arenas, boards: [main, worker, dying] } = setUp(3), jobs = [main, worker, dying];
  const tickets = jobs.map(() => submit(arenas[0], main, true));
  jobs.forEach((board, i) => board.claim(tickets[i]));
  main.stop("cancel");
  worker.requeue(tickets[1], 10);
  members.kill(members.isolates[2]);
  members.registry.sweep();
  main.finish(tickets[0]); // what runs comes to its end
  assertEquals(tickets.map((ticket) => main.wait(ticket, 0).state), ["done", "cancelled", "cancelled"]);
  assertEquals([main.take(0, 0), worker.take(0, 0)], ["stopped", "stopped"]);
  for (const ticket of tickets) main.release(ticket);
  assertEquals([main.stats().kept, arena.stats().blobs, main.check()], [0, 0, undefined]);
});

Deno.test("an error that was put down by who died before the job had ended is not left behind", () => {
  for (const again of ["fails", "is done"] as const) {
    const { members, arena, arenas, boards: [main, worker] } = setUp(2);
    const ticket = main.submit({ pool: 0, kind: 1, keep: true }), { share } = arenas[1];
    worker.claim(ticket);
    arenas[1].share = (reference) => {
      share.call(arenas[1], reference);
      throw new Death();
    };
    assertThrows(() => worker.fail(ticket, new RangeError("first")), Death);
    members.kill(members.isolates[1]);
    members.registry.sweep();
    assertEquals(arena.stats().blobs, 1);
    main.claim(ticket);
    if (again === "is done") main.finish(ticket);
    else main.fail(ticket, new RangeError("second"));
    const outcome = main.wait(ticket, 0);
    if (outcome.state === "failed") assertEquals((outcome.error as Error).message, "second");
    main.release(ticket);
    assertEquals([arena.stats().blobs, main.check()], [0, undefined], again);
  }
});

/** Takes all that is left of an arena. */
function fill(arena: Arena): void {
  for (let bytes = 1 << 12; bytes >= 1; bytes >>= 1) {
    try {
      for (;;) arena.append(new Uint8Array(bytes));
    } catch (error) {
      assertEquals((error as SyncError).code, "sync.arena-full");
    }
  }
}

function assertLost(error: unknown, what: string): void {
  assertInstanceOf(error, SyncError);
  assertEquals(error.code, "sync.error-lost");
  assert(error.message.startsWith(what), error.message);
}

Deno.test("with the arena full a job fails all the same: who runs it, a death over it, and a pool that is gone end it", () => {
  const { members, arena, arenas, boards } = setUp(3, 1 << 12), [main, first, second] = boards;
  const tickets = [0, 1, 2].map(() => main.submit({ pool: 0, kind: 1, keep: true, deaths: 1 }));
  fill(arena);
  assertThrows(() => arenas[1].append(Uint8Array.of(1)), SyncError, "no room");
  first.claim(tickets[0]);
  first.fail(tickets[0], new RangeError("details"));
  second.claim(tickets[1]);
  members.kill(members.isolates[2]);
  assertEquals(members.registry.sweep().length, 1);
  main.failKept(0, new RangeError("gone"));
  for (const ticket of tickets) {
    const outcome = main.wait(ticket, 0);
    assertEquals(outcome.state, "failed");
    assertLost((outcome as { error: unknown }).error, `job ${ticket} failed`);
    main.release(ticket);
  }
  assertEquals([main.check(), main.stats().kept], [undefined, 0]);
});

Deno.test("with the arena full a creation fails all the same, and its waiters are told", () => {
  const { members, arena } = setUp(1, 1 << 12);
  const table = KeyedTable.create(members.isolates[0], arena, { name: "things", capacity: 4 }, 1);
  fill(arena);
  const key = Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  const creator = table.begin(key), waiter = table.begin(key);
  assertEquals([creator.state, waiter.state], ["create", "building"]);
  table.fail(creator.reference, new RangeError("details"));
  const ended = table.wait(waiter.reference, 0);
  assertEquals(ended.state, "failed");
  assertLost((ended as { error: unknown }).error, "a creation for things failed");
  for (const { pin } of [creator, waiter]) table.unpin(pin);
  assertEquals([table.begin(key).state, table.check()], ["create", undefined]);
});
