import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { SharedMutex } from "../../src/sync/futex_mutex.ts";
import { GpuMutex } from "../../src/sync/gpu_mutex.ts";
import { heldLocks, LockBit } from "../../src/sync/held_locks.ts";
import { IsolateRegistry } from "../../src/sync/isolates.ts";
import { setStepHook } from "../../src/sync/steps.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { Death, Members, notForEver } from "./support/members.ts";
import { reached, startIsolate, sweepUntil, warmUp } from "./support/isolate.ts";

const OPTIONS = { bit: LockBit.Other, name: "test lock" };

Deno.test("only one member has the lock, and only that one gives it back", () => {
  const { isolates: [a, b] } = new Members(2);
  const first = new SharedMutex(a, OPTIONS);
  const second = new SharedMutex(b, OPTIONS, first.handle);
  first.lock();
  assertEquals([first.isMine, second.isMine], [true, false]);
  assertThrows(() => second.unlock(), SyncError, "does not hold it");
  first.unlock();
  assert(second.tryLock());
  second.unlock();
  assertThrows(() => second.unlock(), SyncError, "does not hold it");
});

Deno.test("the lock is given back when what runs under it throws", () => {
  const { isolates: [a] } = new Members(1);
  const mutex = new SharedMutex(a, OPTIONS);
  assertThrows(
    () =>
      mutex.with(() => {
        throw new Error("inside");
      }),
    Error,
    "inside",
  );
  assertEquals([mutex.isMine, heldLocks()], [false, 0]);
});

Deno.test("a dead owner's lock is taken over by who waits for it, who repairs first", () => {
  const members = new Members(2);
  const [a, b] = members.isolates;
  const log: string[] = [];
  const first = new SharedMutex(a, OPTIONS);
  const repair = (token: number) =>
    log.push(`repair after ${token === a.token}, held ${heldLocks() === LockBit.Other}`);
  const second = new SharedMutex(b, { ...OPTIONS, recheckMs: 1, repair }, first.handle);
  first.lock();
  members.kill(a);
  notForEver(() => second.lock());
  log.push("got it");
  assertEquals(log, ["repair after true, held true", "got it"]);
  assertEquals([second.isMine, second.stats().takenOver], [true, 1]);
  second.unlock();
});

Deno.test("a repairer that dies is repaired in turn", () => {
  const members = new Members(3);
  const [a, b, c] = members.isolates;
  const first = new SharedMutex(a, OPTIONS);
  let dies = true;
  const repairs: number[] = [];
  const repair = (token: number) => {
    repairs.push(token);
    if (dies) throw new Death();
  };
  const second = new SharedMutex(b, { ...OPTIONS, recheckMs: 1, repair }, first.handle);
  const third = new SharedMutex(c, { ...OPTIONS, recheckMs: 1, repair }, first.handle);
  first.lock();
  members.kill(a);
  assertThrows(() => notForEver(() => second.lock()), Death);
  members.kill(b);
  dies = false;
  notForEver(() => third.lock());
  assertEquals(repairs, [a.token, b.token]);
  third.unlock();
});

Deno.test("the sweep gives a dead owner's lock back, once", () => {
  const members = new Members(2);
  const [a, b] = members.isolates;
  let repairs = 0;
  const supervisor = new SharedMutex(a, { ...OPTIONS, repair: () => repairs++ });
  const second = new SharedMutex(b, OPTIONS, supervisor.handle);
  second.lock();
  members.kill(b);
  assertEquals(members.registry.sweep().map((d) => d.released), [{ "test lock": 1 }]);
  assertEquals([repairs, supervisor.tryLock()], [1, true]);
  supervisor.unlock();
  assertEquals(supervisor.recover(b.token), 0);
  assertEquals(repairs, 1);
});

Deno.test("a lock that went to somebody else is not taken from him because an earlier owner died", () => {
  const members = new Members(3);
  const [a, b, c] = members.isolates;
  const supervisor = new SharedMutex(a, OPTIONS);
  const second = new SharedMutex(b, OPTIONS, supervisor.handle);
  const third = new SharedMutex(c, OPTIONS, supervisor.handle);
  second.lock();
  second.unlock();
  third.lock();
  // Kills the second member, and drops the mask of the one real isolate.
  members.kill(b);
  assertEquals(members.registry.sweep().map((d) => d.released), [{}]);
  assert(third.isMine);
});

Deno.test("a death between freeing the word and waking the next one loses no wake-up", () => {
  const members = new Members(2);
  const [a, b] = members.isolates;
  const supervisor = new SharedMutex(a, OPTIONS);
  const second = new SharedMutex(b, OPTIONS, supervisor.handle);
  second.lock();
  // Somebody sleeps.
  const words = new Int32Array(supervisor.handle.mutex);
  words[0] |= 0x80000000;
  setStepHook((point) => {
    if (point === "mutex.unlock") throw new Death();
  });
  assertThrows(() => second.unlock(), Death);
  setStepHook(undefined);
  const sleeper = Atomics.waitAsync(words, 0, 0, 5000);
  members.kill(b);
  members.registry.sweep();
  assert(sleeper.async);
  return sleeper.value.then((result) => assertEquals(result, "ok"));
});

Deno.test("the main isolate takes the lock without blocking its event loop, also from a dead owner", async () => {
  const members = new Members(2);
  const [a, b] = members.isolates;
  const mine = new SharedMutex(a, { ...OPTIONS, recheckMs: 1 });
  const other = new SharedMutex(b, OPTIONS, mine.handle);
  other.lock();
  await assertRejects(() => mine.lockAsync(), SyncError, "asked for while holding");
  members.kill(b);
  await mine.lockAsync();
  assert(mine.isMine);
  mine.unlock();
});

Deno.test("eight isolates add 1,000 times each under the mutex, and no addition is lost", async () => {
  const registry = IsolateRegistry.create(16);
  const self = registry.enter();
  const arena = Arena.create(self, { bytes: 65536, blobs: 16 });
  const flags = new Int32Array(new SharedArrayBuffer(64));
  const mutex = new SharedMutex(self, { bit: LockBit.Other, name: "counter" });
  await warmUp({ registry, arena, flags });
  const isolates = Array.from(
    { length: 8 },
    () => startIsolate({ registry, arena, flags }, "addUnderMutex", mutex.handle, 1000),
  );
  await Promise.all(isolates.map((i) => i.result));
  assertEquals([flags[8], mutex.stats().acquired, mutex.stats().takenOver], [8000, 8000, 0]);
  await sweepUntil(registry, 1);
});

for (const how of ["throw", "close", "terminate"]) {
  Deno.test(`a real isolate that dies by ${how} with the GPU mutex does not keep it`, async () => {
    const registry = IsolateRegistry.create(8);
    const self = registry.enter();
    const arena = Arena.create(self, { bytes: 65536, blobs: 16 });
    const flags = new Int32Array(new SharedArrayBuffer(64));
    const mutex = new GpuMutex(self);
    const { worker } = startIsolate({ registry, arena, flags }, "dieWithMutex", mutex.handle, how);
    await reached(flags, 0, 1);
    if (how === "terminate") worker.terminate();
    await mutex.lockAsync();
    assertEquals([mutex.isMine, mutex.stats().takenOver], [true, 1]);
    mutex.unlock();
    await sweepUntil(registry, 1);
  });
}
