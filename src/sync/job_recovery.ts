/**
 * What becomes of jobs whose isolates are gone: those of a dead one, and those of a pool that has given up.
 *
 * @module
 */
import { encodeError } from "./error_data.ts";
import type { JobCore } from "./job_core.ts";
import { H, J, JobFlag, JobState } from "./job_records.ts";
import { SyncError } from "./sync_error.ts";

/** Queues a dead isolate's jobs again (or fails them), and gives back its holds, shares and pins; returns how many things. */
export function recoverJobs(core: JobCore, token: number): number {
  core.mutex.recover(token);
  const { records, words } = core;
  let count = 0;
  core.mutex.lock();
  for (let job = 0; job < records.jobs; job++) {
    const at = records.at(job);
    const state = records.state(job);
    if (words[at + J.Owner] !== token || (state !== JobState.Claimed && state !== JobState.Queued)) continue;
    count++;
    if (state === JobState.Queued) core.cancelQueued(job);
    else if (core.flag(job, JobFlag.Bare) || words[H.Cancelling] !== 0) {
      core.finishState(job, JobState.Cancelled);
    } else if (++words[at + J.Deaths] >= words[at + J.MaxDeaths]) {
      const text = `job ${records.ticket(job)}: ${words[at + J.Deaths]} isolates died over it`;
      core.putError(job, encodeError(new SyncError("sync.isolate-died", text)));
      core.finishState(job, JobState.Failed);
    } else {
      core.stop(job);
      records.setState(job, JobState.Queued);
      words[at + J.Owner] = 0;
      core.enqueue(job);
      words[H.Requeued]++;
      Atomics.notify(words, at + J.State);
    }
  }
  count += core.pins.releaseDead(token).length;
  // Also a job that it did not pin any more, and had not freed.
  for (let job = 0; job < records.jobs; job++) core.freeIfUnused(job);
  core.pump();
  core.mutex.unlock();
  core.wakeEverybody();
  return count;
}

/** For a pool whose workers are gone for good: fails its queued jobs whose submitters wait for them. */
export function failKeptJobs(core: JobCore, pool: number, error: unknown): void {
  const encoded = encodeError(error), { records, words } = core;
  core.mutex.lock();
  for (let job = 0; job < records.jobs; job++) {
    if (records.state(job) !== JobState.Queued || !core.flag(job, JobFlag.Kept)) continue;
    if (words[records.at(job) + J.Pool] === pool) core.failQueued(job, encoded);
  }
  core.unlockAndWake(pool);
}
