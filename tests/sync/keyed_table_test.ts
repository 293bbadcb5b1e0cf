import { assert, assertEquals, assertThrows } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { encodeError } from "../../src/sync/error_data.ts";
import { IsolateRegistry } from "../../src/sync/isolates.ts";
import { JobBoard } from "../../src/sync/job_board.ts";
import { KeyedTable } from "../../src/sync/keyed_table.ts";
import { setStepHook } from "../../src/sync/steps.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { originalError } from "./support/actions.ts";
import { reached, signal, startIsolate, sweepUntil, warmUp } from "./support/isolate.ts";
import { Death, Members } from "./support/members.ts";

function setUp(count: number, capacity = 32) {
  const members = new Members(count);
  const arena = Arena.create(members.isolates[0], { bytes: 1 << 20, blobs: 256 });
  const tables = [KeyedTable.create(members.isolates[0], arena, { name: "table", capacity, pins: 64 }, 1)];
  for (let i = 1; i < count; i++) {
    const other = Arena.attach(members.isolates[i], arena.handle);
    tables.push(KeyedTable.attach(members.isolates[i], other, "table", tables[0].handle, 1));
  }
  return { members, arena, tables };
}

function key(n: number): Uint32Array {
  return Uint32Array.of(n, 0, 0x80000000, 0xffffffff, 0, 0, n * 3, 1);
}

Deno.test("the first to begin a key creates it, all others find it being created and then ready", () => {
  const { tables: [a, b] } = setUp(2);
  const mine = a.begin(key(1));
  assertEquals([mine.state, b.peek(key(1))], ["create", "building"]);
  const theirs = b.begin(key(1));
  assertEquals([theirs.state, theirs.reference], ["building", mine.reference]);
  assertThrows(() => b.publish(theirs.reference, 1n), SyncError, "does not create it");
  a.publish(mine.reference, 0x8000_0000_0000_0001n);
  assertEquals(b.wait(theirs.reference, 5000), { state: "ready", value: 0x8000_0000_0000_0001n });
  const later = b.begin(key(1));
  assertEquals([later.state, later.value], ["ready", 0x8000_0000_0000_0001n]);
  assertThrows(() => a.publish(mine.reference, 2n), SyncError, "does not create it");
});

Deno.test("two that look for a key at once, and both find nothing, do not both create it", () => {
  const { tables: [a, b] } = setUp(2);
  let theirs: ReturnType<typeof b.begin> | undefined;
  setStepHook((point) => {
    if (point !== "table.not-found") return;
    setStepHook(undefined);
    theirs = b.begin(key(1));
  });
  const mine = a.begin(key(1));
  assertEquals([theirs?.state, mine.state, mine.reference], ["create", "building", theirs?.reference]);
});

Deno.test("keys are compared whole", () => {
  const { tables: [a] } = setUp(1);
  for (let word = 0; word < 8; word++) {
    const other = key(1);
    other[word] ^= 0x10000;
    assertEquals([a.peek(other), a.begin(other).state], [undefined, "create"]);
  }
  assertThrows(() => a.begin(new Uint32Array(7)), SyncError, "a key of 7 words");
});

Deno.test("a failed creation gives its error to who waits, is taken out, and the next request tries again", () => {
  const { arena, tables: [a, b] } = setUp(2);
  const mine = a.begin(key(1));
  const theirs = b.begin(key(1));
  const original = originalError();
  a.fail(mine.reference, original);
  assertEquals(b.peek(key(1)), undefined);
  const again = b.begin(key(1));
  assertEquals(again.state, "create");
  assert(again.reference !== mine.reference);
  const ended = b.wait(theirs.reference, 5000);
  assert(ended.state === "failed");
  assertEquals(encodeError(ended.error), encodeError(original));
  b.publish(again.reference, 5n);
  for (const [table, pin] of [[a, mine.pin], [b, theirs.pin], [b, again.pin]] as const) table.unpin(pin);
  assertEquals([a.stats().ready, a.stats().ending, a.stats().pins, arena.stats().blobs, a.check()], [
    1,
    0,
    0,
    0,
    undefined,
  ]);
});

Deno.test("the error is published before the table is changed: a creator that dies in between loses no waiter its error", () => {
  const { members, tables: [a, b] } = setUp(2);
  const mine = b.begin(key(1));
  const theirs = a.begin(key(1));
  const original = originalError();
  setStepHook((point) => {
    if (point === "table.failed") throw new Death();
  });
  assertThrows(() => b.fail(mine.reference, original), Death);
  setStepHook(undefined);
  members.kill(members.isolates[1]);
  const ended = a.wait(theirs.reference, 5000);
  assert(ended.state === "failed");
  assertEquals(encodeError(ended.error), encodeError(original));
  members.registry.sweep();
  assertEquals(a.begin(key(1)).state, "create");
});

