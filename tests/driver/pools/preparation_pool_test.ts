import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  announceArtifact,
  artifact,
  artifactAsync,
  evictArtifact,
  finishArtifact,
  keyOfRequest,
  runRecompileJob,
} from "../../../src/driver/pools/preparation.ts";
import { failureOf, markFailure } from "../../../src/driver/pools/failures.ts";
import { attachRoom, createRoom, Pool, type Room } from "../../../src/driver/pools/room.ts";
import { WorkerPool } from "../../../src/driver/pools/worker_pool.ts";
import { HostError, type RefusedError } from "../../../src/errors.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { encodeError } from "../../../src/sync/error_data.ts";
import { SyncError } from "../../../src/sync/sync_error.ts";
import { makeRequest } from "../../support/lift.ts";

const MODULE = new URL("../../../src/workers/preparation.ts", import.meta.url);

/** v_mov_b32 v0, literal; s_endpgm: a different program for each literal. */
function request(literal: number, code?: number[]): RecompileRequest {
  return makeRequest({
    code: Uint32Array.from(code ?? [0x7e0002ff, literal, 0xbf810000]),
    codeAddress: 0xffff8000_00000100n,
    target: "gfx1013",
    userSgprCount: 8,
    workgroupIds: [true, false, false],
    dx10Clamp: false,
    device: GENERIC_DEVICE,
  });
}

/** A reserved encoding (SOPP 0x7f): the recompiler refuses it. */
const REFUSED = [0xbfff0000, 0xbf810000];

function room(workers: number): Room {
  return createRoom({ workers: [workers, 1, 1], arenaBytes: 1 << 26 });
}

function pool(shared: Room, workers: number, module = MODULE, restarts?: number) {
  return new WorkerPool(shared, { name: "preparation", module, pool: Pool.Preparation, workers, restarts });
}

async function end(shared: Room, workers: WorkerPool) {
  shared.board.stop("finish");
  assert(await workers.stopped());
  assertEquals([shared.registry.stats().live, shared.board.check(), shared.artifacts.check(), shared.arena.check()], [
    1,
    undefined,
    undefined,
    undefined,
  ]);
  assertEquals([shared.board.stats().kept, shared.board.stats().pins], [0, 0]);
}

Deno.test("the pool recompiles what main asks for, equal requests once, and the artifact is what the recompiler makes", async () => {
  const shared = room(2);
  const workers = pool(shared, 2);
  await workers.ready();
  const got = await Promise.all([1, 2, 1, 1].map((n) => artifactAsync(shared, request(n))));
  for (const [i, n] of [1, 2, 1, 1].entries()) assertEquals(got[i].artifact, recompile(request(n)));
  assertEquals([shared.artifacts.stats().created, got[0].reference === got[2].reference], [2, true]);
  assertEquals(evictArtifact(shared, got[1].reference), false, "it is pinned");
  for (const { pin } of got) shared.artifacts.unpin(pin);
  assert(evictArtifact(shared, got[0].reference) && evictArtifact(shared, got[1].reference));
  await end(shared, workers);
  assertEquals([shared.arena.stats().blobs, shared.arena.stats().pins], [0, 0]);
});

Deno.test("what is announced is recompiled ahead, and the pool drains", async () => {
  const shared = room(2);
  const queued = Array.from({ length: 20 }, (_, n) => announceArtifact(shared, request(n % 10)));
  assertEquals(queued.filter(Boolean).length, 10);
  const workers = pool(shared, 2);
  assert(await shared.board.drainAsync(Pool.Preparation, 60_000));
  assertEquals([shared.artifacts.stats().created, shared.artifacts.stats().ready], [10, 10]);
  const here = artifact(shared, request(3));
  assertEquals([here.artifact, shared.artifacts.stats().created], [recompile(request(3)), 10]);
  shared.artifacts.unpin(here.pin);
  await end(shared, workers);
});

Deno.test("a dispatch that needs an artifact whose job is queued makes it itself, and the job is done with that", () => {
  const shared = room(1);
  announceArtifact(shared, request(1));
  const got = artifact(shared, request(1));
  assertEquals(got.artifact, recompile(request(1)));
  const { claimedByNeed, queued, done } = shared.board.stats();
  assertEquals([claimedByNeed, queued, done, shared.artifacts.stats().created], [1, 0, 1, 1]);
  shared.artifacts.unpin(got.pin);
  evictArtifact(shared, got.reference);
  assertEquals(shared.arena.stats().blobs, 0);
});

