import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  announcePipeline,
  computePipeline,
  destroyPipeline,
  type PipelineDriver,
  runPipelineJob,
} from "../../../src/driver/pools/prebuild.ts";
import { createRoom, Pool, type Room } from "../../../src/driver/pools/room.ts";
import { InvalidInputError } from "../../../src/errors.ts";
import { SyncError } from "../../../src/sync/sync_error.ts";

interface Request {
  readonly spirv: Uint32Array;
  readonly wave: number;
}

/** A driver that counts; `cache` holds what its own cache would answer. */
class StubDriver implements PipelineDriver<Request> {
  compiles = 0;
  tries = 0;
  readonly cache = new Set<number>();
  next = 0x1000n;
  onCompile: () => void = () => {};
  onGiveBack: () => void = () => {};
  cached?: (request: Request) => bigint | undefined;

  constructor(cacheCanTell: boolean) {
    if (cacheCanTell) {
      this.cached = (request) => {
        this.tries++;
        return this.cache.has(request.spirv[0]) ? this.next++ : undefined;
      };
    }
  }

  create(request: Request): bigint {
    this.compiles++;
    this.onCompile();
    if (request.spirv[0] === 666) throw new InvalidInputError("vulkan.pipeline", "vkCreateComputePipelines: -13");
    return this.next++;
  }

  giveBack(): void {
    this.onGiveBack();
  }
}

function request(n: number): Request {
  return { spirv: Uint32Array.of(n, 2, 3), wave: 32 };
}

function setUp(cacheCanTell: boolean, compileBytes = 100) {
  const room = createRoom({ workers: [1, 4, 1], compileBytes, arenaBytes: 1 << 20 });
  const driver = new StubDriver(cacheCanTell);
  const ahead = (n: number, spirvBytes: number, pool: number = Pool.Prebuild) =>
    announcePipeline(room, { request: request(n), spirvBytes, pool, cacheCanTell });
  const work = (pool: number = Pool.Prebuild) => {
    const job = room.board.tryTake(pool);
    if (job !== undefined) runPipelineJob(room, job, driver);
    return job !== undefined;
  };
  return { room, driver, ahead, work };
}

function nothingLeft(room: Room) {
  const { kept, pins, queued, claimed, budget } = room.board.stats();
  assertEquals([kept, pins, queued, claimed, budget.held, budget.waiting], [0, 0, 0, 0, 0, 0]);
  assertEquals([room.pipelines.stats().pins, room.pipelines.stats().building, room.arena.stats().blobs], [0, 0, 0]);
  assertEquals([room.board.check(), room.pipelines.check()], [undefined, undefined]);
}

Deno.test("a pipeline that is asked for ahead is compiled once, on a worker, within the budget", () => {
  const { room, driver, ahead, work } = setUp(false);
  let held = 0;
  driver.onCompile = () => held = room.board.stats().budget.held;
  assert(ahead(1, 60));
  assert(!ahead(1, 60), "known already");
  assert(work());
  const got = computePipeline(room, request(1), driver);
  assertEquals([got.pipeline, driver.compiles, held], [0x1000n, 1, 60]);
  assert(!ahead(1, 60));
  assert(!destroyPipeline(room, got.reference, () => {}), "pinned until the dispatch has run");
  room.pipelines.unpin(got.pin);
  const destroyed: bigint[] = [];
  assert(destroyPipeline(room, got.reference, (pipeline) => destroyed.push(pipeline)));
  assertEquals(destroyed, [0x1000n]);
  nothingLeft(room);
});

Deno.test("what a compile freed is given back when its pipeline is there, and before its bytes are: also of one that failed", () => {
  const { room, driver, ahead, work } = setUp(false);
  const seen: [held: number, ready: number, building: number][] = [];
  driver.onGiveBack = () => {
    const { ready, building } = room.pipelines.stats();
    seen.push([room.board.stats().budget.held, ready, building]);
  };
  ahead(1, 60);
  ahead(666, 70);
  while (work());
  assertEquals(seen, [[60, 1, 0], [70, 1, 0]]);
  // A dispatch has no time for that.
  room.pipelines.unpin(computePipeline(room, request(2), driver).pin);
  assertEquals([driver.compiles, seen.length], [3, 2]);
  nothingLeft(room);
});

