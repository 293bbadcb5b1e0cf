/** The isolates of a run of bench/compile_budget: workers of the prebuild pool, and a queue that needs one pipeline after the other. */
import { attachDriverRoom } from "../../src/driver/pools/driver_room.ts";
import { computePipeline, type PipelineDriver, runPipelineJob } from "../../src/driver/pools/prebuild.ts";
import { attachRoom, Pool, type Room } from "../../src/driver/pools/room.ts";
import { stubCompile, type StubCosts } from "./stub.ts";
import { Compiled, type IsolateTask, type RunTask, Shared, sharedMs, type StubRequest } from "./task.ts";

const scope = globalThis as unknown as { postMessage(message: "ready" | "done"): void; close(): void };
/** Bytes of SPIR-V for the stub before a run. */
const WARM_UP = 1 << 17;

/** The stub compiler as a driver. */
class StubDriver implements PipelineDriver<StubRequest> {
  readonly #costs: StubCosts;

  constructor(costs: StubCosts) {
    this.#costs = costs;
  }

  create({ module, bytes }: StubRequest): bigint {
    // The result takes part: what nobody reads need not be computed.
    return BigInt(module + 1) + (BigInt(stubCompile(bytes, this.#costs)) << 32n);
  }
}

/** Counts what a driver does; `cached` stays off: no run has anything in a cache. */
function counted<Request>(
  driver: PipelineDriver<Request>,
  words: Int32Array,
  first: number,
  bytesOf: (request: Request) => number,
) {
  return {
    create(request: Request, record?: Uint8Array): bigint {
      const start = performance.now();
      const pipeline = driver.create(request, record);
      // After the window nothing counts.
      if (Atomics.load(words, Shared.Stop) === 0) {
        Atomics.add(words, first + Compiled.Count, 1);
        Atomics.add(words, first + Compiled.Ms, Math.round(performance.now() - start));
        Atomics.add(words, first + Compiled.KiB, Math.round(bytesOf(request) / 1024));
        Atomics.add(words, first + Compiled.ReadyMs, sharedMs() - Atomics.load(words, Shared.BeganMs));
      }
      return pipeline;
    },
    giveBack: driver.giveBack && (() => driver.giveBack!()),
  };
}

function pool(room: Room, own: PipelineDriver<never>, refresh: () => void): void {
  for (;;) {
    refresh();
    const job = room.board.take(Pool.Prebuild);
    if (job === "stopped") return;
    if (job !== "timed-out") runPipelineJob(room, job, own);
  }
}

/** What a queue does for its dispatches, as far as pipelines are concerned. */
function queue(
  room: Room,
  own: PipelineDriver<never>,
  words: Int32Array<SharedArrayBuffer>,
  task: RunTask,
  request: (module: number) => never,
) {
  const made = Shared.Queue + Compiled.Count;
  for (let module = 0; module < task.sizes.length; module++) {
    Atomics.wait(words, Shared.Stop, 0, task.paceMs);
    if (Atomics.load(words, Shared.Stop) !== 0) return;
    const needed = request(module), start = performance.now(), compiles = Atomics.load(words, made);
    const { pin } = computePipeline(room, needed, own);
    room.pipelines.unpin(pin);
    const ms = performance.now() - start;
    if (Atomics.load(words, Shared.Stop) !== 0) return;
    Atomics.add(words, Shared.Asked, 1);
    Atomics.add(words, Shared.BlockedMs, Math.round(ms));
    if (Atomics.load(words, made) === compiles && ms < 1) Atomics.add(words, Shared.Ready, 1);
  }
}

globalThis.addEventListener("message", (event) => {
  const { role, room: handle, driver: driverHandle, words, task } = (event as MessageEvent<IsolateTask>).data;
  const shared = driverHandle && attachDriverRoom(driverHandle), room = shared?.room ?? attachRoom(handle);
  const first = role === "pool" ? Shared.Pool : Shared.Queue;
  const driver = (shared === undefined
    ? counted(new StubDriver(task.stub!), words, first, ({ bytes }) =>
      bytes)
    : counted(shared.driver, words, first, ({ spirv }) => spirv.byteLength)) as PipelineDriver<never>;
  if (task.keepsHeaps) driver.giveBack = undefined;
  // Each isolate optimizes the stub's code for itself: not while it is measured.
  if (shared === undefined) { for (let i = 0; i < 4; i++) stubCompile(WARM_UP, task.stub!); }
  scope.postMessage("ready");
  while (Atomics.load(words, Shared.Begin) === 0) Atomics.wait(words, Shared.Begin, 0, 1000);
  if (role === "pool") pool(room, driver, () => shared?.guard.refresh());
  else {
    queue(room, driver, words, task, (module) => {
      if (shared === undefined) return { module, bytes: task.sizes[module] } as never;
      const spirv = new Uint32Array(Deno.readFileSync(task.modules![module]).buffer);
      return { spirv, layout: shared.layout, subgroupSize: undefined } as never;
    });
  }
  if (shared === undefined) room.registry.leave(room.self);
  else shared.leave();
  scope.postMessage("done");
  scope.close();
});