Deno.test("the recompiler's own error comes from the pool field by field, and the next request tries again", async () => {
  const shared = room(2);
  const workers = pool(shared, 2);
  await workers.ready();
  const original = assertThrows(() => recompile(request(0, REFUSED))) as RefusedError;
  const errors = await Promise.allSettled([0, 1, 2, 3].map(() => artifactAsync(shared, request(0, REFUSED))));
  for (const result of errors) {
    assert(result.status === "rejected");
    const error = result.reason as RefusedError;
    assertEquals(Object.getPrototypeOf(error), Object.getPrototypeOf(original));
    assertEquals([error.code, error.message, error.place], [original.code, original.message, original.place]);
    assertEquals(error.place.guestAddress, original.place.guestAddress);
  }
  assertEquals(shared.artifacts.peek(new Uint32Array(8)), undefined);
  const here = assertThrows(() => artifact(shared, request(0, REFUSED))) as RefusedError;
  assertEquals(encodeError(here.place), encodeError(original.place));
  await end(shared, workers);
  assertEquals([shared.artifacts.stats().ready, shared.artifacts.stats().pins, shared.arena.stats().blobs], [0, 0, 0]);
});

Deno.test("a worker that dies is replaced; over a job that kills workers its waiter is told", async () => {
  const shared = room(1);
  const deaths: string[] = [];
  const module = new URL("./dying_worker.ts", import.meta.url);
  const workers = new WorkerPool(shared, {
    name: "preparation",
    module,
    pool: Pool.Preparation,
    workers: 1,
    onDeath: (_death, message) => deaths.push(message),
  });
  const error = await assertRejects(() => artifactAsync(shared, request(1)), SyncError, "2 isolates died over it");
  assertEquals([error.code, deaths.some((text) => text.includes("dies over a job"))], ["sync.isolate-died", true]);
  await end(shared, workers);
  assertEquals(shared.board.stats().budget.held, 0);
});

Deno.test("a pool that has given up says so to who waits, then and later; what was only announced is there for who needs it", async () => {
  const shared = room(1), lines: string[] = [];
  const module = new URL("./dying_worker.ts", import.meta.url);
  const options = { name: "preparation", module, pool: Pool.Preparation, workers: 1, restarts: 0 };
  const workers = new WorkerPool(shared, { ...options, onLog: (line) => lines.push(line) });
  for (const n of [1, 2]) {
    const error = await assertRejects(() => artifactAsync(shared, request(n)), HostError, "keep dying");
    assertEquals(error.code, "driver.pool");
  }
  assertEquals([lines.length, shared.board.stats().queued], [1, 0]);
  announceArtifact(shared, request(3));
  assertEquals(await workers.drained(), false);
  const here = artifact(shared, request(3));
  assertEquals([await workers.drained(), here.artifact], [true, recompile(request(3))]);
  shared.artifacts.unpin(here.pin);
  await end(shared, workers);
});

Deno.test("an isolate that dies over an artifact or a mark leaves it whole, or not at all", () => {
  const shared = room(1), { key } = keyOfRequest(request(1));
  for (
    const act of [
      (other: Room) => artifact(other, request(1)),
      (other: Room) => markFailure(other, key, { shader: "it", kind: "failed", error: new RangeError("no") }),
    ]
  ) {
    const other = attachRoom(shared.handle);
    // Its last act.
    other.arena.share = () => {
      throw new TypeError("dies here");
    };
    assertThrows(() => act(other), TypeError, "dies here");
    other.registry.leave(other.self);
    shared.registry.sweep();
  }
  const here = artifact(shared, request(1));
  assertEquals(here.artifact, recompile(request(1)));
  shared.artifacts.unpin(here.pin);
  assert(markFailure(shared, key, { shader: "it", kind: "failed", error: new RangeError("no") }));
  assertEquals(failureOf(shared, key)?.shader, "it");
});

Deno.test("a job of the preparation pool whose request is gone fails, and its worker lives", () => {
  const shared = room(1);
  announceArtifact(shared, request(1));
  const job = shared.board.tryTake(Pool.Preparation)!;
  shared.arena.retire((job.payload[0] >>> 0) + job.payload[1] * 2 ** 32);
  runRecompileJob(shared, job);
  assertEquals([shared.board.stats().failed, shared.board.stats().claimed, shared.board.check()], [1, 0, undefined]);
});

Deno.test("a request whose job has failed is not waited for, although nobody has made it", () => {
  const shared = room(1);
  announceArtifact(shared, request(1));
  const { key } = keyOfRequest(request(1));
  const ticket = shared.artifacts.pendingJob(key);
  assert(shared.board.cancel(ticket));
  finishArtifact(shared, key);
  assertEquals(shared.artifacts.peek(key), "pending");
  const here = artifact(shared, request(1));
  assertEquals(here.artifact, recompile(request(1)));
  shared.artifacts.unpin(here.pin);
});
