import { assertNoLocksHeld } from "./held_locks.ts";
import type { JobCore } from "./job_core.ts";
import { P } from "./job_records.ts";
import { type WaitSteps, waitThrough, waitThroughAsync } from "./waits.ts";

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
    return waitThrough(this.#steps(pool, timeoutMs));
  }

  /** The same without blocking the event loop. */
  async waitAsync(pool: number, timeoutMs: number): Promise<boolean> {
    return await waitThroughAsync(this.#steps(pool, timeoutMs));
  }

  *#steps(pool: number, timeoutMs: number): WaitSteps<boolean> {
    const what = `pool ${pool} to drain`;
    assertNoLocksHeld(`wait for ${what}`);
    const { mutex, words, records } = this.#core, at = records.poolAt(pool);
    const end = performance.now() + timeoutMs;
    for (;;) {
      mutex.lock();
      const empty = words[at + P.Queued] === 0 && words[at + P.Claimed] === 0;
      // The word that changes when the pool has drained.
      const value = Atomics.load(words, at + P.Idle);
      mutex.unlock();
      const rest = end - performance.now();
      if (empty || rest <= 0) return empty;
      yield { words, index: at + P.Idle, value, timeoutMs: Math.min(rest, this.#recheckMs), what };
    }
  }
}
