import { assertNoLocksHeld } from "./held_locks.ts";
import type { JobCore } from "./job_core.ts";
import { P } from "./job_records.ts";
import { waitForWork, waitForWorkAsync } from "./waits.ts";

/** A worker or a drainer that sleeps looks again after this time, should the isolate that was to wake it have died. */
export const WORKER_RECHECK_MS = 1000;

/** Waiting until a pool has nothing queued and nothing running. */
export class JobDrains {
  readonly #core: JobCore;
  readonly #recheckMs: number;

  constructor(core: JobCore, recheckMs: number) {
    this.#core = core;
    this.#recheckMs = Math.max(WORKER_RECHECK_MS, recheckMs);
  }

  /** Blocks; false after the time. */
  wait(pool: number, timeoutMs: number): boolean {
    assertNoLocksHeld(`wait for pool ${pool} to drain`);
    const end = performance.now() + timeoutMs;
    for (;;) {
      const state = this.#state(pool);
      const rest = end - performance.now();
      if (state === undefined || rest <= 0) return state === undefined;
      const interval = Math.min(rest, this.#recheckMs);
      waitForWork(this.#core.words, state.at, state.seen, interval, `pool ${pool} to drain`);
    }
  }

  /** The same without blocking the event loop. */
  async waitAsync(pool: number, timeoutMs: number): Promise<boolean> {
    assertNoLocksHeld(`wait for pool ${pool} to drain`);
    const end = performance.now() + timeoutMs;
    for (;;) {
      const state = this.#state(pool);
      const rest = end - performance.now();
      if (state === undefined || rest <= 0) return state === undefined;
      const interval = Math.min(rest, this.#recheckMs);
      await waitForWorkAsync(this.#core.words, state.at, state.seen, interval, `pool ${pool} to drain`);
    }
  }

  /** The word that changes when the pool has drained, and what it is now; undefined when it has. */
  #state(pool: number): { at: number; seen: number } | undefined {
    const { mutex, words, records } = this.#core;
    const at = records.poolAt(pool);
    mutex.lock();
    const empty = words[at + P.Queued] === 0 && words[at + P.Claimed] === 0;
    const seen = Atomics.load(words, at + P.Idle);
    mutex.unlock();
    return empty ? undefined : { at: at + P.Idle, seen };
  }
}
