import { assert, assertEquals, assertThrows } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { GpuMutex } from "../../src/sync/gpu_mutex.ts";
import { IsolateRegistry, slotOf } from "../../src/sync/isolates.ts";
import { PinTable, pinTableWords } from "../../src/sync/pins.ts";
import { setStepHook } from "../../src/sync/steps.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { procProbe } from "../../src/sync/thread_probe.ts";
import { Death, Members } from "./support/members.ts";
import { reached, signal, startIsolate, sweepUntil } from "./support/isolate.ts";
import { KeyedTable } from "../../src/sync/keyed_table.ts";

Deno.test("a slot is used again under another token", () => {
  const members = new Members(2, 2);
  const [, second] = members.isolates;
  assertThrows(() => members.enter(), SyncError, "all 2 slots");
  members.kill(second);
  assertEquals(members.registry.sweep().map((d) => [d.token, d.left]), [[second.token, false]]);
  const third = members.enter();
  assertEquals([third.slot, slotOf(third.token)], [second.slot, second.slot]);
  assert(third.token !== second.token && third.token > 0);
  assert(members.registry.isDead(second.token) && !members.registry.isDead(third.token));
});

Deno.test("what a dead isolate held is given back exactly once, also when several look", () => {
  const members = new Members(3);
  const recovered: [string, number][] = [];
  members.registry.attachStructure({ name: "thing", recover: (token) => (recovered.push(["thing", token]), 3) });
  members.kill(members.isolates[1]);
  const other = IsolateRegistry.attach(members.registry.handle, members.threads);
  assert(other.isDead(members.isolates[1].token));
  const deaths = members.registry.sweep();
  assertEquals(deaths, [{ token: members.isolates[1].token, left: false, released: { thing: 3 } }]);
  assertEquals(members.registry.sweep(), []);
  assertEquals(other.sweep(), []);
  assertEquals(recovered, [["thing", members.isolates[1].token]]);
  assertEquals(members.registry.stats(), { entered: 3, left: 0, died: 1, live: 2, entering: 0 });
});

Deno.test("pins of all slots that were ever used are looked through, and no others", () => {
  const members = new Members(3, 200), { registry } = members;
  assertEquals([registry.usedSlots, registry.slots], [3, 200]);
  const words = new Int32Array(new SharedArrayBuffer(4 * pinTableWords(200, 4)));
  const tables = members.isolates.map((isolate) => new PinTable(isolate, words, 0, 4, "things"));
  const place = tables[2].pin(7);
  assert(tables[0].isPinned(7));
  tables[2].unpin(place);
  const late = members.enter();
  assertEquals(registry.usedSlots, 4);
  new PinTable(late, words, 0, 4, "things").pin(9);
  assert(tables[0].isPinned(9) && !tables[0].isPinned(7));
  // What is left free stays among them: its row may hold pins of a dead one.
  members.kill(late);
  assertEquals([members.registry.usedSlots, tables[0].count()], [4, 1]);
});

Deno.test("whoever dies while it enters keeps no slot, and is nobody or a member", () => {
  const points = ["isolates.claimed", "isolates.entering", "isolates.entered"];
  const members = new Members(1, 2), { registry, threads } = members;
  for (const point of points) {
    setStepHook((at) => {
      if (at === point) throw new Death();
    });
    assertThrows(() => members.enter(), Death);
    setStepHook(undefined);
    const { entering, live } = registry.stats();
    assertEquals(entering + live, 2, point);
    assertEquals(registry.sweep(), [], "it may still become a member");
    assertThrows(() => members.enter(), SyncError, "all 2 slots");
    threads.kill(threads.last - 1);
    assertEquals(registry.sweep().length, point === "isolates.entered" ? 1 : 0);
    assertEquals([registry.stats().entering, registry.stats().live], [0, 1], point);
  }
  const late = members.enter();
  assertEquals([late.slot, late.token >>> 8], [1, 2], "only one of them had got a token");
  assertEquals(registry.stats(), { entered: 3, left: 0, died: 1, live: 2, entering: 0 });
});

Deno.test("what is counted of members does not depend on who dies where", () => {
  const members = new Members(2), { registry } = members, [, second] = members.isolates;
  setStepHook((at) => {
    if (at === "isolates.leaving") throw new Death();
  });
  assertThrows(() => registry.leave(second), Death);
  setStepHook(undefined);
  assertEquals(registry.stats().live, 2);
  members.kill(second);
  assertEquals(registry.sweep().map((d) => d.left), [true]);
  assertEquals(registry.stats(), { entered: 2, left: 1, died: 0, live: 1, entering: 0 });
});

Deno.test("who becomes a member while the supervisor looks, and dies, is given back as one", () => {
  const given: number[] = [];
  let dead = 0, look = (_id: number) => {};
  const isRunning = ({ id }: { id: number }) => (look(id), id !== dead);
  const probe = { current: () => ({ id: 7, start: 5 }), isRunning };
  const registry = IsolateRegistry.create(2, probe);
  registry.enter();
  registry.attachStructure({ name: "things", recover: (token) => (given.push(token), 1) });
  const other = IsolateRegistry.attach(registry.handle, { ...probe, current: () => ({ id: 8, start: 5 }) });
  let token = 0;
  setStepHook((point) => {
    if (point !== "isolates.entering") return;
    setStepHook(undefined);
    // The supervisor has seen a slot without a member, and asks for its thread: now that becomes a member, and dies.
    throw new Death();
  });
  assertThrows(() => other.enter(), Death);
  const words = new Int32Array(registry.handle.isolates);
  look = (id) => {
    if (id !== 8 || dead === 8) return;
    dead = 8;
    token = 1 << 8 | 2;
    Atomics.store(words, 8 + 8 + 2, token);
  };
  assertEquals(registry.sweep().map((death) => death.token), [token]);
  assertEquals(given, [token]);
});

