/** The isolates of a run of bench/compile_budget: workers of the prebuild pool, and a queue that needs one pipeline after the other. */
import { mapAnonymous, PAGE_BYTES, Protection, unmap, viewMemory } from "../../ffi/libc.ts";
import { attachDriverRoom } from "../../src/driver/pools/driver_room.ts";
import { computePipeline, type PipelineDriver, runPipelineJob } from "../../src/driver/pools/prebuild.ts";
import { attachRoom, Pool, type Room } from "../../src/driver/pools/room.ts";
import { type IsolateTask, type RunTask, Shared, type StubCosts, type StubRequest } from "./task.ts";

const scope = globalThis as unknown as { postMessage(message: "ready" | "done"): void; close(): void };
const nobody = new Int32Array(new SharedArrayBuffer(4));

/** Takes memory, takes time, gives the memory back: a driver's compiler, as far as the budget is concerned. */
class StubDriver implements PipelineDriver<StubRequest> {
  readonly #costs: StubCosts;

  constructor(costs: StubCosts) {
    this.#costs = costs;
  }

  create({ module, bytes }: StubRequest): bigint {
    const end = performance.now() + bytes * this.#costs.ms;
    const mapping = mapAnonymous(Math.max(PAGE_BYTES, bytes * this.#costs.memory), Protection.Read | Protection.Write);
    const memory = new Uint8Array(viewMemory(mapping.address, mapping.byteLength));
    for (let at = 0; at < memory.length; at += PAGE_BYTES) memory[at] = 1;
    Atomics.wait(nobody, 0, 0, Math.max(0, end - performance.now()));
    unmap(mapping);
    return BigInt(module + 1);
  }
}

/** Counts what a driver does; `cached` stays off: no run has anything in a cache. */
function counted<Request>(driver: PipelineDriver<Request>, words: Int32Array, compiles: number, ms: number) {
  return {
    create(request: Request, record?: Uint8Array): bigint {
      const start = performance.now();
      const pipeline = driver.create(request, record);
      // After the window nothing counts.
      if (Atomics.load(words, Shared.Stop) === 0) {
        Atomics.add(words, compiles, 1);
        Atomics.add(words, ms, Math.round(performance.now() - start));
      }
      return pipeline;
    },
  };
}

function pool(room: Room, driver: PipelineDriver<never>, words: Int32Array, refresh: () => void): void {
  const own = counted(driver, words, Shared.PoolCompiles, Shared.PoolMs);
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
  driver: PipelineDriver<never>,
  words: Int32Array<SharedArrayBuffer>,
  task: RunTask,
  request: (module: number) => never,
) {
  const own = counted(driver, words, Shared.QueueCompiles, Shared.QueueMs);
  for (let module = 0; module < task.sizes.length; module++) {
    Atomics.wait(words, Shared.Stop, 0, task.paceMs);
    if (Atomics.load(words, Shared.Stop) !== 0) return;
    const needed = request(module), start = performance.now(), compiles = Atomics.load(words, Shared.QueueCompiles);
    const { pin } = computePipeline(room, needed, own);
    room.pipelines.unpin(pin);
    const ms = performance.now() - start;
    if (Atomics.load(words, Shared.Stop) !== 0) return;
    Atomics.add(words, Shared.Asked, 1);
    Atomics.add(words, Shared.BlockedMs, Math.round(ms));
    if (Atomics.load(words, Shared.QueueCompiles) === compiles && ms < 1) Atomics.add(words, Shared.Ready, 1);
  }
}

globalThis.addEventListener("message", (event) => {
  const { role, room: handle, driver: driverHandle, words, task } = (event as MessageEvent<IsolateTask>).data;
  const shared = driverHandle && attachDriverRoom(driverHandle), room = shared?.room ?? attachRoom(handle);
  const driver = (shared?.driver ?? new StubDriver(task.stub!)) as PipelineDriver<never>;
  scope.postMessage("ready");
  while (Atomics.load(words, Shared.Begin) === 0) Atomics.wait(words, Shared.Begin, 0, 1000);
  if (role === "pool") pool(room, driver, words, () => shared?.guard.refresh());
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
