import { assert, assertEquals, assertThrows } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { encodeError } from "../../src/sync/error_data.ts";
import { IsolateRegistry } from "../../src/sync/isolates.ts";
import { type ClaimedJob, JobBoard, type JobBoardOptions } from "../../src/sync/mod.ts";
import { setStepHook } from "../../src/sync/steps.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { originalError } from "./support/actions.ts";
import { reached, signal, startIsolate, sweepUntil, warmUp } from "./support/isolate.ts";
import { Death, Members } from "./support/members.ts";

/** A board attached by several members: `boards[0]` is the supervisor's. */
function setUp(count: number, options: JobBoardOptions) {
  const members = new Members(count);
  const arena = Arena.create(members.isolates[0], { bytes: 1 << 20, blobs: 256 });
  const boards = [JobBoard.create(members.isolates[0], arena, { jobs: 64, ...options }, 1)];
  for (let i = 1; i < count; i++) {
    const other = Arena.attach(members.isolates[i], arena.handle);
    boards.push(JobBoard.attach(members.isolates[i], other, boards[0].handle, 1));
  }
  return { members, arena, boards };
}

const ONE_POOL = { pools: [{ workers: 4 }], limitBytes: 100 };

function kinds(board: JobBoard, pool = 0): number[] {
  const result: number[] = [];
  for (let job = board.tryTake(pool); job !== undefined; job = board.tryTake(pool)) result.push(job.kind);
  return result;
}

Deno.test("a job is run by exactly one isolate: who claims it first", () => {
  const { boards: [a, b, c] } = setUp(3, ONE_POOL);
  const ticket = a.submit({ pool: 0, kind: 7, payload: [1, -2, 3, 4], keep: true });
  const job = b.claim(ticket)!;
  assertEquals([job.kind, job.payload], [7, [1, -2, 3, 4]]);
  assertEquals([c.claim(ticket), c.tryTake(0)], [undefined, undefined]);
  assertThrows(() => c.finish(ticket), SyncError, "not claimed by this isolate");
  b.finish(ticket, 0xfedcba98_76543210n);
  assertEquals(a.wait(ticket, 5000), { state: "done", value: 0xfedcba98_76543210n });
  assertThrows(() => b.finish(ticket), SyncError, "not claimed by this isolate");
  a.release(ticket);
  assertEquals([a.stats().kept, a.stats().pins], [0, 0]);
});

Deno.test("without a limit given, the budget is 8,192 KiB", () => {
  const { boards: [a] } = setUp(1, { pools: [{ workers: 8 }] });
  assertEquals(a.stats().budget.limit, 8192 * 1024);
});

Deno.test("workers take the most urgent job first and the oldest of those", () => {
  const { boards: [a] } = setUp(1, ONE_POOL);
  for (const [kind, priority] of [[1, 4], [2, 2], [3, 4], [4, 0], [5, 2]]) a.submit({ pool: 0, kind, priority });
  assertEquals(kinds(a), [4, 2, 5, 1, 3]);
});

Deno.test("a job's priority rises when somebody names it, and never falls", () => {
  const { boards: [a] } = setUp(1, ONE_POOL);
  const tickets = [1, 2, 3].map((kind) => a.submit({ pool: 0, kind, bytes: kind === 3 ? 10 : undefined }));
  assert(a.raise(tickets[2], 1));
  assert(!a.raise(tickets[2], 5));
  assert(a.raise(tickets[1], 3));
  assertEquals(kinds(a), [3, 2, 1]);
  assert(!a.raise(tickets[0], 0), "it runs already");
});

