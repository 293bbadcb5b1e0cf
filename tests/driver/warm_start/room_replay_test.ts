import { assert, assertEquals } from "@std/assert";
import { type DriverRoomOptions, openDriverRoom } from "../../../src/driver/pools/driver_room.ts";
import { computePipeline } from "../../../src/driver/pools/prebuild.ts";
import { prepareProgram } from "../../../src/driver/pools/programs_ahead.ts";
import { Pool } from "../../../src/driver/pools/room.ts";
import { pipelineRequest } from "../../../src/driver/vulkan/pipeline_request.ts";
import { decodeRecorded, encodeRecorded } from "../../../src/driver/warm_start/recorded_pipeline.ts";
import { replayInRoom } from "../../../src/driver/warm_start/room_replay.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import { Journal } from "../../../src/storage/journal.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { countCreations, Flag, newFlags } from "../pools/pipelines/support.ts";
import { inRoom, runShared } from "../vulkan/shared/run.ts";
import { manyPipelines } from "./programs.ts";
import { inFolder } from "./stores.ts";

const IDENTITY = new Uint8Array(4);
/** Options of a room with the journal of a folder. */
const kept = (folder: string, options: DriverRoomOptions = {}): DriverRoomOptions => ({
  journal: { folder, name: "test", identity: IDENTITY },
  ...options,
});
const records = (folder: string) => new Journal(folder, "test", IDENTITY).records;

deviceTest(
  "whoever creates a pipeline records it, and the next start creates all of them in its pools",
  (device) =>
    inFolder(async (folder) => {
      const program = manyPipelines(1, 8);
      let words: Uint32Array | undefined;
      const at = { address: program.memory.at(-1)!.base, bytes: 4096 };
      await inRoom(device, async (room) => {
        const run = await runShared(room, device, program);
        assertEquals([run.errors.size, room.creations().created], [0, 8]);
        words = run.words(at);
      }, kept(folder));
      assertEquals(records(folder).length, 8);
      await inRoom(device, async (room) => {
        const progress: string[] = [];
        const replay = await replayInRoom(room, records(folder), {
          progress: (done, total) => progress.push(`${done}/${total}`),
        });
        const { recorded, created, failed } = replay;
        assertEquals([recorded, created, failed], [8, 8, 0]);
        assertEquals([replay.used, replay.built], [0, 0]);
        assertEquals(progress.at(-1), "8/8");
        const run = await runShared(room, device, program);
        assertEquals([run.errors.size, room.creations().created], [0, 8], "the run creates nothing");
        assertEquals(run.words(at), words);
        assertEquals([replay.used, replay.built], [8, 0]);
        assertEquals(room.room.board.stats().budget.held, 0);
      }, kept(folder));
      assertEquals(records(folder).length, 8);
    }),
);

deviceTest(
  "records that are no pipeline any more are counted, and the rest is created",
  (device) =>
    inFolder(async (folder) => {
      await inRoom(device, async (room) => void await runShared(room, device, manyPipelines(1, 2)), kept(folder));
      const journal = new Journal(folder, "test", IDENTITY);
      await inRoom(device, async (room) => {
        const request = decodeRecorded(journal.records[0], room.recompilerDevice)!;
        const bad = encodeRecorded({ ...request, code: Uint32Array.of(0xffff_ffff) }, 1);
        const { created, failed } = await replayInRoom(room, [...journal.records, bad, Uint8Array.of(1)]);
        assertEquals([created, failed], [2, 2]);
      }, kept(folder));
    }),
);

deviceTest(
  "the replay's admission is held up, a dispatch builds the same key, it is released: the driver compiles once",
  (device) =>
    inFolder(async (folder) => {
      await inRoom(device, async (room) => void await runShared(room, device, manyPipelines(3, 3)), kept(folder));
      const [record] = records(folder), flags = newFlags();
      const room = openDriverRoom(device, { workers: [1, 1, 1], compileBytes: 64, arenaBytes: 16 << 20 });
      countCreations(device, flags);
      const { board } = room.room, hold = board.hold(64)!;
      const request = decodeRecorded(record, room.recompilerDevice)!;
      assertEquals(prepareProgram(room, request, Pool.Replay), "announced");
      const pool = room.start(Pool.Replay);
      await pool.ready();
      // The worker looks into the driver's cache, and then waits for the budget: its job can be claimed.
      while (board.stats().budget.waiting === 0 && room.creations().created === 0) {
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      const compiles = room.creations().created === 0 ? 1 : 0; // a driver whose cache has it compiles nothing
      const { pin } = computePipeline(room.room, pipelineRequest(recompile(request), room.layout), room.driver);
      room.room.pipelines.unpin(pin);
      assertEquals([board.stats().budget.held, flags[Flag.Calls], board.stats().claimedByNeed], [
        64,
        compiles,
        compiles,
      ]);
      board.releaseHold(hold);
      assert(await board.drainAsync(Pool.Replay, 10_000));
      assertEquals([room.creations().created, room.room.pipelines.stats().created], [1, 1], "in all isolates");
      await room.close();
    }),
);

deviceTest(
  "a journal may have more records than the board has jobs: they are announced in portions",
  (device) =>
    inFolder(async (folder) => {
      await inRoom(device, async (room) => void await runShared(room, device, manyPipelines(1, 8)), kept(folder));
      await inRoom(device, async (room) => {
        const { board } = room.room, submit = board.submit.bind(board);
        let most = 0;
        board.submit = (job) => {
          most = Math.max(most, board.stats().queued);
          return submit(job);
        };
        const { created, failed } = await replayInRoom(room, records(folder), { portion: 2 });
        assertEquals([created, failed], [8, 0]);
        assert(most < 2, `${most} jobs were queued when another was announced`);
      }, kept(folder));
    }),
);
