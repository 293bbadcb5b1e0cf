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
import {
  Compiled,
  type Compiles,
  type IsolateTask,
  type RunResult,
  type RunTask,
  Shared,
  sharedMs,
  type StubRequest,
} from "./task.ts";

/** Instead of no limit: more than all modules. */
const NO_LIMIT = 2 ** 40;

/** A run's result, and how to end what it began: compiles that its window cut off run on in the driver. */
export interface Run {
  readonly result: RunResult;
  close(): Promise<void>;
}

/** Does one run. */
export async function runTask(task: RunTask): Promise<Run> {
  const compileBytes = task.limitBytes ?? NO_LIMIT, workers = [1, task.workers, 1] as const;
  const device = task.stub === undefined ? GpuDevice.create() : undefined;
  const driver = device && openDriverRoom(device, { compileBytes, workers });
  const room = driver?.room ?? createRoom({ workers, compileBytes });
  const words = new Int32Array(new SharedArrayBuffer(4 * Shared.Words));
  const isolates = startIsolates(task, room, driver, words);
  await Promise.all(isolates.map(({ ready }) => ready));
  announceAll(task, room, driver);
  if (!procMemory.beginPeak()) throw new Error("this kernel cannot say how much memory was used at most");
  const resident = procMemory.resident(), start = performance.now(), cpuBefore = cpuMs();
  Atomics.store(words, Shared.BeganMs, sharedMs());
  Atomics.store(words, Shared.Begin, 1);
  Atomics.notify(words, Shared.Begin);
  const end = start + task.windowMs;
  while (performance.now() < end && room.pipelines.stats().ready < task.sizes.length) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const ms = performance.now() - start, cpu = cpuMs() - cpuBefore, pipelines = room.pipelines.stats().ready;
  Atomics.store(words, Shared.Stop, 1);
  Atomics.notify(words, Shared.Stop);
  const peakBytes = procMemory.peak() - resident, { budget } = room.board.stats();
  const of = (word: number) => Atomics.load(words, word);
  const compiles = (first: number): Compiles => ({
    compiles: of(first + Compiled.Count),
    ms: of(first + Compiled.Ms),
    bytes: of(first + Compiled.KiB) * 1024,
  });
  const pool = compiles(Shared.Pool), queue = compiles(Shared.Queue);
  const result: RunResult = {
    device: device?.capabilities.name ?? "stub compiler",
    residentBytes: resident,
    peakBytes,
    ms,
    cpuMs: cpu,
    pipelines,
    readyMs: (of(Shared.Pool + Compiled.ReadyMs) + of(Shared.Queue + Compiled.ReadyMs)) /
      Math.max(1, pool.compiles + queue.compiles),
    pool,
    queue: {
      ...queue,
      asked: of(Shared.Asked),
      blockedMs: of(Shared.BlockedMs),
      ready: of(Shared.Ready),
    },
    heldBytes: budget.peak,
    waited: budget.waited,
  };
  const close = async () => {
    room.board.stop("cancel");
    await Promise.all(isolates.map(({ done }) => done));
    await driver?.close();
    device?.destroy();
  };
  return { result, close };
}

/** Processor time of this process so far: utime and stime of proc_pid_stat(5), in ticks of 10 ms. */
function cpuMs(): number {
  // The name of the command, in parentheses, may have spaces.
  const fields = Deno.readTextFileSync("/proc/self/stat").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
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

/** What is known before the queue needs it, as after a submission that was walked through. */
function announceAll({ sizes, modules, unannounced }: RunTask, room: Room, driver: OwnedDriverRoom | undefined): void {
  const ahead = { pool: Pool.Prebuild, cacheCanTell: false };
  sizes.forEach((bytes, module) => {
    if (module % unannounced === unannounced - 1) return;
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
  console.log(JSON.stringify((await runTask(JSON.parse(Deno.args[0]))).result));
  // Not by exit(): it would wait for, or take the ground from under, threads that are in the driver's compiler.
  Deno.kill(Deno.pid, "SIGKILL");
}