Deno.test("with W workers and W blocking budgeted jobs exactly half start, and a plain job queued behind them runs", () => {
  for (const [workers, starts] of [[4, 2], [1, 1], [2, 1], [3, 1], [12, 6]]) {
    const { boards } = setUp(1, { pools: [{ workers }], limitBytes: 1e9 });
    const [a] = boards;
    for (let i = 0; i < workers; i++) a.submit({ pool: 0, kind: 1, bytes: 10 });
    a.submit({ pool: 0, kind: 2 });
    const running: ClaimedJob[] = [];
    let plain = 0;
    for (let worker = 0; worker < workers; worker++) {
      const job = a.tryTake(0);
      if (job?.kind === 1) running.push(job);
      if (job?.kind === 2) plain++;
    }
    assertEquals([workers, running.length, plain], [workers, starts, workers >= 2 ? 1 : 0]);
    let finished = 0;
    while (running.length > 0) {
      a.finish(running.shift()!.ticket);
      finished++;
      for (let job = a.tryTake(0); job !== undefined; job = a.tryTake(0)) running.push(job);
      assert(a.stats().budgetedRunning <= starts);
      assertEquals(a.check(), undefined);
    }
    assertEquals(
      [finished, a.stats().done],
      [workers + (workers >= 2 ? 0 : 1), finished].map((n, i) => i ? a.stats().done : n),
    );
    assertEquals(a.stats().queued, 0);
  }
});

Deno.test("a budgeted job that does not fit stays claimable, and the worker goes on to other jobs", () => {
  const { boards: [a, b] } = setUp(2, ONE_POOL);
  const [first, second] = [1, 2].map((kind) => a.submit({ pool: 0, kind, bytes: 80 }));
  a.submit({ pool: 0, kind: 3, priority: 7 });
  const running = a.tryTake(0)!;
  assertEquals(running.ticket, first);
  assertEquals(a.tryTake(0)?.kind, 3, "no worker blocks on the budget");
  assertEquals([a.stats().budget.waiting, a.stats().queued], [1, 1], "it waits in line, and is queued");
  assertEquals(b.claim(second)?.kind, 2, "who needs it runs it, while the budget is full");
  assertEquals([a.stats().budget.held, a.stats().budget.waiting, a.stats().claimedByNeed], [80, 0, 1]);
  b.finish(second);
  a.finish(first);
  assertEquals([a.stats().budget.held, a.check()], [0, undefined]);
});

Deno.test("with the budget full, a dispatch finishes whose prebuild is queued, waits for admission, or was never looked at", () => {
  const { boards: [a, b] } = setUp(2, { pools: [{ workers: 8 }], limitBytes: 100 });
  const blocking = a.submit({ pool: 0, kind: 0, bytes: 100 });
  assertEquals(a.tryTake(0)?.ticket, blocking);
  const waiting = a.submit({ pool: 0, kind: 1, bytes: 50 });
  assertEquals(a.tryTake(0), undefined);
  const behind = a.submit({ pool: 0, kind: 2, bytes: 10 });
  assertEquals(a.tryTake(0), undefined);
  const fresh = a.submit({ pool: 0, kind: 3, bytes: 500 });
  assertEquals(a.stats().budget.waiting, 1);
  for (const ticket of [fresh, behind, waiting]) {
    const job = b.claim(ticket);
    assert(job !== undefined);
    b.finish(job.ticket);
    assertEquals(a.stats().budget.held, 100, "the budget is still full");
    assertEquals(a.check(), undefined);
  }
});

Deno.test("a large job that waits keeps out later small ones, urgent ones too, and runs first", () => {
  const { boards: [a] } = setUp(1, { pools: [{ workers: 8 }], limitBytes: 100 });
  const small = a.submit({ pool: 0, kind: 1, bytes: 40 });
  assertEquals(kinds(a), [1]);
  const large = a.submit({ pool: 0, kind: 2, bytes: 500 });
  assertEquals(kinds(a), []);
  a.submit({ pool: 0, kind: 3, bytes: 40 });
  a.submit({ pool: 0, kind: 4, bytes: 1, priority: 0 });
  assertEquals(kinds(a), [], "they would fit");
  a.finish(small);
  assertEquals(kinds(a), [2], "alone");
  a.finish(large);
  assertEquals(kinds(a), [4, 3]);
  assertEquals(a.check(), undefined);
});

