import { assertEquals, assertThrows } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { LockBit } from "../../src/sync/held_locks.ts";
import { noteUnlocked } from "../../src/sync/held_locks.ts";
import { IsolateRegistry } from "../../src/sync/isolates.ts";
import { SharedExclusiveLock } from "../../src/sync/shared_exclusive_lock.ts";
import { setStepHook } from "../../src/sync/steps.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { Death, Members, notForEver } from "./support/members.ts";
import { reached, startIsolate, sweepUntil } from "./support/isolate.ts";

const OPTIONS = { bit: LockBit.Device, name: "device", recheckMs: 1 };

/** Lets the one real isolate act as several members: the mask is not what these tests are about. */
function as<T>(action: () => T): T {
  const result = action();
  noteUnlocked(LockBit.Device);
  return result;
}

Deno.test("several members share it, and who wants it alone waits for all of them", () => {
  const { isolates: [a, b, c] } = new Members(3);
  const first = new SharedExclusiveLock(a, OPTIONS);
  const second = new SharedExclusiveLock(b, OPTIONS, first.handle);
  const third = new SharedExclusiveLock(c, OPTIONS, first.handle);
  as(() => first.lockShared());
  as(() => second.lockShared());
  assertEquals(first.stats(), { shared: 2, exclusive: false });
  let sleeps = 0;
  setStepHook((point) => {
    if (point !== "shared-exclusive.sleep") return;
    // While it sleeps, the sharers go one after the other.
    if (++sleeps === 1) as(() => first.unlockShared());
    else if (sleeps === 2) as(() => second.unlockShared());
  });
  third.lockExclusive();
  setStepHook(undefined);
  assertEquals([sleeps >= 2, first.stats()], [true, { shared: 0, exclusive: true }]);
  third.unlockExclusive();
});

Deno.test("who asks for it alone keeps new sharers out, so sharers cannot starve it", () => {
  const { isolates: [a, b, c] } = new Members(3);
  const first = new SharedExclusiveLock(a, OPTIONS);
  const second = new SharedExclusiveLock(b, OPTIONS, first.handle);
  const third = new SharedExclusiveLock(c, OPTIONS, first.handle);
  as(() => first.lockShared());
  const log: string[] = [];
  setStepHook((point) => {
    if (point === "exclusive.announced") {
      setStepHook((inner) => {
        if (inner !== "shared-exclusive.sleep") return;
        setStepHook(undefined);
        log.push(`a new sharer sleeps, shared ${first.stats().shared}`);
        throw new Death();
      });
      assertThrows(() => third.lockShared(), Death);
      as(() => first.unlockShared());
    }
  });
  second.lockExclusive();
  log.push("alone");
  second.unlockExclusive();
  assertEquals(log, ["a new sharer sleeps, shared 1", "alone"]);
});

Deno.test("it is given back by who has it", () => {
  const { isolates: [a, b] } = new Members(2);
  const first = new SharedExclusiveLock(a, OPTIONS);
  const second = new SharedExclusiveLock(b, OPTIONS, first.handle);
  as(() => first.lockShared());
  assertThrows(() => second.unlockShared(), SyncError, "does not hold it");
  assertThrows(() => first.unlockExclusive(), SyncError, "does not hold it");
  as(() => first.unlockShared());
  assertThrows(() => first.unlockShared(), SyncError, "does not hold it");
});

Deno.test("a dead sharer does not keep others from having it alone, and is released once", () => {
  const members = new Members(3);
  const [a, b, c] = members.isolates;
  const first = new SharedExclusiveLock(a, OPTIONS);
  const second = new SharedExclusiveLock(b, OPTIONS, first.handle);
  const third = new SharedExclusiveLock(c, OPTIONS, first.handle);
  second.lockShared();
  members.kill(b);
  notForEver(() => third.lockExclusive());
  assertEquals(first.stats(), { shared: 0, exclusive: true });
  third.unlockExclusive();
  assertEquals(members.registry.sweep().map((d) => d.released), [{}]);
});

Deno.test("a dead exclusive owner's data is repaired before anybody else comes in", () => {
  const members = new Members(2);
  const [a, b] = members.isolates;
  const log: unknown[] = [];
  const first: SharedExclusiveLock = new SharedExclusiveLock(a, {
    ...OPTIONS,
    repair: (token) => log.push([token === b.token, first.stats().exclusive]),
  });
  const second = new SharedExclusiveLock(b, OPTIONS, first.handle);
  second.lockExclusive();
  members.kill(b);
  notForEver(() => first.lockShared());
  assertEquals(log, [[true, true]]);
  first.unlockShared();
  members.registry.sweep();
  assertEquals([log.length, first.stats()], [1, { shared: 0, exclusive: false }]);
});

for (const how of ["throw", "close", "terminate"]) {
  for (const shared of [true, false]) {
    Deno.test(`a real isolate that dies by ${how} having it ${shared ? "shared" : "alone"} does not keep it`, async () => {
      const registry = IsolateRegistry.create(8);
      const self = registry.enter();
      const arena = Arena.create(self, { bytes: 65536, blobs: 16 });
      const flags = new Int32Array(new SharedArrayBuffer(64));
      const lock = new SharedExclusiveLock(self, { bit: LockBit.Device, name: "device" });
      const { worker } = startIsolate({ registry, arena, flags }, "dieWithSharedExclusive", lock.handle, shared, how);
      await reached(flags, 0, 1);
      if (how === "terminate") worker.terminate();
      const deaths = await sweepUntil(registry, 1);
      assertEquals(deaths.map((d) => d.released), [{ device: 1 }]);
      lock.lockExclusive();
      lock.unlockExclusive();
    });
  }
}