Deno.test("getOrCreate throws the creation's own error, and leaves nothing pinned", () => {
  const { tables: [a] } = setUp(1);
  const original = originalError();
  let thrown: unknown;
  try {
    a.getOrCreate(key(1), () => {
      throw original;
    });
  } catch (error) {
    thrown = error;
  }
  assert(thrown === original);
  assertEquals([a.stats().pins, a.stats().failed, a.stats().ending], [0, 1, 0]);
  const got = a.getOrCreate(key(1), () => 4n);
  assertEquals([got.value, got.created], [4n, true]);
});

Deno.test("what is pinned is not evicted, by nobody", () => {
  const { tables: [a, b] } = setUp(2);
  const got = a.getOrCreate(key(1), () => 4n);
  const second = b.pin(got.reference)!;
  a.unpin(got.pin);
  assertEquals([a.evict(got.reference), b.evict(got.reference)], [undefined, undefined]);
  assertEquals([b.value(got.reference), a.peek(key(1))], [4n, "ready"]);
  b.unpin(second);
  assertEquals(a.evict(got.reference), 4n);
  assertEquals([a.evict(got.reference), b.pin(got.reference), a.peek(key(1))], [undefined, undefined, undefined]);
  assertThrows(() => b.unpin(second), SyncError, "holds no pin");
});

Deno.test("a pin that comes while somebody evicts either keeps the entry or fails", () => {
  for (const evictorDies of [false, true]) {
    const { members, tables: [a, b, c] } = setUp(3);
    const got = a.getOrCreate(key(1), () => 4n);
    a.unpin(got.pin);
    setStepHook((point) => {
      if (point !== "table.evicting") return;
      // After the state says so, before the pins are looked through: a pin by who saw it ready before.
      setStepHook((inner) => {
        if (inner === "pins.pinned") throw new Death();
      });
      assertThrows(() => c.pin(got.reference), Death);
      setStepHook(undefined);
      if (evictorDies) throw new Death();
    });
    if (evictorDies) {
      assertThrows(() => b.evict(got.reference), Death);
      members.kill(members.isolates[1]);
      members.registry.sweep();
      assertEquals(a.peek(key(1)), "ready");
    } else assertEquals(b.evict(got.reference), undefined, "the pin was seen");
    const late = a.pin(got.reference);
    assert(late !== undefined);
    a.unpin(late);
    members.kill(members.isolates[2]);
    members.registry.sweep();
    assertEquals([a.evict(got.reference), a.check()], [4n, undefined]);
  }
});

Deno.test("a dead creator's waiters begin anew, and one of them creates", () => {
  const { members, tables: [a, b] } = setUp(2);
  b.begin(key(1));
  const theirs = a.begin(key(1));
  members.kill(members.isolates[1]);
  assertEquals(a.wait(theirs.reference, 5000).state, "abandoned");
  a.unpin(theirs.pin);
  const got = a.getOrCreate(key(1), () => 8n);
  assertEquals([got.created, a.stats().abandoned, a.stats().ending], [true, 1, 0]);
});

Deno.test("a dead isolate's pins are released exactly once", () => {
  const { members, tables: [a, b] } = setUp(2);
  const got = b.getOrCreate(key(1), () => 4n);
  b.pin(got.reference);
  assertEquals([a.stats().pins, a.evict(got.reference)], [2, undefined]);
  members.kill(members.isolates[1]);
  assertEquals(members.registry.sweep().map((d) => d.released), [{ table: 2 }]);
  const third = members.enter();
  const c = KeyedTable.attach(third, Arena.attach(third, setUpArena(members)), "table", a.handle, 1);
  c.pin(got.reference);
  assertEquals(third.slot, members.isolates[1].slot);
  assertEquals([a.recover(members.isolates[1].token), a.stats().pins], [0, 1], "the successor's pin stays");
});

function setUpArena(members: Members) {
  return Arena.create(members.isolates[0], { bytes: 65536, blobs: 8 }).handle;
}

