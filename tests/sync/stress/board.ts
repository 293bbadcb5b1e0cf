/** JobBoard: every job ends, is claimed once (and once more for each death over it), and its outcome is its own. */
import { JobBoard, type JobBoardHandle } from "../../../src/sync/job_board.ts";
import type { ClaimedJob, Outcome } from "../../../src/sync/job_types.ts";
import { mustHold, type Scenario } from "./scenario.ts";

const JOBS = 256, CELLS = 32, POOLS = 2;
/** Claims of the job in each of the board's places; jobs so far; jobs whose submitter died before its blob was theirs. */
const CLAIMS = CELLS * 2, NEXT = CLAIMS + 1, STALE = CLAIMS + 2;

function tickets(words: Int32Array<SharedArrayBuffer>): BigInt64Array<SharedArrayBuffer> {
  return new BigInt64Array(words.buffer, 0, CELLS);
}

export const boardScenario: Scenario<JobBoardHandle> = {
  words: CELLS * 2 + 8,
  create({ self, arena, words }, recheckMs) {
    const pools = [{ workers: 4 }, { workers: 2 }];
    const board = JobBoard.create(self, arena, { pools, jobs: JOBS, limitBytes: 1000 }, recheckMs);
    return {
      handle: board.handle,
      check: () => board.check(),
      end: (deaths) => {
        for (let pool = 0; pool < POOLS; pool++) {
          for (let job = board.tryTake(pool); job !== undefined; job = board.tryTake(pool)) {
            words[CLAIMS]++;
            board.finish(job.ticket);
          }
        }
        const stats = board.stats();
        const { submitted, done, failed, cancelled, budget, kept, pins, claimed, queued } = stats;
        if (budget.held + budget.holds + budget.waiting + kept + pins + claimed + queued !== 0) {
          return JSON.stringify(stats);
        }
        if (submitted !== done + failed + cancelled) return `jobs lost: ${JSON.stringify(stats)}`;
        // A claim is counted right after it is made, so a death may lose the count or the end, not both ways.
        const ended = done + failed;
        if (Math.abs(words[CLAIMS] - ended) > deaths) return `${words[CLAIMS]} claims, ${ended} ends, ${deaths} deaths`;
        if (words[STALE] > deaths) return `${words[STALE]} jobs had lost their blobs, ${deaths} deaths`;
        return arena.stats().blobs === 0 ? undefined : `${arena.stats().blobs} errors or blobs of jobs are left`;
      },
    };
  },
  attach({ self, arena, words, random, mayDie }, handle, recheckMs) {
    const board = JobBoard.attach(self, arena, handle, recheckMs);
    const shared = tickets(words);
    const kept: number[] = [];
    const checkOutcome = (ticket: number, outcome: Outcome) => {
      if (outcome.state === "done") {
        mustHold(outcome.value === BigInt(ticket) || outcome.value === 0n, `job ${ticket} got ${outcome.value}`);
      }
      if (outcome.state === "failed") {
        const error = outcome.error as Error & { code?: string };
        mustHold(
          error.message === `job ${ticket}` || error.code === "sync.isolate-died",
          `job ${ticket} got ${error.message}`,
        );
      }
    };
    /** The job's blob, if it has one, says which job it is. */
    const checkBlob = ({ payload: [low, high, , hasBlob], kind }: ClaimedJob) => {
      if (hasBlob === 0) return;
      let content: Uint8Array;
      try {
        content = arena.read((low >>> 0) + high * 2 ** 32);
      } catch (error) {
        if ((error as { code?: string }).code !== "sync.stale-reference") throw error;
        Atomics.add(words, STALE, 1);
        return;
      }
      mustHold(new Int32Array(content.buffer)[0] === kind, `the blob of job ${kind} is of job ${content}`);
    };
    const run = (job: ClaimedJob) => {
      Atomics.add(words, CLAIMS, 1);
      checkBlob(job);
      if (random.oneIn(6) && job.payload[2] === 0) {
        Atomics.sub(words, CLAIMS, 1);
        board.requeue(job.ticket, random.below(300));
      } else if (random.oneIn(10)) board.fail(job.ticket, new RangeError(`job ${job.ticket}`));
      else board.finish(job.ticket, BigInt(job.ticket));
    };
    return {
      async operate() {
        const cell = random.below(CELLS);
        const ticket = Number(Atomics.load(shared, cell));
        const what = random.below(16);
        if (what < 5) {
          if (board.stats !== undefined && kept.length > 3) release();
          const budgeted = random.oneIn(2);
          const keep = random.oneIn(4);
          const kind = Atomics.add(words, NEXT, 1), blob = random.oneIn(2) ? arena.append(Int32Array.of(kind)) : 0;
          let submitted: number;
          try {
            submitted = board.submit({
              pool: random.below(POOLS),
              kind,
              priority: random.below(8),
              bytes: budgeted ? (random.oneIn(10) ? 1500 : random.below(500)) : undefined,
              payload: [blob % 2 ** 32 | 0, Math.floor(blob / 2 ** 32), budgeted ? 1 : 0, blob === 0 ? 0 : 1],
              blobs: blob === 0 ? undefined : 1,
              keep,
            });
          } catch (error) {
            if (blob !== 0) arena.retire(blob);
            if ((error as { code?: string }).code !== "sync.board-full") throw error;
            takeOne();
            return;
          }
          if (keep) kept.push(submitted);
          Atomics.store(shared, cell, BigInt(submitted));
        } else if (what < 11) {
          const job = random.oneIn(8) ? board.take(random.below(POOLS), 1) : board.tryTake(random.below(POOLS));
          if (job === undefined || typeof job === "string") return;
          const dies = mayDie();
          if (dies) await dies;
          run(job);
        } else if (ticket !== 0) {
          if (what === 11) {
            const job = board.claim(ticket);
            if (job !== undefined) run(job);
          } else if (what === 12) board.raise(ticket, random.below(8));
          else if (what === 13) board.cancel(ticket);
          else if (what === 14) checkOutcome(ticket, board.wait(ticket, random.below(2)));
          else {
            let ran = false;
            const outcome = board.help(ticket, (job) => {
              ran = true;
              Atomics.add(words, CLAIMS, 1);
              return BigInt(job.ticket);
            });
            mustHold(!ran || outcome.state === "done", "a job that was run here is not done");
            checkOutcome(ticket, outcome);
          }
        }
      },
      finish() {
        while (kept.length > 0) release();
      },
    };

    function takeOne() {
      const job = board.tryTake(random.below(POOLS));
      if (job !== undefined) run(job);
    }

    function release() {
      const ticket = kept.pop()!;
      checkOutcome(ticket, board.wait(ticket, 0));
      board.release(ticket);
    }
  },
};
