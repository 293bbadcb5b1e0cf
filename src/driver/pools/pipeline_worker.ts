/**
 * What a worker of the prebuild and replay pools does.
 *
 * @module
 */
import { SyncError } from "../../sync/sync_error.ts";
import { attachDriverRoom } from "./driver_room.ts";
import { runPipelineJob } from "./prebuild.ts";
import { JobKind } from "./room.ts";
import type { PoolWorkerMessage, PoolWorkerStart } from "./worker_pool.ts";

/** Takes jobs until the board is stopped. To be called once, in a worker's module. */
export function servePipelines(): void {
  const scope = globalThis as unknown as { postMessage(message: PoolWorkerMessage): void };
  globalThis.addEventListener("message", (event) => {
    const start = (event as MessageEvent<PoolWorkerStart>).data;
    const shared = attachDriverRoom(start.driver!), { board } = shared.room;
    scope.postMessage("ready");
    for (;;) {
      // So that what is admitted now still fits into memory.
      shared.guard.refresh();
      const job = board.take(start.pool);
      if (job === "stopped") break;
      if (job === "timed-out") continue;
      if (job.kind === JobKind.Pipeline) {
        runPipelineJob(shared.room, job, shared.driver, () => shared.failedAhead());
      } else board.fail(job.ticket, new SyncError("sync.job", `a job of kind ${job.kind} in pool ${start.pool}`));
    }
    for (const log of shared.notes) scope.postMessage({ log });
    shared.leave();
    scope.postMessage("done");
    globalThis.close();
  });
}
