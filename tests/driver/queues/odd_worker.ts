/**
 * A queue's isolate whose executor does odd things: kind `odd`. The word `flags[1]` counts dispatches that have begun; what happens in them is
 * named by the source's data.
 */
import type { ExecutorKind } from "../../../src/driver/queues/executor_kinds.ts";
import { serveQueue } from "../../../src/driver/queues/queue_isolate.ts";
import { openSoftwareQueue } from "../../../src/driver/software/queue_executor.ts";
import { HostError } from "../../../src/errors.ts";

/** What the executors of a run do. */
export interface OddData {
  /** For the interpreter. */
  readonly software: unknown;
  /** 0: releases dispatches that block. 1: dispatches that have begun. */
  readonly flags: Int32Array<SharedArrayBuffer>;
  /** By the queue's place: nothing, or what its dispatches do. */
  readonly acts: readonly (
    | ""
    | "block"
    | "throw"
    | "host-error"
    | "close"
    | "die-at-end"
    | "fail-to-open"
    | "hang"
    | "lost"
    | "note"
  )[];
}

const scope = globalThis as unknown as { close(): void };

const odd: ExecutorKind = (data, memory, place) => {
  const { software, flags, acts } = data as OddData;
  if (acts[place] === "fail-to-open") throw new HostError("test.no-device", "the device is gone");
  const opened = openSoftwareQueue(software, memory);
  const { executor } = opened;
  const dispatch = executor.dispatch.bind(executor);
  executor.dispatch = (each) => {
    Atomics.add(flags, 1, 1);
    Atomics.notify(flags, 1);
    const act = acts[place];
    if (act === "throw") throw new TypeError("this is no error of the guest's");
    if (act === "host-error") throw new HostError("test.host", "no more");
    if (act === "lost") throw new HostError("test.lost", "the device is lost");
    if (act === "close") scope.close();
    if (act === "block") {
      while (Atomics.load(flags, 0) === 0) Atomics.wait(flags, 0, 0, 20);
    }
    dispatch(each);
  };
  if (acts[place] === "die-at-end") {
    executor.programs = () => {
      throw new Error("dies by throw");
    };
  }
  return {
    ...opened,
    hung: () => acts[place] === "hang",
    notes: () => acts[place] === "note" ? ["a file is damaged", `queue ${place} says so`] : [],
    close() {
      executor.close();
      if (acts[place] === "lost") throw new HostError("test.lost-again", "it is still lost");
    },
  };
};

serveQueue({ odd: () => Promise.resolve(odd) });
