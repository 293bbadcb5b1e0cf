/**
 * The job board: work that any isolate may do, and who does it.
 *
 * - A job is queued, then claimed by exactly one isolate, then done, failed or cancelled. It is claimed by a worker of its pool
 *   ({@linkcode JobBoard.take}) or by whoever needs it now ({@linkcode JobBoard.claim}), from any state of queueing.
 * - Workers take the most urgent job first and the oldest of those. A job's priority rises when somebody names it.
 * - **Budgeted** jobs (driver compiles ahead of use) are admitted to the {@linkcode CompileBudget} as part of taking them, under the same
 *   lock: one that does not fit stays queued and claimable, and the worker goes on to other jobs or to sleep; nobody blocks on the budget.
 *   Who claims a job because it is needed takes no hold and asks nobody.
 * - At most half of a pool's workers (at least one) run budgeted jobs, so the others are there for plain ones.
 * - Waiters get the value or the original error. A dead isolate's jobs are queued again, or fail after the second death; its holds, shares
 *   and pins are given back once.
 *
 * Nothing here runs for a draw or dispatch whose pipeline is there: the `KeyedTable` answers that without the board.
 *
 * @module
 */
import type { Arena } from "./arena.ts";
import { MAX_REQUEST_BYTES } from "./compile_budget.ts";
import { encodeError } from "./error_data.ts";
import type { FutexMutex } from "./futex_mutex.ts";
import { assertNoLocksHeld } from "./held_locks.ts";
import type { Isolate, Recoverable } from "./isolates.ts";
import { type BoardStats, boardStats, checkJobs } from "./job_check.ts";
import { JobCore } from "./job_core.ts";
import { H, J, JobFlag, JobState, N, P, PRIORITIES } from "./job_records.ts";
import type { ClaimedJob, JobBoardOptions, JobSpec, Outcome } from "./job_types.ts";
import { BOARD_MAGIC, newBoard } from "./job_setup.ts";
import { JobDrains, WORKER_RECHECK_MS } from "./job_drains.ts";
import { JobHolds } from "./job_holds.ts";
import { failKeptJobs, recoverJobs } from "./job_recovery.ts";
import { JobWaits } from "./job_waits.ts";
import { step } from "./steps.ts";
import { SyncError } from "./sync_error.ts";
import { RECHECK_MS, waitForWork } from "./waits.ts";

/** The shared part, for postMessage; the arena has its own. */
export interface JobBoardHandle {
  /** Memory of the board. */
  readonly board: SharedArrayBuffer;
}

/** Flags of a job with so many blobs. */
const BLOB_FLAGS = [0, JobFlag.Blob, JobFlag.Blob | JobFlag.Blob2] as const;

/** See the module. */
export class JobBoard implements Recoverable {
  /** Name for reports. */
  readonly name = "job board";
  /** What another isolate needs to attach. */
  readonly handle: JobBoardHandle;
  readonly #self: Isolate;
  readonly #core: JobCore;
  readonly #waits: JobWaits;
  readonly #drains: JobDrains;
  readonly #holds: JobHolds;
  readonly #recheckMs: number;
  /** Places of the pins of jobs that this isolate keeps. */
  readonly #kept = new Map<number, number>();

  private constructor(self: Isolate, arena: Arena, handle: JobBoardHandle, recheckMs: number) {
    this.#self = self;
    this.handle = handle;
    this.#recheckMs = recheckMs;
    this.#core = new JobCore(self, arena, handle.board, recheckMs);
    this.#waits = new JobWaits(this.#core, recheckMs, (token) => this.recover(token));
    this.#drains = new JobDrains(this.#core, recheckMs);
    this.#holds = new JobHolds(this.#core, recheckMs, (ticket) => this.cancel(ticket));
    self.registry.attachStructure(this);
  }

  /**
   * Makes a board; to be called by the supervisor.
   *
   * @param arena where errors are kept
   */
  static create(self: Isolate, arena: Arena, options: JobBoardOptions, recheckMs = RECHECK_MS): JobBoard {
    return new JobBoard(self, arena, { board: newBoard(options, self.registry.slots) }, recheckMs);
  }

  /** The same board in another isolate. */
  static attach(self: Isolate, arena: Arena, handle: JobBoardHandle, recheckMs = RECHECK_MS): JobBoard {
    if (new Int32Array(handle.board)[H.Magic] !== BOARD_MAGIC) {
      throw new SyncError("sync.handle", "this is no job board");
    }
    return new JobBoard(self, arena, handle, recheckMs);
  }