Deno.test("bare holds wait in the same line as jobs", () => {
  const { boards: [a, b] } = setUp(2, { pools: [{ workers: 8 }], limitBytes: 100 });
  const hold = a.hold(80)!;
  a.submit({ pool: 0, kind: 1, bytes: 50 });
  assertEquals(a.tryTake(0), undefined);
  assertEquals(b.hold(10, 5), undefined, "it would fit, but a job waits before it");
  assertEquals(a.stats().budget.waiting, 1);
  a.releaseHold(hold);
  assertEquals(a.tryTake(0)?.kind, 1);
  const second = b.hold(50)!;
  assertEquals(a.stats().budget.held, 100);
  b.releaseHold(second);
  assertThrows(() => b.releaseHold(second), SyncError, "not claimed by this isolate");
  assertEquals([a.stats().budget.held, a.stats().pins, a.check()], [50, 0, undefined]);
});

Deno.test("a job that was tried without the compiler is put back as a budgeted one, in its old place", () => {
  const { boards: [a] } = setUp(1, ONE_POOL);
  const first = a.submit({ pool: 0, kind: 1 });
  a.submit({ pool: 0, kind: 2, bytes: 30 });
  assertEquals(a.tryTake(0)?.ticket, first);
  a.requeue(first, 90);
  assertEquals(a.stats().budget.held, 0, "the try held nothing");
  assertEquals(a.tryTake(0)?.ticket, first);
  assertEquals([a.stats().budget.held, a.tryTake(0)], [90, undefined]);
  a.finish(first);
  assertEquals(a.tryTake(0)?.kind, 2);
});

Deno.test("a job that is run by its waiter gives the value to both, and an error to both", () => {
  const { boards: [a, b] } = setUp(2, ONE_POOL);
  const good = a.submit({ pool: 0, kind: 1, keep: true });
  assertEquals(b.help(good, (job) => BigInt(job.kind) + 41n), { state: "done", value: 42n });
  assertEquals(a.help(good, () => 0n), { state: "done", value: 42n });
  const bad = a.submit({ pool: 0, kind: 1, keep: true });
  const original = originalError();
  const here = b.help(bad, () => {
    throw original;
  });
  const there = a.wait(bad, 5000);
  assert(here.state === "failed" && here.error === original);
  assert(there.state === "failed");
  assertEquals(encodeError(there.error), encodeError(original));
  a.release(good);
  a.release(bad);
});

Deno.test("an outcome that nobody keeps is gone, and no ticket is ever that of another job", () => {
  const { boards: [a] } = setUp(1, { ...ONE_POOL, jobs: 1 });
  const first = a.submit({ pool: 0, kind: 1 });
  a.finish(a.tryTake(0)!.ticket);
  const second = a.submit({ pool: 0, kind: 2 });
  assert(first !== second);
  assertEquals([a.wait(first, 5000), a.claim(first), a.cancel(first)], [{ state: "gone" }, undefined, false]);
  assertEquals(a.claim(second)?.kind, 2);
});

Deno.test("a queued job that is cancelled never runs, one that runs is told", () => {
  const { boards: [a, b] } = setUp(2, ONE_POOL);
  const queued = a.submit({ pool: 0, kind: 1, bytes: 10, keep: true });
  assert(a.cancel(queued));
  assertEquals([a.tryTake(0), b.claim(queued), a.wait(queued, 5000)], [undefined, undefined, { state: "cancelled" }]);
  a.release(queued);
  const runs = a.submit({ pool: 0, kind: 2, keep: true });
  b.claim(runs);
  assertEquals(b.isCancelAsked(runs), false);
  assert(!a.cancel(runs));
  assert(b.isCancelAsked(runs));
  b.finish(runs);
  a.release(runs);
  assertEquals([a.stats().cancelled, a.check()], [1, undefined]);
});

