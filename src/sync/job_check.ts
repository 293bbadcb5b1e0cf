import type { BudgetStats } from "./compile_budget.ts";
import type { JobCore } from "./job_core.ts";
import { H, J, JobFlag, JobState, N, P, PRIORITIES } from "./job_records.ts";

/** What is wrong with lists, counts, shares and the budget of a board, or undefined. Under the board's lock. */
export function checkJobs(core: JobCore): string | undefined {
  const wrong = core.budget.check();
  if (wrong !== undefined) return wrong;
  const { records, words } = core;
  const seen = new Set<number>();
  for (let pool = 0; pool <= records.pools; pool++) {
    const at = records.poolAt(pool);
    let queued = 0, claimed = 0, budgeted = 0;
    for (let job = 0; job < records.jobs; job++) {
      if (words[records.at(job) + J.Pool] !== pool) continue;
      const state = records.state(job);
      if (state === JobState.Queued) queued++;
      if (state === JobState.Claimed) claimed++;
      if (state === JobState.Claimed && core.flag(job, JobFlag.Share)) budgeted++;
      if ((state === JobState.Claimed && core.flag(job, JobFlag.Hold)) !== core.budget.isHeld(job)) {
        return `job ${job}: hold`;
      }
      if (
        (state === JobState.Queued && records.numbers[records.numberAt(job) + N.Line] !== 0) !==
          core.budget.isWaiting(job)
      ) {
        return `job ${job}: line of the budget`;
      }
    }
    if (queued !== words[at + P.Queued] || claimed !== words[at + P.Claimed] || budgeted !== words[at + P.Budgeted]) {
      return `pool ${pool}: counts ${words[at + P.Queued]}, ${words[at + P.Claimed]}, ${
        words[at + P.Budgeted]
      }, jobs ${queued}, ${claimed}, ${budgeted}`;
    }
    if (pool < records.pools && budgeted > words[at + P.Share]) {
      return `pool ${pool}: ${budgeted} budgeted jobs, share ${words[at + P.Share]}`;
    }
    for (let list = at + P.Lists; list < at + P.Lists + PRIORITIES * 4; list += 2) {
      let previous = 0;
      for (let next = words[list]; next !== 0; next = words[records.at(next - 1) + J.Next]) {
        if (seen.has(next)) return `job ${next - 1} is listed twice`;
        seen.add(next);
        if (records.state(next - 1) !== JobState.Queued) return `job ${next - 1} is listed but not queued`;
        if (words[records.at(next - 1) + J.Previous] !== previous) return `job ${next - 1}: list broken`;
        if (previous !== 0 && !records.before(previous - 1, next - 1)) return `job ${next - 1}: order`;
        previous = next;
        queued--;
      }
    }
    if (queued !== 0) return `pool ${pool}: ${queued} queued jobs are in no list`;
  }
  for (let next = words[H.FreeFirst]; next !== 0; next = words[records.at(next - 1) + J.Next]) {
    if (seen.has(next)) return `job ${next - 1} is listed twice`;
    seen.add(next);
    if (records.state(next - 1) !== JobState.Free) return `job ${next - 1} is in the free list but not free`;
  }
  for (let job = 0; job < records.jobs; job++) {
    if (!seen.has(job + 1) && records.state(job) === JobState.Free) return `free job ${job} is in no list`;
  }
  return undefined;
}

/** What a board counts. */
export interface BoardStats {
  /** Since the start; bare holds count as jobs. */
  readonly submitted: number;
  readonly done: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Jobs that were claimed by who needed them. */
  readonly claimedByNeed: number;
  /** Jobs that were queued again because their isolate died. */
  readonly requeued: number;
  /** Now. */
  readonly queued: number;
  readonly claimed: number;
  /** Budgeted jobs on pool workers. */
  readonly budgetedRunning: number;
  /** Jobs that have ended and whose outcome somebody keeps. */
  readonly kept: number;
  /** Pins of all isolates. */
  readonly pins: number;
  readonly budget: BudgetStats;
}

/** The counts of a board. Takes the board's lock. */
export function boardStats(core: JobCore): BoardStats {
  const { words, records } = core;
  core.mutex.lock();
  let queued = 0, claimed = 0, budgetedRunning = 0, kept = 0;
  for (let pool = 0; pool <= records.pools; pool++) {
    const at = records.poolAt(pool);
    queued += words[at + P.Queued];
    claimed += words[at + P.Claimed];
    budgetedRunning += words[at + P.Budgeted];
  }
  for (let job = 0; job < records.jobs; job++) if (records.state(job) >= JobState.Done) kept++;
  const result = {
    submitted: words[H.Done] + words[H.Failed] + words[H.Cancelled] + queued + claimed,
    done: words[H.Done],
    failed: words[H.Failed],
    cancelled: words[H.Cancelled],
    claimedByNeed: words[H.ClaimedByNeed],
    requeued: words[H.Requeued],
    queued,
    claimed,
    budgetedRunning,
    kept,
    budget: core.budget.stats(),
  };
  core.mutex.unlock();
  return { ...result, pins: core.pins.count() };
}
