/**
 * One run of bench/compile_budget, in a process of its own: the task is the argument, the result a line of JSON.
 *
 *     deno run -A bench/compile_budget/run.ts TASK
 */
import { procMemory } from "../../src/driver/compile_cost/peak_memory.ts";
import { openDriverRoom, type OwnedDriverRoom } from "../../src/driver/pools/driver_room.ts";
import { announcePipeline } from "../../src/driver/pools/prebuild.ts";
import { createRoom, Pool, type Room } from "../../src/driver/pools/room.ts";
import { GpuDevice } from "../../src/gpu/device.ts";
import type { PipelineRequest } from "../../src/driver/vulkan/pipeline_request.ts";
import { type IsolateTask, type RunResult, type RunTask, Shared, type StubRequest } from "./task.ts";

/** Instead of no limit: more than all modules. */
const NO_LIMIT = 2 ** 40;

/** Does one run. */
export async function runTask(task: RunTask): Promise<RunResult> {
  const compileBytes = task.limitBytes ?? NO_LIMIT, workers = [1, task.workers, 1] as const;
  const device = task.stub === undefined ? GpuDevice.create() : undefined;
  const driver = device && openDriverRoom(device, { compileBytes, workers });
  const room = driver?.room ?? createRoom({ workers, compileBytes });
  const words = new Int32Array(new SharedArrayBuffer(4 * Shared.Words));
  const isolates = startIsolates(task, room, driver, words);
  await Promise.all(isolates.map(({ ready }) => ready));
  announceAll(task, room, driver);
  if (!procMemory.beginPeak()) throw new Error("this kernel cannot say how much memory was used at most");
  const resident = procMemory.resident(), start = performance.now();
  Atomics.store(words, Shared.Begin, 1);
  Atomics.notify(words, Shared.Begin);
  const end = start + task.windowMs;
  while (performance.now() < end && room.pipelines.stats().ready < task.sizes.length) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const ms = performance.now() - start, pipelines = room.pipelines.stats().ready;
  Atomics.store(words, Shared.Stop, 1);
  Atomics.notify(words, Shared.Stop);
  const peakBytes = procMemory.peak() - resident, { budget } = room.board.stats();
  const of = (word: number) => Atomics.load(words, word);
  const result: RunResult = {
    device: device?.capabilities.name ?? "stub compiler",
    peakBytes,
    ms,
    pipelines,
    pool: { compiles: of(Shared.PoolCompiles), ms: of(Shared.PoolMs) },
    queue: {
      compiles: of(Shared.QueueCompiles),
      ms: of(Shared.QueueMs),
      asked: of(Shared.Asked),
      blockedMs: of(Shared.BlockedMs),
      ready: of(Shared.Ready),
    },
    heldBytes: budget.peak,
    waited: budget.waited,
  };
  room.board.stop("cancel");
  await Promise.all(isolates.map(({ done }) => done));
  await driver?.close();
  device?.destroy();
  return result;
}

function startIsolates(
  task: RunTask,
  room: Room,
  driver: OwnedDriverRoom | undefined,
  words: Int32Array<SharedArrayBuffer>,
) {
  const roles = [...Array.from({ length: task.workers }, () => "pool" as const), "queue" as const];
  return roles.map((role) => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: role });
    const message: IsolateTask = { role, room: room.handle, driver: driver?.handle, words, task };
    let ready = () => {}, done = () => {}, fail = (_: Error) => {};
    const isReady = new Promise<void>((resolve, reject) => (ready = resolve, fail = reject));
    const isDone = new Promise<void>((resolve) => done = resolve);
    worker.onmessage = ({ data }: MessageEvent<"ready" | "done">) => data === "ready" ? ready() : done();
    worker.onerror = ({ message }) => fail(new Error(`an isolate of the run died: ${message}`));
    worker.postMessage(message);
    return { ready: isReady, done: isDone };
  });
}

/** Everything is known before the queue needs it, as after a submission that was walked through. */
function announceAll({ sizes, modules }: RunTask, room: Room, driver: OwnedDriverRoom | undefined): void {
  const ahead = { pool: Pool.Prebuild, cacheCanTell: false };
  sizes.forEach((bytes, module) => {
    if (driver === undefined) {
      announcePipeline<StubRequest>(room, { ...ahead, request: { module, bytes }, spirvBytes: bytes });
    } else {
      const spirv = new Uint32Array(Deno.readFileSync(modules![module]).buffer);
      const request: PipelineRequest = { spirv, layout: driver.layout, subgroupSize: undefined };
      announcePipeline(room, { ...ahead, request, spirvBytes: spirv.byteLength });
    }
  });
}

if (import.meta.main) {
  console.log(JSON.stringify(await runTask(JSON.parse(Deno.args[0]))));
  Deno.exit(0);
}
