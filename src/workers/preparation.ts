/**
 * A worker of the preparation pool: takes recompile jobs from the board until the board is stopped.
 *
 * @module
 */
import { DriverRoom } from "../driver/pools/driver_room.ts";
import { type PreparationServices, runRecompileJob } from "../driver/pools/preparation.ts";
import { runProgramJob } from "../driver/pools/programs_ahead.ts";
import { attachRoom, JobKind } from "../driver/pools/room.ts";
import type { PoolWorkerMessage, PoolWorkerStart } from "../driver/pools/worker_pool.ts";
import { ShaderCache } from "../driver/shader_cache/shader_cache.ts";
import { GpuDevice } from "../gpu/device.ts";
import { SyncError } from "../sync/sync_error.ts";

const scope = globalThis as unknown as { postMessage(message: PoolWorkerMessage): void };

globalThis.addEventListener("message", (event) => {
  const start = (event as MessageEvent<PoolWorkerStart>).data;
  const room = attachRoom(start.room);
  const log = (log: string) => scope.postMessage({ log });
  const driver = start.driver && new DriverRoom(room, GpuDevice.attach(start.driver.device), start.driver, { log });
  const cache = start.cache && new ShaderCache(start.cache.folder, start.cache);
  cache?.attachWriter(room);
  const services: PreparationServices = driver?.services ??
    { keep: cache && ((request, artifact) => cache.add(request, artifact)), log };
  scope.postMessage("ready");
  for (;;) {
    const job = room.board.take(start.pool);
    if (job === "stopped") break;
    if (job === "timed-out") continue;
    if (job.kind === JobKind.Recompile || job.kind === JobKind.Variant) runRecompileJob(room, job, services);
    else if (job.kind === JobKind.Program && driver !== undefined) runProgramJob(driver, job);
    else room.board.fail(job.ticket, new SyncError("sync.job", `a job of kind ${job.kind} in the preparation pool`));
  }
  cache?.flush(); // what the writer took no more
  driver?.keepShaders();
  for (const line of [...cache?.notes ?? [], ...driver?.notes ?? []]) log(line);
  room.registry.leave(room.self);
  scope.postMessage("done");
  globalThis.close();
});
