import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from "@std/assert";
import { GuestFaultError } from "../../../../src/errors.ts";
import {
  announcePipeline,
  computePipeline,
  destroyPipeline,
  runPipelineJob,
} from "../../../../src/driver/pools/prebuild.ts";
import { Pool } from "../../../../src/driver/pools/room.ts";
import { decodeError } from "../../../../src/sync/error_data.ts";
import { SyncError } from "../../../../src/sync/sync_error.ts";
import { Random } from "../../../support/random.ts";
import { deviceTest } from "../../../support/vulkan.ts";
import { inRoom } from "../../vulkan/shared/run.ts";
import {
  countCreations,
  Flag,
  flagged,
  newFlags,
  originalError,
  release,
  startPipelines,
  trivialRequest,
} from "./support.ts";

const ISOLATES = 8, KEYS = 1000;
/** For those who pin a pipeline. */
const PATIENCE_MS = 300;

deviceTest(
  "eight isolates race for a thousand pipelines: the driver is asked once for each",
  (device) =>
    inRoom(device, async (room) => {
      const flags = newFlags(), numbers = Array.from({ length: KEYS }, (_, i) => i);
      const answers = await Promise.all(Array.from({ length: ISOLATES }, (_, seed) => {
        // Half of them in the same order, so that they meet; the others all over the place.
        const random = new Random(seed + 1), order = numbers.slice();
        if (seed >= ISOLATES / 2) {
          for (let i = KEYS - 1; i > 0; i--) {
            const other = random.below(i + 1);
            [order[i], order[other]] = [order[other], order[i]];
          }
        }
        const task = { flags, action: "race", numbers: order, together: ISOLATES } as const;
        return startPipelines(room, task).then((answer) => ({ order, answer }));
      }));
      const byNumber = new Map<number, bigint>();
      for (const { order, answer } of answers) {
        assertEquals([answer.error, answer.pipelines.length], [undefined, KEYS]);
        order.forEach((number, i) => {
          const first = byNumber.get(number) ?? answer.pipelines[i];
          byNumber.set(number, first);
          assertEquals(answer.pipelines[i], first, "all isolates have the same pipeline");
        });
      }
      const { ready, building, pins, created } = room.room.pipelines.stats();
      assertEquals([ready, building, pins, created], [KEYS, 0, 0, KEYS]);
      assertEquals([flags[Flag.Calls], room.creations().created], [KEYS, KEYS]);
    }),
  { validation: false },
);

deviceTest(
  "a creation that fails gives its error to four waiters, field by field, and the next request tries again",
  (device) =>
    inRoom(device, async (room) => {
      const flags = newFlags(), isolates = 5;
      const answers = await Promise.all(Array.from({ length: isolates }, () => {
        return startPipelines(room, { flags, action: "fail", numbers: [7], together: isolates });
      }));
      assertEquals(flags[Flag.Calls], 1, "one of them created, four waited");
      const original = originalError();
      for (const { error } of answers) {
        const got = decodeError(error!) as GuestFaultError;
        assertInstanceOf(got, GuestFaultError);
        assertEquals(
          [got.name, got.message, got.code, got.exitCode, got.place],
          [original.name, original.message, original.code, original.exitCode, original.place],
        );
        assertInstanceOf(got.cause, TypeError);
        assertEquals(got.cause.message, "the cause");
        assert(got.stack!.includes("originalError"), "where it was thrown");
      }
      const { ready, failed } = room.room.pipelines.stats();
      assertEquals([ready, failed], [0, 1]);
      countCreations(device, flags);
      const { pin } = computePipeline(room.room, trivialRequest(room.layout, 7), room.driver);
      room.room.pipelines.unpin(pin);
      assertEquals([flags[Flag.Calls], room.room.pipelines.stats().ready], [2, 1]);
    }),
);

deviceTest(
  "clearing the pipelines waits for a creation in flight, and lets new ones begin only then",
  (device) =>
    inRoom(device, async (room) => {
      const flags = newFlags(), request = (number: number) => trivialRequest(room.layout, number);
      const other = startPipelines(room, { flags, action: "held", numbers: [1], together: 1 });
      await flagged(flags, Flag.Begun);
      let cleared = false;
      const clearing = room.clearPipelines(true, PATIENCE_MS).then(() => cleared = true);
      const error = assertThrows(() => computePipeline(room.room, request(2), room.driver), SyncError);
      assertEquals(error.code, "sync.table-closed");
      // Longer than it waits for those who only pin.
      await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS * 2));
      assertEquals([cleared, room.room.pipelines.stats().building], [false, 1]);
      release(flags);
      await Promise.all([clearing, other]);
      const { ready, building } = room.room.pipelines.stats();
      assertEquals([ready, building], [0, 0]);
      room.room.pipelines.unpin(computePipeline(room.room, request(2), room.driver).pin);
      assertEquals(room.room.pipelines.stats().ready, 1);
    }),
);

