/**
 * The job board's state and its changes. Everything here happens under the board's lock, except where it says otherwise; `JobBoard` is the
 * interface.
 *
 * @module
 */
import type { Arena } from "./arena.ts";
import { CompileBudget } from "./compile_budget.ts";
import { getError, putError } from "./error_blobs.ts";
import { FutexMutex } from "./futex_mutex.ts";
import { LockBit } from "./held_locks.ts";
import type { Isolate } from "./isolates.ts";
import { BudgetedClass, H, J, JobFlag, JobRecords, JobState, N, P, PlainClass, STATE_MASK } from "./job_records.ts";
import type { ClaimedJob, Outcome } from "./job_types.ts";
import { PinTable } from "./pins.ts";
import { step } from "./steps.ts";
import { SyncError } from "./sync_error.ts";
import { BudgetMark, tracer } from "./tracer.ts";

/** What `insert` needs. */
export interface NewJob {
  readonly pool: number;
  readonly priority: number;
  readonly bytes: number | undefined;
  readonly kind: number;
  readonly payload: readonly number[] | undefined;
  readonly deaths: number;
  readonly flags: number;
}

/** Counters of the states that a job may end in. */
const COUNTERS: Readonly<Record<number, number>> = {
  [JobState.Done]: H.Done,
  [JobState.Failed]: H.Failed,
  [JobState.Cancelled]: H.Cancelled,
};

/** See the module. */
export class JobCore {
  readonly self: Isolate;
  readonly arena: Arena;
  readonly records: JobRecords;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly budget: CompileBudget;
  readonly pins: PinTable;
  readonly mutex: FutexMutex;

  constructor(self: Isolate, arena: Arena, board: SharedArrayBuffer, recheckMs: number) {
    this.self = self;
    this.arena = arena;
    const header = new Int32Array(board, 0, H.Mutex);
    const size = { jobs: header[H.Jobs], pools: header[H.Pools], places: header[H.Places] };
    this.records = new JobRecords(board, size);
    this.words = this.records.words;
    this.budget = new CompileBudget(board, this.records.budgetAt, size.jobs);
    this.pins = new PinTable(self, this.words, this.records.pinsAt, size.places, "job board");
    this.mutex = new FutexMutex(self, this.words, H.Mutex, {
      bit: LockBit.Board,
      name: "job board",
      repair: () => this.repair(),
      recheckMs,
    });
  }

  /** Number of the record that a ticket names. @throws SyncError `sync.job` */
  job(ticket: number): number {
    const job = (ticket - 1) % 65536;
    if (!(ticket >= 1 && job < this.records.jobs)) throw new SyncError("sync.job", `${ticket} is no job's ticket`);
    return job;
  }

  /** Takes the lock, of a job that this isolate has claimed. @throws SyncError `sync.not-owner` without it */
  lockMine(ticket: number): number {
    const job = this.job(ticket), { records } = this;
    this.mutex.lock();
    if (
      records.ticket(job) === ticket && records.state(job) === JobState.Claimed &&
      this.words[records.at(job) + J.Owner] === this.self.token
    ) return job;
    this.mutex.unlock();
    throw new SyncError("sync.not-owner", `job ${ticket} is not claimed by this isolate`);
  }