Deno.test("an announced key is created by who begins it first, and its job then finds it there: one compile", () => {
  const { arena, members, tables: [a, b] } = setUp(2);
  const board = JobBoard.create(members.isolates[0], arena, { pools: [{ workers: 1 }], jobs: 8, limitBytes: 10 });
  let compiles = 0;
  // The replay announces and queues; its admission is held up by a full budget.
  const hold = board.hold(10)!;
  const announced = a.announce(key(1))!;
  assertEquals([a.announce(key(1)), b.announce(key(1)), a.peek(key(1))], [undefined, undefined, "pending"]);
  const ticket = board.submit({ pool: 0, kind: 1, bytes: 5, keep: true });
  a.setJob(announced, ticket);
  assertEquals(board.tryTake(0), undefined);
  // A dispatch needs it now.
  const begun = b.begin(key(1));
  assertEquals([begun.state, begun.job, begun.reference], ["create", ticket, announced]);
  compiles++;
  b.publish(begun.reference, 4n);
  // The hold is given back; the job is admitted and checks again.
  board.releaseHold(hold);
  const job = board.tryTake(0)!;
  const got = a.getOrCreate(key(1), () => (compiles++, 9n));
  board.finish(job.ticket, got.value);
  assertEquals([compiles, board.wait(ticket)], [1, { state: "done", value: 4n }]);
  assertEquals(a.announce(key(1)), undefined);
  board.release(ticket);
});

Deno.test("a creation that is put off is announced again: its waiters begin anew, and the next one creates", () => {
  const { tables: [a, b] } = setUp(2);
  const mine = a.begin(key(1));
  const theirs = b.begin(key(1));
  a.postpone(mine.reference, 77);
  assertThrows(() => a.publish(mine.reference, 1n), SyncError, "does not create it");
  assertEquals([b.wait(theirs.reference, 5000).state, b.peek(key(1)), a.announce(key(1))], [
    "abandoned",
    "pending",
    undefined,
  ]);
  const next = b.begin(key(1));
  assertEquals([next.state, next.job], ["create", 77]);
  b.publish(next.reference, 4n);
  for (const [table, pin] of [[a, mine.pin], [b, theirs.pin], [b, next.pin]] as const) table.unpin(pin);
  assertEquals([a.stats().pins, a.check()], [0, undefined]);
});

Deno.test("a snapshot has every ready row whole, takes no lock, and a creation goes on while it is taken", () => {
  const { tables: [a, b] } = setUp(2);
  for (let n = 0; n < 10; n++) a.unpin(a.getOrCreate(key(n), () => BigInt(n) << 40n).pin);
  const building = a.begin(key(50));
  let during = 0;
  const locks = a.lockStats().acquired;
  setStepHook((point) => {
    if (point !== "table.snapshot") return;
    setStepHook(undefined);
    const before = a.lockStats().acquired;
    // In the middle of the snapshot another isolate begins and ends creations, and takes one out.
    b.unpin(b.getOrCreate(key(60), () => 1n).pin);
    a.publish(building.reference, 2n);
    during = a.lockStats().acquired - before;
  });
  const rows = b.snapshot();
  assertEquals(a.lockStats().acquired - locks, during, "the snapshot itself took no lock");
  for (let n = 0; n < 10; n++) {
    assertEquals(rows.filter((row) => row.key[0] === n).map((row) => [row.key, row.value]), [[
      key(n),
      BigInt(n) << 40n,
    ]]);
  }
  assert(a.snapshot().length === 12);
});

Deno.test("a snapshot gives no row of an entry that was taken out while it looked", () => {
  const { tables: [a, b] } = setUp(2);
  const got = a.getOrCreate(key(1), () => 4n);
  a.unpin(got.pin);
  setStepHook((point) => {
    if (point !== "table.snapshot") return;
    setStepHook(undefined);
    assertEquals(a.evict(got.reference), 4n);
    a.unpin(a.getOrCreate(key(2), () => 5n).pin);
  });
  assertEquals(b.snapshot().map((row) => row.value), [5n]);
});

Deno.test("teardown forbids new creations, waits for those in flight, then clears; afterwards a new device may begin", () => {
  const { tables: [a, b] } = setUp(2);
  const kept = a.getOrCreate(key(1), () => 4n);
  a.unpin(a.getOrCreate(key(2), () => 5n).pin);
  a.announce(key(3));
  const building = b.begin(key(4));
  a.close();
  assertThrows(() => b.begin(key(5)), SyncError, "is closed");
  assertThrows(() => b.begin(key(3)), SyncError, "is closed");
  assertThrows(() => b.announce(key(5)), SyncError, "is closed");
  assertEquals([b.begin(key(1)).state, a.waitForBuilds(5)], ["ready", false]);
  setStepHook((point) => {
    if (point !== "table.drain") return;
    setStepHook(undefined);
    b.publish(building.reference, 6n);
    b.unpin(building.pin);
  });
  assert(a.waitForBuilds(5000));
  const destroyed: bigint[] = [];
  assertEquals(a.clear((value) => destroyed.push(value)), 1, "one is still pinned");
  assertEquals(destroyed.sort(), [5n, 6n]);
  a.unpin(kept.pin);
  for (let place = 0; place < 4; place++) {
    try {
      b.unpin(place);
    } catch (error) {
      assertEquals((error as SyncError).code, "sync.not-pinned");
    }
  }
  assertEquals(a.clear((value) => destroyed.push(value)), 0);
  assertEquals([destroyed.length, a.snapshot().length, a.check()], [3, 0, undefined]);
  a.reopen();
  assertEquals(b.begin(key(5)).state, "create");
});