deviceTest(
  "what a creation in flight does not delay: a snapshot of the table, other creations, the GPU mutex",
  (device) =>
    inRoom(device, async (room) => {
      const flags = newFlags(), other = startPipelines(room, { flags, action: "held", numbers: [1], together: 1 });
      await flagged(flags, Flag.Begun);
      const { pin, pipeline } = computePipeline(room.room, trivialRequest(room.layout, 2), room.driver);
      room.gpu.lock();
      room.gpu.unlock();
      assertEquals(room.room.pipelines.snapshot().map(({ value }) => value), [pipeline]);
      assertEquals(room.room.pipelines.stats().building, 1, "the other one is still in flight");
      room.room.pipelines.unpin(pin);
      release(flags);
      await other;
      assertEquals(room.room.pipelines.snapshot().length, 2);
    }),
);

deviceTest("what is pinned is not destroyed, and a pipeline in use keeps its device", (device) => {
  return inRoom(device, async (room) => {
    const { pin, reference } = computePipeline(room.room, trivialRequest(room.layout, 1), room.driver);
    assert(!destroyPipeline(room.room, reference, (pipeline) => room.driver.destroy(pipeline)));
    const error = await assertRejects(() => room.clearPipelines(true, 10), Error, "1 pipelines are still used");
    assertEquals((error as unknown as { code: string }).code, "driver.pipelines-in-use");
    // The device stays, and so it is gone on with.
    room.room.pipelines.unpin(computePipeline(room.room, trivialRequest(room.layout, 2), room.driver).pin);
    room.room.pipelines.unpin(pin);
    assert(destroyPipeline(room.room, reference, (pipeline) => room.driver.destroy(pipeline)));
  });
});

deviceTest("who dies over a creation does not keep the pipelines from being cleared", (device) => {
  return inRoom(device, async (room) => {
    const flags = newFlags();
    void startPipelines(room, { flags, action: "die", numbers: [1], together: 1 });
    await flagged(flags, Flag.Begun);
    assertEquals(room.room.pipelines.stats().building, 1);
    await room.clearPipelines(true);
    const { building, abandoned } = room.room.pipelines.stats();
    assertEquals([building, abandoned], [0, 1]);
  });
});

deviceTest("what dispatches asked for is not what has taken its place in the table", (device) => {
  return inRoom(device, async (room) => {
    const { pipelines } = room.room;
    const make = (number: number) => {
      const made = computePipeline(room.room, trivialRequest(room.layout, number), room.driver);
      pipelines.unpin(made.pin);
      return made.reference;
    };
    const first = make(1);
    assertEquals(room.isAskedFor(first), false);
    room.ask(first);
    assertEquals([room.isAskedFor(first), room.cleared], [true, 0]);
    await room.clearPipelines(true);
    const second = make(2);
    assertEquals([pipelines.entryOf(second), room.cleared], [pipelines.entryOf(first), 1]);
    assertEquals([room.isAskedFor(second), room.isAskedFor(first)], [false, true]);
  });
});

deviceTest(
  "a job for a table that is closed or full ends, and its worker lives",
  (device) =>
    inRoom(device, async (room) => {
      const request = trivialRequest(room.layout, 1), { board, pipelines, arena } = room.room;
      const announce = () =>
        announcePipeline(room.room, { request, spirvBytes: 100, pool: Pool.Prebuild, cacheCanTell: false });
      assert(announce());
      const job = board.tryTake(Pool.Prebuild)!;
      let failures = 0;
      pipelines.close();
      runPipelineJob(room.room, job, room.driver, () => failures++);
      pipelines.reopen();
      assertEquals([failures, board.stats().claimed, board.stats().budget.held, arena.stats().blobs], [1, 0, 0, 0]);
      // So it does for one whose submitter died before its blob was the job's.
      await room.clearPipelines(true);
      assert(announce());
      const stale = board.tryTake(Pool.Prebuild)!;
      arena.retire((stale.payload[0] >>> 0) + stale.payload[1] * 2 ** 32);
      runPipelineJob(room.room, stale, room.driver, () => failures++);
      assertEquals([failures, board.stats().claimed], [2, 0]);
    }, { workers: [0, 0, 0] }),
);
