import type { JobCore } from "./job_core.ts";
import { J, JobState, STATE_MASK } from "./job_records.ts";
import type { Outcome } from "./job_types.ts";
import { step } from "./steps.ts";
import { type WaitSteps, waitThrough, waitThroughAsync } from "./waits.ts";

/** Waiting for a job's end. A waiter pins the job, so that its outcome stays until the waiter has read it. */
export class JobWaits {
  readonly #core: JobCore;
  readonly #recheckMs: number;
  readonly #recover: (token: number) => void;

  /** @param recover gives back what a dead isolate held of the board */
  constructor(core: JobCore, recheckMs: number, recover: (token: number) => void) {
    this.#core = core;
    this.#recheckMs = recheckMs;
    this.#recover = recover;
  }

  /**
   * Blocks until the job ends.
   *
   * @param claimable also until it is queued: who ran it has put it back, or died; the outcome is `timed-out` then
   */
  wait(job: number, ticket: number, timeoutMs: number, claimable = false): Outcome {
    return waitThrough(this.#steps(job, ticket, timeoutMs, claimable));
  }

  /** The same without blocking the event loop. */
  async waitAsync(job: number, ticket: number, timeoutMs: number): Promise<Outcome> {
    return await waitThroughAsync(this.#steps(job, ticket, timeoutMs, false));
  }

  /** Ends a pin, and frees the job if it was the last. */
  unpin(place: number): void {
    const core = this.#core;
    const job = core.pins.unpin(place) - 1;
    step("board.unpinned");
    if (core.records.state(job) < JobState.Done) return;
    core.mutex.lock();
    core.freeIfUnused(job);
    core.mutex.unlock();
  }

  *#steps(job: number, ticket: number, timeoutMs: number, claimable: boolean): WaitSteps<Outcome> {
    const place = this.#begin(job, ticket);
    if (typeof place !== "number") return place;
    const { words, records } = this.#core;
    const end = performance.now() + timeoutMs;
    const index = records.at(job) + J.State;
    try {
      for (;;) {
        const value = Atomics.load(words, index);
        const rest = end - performance.now();
        if ((value & STATE_MASK) >= JobState.Done || rest <= 0) break;
        if (claimable && (value & STATE_MASK) === JobState.Queued) break;
        step("board.wait");
        const sleep = { words, index, value, timeoutMs: Math.min(rest, this.#recheckMs), what: `job ${ticket}` };
        if ((yield sleep) === "timed-out") this.#lookAfter(job);
      }
      return this.#core.outcome(job);
    } finally {
      this.unpin(place);
    }
  }

  /** Pins a live job and gives the place; a terminal one is answered under the lock, because a pin comes too late to keep it. */
  #begin(job: number, ticket: number): number | Outcome {
    const core = this.#core;
    const place = core.pin(job);
    const word = Atomics.load(core.words, core.records.at(job) + J.State);
    const state = word & STATE_MASK;
    const same = core.records.ticketOf(job, word) === ticket;
    if (same && (state === JobState.Queued || state === JobState.Claimed)) return place;
    core.pins.unpin(place);
    core.mutex.lock();
    const kept = core.records.ticket(job) === ticket && core.records.state(job) >= JobState.Done;
    const outcome: Outcome = kept ? core.outcome(job) : { state: "gone" };
    core.freeIfUnused(job);
    core.mutex.unlock();
    return outcome;
  }

  /** After a sleep that nobody ended: is the isolate that runs the job alive? */
  #lookAfter(job: number): void {
    const owner = Atomics.load(this.#core.words, this.#core.records.at(job) + J.Owner);
    if (owner !== 0 && this.#core.self.registry.isDead(owner)) this.#recover(owner);
  }
}
