/**
 * A run with two queues in isolates of their own, and pools that work ahead, which room_crash_test.ts kills. Says on standard output
 *
 *     note TEXT             what was wrong with a file
 *     replayed RECORDS CREATED FAILED
 *     done BUILT ERRORS
 */
import { openDriverRoom } from "../../../src/driver/pools/driver_room.ts";
import { replayInRoom } from "../../../src/driver/warm_start/room_replay.ts";
import { GpuDevice } from "../../../src/gpu/device.ts";
import { Journal } from "../../../src/storage/journal.ts";
import { runShared } from "../vulkan/shared/run.ts";
import { manyPipelines } from "./programs.ts";

const [folder, count] = [Deno.args[0], Number(Deno.args[1])];
const say = (...words: unknown[]) => void Deno.stdout.writeSync(new TextEncoder().encode(words.join(" ") + "\n"));

const gpu = GpuDevice.create({ device: "cpu" }), place = { folder, name: "crash", identity: new Uint8Array(4) };
const journal = new Journal(place.folder, place.name, place.identity);
journal.notes.forEach((note) => say("note", note));
const room = openDriverRoom(gpu, { workers: [1, 1, 1], arenaBytes: 64 << 20, journal: place });
const replay = await replayInRoom(room, journal.records);
say("replayed", replay.recorded, replay.created, replay.failed);
const whole = manyPipelines(1, count);
const program = {
  ...whole,
  submissions: whole.submissions.map((each, i) => ({ ...each, queue: [0x20, 0x28][i & 1] })),
};
const { errors } = await runShared(room, gpu, program);
say("done", replay.built, errors.size);
await room.close();
gpu.destroy();