Deno.test("a cancelled job that waited for the budget lets the next one go", () => {
  const { boards: [a] } = setUp(1, ONE_POOL);
  a.submit({ pool: 0, kind: 1, bytes: 90 });
  a.tryTake(0);
  const waiting = a.submit({ pool: 0, kind: 2, bytes: 500 });
  assertEquals(a.tryTake(0), undefined);
  a.submit({ pool: 0, kind: 3, bytes: 10 });
  assert(a.cancel(waiting));
  assertEquals(a.tryTake(0)?.kind, 3);
});

Deno.test("stopping finishes or cancels what is queued; workers go home, and nothing is accepted any more", () => {
  for (const queued of ["finish", "cancel"] as const) {
    const { boards: [a] } = setUp(1, ONE_POOL);
    const tickets = [1, 2].map((kind) => a.submit({ pool: 0, kind, keep: true }));
    a.stop(queued);
    assertThrows(() => a.submit({ pool: 0, kind: 3 }), SyncError, "after the board was stopped");
    const taken: number[] = [];
    for (let job = a.take(0); typeof job !== "string"; job = a.take(0)) {
      taken.push(job.kind);
      a.finish(job.ticket);
    }
    assertEquals(taken, queued === "finish" ? [1, 2] : []);
    assert(a.drain(0, 1000));
    assertEquals(tickets.map((t) => a.wait(t, 5000).state), Array(2).fill(queued === "finish" ? "done" : "cancelled"));
  }
});

