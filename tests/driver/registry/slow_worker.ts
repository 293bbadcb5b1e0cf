/** A worker whose recompile takes its time, and that uses the registry's lock meanwhile. */
import { attachRoom, Pool, type RoomHandle } from "../../../src/driver/pools/room.ts";
import { runRecompileJob } from "../../../src/driver/pools/preparation.ts";
import { setStepHook } from "../../../src/sync/steps.ts";

const scope = globalThis as unknown as { postMessage(message: unknown): void };

globalThis.addEventListener("message", (event) => {
  const { room: handle, claimed } = (event as MessageEvent<{ room: RoomHandle; claimed: Int32Array }>).data;
  const room = attachRoom(handle), nap = new Int32Array(new SharedArrayBuffer(4));
  let begun = false;
  setStepHook((point) => {
    if (point !== "table.begun" || begun) return;
    begun = true;
    Atomics.store(claimed, 0, 1);
    Atomics.notify(claimed, 0);
    Atomics.wait(nap, 0, 0, 200);
    Atomics.store(claimed, 1, 1);
  });
  runRecompileJob(room, room.board.tryTake(Pool.Preparation)!);
  setStepHook(undefined);
  room.registry.leave(room.self);
  scope.postMessage("done");
});
