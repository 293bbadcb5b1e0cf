import { assertEquals, assertThrows } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { SharedMutex } from "../../src/sync/futex_mutex.ts";
import { GpuMutex } from "../../src/sync/gpu_mutex.ts";
import { assertNoLocksHeld, heldLocks, LockBit } from "../../src/sync/held_locks.ts";
import { JobBoard } from "../../src/sync/job_board.ts";
import { KeyedTable } from "../../src/sync/keyed_table.ts";
import { SharedExclusiveLock } from "../../src/sync/shared_exclusive_lock.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { waitCounts } from "../../src/sync/waits.ts";
import { Members } from "./support/members.ts";

const KEY = Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8);

Deno.test("the mask says which locks this isolate holds", () => {
  const { isolates: [self] } = new Members(1);
  const gpu = new GpuMutex(self);
  const device = new SharedExclusiveLock(self, { bit: LockBit.Device, name: "device" });
  device.lockShared();
  gpu.lock();
  assertEquals(heldLocks(), LockBit.Device | LockBit.Gpu);
  gpu.unlock();
  assertEquals(heldLocks(), LockBit.Device);
  device.unlockShared();
  device.lockExclusive();
  assertEquals(heldLocks(), LockBit.Device);
  device.unlockExclusive();
  assertEquals(heldLocks(), 0);
});

Deno.test("every wait for work refuses to begin while a lock is held", async () => {
  const { isolates: [self] } = new Members(1);
  const arena = Arena.create(self, { bytes: 65536, blobs: 16 });
  const board = JobBoard.create(self, arena, { pools: [{ workers: 1 }], jobs: 8, limitBytes: 10 });
  const table = KeyedTable.create(self, arena, { name: "pipelines", capacity: 8 });
  const gpu = new GpuMutex(self);
  const ticket = board.submit({ pool: 0, kind: 1, keep: true });
  const hold = board.hold(10)!;
  const begun = table.begin(KEY);
  const waits: [string, () => unknown][] = [
    ["job.*while holding Gpu", () => board.wait(ticket, 0.1)],
    ["pool 0 to drain", () => board.drain(0, 0.1)],
    ["compile budget", () => board.hold(10, 0.1)],
    ["an entry of pipelines", () => table.wait(begun.reference, 0.1)],
    ["creations of pipelines", () => table.waitForBuilds(0.1)],
  ];
  for (const [what, wait] of waits) {
    gpu.lock();
    const error = assertThrows(wait, SyncError);
    gpu.unlock();
    assertEquals([error.code, new RegExp(what).test(error.message)], ["sync.wait-with-lock", true], error.message);
  }
  board.claim(ticket);
  gpu.lock();
  assertEquals((assertThrows(() => board.take(0, 0.1), SyncError)).code, "sync.wait-with-lock");
  const asynchronous = await Promise.allSettled([
    board.waitAsync(ticket, 1),
    table.waitAsync(begun.reference, 1),
    board.drainAsync(0, 1),
  ]);
  gpu.unlock();
  assertEquals(asynchronous.map((r) => r.status === "rejected" && r.reason.code), Array(3).fill("sync.wait-with-lock"));
  board.releaseHold(hold);
});

Deno.test("nothing is created, and no driver compile begins, while a lock is held", () => {
  const { isolates: [self] } = new Members(1);
  const arena = Arena.create(self, { bytes: 65536, blobs: 16 });
  const table = KeyedTable.create(self, arena, { name: "pipelines", capacity: 8 });
  const gpu = new GpuMutex(self);
  gpu.lock();
  let created = 0;
  const refused = assertThrows(() => table.getOrCreate(KEY, () => BigInt(++created)), SyncError);
  const compile = assertThrows(() => assertNoLocksHeld("driver compile of 0x1000"), SyncError);
  gpu.unlock();
  assertEquals([refused.code, compile.code, created], ["sync.wait-with-lock", "sync.wait-with-lock", 0]);
  assertEquals(compile.message, "driver compile of 0x1000 while holding Gpu");
  assertEquals(table.getOrCreate(KEY, () => BigInt(++created)).value, 1n, "the refused creation left nothing behind");
});

Deno.test("locks are taken in one order, so no two isolates can wait for each other", () => {
  const { isolates: [self] } = new Members(1);
  const gpu = new GpuMutex(self);
  const device = new SharedExclusiveLock(self, { bit: LockBit.Device, name: "device" });
  const other = new SharedMutex(self, { bit: LockBit.Gpu, name: "another of the same class" });
  gpu.lock();
  for (
    const take of [
      () => device.lockShared(),
      () => device.lockExclusive(),
      () => other.lock(),
      () => other.tryLock(),
      () => gpu.lock(),
    ]
  ) assertEquals(assertThrows(take, SyncError).code, "sync.lock-order");
  gpu.unlock();
  assertEquals([device.stats(), heldLocks()], [{ shared: 0, exclusive: false }, 0]);
});

Deno.test("pinning and unpinning a ready entry waits for nothing and takes no lock: the steady path of a dispatch", () => {
  const { isolates: [self] } = new Members(1);
  const arena = Arena.create(self, { bytes: 65536, blobs: 16 });
  const table = KeyedTable.create(self, arena, { name: "pipelines", capacity: 8 });
  const { reference, pin } = table.getOrCreate(KEY, () => 5n);
  table.unpin(pin);
  const before = { waits: waitCounts(), lock: table.lockStats() };
  for (let i = 0; i < 100; i++) {
    const place = table.pin(reference)!;
    assertEquals(table.value(reference), 5n);
    table.unpin(place);
    const begun = table.begin(KEY);
    assertEquals([begun.state, begun.value], ["ready", 5n]);
    table.unpin(begun.pin);
  }
  assertEquals({ waits: waitCounts(), lock: table.lockStats() }, before);
});
