import { SharedMutex } from "./futex_mutex.ts";
import type { MutexHandle } from "./futex_mutex.ts";
import { LockBit } from "./held_locks.ts";
import type { Isolate } from "./isolates.ts";

/**
 * The lock for guest memory and command recording. No pipeline is created, no job and no label is waited for under it: all of that asserts
 * that the isolate holds nothing. It protects no data of its own, so there is nothing to repair after a dead owner; what that one was
 * recording is dropped by its queue's supervision.
 */
export class GpuMutex extends SharedMutex {
  /** A new mutex, or with `handle` the one that exists. */
  constructor(self: Isolate, handle?: MutexHandle) {
    super(self, { bit: LockBit.Gpu, name: "GPU mutex" }, handle);
  }
}