Deno.test("who has left does not make the next in its slot one that left", () => {
  const members = new Members(2), { registry } = members;
  registry.leave(members.isolates[1]);
  registry.sweep();
  const next = members.enter();
  members.kill(next);
  assertEquals(registry.sweep().map(({ left }) => left), [false]);
  assertEquals(registry.stats(), { entered: 3, left: 1, died: 1, live: 1, entering: 0 });
});

Deno.test("a thread whose number does not fit beside its start time becomes no member", () => {
  const at = (id: number, start: number) =>
    IsolateRegistry.create(2, { current: () => ({ id, start }), isRunning: () => true });
  assertThrows(() => at(2 ** 24, 5).enter(), SyncError, "does not fit");
  assertThrows(() => at(5, 2 ** 39).enter(), SyncError, "does not fit");
  const registry = at(2 ** 22 - 1, 2 ** 39 - 1), seen: unknown[] = [];
  const { token } = registry.enter();
  const other = IsolateRegistry.attach(registry.handle, {
    current: () => ({ id: 1, start: 1 }),
    isRunning: (thread) => (seen.push(thread), true),
  });
  assert(!other.isDead(token));
  assertEquals(seen, [{ id: 2 ** 22 - 1, start: 2 ** 39 - 1 }]);
});

// Nobody is terminated there: that waits until what runs has returned.
for (const how of ["throw", "close"]) {
  for (const point of ["isolates.claimed", "isolates.entered"]) {
    Deno.test(`a real isolate that dies by ${how} at ${point} keeps no slot`, async () => {
      const registry = IsolateRegistry.create(3);
      const self = registry.enter();
      const arena = Arena.create(self, { bytes: 65536, blobs: 16 });
      const flags = new Int32Array(new SharedArrayBuffer(64));
      startIsolate({ registry, arena, flags }, "dieEntering", point, how);
      await reached(flags, 0, 1);
      const deaths = await sweepUntil(registry, 1);
      for (let tries = 0; registry.stats().entering > 0; tries++) {
        assert(tries < 1000, "the slot is never given back");
        deaths.push(...registry.sweep());
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      assertEquals(deaths.length, point === "isolates.entered" ? 2 : 1);
      assertEquals([registry.enter().slot, registry.enter().slot], [1, 2]);
    });
  }
}

Deno.test("an isolate that leaves is told apart from one that died, and may not leave with a lock", () => {
  const members = new Members(2);
  const [, second] = members.isolates;
  const mutex = new GpuMutex(second);
  mutex.lock();
  assertThrows(() => members.registry.leave(second), SyncError, "while holding Gpu");
  mutex.unlock();
  members.registry.leave(second);
  assertEquals(members.registry.sweep().map((d) => d.left), [true]);
  assertEquals(members.registry.stats(), { entered: 2, left: 1, died: 0, live: 1, entering: 0 });
});

Deno.test("the probe tells a thread from a later one with the same number", () => {
  const me = procProbe.current();
  assert(procProbe.isRunning(me));
  assert(!procProbe.isRunning({ id: me.id, start: me.start - 1 }));
  assert(!procProbe.isRunning({ id: 0x3fffffff, start: me.start }));
});

for (const how of ["throw", "close", "terminate"]) {
  Deno.test(`a real isolate that dies by ${how} while it creates is found dead, and its creation is abandoned once`, async () => {
    const registry = IsolateRegistry.create(8);
    const self = registry.enter();
    const arena = Arena.create(self, { bytes: 65536, blobs: 16 });
    const table = KeyedTable.create(self, arena, { name: "table", capacity: 8 });
    const flags = new Int32Array(new SharedArrayBuffer(64));
    const key = Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8);
    const { worker } = startIsolate({ registry, arena, table, flags }, "dieWithCreation", key, how);
    await reached(flags, 0, 1);
    if (how === "terminate") worker.terminate();
    const deaths = await sweepUntil(registry, 1);
    assertEquals(deaths.map((d) => [d.left, d.released]), [[false, { table: 2 }]], "the creation and the pin");
    assertEquals([table.stats().building, table.stats().pins, table.stats().abandoned], [0, 0, 1]);
    assertEquals(table.getOrCreate(key, () => 9n).created, true);
  });
}

Deno.test("an isolate that is terminated inside a blocking call lives until the call ends, and its work counts", async () => {
  const registry = IsolateRegistry.create(8);
  const self = registry.enter();
  const arena = Arena.create(self, { bytes: 65536, blobs: 16 });
  const table = KeyedTable.create(self, arena, { name: "table", capacity: 8 });
  const flags = new Int32Array(new SharedArrayBuffer(64));
  const key = Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  const { worker } = startIsolate({ registry, arena, table, flags }, "blockedInCreation", key);
  await reached(flags, 0, 1);
  worker.terminate();
  for (let i = 0; i < 20; i++) {
    assertEquals(registry.sweep(), [], "its compile has not ended");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assertEquals(table.peek(key), "building");
  signal(flags, 1);
  await reached(flags, 2, 1);
  assertEquals(table.peek(key), "ready");
  const deaths = await sweepUntil(registry, 1);
  assertEquals(deaths.map((d) => d.released), [{ table: 1 }], "the pin only: the creation had ended");
  assertEquals(table.stats().abandoned, 0);
});
