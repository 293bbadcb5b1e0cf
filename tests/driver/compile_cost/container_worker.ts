/** A prebuild worker of a room whose compiles take a container's memory. */
import { MemoryGuard } from "../../../src/driver/compile_cost/memory_guard.ts";
import { attachRoom, Pool, type RoomHandle } from "../../../src/driver/pools/room.ts";
import { workerScope } from "../../sync/support/worker_scope.ts";
import { Container } from "./container.ts";

/** What it gets. */
export interface ContainerTask {
  readonly room: RoomHandle;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly limitKiB: number;
  /** KiB of memory for a KiB of SPIR-V. */
  readonly cost: number;
  readonly guarded: boolean;
}

workerScope.onmessage = (event: MessageEvent) => {
  const { room: handle, words, limitKiB, cost, guarded } = event.data as ContainerTask;
  const room = attachRoom(handle), container = new Container(limitKiB, words);
  const guard = new MemoryGuard(room.board, room.costs, { ...container, intervalMs: 1 });
  for (;;) {
    if (guarded) guard.refresh();
    const job = room.board.take(Pool.Prebuild);
    if (job === "stopped") break;
    if (job === "timed-out") continue;
    const bytes = job.payload[2];
    room.costs.compile(bytes, () => container.compile(bytes / 1024 * cost));
    room.board.finish(job.ticket);
  }
  room.registry.leave(room.self);
  workerScope.postMessage("done");
  workerScope.close();
};
