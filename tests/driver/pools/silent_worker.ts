/**
 * A worker of the preparation pool. As long as the environment's `SILENT_WORKERS` counts some (all isolates of a process have one environment), it ends
 * without a word to main: `?where=at-once` as soon as its module is loaded, `entered` as a member, before it is ready, `ready` over its first job.
 */
import { attachRoom } from "../../../src/driver/pools/room.ts";
import type { PoolWorkerMessage, PoolWorkerStart } from "../../../src/driver/pools/worker_pool.ts";

const scope = globalThis as unknown as { postMessage(message: PoolWorkerMessage): void };
const left = Number(Deno.env.get("SILENT_WORKERS"));
const where = left > 0 ? new URL(import.meta.url).searchParams.get("where") : "nowhere";
if (left > 0) Deno.env.set("SILENT_WORKERS", String(left - 1));
if (where === "at-once") globalThis.close();

globalThis.addEventListener("message", (event) => {
  const { room: handle, pool } = (event as MessageEvent<PoolWorkerStart>).data, room = attachRoom(handle);
  if (where === "entered") return globalThis.close();
  scope.postMessage("ready");
  for (;;) {
    const job = room.board.take(pool);
    if (where === "ready") return globalThis.close();
    if (typeof job === "string") break;
    room.board.finish(job.ticket, BigInt(job.kind));
  }
  room.registry.leave(room.self);
  scope.postMessage("done");
  globalThis.close();
});
