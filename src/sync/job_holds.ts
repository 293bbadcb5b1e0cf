import type { JobCore } from "./job_core.ts";
import { J, JobFlag, JobState, STATE_MASK } from "./job_records.ts";
import { SyncError } from "./sync_error.ts";
import { waitForWork } from "./waits.ts";

/** Bare holds of the compile budget: for compiles that are no jobs, in the same line as the jobs. */
export class JobHolds {
  readonly #core: JobCore;
  readonly #recheckMs: number;
  readonly #cancel: (ticket: number) => boolean;

  /** @param cancel takes back one that still waits */
  constructor(core: JobCore, recheckMs: number, cancel: (ticket: number) => boolean) {
    this.#core = core;
    this.#recheckMs = recheckMs;
    this.#cancel = cancel;
  }

  /**
   * Waits for a hold. Nothing else ends it than this isolate, its death, and the end of the board.
   *
   * @returns its ticket, or undefined after the time
   * @throws SyncError `sync.board-closed`
   */
  wait(bytes: number, timeoutMs: number): number | undefined {
    const core = this.#core, { words, records } = core, pool = records.pools;
    const job = core.insert({
      pool,
      priority: 0,
      bytes,
      kind: 0,
      payload: undefined,
      deaths: 1,
      flags: JobFlag.Bare,
    });
    const ticket = records.ticket(job);
    const at = records.at(job);
    if (core.admit(job)) core.start(job);
    core.mutex.unlock();
    const end = performance.now() + timeoutMs;
    for (;;) {
      const word = Atomics.load(words, at + J.State);
      if (records.ticketOf(job, word) !== ticket || (word & STATE_MASK) >= JobState.Done) {
        throw new SyncError(
          "sync.board-closed",
          "a hold of the compile budget was asked for when the board was stopped",
        );
      }
      if ((word & STATE_MASK) === JobState.Claimed) return ticket;
      const rest = end - performance.now();
      if (rest <= 0 && this.#cancel(ticket)) return undefined;
      const interval = Math.max(0, Math.min(rest, this.#recheckMs));
      waitForWork(words, at + J.State, word, interval, "the compile budget");
    }
  }
}