Deno.test("a hold that waits when the board is stopped is refused, not left waiting", async () => {
  const structures = real({ pools: [{ workers: 1 }], limitBytes: 100 });
  const { board, flags, registry } = structures;
  board.hold(100);
  const waiter = startIsolate(structures, "holdRefused", 10);
  await reached(flags, 0, 1);
  for (let tries = 0; board.stats().budget.waiting === 0; tries++) {
    assert(tries < 10_000);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  board.stop("cancel");
  assertEquals(await waiter.result, "sync.board-closed");
  await sweepUntil(registry, 1);
});

Deno.test("draining waits for queued and running jobs", () => {
  const { boards: [a] } = setUp(1, ONE_POOL);
  assert(a.drain(0, 0));
  const ticket = a.submit({ pool: 0, kind: 1 });
  assert(!a.drain(0, 5));
  a.claim(ticket);
  assert(!a.drain(0, 5));
  a.finish(ticket);
  assert(a.drain(0, 0));
});

Deno.test("a dead isolate's bytes, share and job are given back exactly once", () => {
  const { members, boards: [a, b] } = setUp(2, ONE_POOL);
  const ticket = a.submit({ pool: 0, kind: 1, bytes: 70, keep: true });
  assertEquals(b.tryTake(0)?.ticket, ticket);
  const hold = b.hold(20)!;
  assert(hold > 0);
  assertEquals(a.stats().budget.held, 90);
  members.kill(members.isolates[1]);
  assertEquals(
    members.registry.sweep().map((d) => d.released),
    [{ "job board": 2 }],
    "a job and a hold",
  );
  assertEquals([a.stats().budget.held, a.stats().budgetedRunning, a.stats().queued, a.check()], [0, 0, 1, undefined]);
  assertEquals(a.recover(members.isolates[1].token), 0, "the second time there is nothing");
  assertEquals(a.tryTake(0)?.ticket, ticket, "the job is run by another");
  assertEquals(a.stats().budget.held, 70);
});

Deno.test("a job over which two isolates died fails, and its waiters are told", () => {
  const { members, boards: [a, b, c] } = setUp(3, ONE_POOL);
  const ticket = a.submit({ pool: 0, kind: 1, keep: true });
  for (const [i, board] of [b, c].entries()) {
    assertEquals(board.tryTake(0)?.ticket, ticket);
    members.kill(members.isolates[i + 1]);
    members.registry.sweep();
  }
  const outcome = a.wait(ticket, 5000);
  assert(outcome.state === "failed");
  assertEquals((outcome.error as SyncError).code, "sync.isolate-died");
  a.release(ticket);
});

Deno.test("a waiter notices itself that the isolate died which runs the job, and runs it", () => {
  const { members, boards: [a, b] } = setUp(2, ONE_POOL);
  const ticket = a.submit({ pool: 0, kind: 1 });
  b.claim(ticket);
  members.kill(members.isolates[1]);
  assertEquals([a.wait(ticket, 300).state, a.stats().requeued], ["timed-out", 1]);
  assertEquals(a.help(ticket, () => 6n), { state: "done", value: 6n });
});

Deno.test("the board says when it is full, and refuses nonsense", () => {
  const { boards: [a] } = setUp(1, { ...ONE_POOL, jobs: 2 });
  a.submit({ pool: 0, kind: 1 });
  a.submit({ pool: 0, kind: 1 });
  assertThrows(() => a.submit({ pool: 0, kind: 1 }), SyncError, "all 2 jobs");
  for (
    const [spec, what] of [[{ pool: 1 }, "pool 1"], [{ priority: 8 }, "priority 8"], [
      { bytes: -1 },
      "-1 bytes",
    ]] as const
  ) {
    assertThrows(() => a.submit({ pool: 0, kind: 1, ...spec }), SyncError, what);
  }
  assertThrows(() => a.wait(0, 5000), SyncError, "no job's ticket");
});

for (
  const point of [
    "mutex.locked",
    "board.unlisted",
    "board.queued",
    "board.picked",
    "board.claimed",
    "board.ended",
    "board.requeue",
    "board.ring",
  ]
) {
  Deno.test(`an isolate that dies at ${point}, with the board's lock, leaves the board whole`, () => {
    const { members, boards: [a, b] } = setUp(2, ONE_POOL);
    a.submit({ pool: 0, kind: 1, bytes: 60 });
    a.submit({ pool: 0, kind: 2, bytes: 70 });
    a.submit({ pool: 0, kind: 3 });
    const running = a.tryTake(0)!;
    setStepHook((at) => {
      if (at === point) throw new Death();
    });
    assertThrows(() => {
      const own = b.submit({ pool: 0, kind: 4, bytes: 5 });
      const taken = b.tryTake(0)!;
      b.requeue(taken.ticket, 10);
      b.claim(taken.ticket);
      b.finish(taken.ticket);
      b.cancel(own);
    }, Death);
    setStepHook(undefined);
    members.kill(members.isolates[1]);
    members.registry.sweep();
    assertEquals(a.check(), undefined);
    a.finish(running.ticket);
    const jobs: number[] = [];
    for (let job = a.tryTake(0); job !== undefined; job = a.tryTake(0)) {
      jobs.push(job.kind);
      a.finish(job.ticket);
    }
    assert(jobs.includes(2), "nothing queued is lost");
    const { submitted, done, failed, cancelled } = a.stats();
    assertEquals(done + failed + cancelled, submitted, "each job is counted when it comes, and when it goes");
    assertEquals([a.stats().queued, a.stats().claimed, a.stats().budget.held, a.stats().pins, a.check()], [
      0,
      0,
      0,
      0,
      undefined,
    ]);
  });
}

// --- Real isolates ---------------------------------------------------------------------------------------------------------------------

function real(options: JobBoardOptions) {
  const registry = IsolateRegistry.create(16);
  const self = registry.enter();
  const arena = Arena.create(self, { bytes: 1 << 20, blobs: 256 });
  const board = JobBoard.create(self, arena, options);
  const flags = new Int32Array(new SharedArrayBuffer(64));
  return { registry, self, arena, board, flags };
}

Deno.test("of four workers exactly two run the four blocking budgeted jobs, a plain job runs beside them, and all finish once released", async () => {
  const structures = real({ pools: [{ workers: 4 }], limitBytes: 1e9 });
  const { board, flags, registry } = structures;
  await warmUp(structures);
  const workers = Array.from({ length: 4 }, () => startIsolate(structures, "blockingWorker", 0));
  await reached(flags, 0, 4);
  const tickets = Array.from(
    { length: 4 },
    (_, i) => board.submit({ pool: 0, kind: 0, bytes: 10, payload: [i], keep: true }),
  );
  await reached(flags, 2, 2);
  const plain = board.submit({ pool: 0, kind: 1, payload: [9], keep: true });
  assertEquals(await board.waitAsync(plain, 10_000), { state: "done", value: 9n });
  assertEquals([flags[2], board.stats().claimed, board.stats().queued], [2, 2, 2]);
  signal(flags, 1);
  const outcomes = await Promise.all(tickets.map((t) => board.waitAsync(t, 10_000)));
  assertEquals(outcomes.map((o) => o.state === "done" && o.value), [0n, 1n, 2n, 3n]);
  for (const ticket of [...tickets, plain]) board.release(ticket);
  assert(await board.drainAsync(0, 10_000));
  board.stop("finish");
  assertEquals((await Promise.all(workers.map((w) => w.result)) as number[]).reduce((a, b) => a + b), 5);
  await sweepUntil(registry, 1);
  assertEquals([board.stats().pins, board.stats().kept, board.check()], [0, 0, undefined]);
});

Deno.test("four isolates with 40-byte holds under 100 bytes never hold more than 80 at once, and all get theirs", async () => {
  const structures = real({ pools: [{ workers: 1 }], limitBytes: 100 });
  const { board, flags, registry } = structures;
  await warmUp(structures);
  const isolates = Array.from({ length: 4 }, () => startIsolate(structures, "holdInTurns", 40, 25));
  await reached(flags, 0, 4);
  signal(flags, 1);
  await Promise.all(isolates.map((i) => i.result));
  assertEquals([flags[5], flags[4]], [80, 0]);
  const { budget } = board.stats();
  assertEquals([budget.peak, budget.held, budget.granted, budget.holds], [80, 0, 100, 0]);
  await sweepUntil(registry, 1);
});

Deno.test("a job's original error reaches four waiters in other isolates byte for byte", async () => {
  const structures = real({ pools: [{ workers: 1 }] });
  const { board, flags, registry } = structures;
  await warmUp(structures);
  const ticket = board.submit({ pool: 0, kind: 1, keep: true });
  assertEquals(board.tryTake(0)?.ticket, ticket);
  const waiters = Array.from({ length: 4 }, () => startIsolate(structures, "waitForJob", ticket));
  await reached(flags, 0, 4);
  const original = originalError();
  board.fail(ticket, original);
  for (const result of await Promise.all(waiters.map((w) => w.result))) {
    assertEquals(result, { state: "failed", data: encodeError(original) });
  }
  board.release(ticket);
  await sweepUntil(registry, 1);
  assertEquals([board.stats().kept, structures.arena.stats().blobs], [0, 0]);
});

for (const how of ["throw", "close", "terminate"]) {
  Deno.test(`a real isolate that dies by ${how} gives back its job's bytes and its bare hold, once`, async () => {
    const structures = real({ pools: [{ workers: 2 }], limitBytes: 100 });
    const { board, flags, registry } = structures;
    const ticket = board.submit({ pool: 0, kind: 1, bytes: 60 });
    const first = startIsolate(structures, "dieWithJob", how);
    await reached(flags, 0, 1);
    const second = startIsolate(structures, "dieWithHold", 40, how);
    await reached(flags, 0, 2);
    assertEquals(board.stats().budget.held, 100);
    if (how === "terminate") { for (const { worker } of [first, second]) worker.terminate(); }
    const deaths = await sweepUntil(registry, 1);
    assertEquals(deaths.map((d) => d.released["job board"]).sort(), [1, 1]);
    const { budget, queued, pins } = board.stats();
    assertEquals([budget.held, budget.holds, queued, pins, board.check()], [0, 0, 1, 0, undefined]);
    assertEquals(board.tryTake(0)?.ticket, ticket);
  });
}
