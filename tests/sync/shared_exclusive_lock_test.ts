import { assertEquals, assertThrows } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { heldLocks, LockBit, noteUnlocked } from "../../src/sync/held_locks.ts";
import { IsolateRegistry } from "../../src/sync/isolates.ts";
import { SharedExclusiveLock } from "../../src/sync/shared_exclusive_lock.ts";
import { setStepHook, step } from "../../src/sync/steps.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { Death, Members, notForEver } from "./support/members.ts";
import { reached, startIsolate, sweepUntil } from "./support/isolate.ts";

const OPTIONS = { bit: LockBit.Device, name: "device", recheckMs: 1 };

/** Has a member die at a point. */
function dieAt(point: string, action: () => void): void {
  setStepHook((at) => {
    if (at === point) throw new Death();
  });
  assertThrows(action, Death);
  setStepHook(undefined);
}

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

/** A lock of three members over data that is right when both words agree, and that `repair` makes right; who repairs must be alone. */
function repairedLock() {
  const members = new Members(3), [a, b, c] = members.isolates;
  const data = [0, 0], log: number[] = [];
  let inside = 0;
  const of = (isolate: typeof a, handle?: SharedExclusiveLock["handle"]): SharedExclusiveLock => {
    const repair = (dead: number) => {
      log.push(dead);
      step("test.repairs");
      assertEquals([inside, heldLocks() & LockBit.Device], [0, LockBit.Device], "repaired while others are in");
      data[1] = data[0];
    };
    return new SharedExclusiveLock(isolate, { ...OPTIONS, repair }, handle);
  };
  const first = of(a), second = of(b, first.handle), third = of(c, first.handle);
  return { members, first, second, third, data, log, sharers: (n: number) => inside = n };
}

Deno.test("nothing is repaired after the death of one that asked for it alone while others share it", () => {
  const { members, first, second, third, log, sharers } = repairedLock(), [, b] = members.isolates;
  as(() => first.lockShared());
  sharers(1);
  dieAt("shared-exclusive.sleep", () => second.lockExclusive());
  members.kill(b);
  // Noticed by the supervisor (which shares nothing itself in a program) and by who waits.
  assertEquals(third.recover(b.token), 1);
  assertEquals([log, first.stats()], [[], { shared: 1, exclusive: false }]);
  as(() => third.lockShared());
  as(() => first.unlockShared());
  as(() => third.unlockShared());
  notForEver(() => third.lockExclusive());
  third.unlockExclusive();
  assertEquals(log, []);
});

for (const point of ["exclusive.announced", "exclusive.inside", "exclusive.leaves", "shared-exclusive.given-back"]) {
  Deno.test(`what its owner did before it died at ${point} is repaired if it was in, and only then`, () => {
    const { members, first, second, third, data, log } = repairedLock(), [, b] = members.isolates;
    dieAt(point, () => {
      second.lockExclusive();
      data[0]++;
      data[1]++;
      second.unlockExclusive();
    });
    members.kill(b);
    notForEver(() => third.lockShared());
    assertEquals([data[0] === data[1], log], [true, point === "exclusive.inside" ? [b.token] : []]);
    third.unlockShared();
    members.registry.sweep();
    assertEquals(first.stats(), { shared: 0, exclusive: false });
  });
}

for (const point of ["exclusive.taken-over", "test.repairs", "exclusive.repaired"]) {
  Deno.test(`who dies at ${point} while it repairs for a dead one is repaired for in turn`, () => {
    const { members, first, second, third, data, log } = repairedLock(), [, b, c] = members.isolates;
    second.lockExclusive();
    data[0]++;
    members.kill(b);
    dieAt(point, () => third.recover(b.token));
    members.kill(c);
    notForEver(() => first.lockExclusive());
    assertEquals(data, [1, 1]);
    assertEquals(log, { "exclusive.taken-over": [c.token], "test.repairs": [b.token, c.token] }[point] ?? [b.token]);
    first.unlockExclusive();
    assertEquals(members.registry.sweep().map(({ released }) => released), [{}, {}]);
    assertEquals(first.stats(), { shared: 0, exclusive: false });
  });
}

Deno.test("who has it repairs it for nobody", () => {
  const { members, first, second, log } = repairedLock(), [, b] = members.isolates;
  first.lockShared();
  assertThrows(() => first.recover(b.token), SyncError, "lock Device asked for while holding Device");
  first.unlockShared();
  second.lockExclusive();
  members.kill(b);
  assertEquals([first.recover(b.token), log], [1, [b.token]]);
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
