/** An isolate of a traced room: takes the GPU mutex, holds of the budget, and creates, as the test says. */
import { attachRoom, type RoomHandle } from "../../../src/driver/pools/room.ts";
import { tracer } from "../../../src/sync/tracer.ts";
import { workerScope } from "../../sync/support/worker_scope.ts";

/** What it gets. */
export interface TraceTask {
  readonly room: RoomHandle;
  readonly flags: Int32Array<SharedArrayBuffer>;
  /** Create with the mutex held, as was done long ago. */
  readonly inside: boolean;
  readonly dies: boolean;
}

function meet(flags: Int32Array, word: number): void {
  Atomics.store(flags, word, 1);
  Atomics.notify(flags, word);
  while (Atomics.load(flags, word + 1) === 0) Atomics.wait(flags, word + 1, 0, 1000);
}

workerScope.onmessage = (event: MessageEvent) => {
  const { room: handle, flags, inside, dies } = event.data as TraceTask;
  const room = attachRoom(handle);
  const create = () => {
    const start = performance.now();
    while (performance.now() < start + 2);
    tracer!.span("create", "pipeline of 7 words", start, performance.now());
  };
  const begun = performance.now();
  meet(flags, 0); // main puts down a span while this isolate waits here
  tracer!.span("test", "first", begun, performance.now(), "of the worker");
  const hold = room.board.hold(60)!;
  if (!inside) create();
  room.gpu.lock();
  if (inside) create();
  meet(flags, 2); // main asks for the mutex
  room.gpu.unlock();
  room.board.releaseHold(hold);
  if (dies) throw new Error("dies with its records written");
  room.registry.leave(room.self);
  workerScope.postMessage("done");
  workerScope.close();
};
