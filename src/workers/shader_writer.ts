/**
 * The worker that writes the shader cache: takes entries from the board until it is stopped and none is left, then removes what is too much.
 *
 * @module
 */
import { attachRoom, JobKind } from "../driver/pools/room.ts";
import type { PoolWorkerMessage, PoolWorkerStart } from "../driver/pools/worker_pool.ts";
import { WriterJobs } from "../driver/shader_cache/background_writer.ts";
import { EntryWriter } from "../driver/shader_cache/entry_writer.ts";
import { ensurePrivate } from "../storage/cache_folder.ts";
import { SyncError } from "../sync/sync_error.ts";

const scope = globalThis as unknown as { postMessage(message: PoolWorkerMessage): void };

globalThis.addEventListener("message", (event) => {
  const start = (event as MessageEvent<PoolWorkerStart>).data;
  const room = attachRoom(start.room);
  const jobs = new WriterJobs(
    (handle) => ensurePrivate(handle.folder) ? new EntryWriter(handle.folder, handle) : undefined,
    (log) => scope.postMessage({ log }),
  );
  scope.postMessage("ready");
  for (;;) {
    const job = room.board.take(start.pool);
    if (job === "stopped") break;
    if (job === "timed-out") continue;
    if (job.kind === JobKind.Entry) jobs.run(room, job);
    else room.board.fail(job.ticket, new SyncError("sync.job", `a job of kind ${job.kind} for the shader writer`));
  }
  jobs.close();
  room.registry.leave(room.self);
  scope.postMessage("done");
  globalThis.close();
});