  /**
   * Queues a job.
   *
   * @returns its ticket, positive and below 2^53
   * @throws SyncError `sync.board-full`, `sync.board-closed`, `sync.job`
   */
  submit(spec: JobSpec): number {
    const priority = spec.priority ?? 4;
    if (!(Number.isInteger(priority) && priority >= 0 && priority < PRIORITIES)) this.#refuse(`priority ${priority}`);
    if (!(Number.isInteger(spec.pool) && spec.pool >= 0 && spec.pool < this.#core.records.pools)) {
      this.#refuse(`pool ${spec.pool}`);
    }
    if (spec.bytes !== undefined) this.#checkBytes(spec.bytes);
    const { pool, bytes, kind, payload } = spec;
    if (spec.keep) this.#core.pins.assertRoom();
    const job = this.#core.insert({
      pool,
      priority,
      bytes,
      kind,
      payload,
      deaths: spec.deaths ?? 2,
      flags: (spec.keep ? JobFlag.Kept : 0) | BLOB_FLAGS[spec.blobs ?? 0],
    });
    const ticket = this.#core.records.ticket(job);
    if (spec.keep) this.#kept.set(ticket, this.#core.pin(job));
    this.#core.mutex.unlock();
    this.#core.ring(spec.pool, 1);
    return ticket;
  }

  /** Takes the first job of a pool that a worker may start now, without waiting. */
  tryTake(pool: number): ClaimedJob | undefined {
    this.#core.mutex.lock();
    const job = this.#core.pick(pool);
    if (job === -1) {
      this.#core.mutex.unlock();
      return undefined;
    }
    const claimed = this.#core.claimed(job);
    // Whoever wakes first passes it on: what a sleeper was woken for may be gone, and more may be there than sleepers were woken.
    const more = this.#core.hasStartable(pool);
    this.#core.mutex.unlock();
    if (more) this.#core.ring(pool, 1);
    return claimed;
  }

  /**
   * Takes the first job of a pool that a worker may start; sleeps while there is none.
   *
   * @returns the job, `"stopped"` when the board is stopped and nothing is left to take, or `"timed-out"`
   */
  take(pool: number, timeoutMs = Infinity): ClaimedJob | "stopped" | "timed-out" {
    assertNoLocksHeld(`wait for a job of pool ${pool}`);
    const words = this.#core.words;
    const at = this.#core.records.poolAt(pool);
    const end = performance.now() + timeoutMs;
    for (;;) {
      const bell = Atomics.load(words, at + P.Bell);
      const job = this.tryTake(pool);
      if (job !== undefined) return job;
      if (Atomics.load(words, H.Stopped) !== 0 && Atomics.load(words, at + P.Queued) === 0) return "stopped";
      const rest = end - performance.now();
      if (rest <= 0) return "timed-out";
      Atomics.add(words, at + P.Sleepers, 1);
      step("board.sleep");
      waitForWork(
        words,
        at + P.Bell,
        bell,
        Math.min(rest, Math.max(WORKER_RECHECK_MS, this.#recheckMs)),
        `a job of pool ${pool}`,
      );
      Atomics.sub(words, at + P.Sleepers, 1);
    }
  }

  /**
   * Claims one queued job for this isolate, which needs it now. It needs no admission, whatever the budget and the pools are doing.
   *
   * @returns undefined if somebody runs it, or has run it
   */
  claim(ticket: number): ClaimedJob | undefined {
    const job = this.#core.job(ticket);
    this.#core.mutex.lock();
    if (
      this.#core.records.ticket(job) !== ticket || this.#core.records.state(job) !== JobState.Queued ||
      this.#core.flag(job, JobFlag.Bare)
    ) {
      this.#core.mutex.unlock();
      return undefined;
    }
    this.#core.dequeue(job);
    this.#core.leaveLine(job);
    this.#core.words[H.ClaimedByNeed]++;
    this.#core.start(job);
    const claimed = this.#core.claimed(job);
    this.#core.unlockAndWake(this.#core.words[this.#core.records.at(job) + J.Pool]);
    return claimed;
  }

  /**
   * Puts a job that this isolate has claimed back, as a budgeted one: it was tried without the driver's compiler, and needs it. After the board was
   * stopped with `"cancel"` it is cancelled.
   *
   * @throws SyncError `sync.not-owner`
   */
  requeue(ticket: number, bytes: number): void {
    this.#checkBytes(bytes);
    const job = this.#core.lockMine(ticket);
    step("board.requeue");
    if (this.#core.words[H.Cancelling] !== 0) return this.#core.end(job, JobState.Cancelled);
    this.#core.stop(job);
    const at = this.#core.records.at(job);
    this.#core.words[at + J.Flags] |= JobFlag.Budgeted;
    this.#core.records.numbers[this.#core.records.numberAt(job) + N.Bytes] = bytes;
    this.#core.records.setState(job, JobState.Queued);
    this.#core.words[at + J.Owner] = 0;
    step("board.requeued");
    this.#core.enqueue(job);
    Atomics.notify(this.#core.words, at + J.State);
    const pool = this.#core.words[at + J.Pool];
    this.#core.unlockAndWake(pool);
    this.#core.ring(pool, 1);
  }

  /**
   * Ends a job that this isolate has claimed; waiters get the value.
   *
   * @param value 64 bits
   * @throws SyncError `sync.not-owner`
   */
  finish(ticket: number, value = 0n): void {
    const job = this.#core.lockMine(ticket);
    const at = this.#core.records.at(job);
    this.#core.words[at + J.ValueLow] = Number(value & 0xffffffffn) | 0;
    this.#core.words[at + J.ValueHigh] = Number((value >> 32n) & 0xffffffffn) | 0;
    this.#core.end(job, JobState.Done);
  }

  /**
   * Ends a job that this isolate has claimed with an error; every waiter gets it, rebuilt field by field.
   *
   * @throws SyncError `sync.not-owner`
   */
  fail(ticket: number, error: unknown): void {
    const encoded = encodeError(error);
    const job = this.#core.lockMine(ticket);
    this.#core.putError(job, encoded);
    this.#core.end(job, JobState.Failed);
  }

  /**
   * Waits until a job ends. To be used with {@linkcode claim} before: {@linkcode help} does both.
   *
   * @throws SyncError `sync.wait-with-lock`
   */
  wait(ticket: number, timeoutMs = Infinity): Outcome {
    assertNoLocksHeld(`wait for job ${ticket}`);
    return this.#waits.wait(this.#core.job(ticket), ticket, timeoutMs);
  }

  /** {@linkcode wait} without blocking the event loop: for the main isolate. */
  async waitAsync(ticket: number, timeoutMs = Infinity): Promise<Outcome> {
    assertNoLocksHeld(`wait for job ${ticket}`);
    return await this.#waits.waitAsync(this.#core.job(ticket), ticket, timeoutMs);
  }

  /**
   * What a draw or dispatch does that needs a job's work: runs it here if nobody has claimed it, else waits for that one run. If the
   * isolate that ran it dies, the job is claimable again, and is run here.
   *
   * @param run does the work and gives the value; what it throws is the job's error, and is thrown here too
   */
  help(ticket: number, run: (job: ClaimedJob) => bigint): Outcome {
    assertNoLocksHeld(`wait for job ${ticket}`);
    for (;;) {
      const claimed = this.claim(ticket);
      if (claimed !== undefined) {
        let value: bigint;
        try {
          value = run(claimed);
        } catch (error) {
          this.fail(ticket, error);
          return { state: "failed", error };
        }
        this.finish(ticket, value);
        return { state: "done", value };
      }
      const outcome = this.#waits.wait(this.#core.job(ticket), ticket, this.#recheckMs, true);
      if (outcome.state !== "timed-out") return outcome;
    }
  }

  /** Makes a queued job at least this urgent. */
  raise(ticket: number, priority: number): boolean {
    if (!(Number.isInteger(priority) && priority >= 0 && priority < PRIORITIES)) this.#refuse(`priority ${priority}`);
    const job = this.#core.job(ticket);
    const at = this.#core.records.at(job);
    this.#core.mutex.lock();
    const raised = this.#core.records.ticket(job) === ticket && this.#core.records.state(job) === JobState.Queued &&
      !this.#core.flag(job, JobFlag.Bare) && this.#core.words[at + J.Priority] > priority;
    if (raised) {
      this.#core.records.unlink(job);
      this.#core.words[at + J.Priority] = priority;
      this.#core.records.link(job);
    }
    this.#core.mutex.unlock();
    return raised;
  }

  /**
   * Cancels a job: a queued one at once; one that runs is only told ({@linkcode isCancelAsked}).
   *
   * @returns true if it will not run
   */
  cancel(ticket: number): boolean {
    const job = this.#core.job(ticket);
    this.#core.mutex.lock();
    const same = this.#core.records.ticket(job) === ticket;
    const queued = same && this.#core.records.state(job) === JobState.Queued;
    if (queued) this.#core.cancelQueued(job);
    else if (same && this.#core.records.state(job) === JobState.Claimed) {
      this.#core.words[this.#core.records.at(job) + J.Flags] |= JobFlag.CancelAsked;
    }
    this.#core.unlockAndWake(this.#core.words[this.#core.records.at(job) + J.Pool]);
    return queued;
  }

  /** True if a job that this isolate runs should stop early. */
  isCancelAsked(ticket: number): boolean {
    return this.#core.flag(this.#core.job(ticket), JobFlag.CancelAsked) &&
      this.#core.records.ticket(this.#core.job(ticket)) === ticket;
  }

  /** Ends keeping a job that was submitted with `keep`. */
  release(ticket: number): void {
    const place = this.#kept.get(ticket);
    if (place === undefined) throw new SyncError("sync.not-pinned", `job ${ticket} is not kept by this isolate`);
    this.#kept.delete(ticket);
    this.#waits.unpin(place);
  }

  /**
   * A bare hold of the compile budget, for a compile that is no job. Waits in the same line as the jobs.
   *
   * @returns the hold for {@linkcode releaseHold}, or undefined after the time
   */
  hold(bytes: number, timeoutMs = Infinity): number | undefined {
    assertNoLocksHeld("wait for the compile budget");
    this.#checkBytes(bytes);
    return this.#holds.wait(bytes, timeoutMs);
  }

  /** Gives back a bare hold. */
  releaseHold(ticket: number): void {
    this.finish(ticket);
  }

  /** Bytes that are held of the compile budget now. */
  get heldBytes(): number {
    return this.#core.budget.held;
  }

  /** Sets the budget's second limit in bytes (see {@linkcode CompileBudget}). */
  setHeadroom(bytes: number): void {
    this.#core.mutex.lock();
    this.#core.budget.setHeadroom(bytes);
    this.#core.unlockAndWake(this.#core.records.pools);
  }

  /**
   * Waits until a pool has nothing queued and nothing running.
   *
   * @returns false after the time
   */
  drain(pool: number, timeoutMs = Infinity): boolean {
    return this.#drains.wait(pool, timeoutMs);
  }

  /** {@linkcode drain} without blocking the event loop. */
  async drainAsync(pool: number, timeoutMs = Infinity): Promise<boolean> {
    return await this.#drains.waitAsync(pool, timeoutMs);
  }

  /**
   * Ends the board: nothing can be submitted any more, and workers get `"stopped"`.
   *
   * @param queued what happens to the jobs that are queued: `"finish"` them first, or `"cancel"` them
   */
  stop(queued: "finish" | "cancel"): void {
    this.#core.mutex.lock();
    this.#core.words[H.Closed] = 1;
    if (queued === "cancel") {
      this.#core.words[H.Cancelling] = 1;
      for (let job = 0; job < this.#core.records.jobs; job++) {
        if (this.#core.records.state(job) === JobState.Queued) this.#core.cancelQueued(job);
      }
    }
    Atomics.store(this.#core.words, H.Stopped, 1);
    this.#core.pump();
    this.#core.mutex.unlock();
    this.#core.wakeEverybody();
  }

  /**
   * For a pool whose workers are gone for good: fails its queued jobs that were submitted with `keep`. The others stay: whoever needs one
   * claims it.
   */
  failKept(pool: number, error: unknown): void {
    failKeptJobs(this.#core, pool, error);
  }

  /** Queues a dead isolate's jobs again (or fails them), and gives back its holds, shares and pins. */
  recover(token: number): number {
    return recoverJobs(this.#core, token);
  }

  /** The counts of now. */
  stats(): BoardStats {
    return boardStats(this.#core);
  }

  /** Counts of the board's lock. */
  lockStats(): ReturnType<FutexMutex["stats"]> {
    return this.#core.mutex.stats();
  }

  /** What is wrong with lists, counts, shares and the budget, or undefined; for stress tests. */
  check(): string | undefined {
    this.#core.mutex.lock();
    const wrong = checkJobs(this.#core);
    this.#core.mutex.unlock();
    return wrong;
  }

  #checkBytes(bytes: number): void {
    if (!(Number.isInteger(bytes) && bytes >= 0 && bytes <= MAX_REQUEST_BYTES)) this.#refuse(`${bytes} bytes`);
  }

  #refuse(what: string): never {
    throw new SyncError("sync.job", `a job with ${what}`);
  }
}
