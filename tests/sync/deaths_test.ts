/** Isolates that die with a structure's lock, in the middle of what concerns others. */
import { assertEquals, assertThrows } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { IsolateRegistry } from "../../src/sync/isolates.ts";
import { JobBoard } from "../../src/sync/job_board.ts";
import { KeyedTable } from "../../src/sync/keyed_table.ts";
import { setStepHook } from "../../src/sync/steps.ts";
import { reached, signal, startIsolate, sweepUntil, warmUp } from "./support/isolate.ts";
import { Death, Members } from "./support/members.ts";

/** Runs what a member does until it dies at a point. */
function dieAt(point: string, members: Members, member: number, action: () => void): void {
  setStepHook((at) => {
    if (at === point) throw new Death();
  });
  assertThrows(action, Death);
  setStepHook(undefined);
  members.kill(members.isolates[member]);
}

Deno.test("an isolate that dies while it hands its bytes on to another's hold does not keep that one waiting for ever", async () => {
  const registry = IsolateRegistry.create(16);
  const self = registry.enter();
  const arena = Arena.create(self, { bytes: 1 << 18, blobs: 64 });
  const board = JobBoard.create(self, arena, { pools: [{ workers: 1 }], limitBytes: 100 });
  const flags = new Int32Array(new SharedArrayBuffer(64));
  const structures = { registry, arena, board, flags };
  await warmUp(structures);
  const dying = startIsolate(structures, "dieGranting", 100);
  await reached(flags, 0, 1);
  const waiting = startIsolate(structures, "holdOnce", 50);
  for (let tries = 0; board.stats().budget.waiting === 0; tries++) {
    if (tries > 10_000) throw new Error("nobody waits");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  signal(flags, 1);
  await dying.result;
  await sweepUntil(registry, 2);
  await reached(flags, 3, 1);
  assertEquals(await waiting.result, 0);
  await sweepUntil(registry, 1);
  const { budget, queued, claimed } = board.stats();
  assertEquals([budget.held, budget.waiting, queued, claimed, board.check()], [0, 0, 0, 0, undefined]);
});

for (const point of ["board.picked", "board.claimed"]) {
  Deno.test(`a job whose worker dies at ${point} right after its admission is first in the budget's line as before`, () => {
    const members = new Members(3);
    const arena = Arena.create(members.isolates[0], { bytes: 1 << 16, blobs: 64 });
    const a = JobBoard.create(members.isolates[0], arena, {
      pools: [{ workers: 4 }, { workers: 4 }],
      jobs: 16,
      limitBytes: 100,
    }, 1);
    const b = JobBoard.attach(members.isolates[1], Arena.attach(members.isolates[1], arena.handle), a.handle, 1);
    const first = a.submit({ pool: 0, kind: 1, bytes: 80 });
    assertEquals(a.tryTake(0)?.ticket, first);
    const large = a.submit({ pool: 0, kind: 2, bytes: 500 }), small = a.submit({ pool: 1, kind: 3, bytes: 30 });
    assertEquals([a.tryTake(0), a.tryTake(1)], [undefined, undefined], "both wait in line");
    a.finish(first);
    dieAt(point, members, 1, () => b.tryTake(0));
    members.registry.sweep();
    assertEquals(a.check(), undefined);
    assertEquals(a.tryTake(1), undefined, "the large one is still before it");
    assertEquals(a.tryTake(0)?.ticket, large);
    assertEquals(a.tryTake(1), undefined, "and runs alone");
    a.finish(large);
    assertEquals(a.tryTake(1)?.ticket, small);
  });
}

for (
  const [how, begin] of [
    ["begins to create", (table: KeyedTable, key: Uint32Array) => table.begin(key)],
    ["announces", (table: KeyedTable, key: Uint32Array) => table.announce(key)],
  ] as const
) {
  Deno.test(`an isolate that dies while it ${how} an entry, not yet linked, leaves a whole table before anybody sweeps, and no entry is lost`, () => {
    const members = new Members(2);
    const arena = Arena.create(members.isolates[0], { bytes: 1 << 16, blobs: 64 });
    const a = KeyedTable.create(members.isolates[0], arena, { name: "table", capacity: 4, pins: 8 }, 1);
    const b = KeyedTable.attach(
      members.isolates[1],
      Arena.attach(members.isolates[1], arena.handle),
      "table",
      a.handle,
      1,
    );
    const key = Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8);
    dieAt("table.inserted", members, 1, () => begin(b, key));
    assertEquals(a.check(), undefined, "who takes the lock over makes it whole");
    members.registry.sweep();
    assertEquals([a.check(), a.stats().building], [undefined, 0]);
    // All four places can be had, one of them by that very key.
    for (let n = 0; n < 4; n++) {
      const got = a.getOrCreate(n === 0 ? key : Uint32Array.of(n, 0, 0, 0, 0, 0, 0, 0), () => BigInt(n));
      assertEquals([got.created, got.value], [true, BigInt(n)]);
      a.unpin(got.pin);
    }
    assertEquals([a.stats().ready, a.stats().pending, a.check()], [4, 0, undefined]);
  });
}

