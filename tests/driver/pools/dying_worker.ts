/** A worker of the preparation pool that dies over its first job. */
import { attachRoom } from "../../../src/driver/pools/room.ts";
import type { PoolWorkerMessage, PoolWorkerStart } from "../../../src/driver/pools/worker_pool.ts";

const scope = globalThis as unknown as { postMessage(message: PoolWorkerMessage): void };

globalThis.addEventListener("message", (event) => {
  const start = (event as MessageEvent<PoolWorkerStart>).data;
  const room = attachRoom(start.room);
  scope.postMessage("ready");
  const job = room.board.take(start.pool);
  if (typeof job !== "string") throw new Error("dies over a job");
  room.registry.leave(room.self);
  scope.postMessage("done");
  globalThis.close();
});