Deno.test("a pipeline from the driver's own cache has freed nothing", () => {
  const { driver, ahead, work } = setUp(true);
  driver.cache.add(1);
  let given = 0;
  driver.onGiveBack = () => given++;
  ahead(1, 60);
  ahead(2, 60);
  while (work());
  assertEquals([driver.compiles, given], [1, 1]);
});

Deno.test("a replay whose admission is held up checks again: a dispatch built the same key, and there is exactly one compile", () => {
  const { room, driver, ahead, work } = setUp(false);
  const hold = room.board.hold(100)!;
  ahead(1, 60, Pool.Replay);
  assert(!work(Pool.Replay), "the budget is full");
  // A dispatch waits for no budget.
  const got = computePipeline(room, request(1), driver);
  const { budget, queued, claimedByNeed } = room.board.stats();
  assertEquals([driver.compiles, budget.held, queued, claimedByNeed], [1, 100, 0, 1], "its job is done with that");
  room.board.releaseHold(hold);
  while (work(Pool.Replay));
  assertEquals(driver.compiles, 1);
  room.pipelines.unpin(got.pin);
  nothingLeft(room);
});

Deno.test("a job that was admitted just before a dispatch began the key does nothing", () => {
  const { room, driver, ahead } = setUp(false);
  ahead(1, 60);
  const job = room.board.tryTake(Pool.Prebuild)!;
  assertEquals(job.admitted, true);
  const got = computePipeline(room, request(1), driver);
  runPipelineJob(room, job, driver);
  assertEquals(driver.compiles, 1);
  room.pipelines.unpin(got.pin);
  nothingLeft(room);
});

Deno.test("what the driver's own cache answers takes no hold", () => {
  const { room, driver, ahead, work } = setUp(true);
  const hold = room.board.hold(100)!;
  driver.cache.add(1);
  ahead(1, 60);
  assert(work(), "the budget is full, and it runs");
  assertEquals([driver.compiles, driver.tries, room.pipelines.stats().ready, room.board.stats().budget.granted], [
    0,
    1,
    1,
    1,
  ]);
  room.board.releaseHold(hold);
  nothingLeft(room);
});

Deno.test("what the driver must compile waits for the budget then, and is claimable meanwhile", () => {
  for (const needed of [false, true]) {
    const { room, driver, ahead, work } = setUp(true);
    const hold = room.board.hold(100)!;
    ahead(1, 60);
    assert(work(), "the try");
    assertEquals([driver.tries, driver.compiles, room.board.stats().queued], [1, 0, 1]);
    assert(!work(), "it waits");
    if (needed) room.pipelines.unpin(computePipeline(room, request(1), driver).pin);
    room.board.releaseHold(hold);
    while (work());
    assertEquals([driver.compiles, room.pipelines.stats().ready], [1, 1]);
    nothingLeft(room);
  }
});

Deno.test("nothing creates a pipeline under the GPU mutex", () => {
  const { room, driver } = setUp(false);
  room.gpu.lock();
  const error = assertThrows(() => computePipeline(room, request(1), driver), SyncError);
  room.gpu.unlock();
  assertEquals([error.code, driver.compiles], ["sync.wait-with-lock", 0]);
});

Deno.test("a prebuild that fails leaves nothing; the dispatch tries again and gets the driver's own error", () => {
  const { room, driver, ahead, work } = setUp(false);
  ahead(666, 10);
  assert(work());
  const error = assertThrows(() => computePipeline(room, request(666), driver), InvalidInputError);
  assertEquals([error.code, driver.compiles], ["vulkan.pipeline", 2]);
  nothingLeft(room);
});