/** A board and a table of two members over one arena; the second one dies. */
function shared(members: Members) {
  const [main, dying] = members.isolates;
  const arena = Arena.create(main, { bytes: 1 << 16, blobs: 64 });
  const board = JobBoard.create(main, arena, { pools: [{ workers: 4 }], jobs: 4 }, 1);
  const table = KeyedTable.create(main, arena, { name: "table", capacity: 4, keyWords: 1 }, 1);
  const its = Arena.attach(dying, arena.handle);
  return {
    arena,
    board,
    table,
    its: {
      board: JobBoard.attach(dying, its, board.handle, 1),
      table: KeyedTable.attach(dying, its, "table", table.handle, 1),
    },
  };
}

for (const point of ["board.ended", "board.counted", "board.freed"]) {
  Deno.test(`a job is counted once, and its error goes with it, if its worker dies at ${point} while ending it`, () => {
    const members = new Members(2), { board, arena, its } = shared(members);
    board.submit({ pool: 0, kind: 1 });
    const { ticket } = its.board.tryTake(0)!;
    dieAt(point, members, 1, () => its.board.fail(ticket, new RangeError("wrong")));
    members.registry.sweep();
    const { submitted, done, failed, cancelled, queued, claimed, kept } = board.stats();
    assertEquals([submitted, done, failed, cancelled, queued, claimed, kept], [1, 0, 1, 0, 0, 0, 0]);
    assertEquals([arena.stats().blobs, board.check()], [0, undefined]);
    // The record is used again, and its next job is counted like any other.
    for (let i = 0; i < 4; i++) board.submit({ pool: 0, kind: 1 });
    for (let i = 0; i < 4; i++) board.finish(board.tryTake(0)!.ticket);
    assertEquals([board.stats().submitted, board.stats().done], [5, 4]);
  });
}

Deno.test("a job that nobody pins any more is freed though who pinned it last died before it did that", () => {
  const members = new Members(2), { board, its } = shared(members);
  const kept = its.board.submit({ pool: 0, kind: 1, keep: true });
  board.finish(board.tryTake(0)!.ticket);
  assertEquals(board.stats().kept, 1);
  dieAt("board.unpinned", members, 1, () => its.board.release(kept));
  members.registry.sweep();
  assertEquals([board.stats().kept, board.check()], [0, undefined]);
});

Deno.test("the error of a creation goes with its entry, also if who frees that dies over it", () => {
  const members = new Members(2), { table, arena, its } = shared(members), key = Uint32Array.of(1);
  dieAt("table.reclaimed", members, 1, () => {
    try {
      its.table.getOrCreate(key, () => {
        throw new RangeError("wrong");
      });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  });
  members.registry.sweep();
  assertEquals([arena.stats().blobs, table.check()], [0, undefined]);
  for (let n = 0; n < 4; n++) table.getOrCreate(Uint32Array.of(n), () => 1n);
});