  /** Takes the lock and queues a job; the caller gives the lock back. */
  insert(spec: NewJob): number {
    const words = this.words, records = this.records;
    this.mutex.lock();
    const job = words[H.FreeFirst] - 1;
    if (job === -1 || words[H.Closed] !== 0) {
      this.mutex.unlock();
      if (job === -1) throw new SyncError("sync.board-full", `all ${records.jobs} jobs of the board are in use`);
      throw new SyncError("sync.board-closed", "a job was submitted after the board was stopped");
    }
    const at = records.at(job), number = records.numberAt(job);
    words[H.FreeFirst] = words[at + J.Next];
    step("board.unlisted");
    words[at + J.Owner] = spec.flags & JobFlag.Bare ? this.self.token : 0;
    words[at + J.Pool] = spec.pool;
    words[at + J.Priority] = spec.priority;
    words[at + J.Flags] = spec.flags | (spec.bytes === undefined ? 0 : JobFlag.Budgeted);
    words[at + J.Kind] = spec.kind;
    words[at + J.Deaths] = 0;
    words[at + J.MaxDeaths] = spec.deaths;
    for (let i = 0; i < 4; i++) words[at + J.Payload + i] = spec.payload?.[i] ?? 0;
    words[at + J.EverPinned] = 0;
    records.numbers[number + N.Sequence] = ++records.numbers[0];
    records.numbers[number + N.Line] = 0;
    records.numbers[number + N.Bytes] = spec.bytes ?? 0;
    records.numbers[number + N.Error] = 0;
    records.setState(job, JobState.Queued);
    step("board.queued");
    // Who dies before has a job whose blobs are gone, and who runs it is told so; the other way round nobody would know of the blobs.
    if (spec.flags & JobFlag.Blob) this.arena.share(this.#blob(job, 0));
    if (spec.flags & JobFlag.Blob2) this.arena.share(this.#blob(job, 1));
    this.enqueue(job);
    return job;
  }

  /** Puts a queued job into its list. */
  enqueue(job: number): void {
    this.records.link(job);
    this.words[this.records.poolAt(this.words[this.records.at(job) + J.Pool]) + P.Queued]++;
  }

  /** Takes a queued job out of its list. */
  dequeue(job: number): void {
    this.records.unlink(job);
    this.words[this.records.poolAt(this.words[this.records.at(job) + J.Pool]) + P.Queued]--;
  }

  /** The first job that a worker of the pool may start, claimed; or -1. */
  pick(pool: number): number {
    const records = this.records, words = this.words;
    const at = records.poolAt(pool);
    let job = records.first(pool, PlainClass);
    let budgeted = -1;
    if (words[at + P.Budgeted] < words[at + P.Share]) budgeted = this.budgetedCandidate(pool);
    if (budgeted !== -1 && (job === -1 || records.before(budgeted, job)) && this.admit(budgeted)) {
      words[records.at(budgeted) + J.Flags] |= JobFlag.Share;
      words[at + P.Budgeted]++;
      job = budgeted;
    }
    if (job === -1) return -1;
    step("board.picked");
    this.dequeue(job);
    this.start(job);
    return job;
  }

  /** The budgeted job of a pool that is next: the one in the budget's line if there is one, because it waits already. */
  budgetedCandidate(pool: number): number {
    const first = this.budget.first;
    if (first === -1) return this.records.first(pool, BudgetedClass);
    return this.words[this.records.at(first) + J.Pool] === pool && this.budget.firstFits ? first : -1;
  }

  /** Asks the budget; a job that does not fit is in its line from then on. */
  admit(job: number): boolean {
    const number = this.records.numberAt(job);
    const numbers = this.records.numbers;
    if (this.budget.request(job, numbers[number + N.Bytes])) {
      // Its place in line stays until it is claimed: who dies in between leaves it waiting, where it was.
      this.words[this.records.at(job) + J.Flags] |= JobFlag.Hold;
      tracer?.mark(BudgetMark.Held, this.records.ticket(job), numbers[number + N.Bytes]);
      return true;
    }
    if (numbers[number + N.Line] === 0) {
      numbers[number + N.Line] = ++numbers[1];
      tracer?.mark(BudgetMark.Waits, this.records.ticket(job), numbers[number + N.Bytes]);
    }
    return false;
  }

  /** Takes a job out of the budget's line. */
  leaveLine(job: number): void {
    const number = this.records.numberAt(job);
    if (this.records.numbers[number + N.Line] === 0) return;
    this.budget.release(job);
    tracer?.mark(BudgetMark.Ended, this.records.ticket(job), 0);
    this.records.numbers[number + N.Line] = 0;
  }

  /** Claims a job for this isolate (a bare hold: for the one that asked). */
  start(job: number): void {
    const at = this.records.at(job);
    if (this.flag(job, JobFlag.Bare)) {
      this.dequeue(job);
    } else {
      this.words[at + J.Owner] = this.self.token;
    }
    step("board.claimed");
    this.records.setState(job, JobState.Claimed);
    this.records.numbers[this.records.numberAt(job) + N.Line] = 0;
    this.words[this.records.poolAt(this.words[at + J.Pool]) + P.Claimed]++;
  }

  /** Takes a claimed job out of the counts, and gives back hold and share. */
  stop(job: number): void {
    const at = this.records.at(job);
    const pool = this.records.poolAt(this.words[at + J.Pool]);
    const flags = this.words[at + J.Flags];
    this.words[pool + P.Claimed]--;
    if (flags & JobFlag.Share) this.words[pool + P.Budgeted]--;
    if (flags & JobFlag.Hold) {
      this.budget.release(job);
      tracer?.mark(BudgetMark.Ended, this.records.ticket(job), 0);
    }
    this.words[at + J.Flags] = flags & ~(JobFlag.Share | JobFlag.Hold);
  }

  /** Ends a claimed job; gives the lock back. */
  end(job: number, state: number): void {
    const pool = this.words[this.records.at(job) + J.Pool];
    this.finishState(job, state);
    this.unlockAndWake(pool);
  }

  /** Gives the lock back after something was given back, taken out or put in, and wakes who may go on. */
  unlockAndWake(pool: number): void {
    const wake = this.pump();
    this.mutex.unlock();
    this.ringAll(wake);
    // Workers that wait for the last queued jobs to go.
    if (Atomics.load(this.words, H.Stopped) !== 0) this.ring(pool, Infinity);
  }

  /** Ends a claimed job. */
  finishState(job: number, state: number): void {
    // The state first: as long as it is claimed, it is somebody's.
    this.records.setState(job, state);
    step("board.ended");
    this.stop(job);
    this.settle(job);
  }

  /** Ends a queued job that will not run. */
  cancelQueued(job: number): void {
    this.dequeue(job);
    this.leaveLine(job);
    this.words[this.records.at(job) + J.Owner] = this.self.token;
    this.records.setState(job, JobState.Cancelled);
    this.settle(job);
  }

  /** Puts down the error that a job is about to end with, as `encodeError` has it. */
  putError(job: number, error: Uint8Array): void {
    const { numbers } = this.records, at = this.records.numberAt(job) + N.Error, old = numbers[at];
    putError(this.arena, error, (reference) => numbers[at] = reference);
    // Of somebody who died before the job had ended.
    if (old !== 0) this.arena.retire(old);
  }

  /** Ends a queued job that nobody is there to run. */
  failQueued(job: number, error: Uint8Array): void {
    this.dequeue(job);
    this.leaveLine(job);
    this.putError(job, error);
    this.words[this.records.at(job) + J.Owner] = this.self.token;
    this.records.setState(job, JobState.Failed);
    this.settle(job);
  }

  /** After a job became terminal, with an owner still: counts it, and wakes who waits for it, or for the pool. */
  settle(job: number): void {
    const at = this.records.at(job);
    this.#retireBlobs(job);
    this.#count(job);
    if (Atomics.load(this.words, at + J.EverPinned) !== 0 || this.flag(job, JobFlag.Bare)) {
      Atomics.notify(this.words, at + J.State);
    }
    const pool = this.records.poolAt(this.words[at + J.Pool]);
    if (this.words[pool + P.Queued] === 0 && this.words[pool + P.Claimed] === 0) {
      Atomics.add(this.words, pool + P.Idle, 1);
      Atomics.notify(this.words, pool + P.Idle);
    }
    this.freeIfUnused(job);
  }

  /**
   * Counts a job that has ended, once. As long as it has an owner it is not counted; what the counter will be is put down before, so whoever takes the lock
   * from somebody that died over this does the same again.
   */
  #count(job: number): void {
    const words = this.words, counter = COUNTERS[this.records.state(job)];
    if (words[H.Counting] !== job + 1) {
      words[H.CountedTo] = words[counter] + 1;
      words[H.Counting] = job + 1;
    }
    words[counter] = words[H.CountedTo];
    step("board.counted");
    words[this.records.at(job) + J.Owner] = 0;
    words[H.Counting] = 0;
  }

  /** Frees a terminal job that nobody pins. */
  freeIfUnused(job: number): void {
    const records = this.records, words = this.words;
    const at = records.at(job);
    if (records.state(job) < JobState.Done) return;
    if (Atomics.load(words, at + J.EverPinned) !== 0 && this.pins.isPinned(job + 1)) return;
    const number = records.numberAt(job) + N.Error, error = records.numbers[number];
    // Before the job is free, and nobody knows of the error.
    if (error !== 0) this.arena.retire(error);
    records.numbers[number] = 0;
    step("board.freed");
    const state = words[at + J.State];
    Atomics.store(words, at + J.State, ((state | STATE_MASK) + 1) | JobState.Free);
    words[at + J.Next] = words[H.FreeFirst];
    words[H.FreeFirst] = job + 1;
  }

  /** After anything was given back: grants bare holds that are first in line; returns the pools whose budgeted jobs may start, as bits. */
  pump(): number {
    const records = this.records, words = this.words;
    while (this.budget.firstFits && this.flag(this.budget.first, JobFlag.Bare)) {
      const job = this.budget.first;
      this.admit(job);
      this.start(job);
      Atomics.notify(words, records.at(job) + J.State);
    }
    let wake = 0;
    for (let pool = 0; pool < records.pools; pool++) {
      const at = records.poolAt(pool);
      if (
        words[at + P.Sleepers] !== 0 && words[at + P.Budgeted] < words[at + P.Share] &&
        this.budgetedCandidate(pool) !== -1
      ) {
        wake |= 1 << pool;
      }
    }
    return wake;
  }

  /** True if a sleeping worker of the pool could start a job. */
  hasStartable(pool: number): boolean {
    const at = this.records.poolAt(pool);
    if (this.words[at + P.Sleepers] === 0) return false;
    return this.records.first(pool, PlainClass) !== -1 ||
      (this.words[at + P.Budgeted] < this.words[at + P.Share] && this.budgetedCandidate(pool) !== -1);
  }

  /** Derives everything from the jobs' records, after the lock's owner died. */
  repair(): void {
    const records = this.records, words = this.words, numbers = records.numbers;
    records.clearDerived();
    const counting = words[H.Counting] - 1;
    if (counting !== -1) {
      if (words[records.at(counting) + J.Owner] !== 0) this.#count(counting);
      words[H.Counting] = 0;
    }
    for (let job = records.jobs - 1; job >= 0; job--) {
      const at = records.at(job);
      const pool = records.poolAt(words[at + J.Pool]);
      const state = records.state(job);
      if (state === JobState.Queued) {
        words[at + J.Flags] &= ~(JobFlag.Hold | JobFlag.Share);
        if (!this.flag(job, JobFlag.Bare)) words[at + J.Owner] = 0;
        words[at + J.Previous] = words[at + J.Next] = 0;
        this.enqueue(job);
        // Who helps with it can claim it.
        Atomics.notify(words, at + J.State);
      } else if (state === JobState.Claimed) {
        numbers[records.numberAt(job) + N.Line] = 0;
        // A bare hold that was granted, and whose owner was perhaps not woken.
        if (this.flag(job, JobFlag.Bare)) Atomics.notify(words, at + J.State);
        words[pool + P.Claimed]++;
        if (words[at + J.Flags] & JobFlag.Share) words[pool + P.Budgeted]++;
      } else if (state !== JobState.Free) {
        words[at + J.Flags] &= ~(JobFlag.Hold | JobFlag.Share);
        if (words[at + J.Owner] !== 0) this.#count(job);
        this.#retireBlobs(job);
        Atomics.notify(words, at + J.State);
      } else {
        words[at + J.Next] = words[H.FreeFirst];
        words[H.FreeFirst] = job + 1;
      }
    }
    this.budget.rebuild(
      (job) => {
        const state = records.state(job);
        if (state === JobState.Queued) return numbers[records.numberAt(job) + N.Line] === 0 ? 0 : 1;
        return state === JobState.Claimed && this.flag(job, JobFlag.Hold) ? 2 : 0;
      },
      (a, b) => numbers[records.numberAt(a) + N.Line] - numbers[records.numberAt(b) + N.Line],
    );
    for (let job = 0; job < records.jobs; job++) this.freeIfUnused(job);
    this.pump();
    this.wakeEverybody();
  }

  /** A claimed job as its worker gets it. */
  claimed(job: number): ClaimedJob {
    const at = this.records.at(job);
    const words = this.words;
    const payload = [
      words[at + J.Payload],
      words[at + J.Payload + 1],
      words[at + J.Payload + 2],
      words[at + J.Payload + 3],
    ];
    return {
      ticket: this.records.ticket(job),
      kind: words[at + J.Kind],
      payload,
      admitted: this.flag(job, JobFlag.Hold),
    };
  }

  #error(job: number): unknown {
    const reference = this.records.numbers[this.records.numberAt(job) + N.Error];
    return getError(this.arena, reference, `job ${this.records.ticket(job)}`);
  }