Deno.test("teardown does not wait for a creator that is dead", () => {
  const { members, tables: [a, b] } = setUp(2);
  b.begin(key(1));
  a.close();
  members.kill(members.isolates[1]);
  assert(a.waitForBuilds(5000));
});

Deno.test("the table says when it is full, and gives memory back when entries go", () => {
  const { tables: [a] } = setUp(1, 4);
  const got = [1, 2, 3, 4].map((n) => a.getOrCreate(key(n), () => BigInt(n)));
  assertThrows(() => a.begin(key(5)), SyncError, "all 4 entries of table");
  a.unpin(got[1].pin);
  assertEquals(a.evict(got[1].reference), 2n);
  assertEquals([a.begin(key(5)).state, a.check()], ["create", undefined]);
});

for (
  const point of [
    "mutex.locked",
    "table.allocated",
    "table.inserted",
    "table.begun",
    "table.publish",
    "table.fail",
    "table.failed",
    "table.evicting",
    "pins.pinned",
  ]
) {
  Deno.test(`an isolate that dies at ${point} leaves the table whole`, () => {
    const { members, arena, tables: [a, b] } = setUp(2);
    a.unpin(a.getOrCreate(key(1), () => 1n).pin);
    const old = a.getOrCreate(key(2), () => 2n);
    a.unpin(old.pin);
    setStepHook((at) => {
      if (at === point) throw new Death();
    });
    assertThrows(() => {
      const begun = b.begin(key(3));
      b.publish(begun.reference, 3n);
      const failing = b.begin(key(4));
      b.fail(failing.reference, new Error("x"));
      b.unpin(failing.pin);
      b.evict(old.reference);
    }, Death);
    setStepHook(undefined);
    members.kill(members.isolates[1]);
    members.registry.sweep();
    assertEquals([a.check(), a.stats().pins, a.stats().building, a.stats().ending, arena.stats().blobs], [
      undefined,
      0,
      0,
      0,
      0,
    ]);
    for (let n = 1; n < 8; n++) {
      const got = a.getOrCreate(key(n), () => BigInt(n));
      assertEquals(got.value, BigInt(n));
      a.unpin(got.pin);
    }
    assertEquals(a.check(), undefined);
  });
}

// --- Real isolates ---------------------------------------------------------------------------------------------------------------------

function real() {
  const registry = IsolateRegistry.create(16);
  const self = registry.enter();
  const arena = Arena.create(self, { bytes: 1 << 20, blobs: 256 });
  const table = KeyedTable.create(self, arena, { name: "table", capacity: 4096 });
  const flags = new Int32Array(new SharedArrayBuffer(64));
  return { registry, self, arena, table, flags };
}

Deno.test("eight isolates race 1,000 keys, and each key is created exactly once", async () => {
  const structures = real();
  const { table, flags, registry } = structures;
  await warmUp(structures);
  const racers = Array.from({ length: 8 }, (_, i) => startIsolate(structures, "raceKeys", 1000, i + 1));
  await reached(flags, 0, 8);
  signal(flags, 1);
  const results = await Promise.all(racers.map((r) => r.result)) as { created: number; wrong: number }[];
  assertEquals(results.map((r) => r.wrong), Array(8).fill(0));
  assertEquals([flags[4], table.stats().created, table.stats().ready], [1000, 1000, 1000]);
  await sweepUntil(registry, 1);
  assertEquals([table.stats().pins, table.check()], [0, undefined]);
});

Deno.test("a creation's original error reaches four waiters in other isolates, and a fifth tries again", async () => {
  const structures = real();
  const { table, flags, registry } = structures;
  await warmUp(structures);
  const begun = table.begin(key(1));
  const waiters = Array.from({ length: 4 }, () => startIsolate(structures, "waitForFailure", key(1)));
  await reached(flags, 0, 4);
  const original = originalError();
  table.fail(begun.reference, original);
  table.unpin(begun.pin);
  for (const result of await Promise.all(waiters.map((w) => w.result))) {
    assertEquals(result, { state: "failed", class: "RefusedError", data: encodeError(original) });
  }
  assertEquals(await startIsolate(structures, "getOnly", key(1)).result, { value: 555n, created: true });
  await sweepUntil(registry, 1);
  assertEquals([table.stats().pins, table.stats().ending, structures.arena.stats().blobs], [0, 0, 0]);
});