  /** Retires the blobs of a job that has ended, unless somebody has; who does it twice after a death changes nothing. */
  #retireBlobs(job: number): void {
    const at = this.records.at(job) + J.Flags, flags = this.words[at];
    if ((flags & (JobFlag.Blob | JobFlag.Blob2)) === 0) return;
    if (flags & JobFlag.Blob) this.arena.retire(this.#blob(job, 0));
    if (flags & JobFlag.Blob2) this.arena.retire(this.#blob(job, 1));
    this.words[at] = flags & ~(JobFlag.Blob | JobFlag.Blob2);
  }

  /** Reference of a job's blob. */
  #blob(job: number, index: number): number {
    const at = this.records.at(job) + J.Payload + 2 * index;
    return (this.words[at] >>> 0) + this.words[at + 1] * 2 ** 32;
  }

  /** True if the job has the flag. */
  flag(job: number, flag: number): boolean {
    return (this.words[this.records.at(job) + J.Flags] & flag) !== 0;
  }

  /** Of a job that is pinned or under the lock. */
  outcome(job: number): Outcome {
    const at = this.records.at(job);
    switch (this.records.state(job)) {
      case JobState.Done: {
        const low = BigInt(this.words[at + J.ValueLow] >>> 0), high = BigInt(this.words[at + J.ValueHigh] >>> 0);
        return { state: "done", value: (high << 32n) | low };
      }
      case JobState.Failed:
        return { state: "failed", error: this.#error(job) };
      case JobState.Cancelled:
        return { state: "cancelled" };
    }
    return { state: "timed-out" };
  }

  /** Tells workers of a pool that there may be something to take (without the lock). */
  ring(pool: number, count: number): void {
    if (pool === this.records.pools) return;
    const at = this.records.poolAt(pool);
    Atomics.add(this.words, at + P.Bell, 1);
    step("board.ring");
    if (Atomics.load(this.words, at + P.Sleepers) !== 0) Atomics.notify(this.words, at + P.Bell, count);
  }

  /** Rings for the pools of a mask (without the lock). */
  ringAll(pools: number): void {
    for (let pool = 0; pools !== 0; pool++, pools >>>= 1) if (pools & 1) this.ring(pool, 1);
  }

  /** Wakes all sleeping workers, and who waits for a pool to drain. */
  wakeEverybody(): void {
    for (let pool = 0; pool < this.records.pools; pool++) {
      this.ring(pool, Infinity);
      const idle = this.records.poolAt(pool) + P.Idle;
      Atomics.add(this.words, idle, 1);
      Atomics.notify(this.words, idle);
    }
  }

  /** Pins a job (without the lock). */
  pin(job: number): number {
    const place = this.pins.pin(job + 1);
    Atomics.store(this.words, this.records.at(job) + J.EverPinned, 1);
    return place;
  }
}
