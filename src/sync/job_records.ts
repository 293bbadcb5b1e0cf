/**
 * The records of a job board: where everything lies in its shared memory, and the lists of queued jobs.
 *
 * What a job's own record says is the truth; lists, counts and the budget's sums are derived from it, and are derived anew when the board's
 * lock had to be taken from a dead owner. So every change of a job ends with one store of its state word.
 *
 * @module
 */
import { compileBudgetBytes } from "./compile_budget.ts";
import { MUTEX_WORDS } from "./futex_mutex.ts";
import { pinTableWords } from "./pins.ts";

/** States of a job; a job is terminal from Done on. */
export const JobState = { Free: 0, Queued: 1, Claimed: 2, Done: 3, Failed: 4, Cancelled: 5 } as const;
/** Bits of the state in the state word; the slot's generation is above them. */
export const STATE_BITS = 4;
/** Mask of the state. */
export const STATE_MASK = (1 << STATE_BITS) - 1;

/** Priorities, 0 the most urgent. */
export const PRIORITIES = 8;

/** Flags of a job. */
export const JobFlag = {
  /** Needs the budget when a pool worker runs it. */
  Budgeted: 1,
  /** Has a hold of the budget. */
  Hold: 2,
  /** Counts in its pool's share of budgeted jobs. */
  Share: 4,
  /** A bare hold of an isolate: nobody but the budget grants it. */
  Bare: 8,
  /** Cancelling was asked for while it ran. */
  CancelAsked: 16,
  /** Was submitted by somebody who waits for its outcome. */
  Kept: 32,
  /** Its payload begins with the reference of a blob, and goes on with another one: they are the job's. */
  Blob: 64,
  Blob2: 128,
} as const;

/** Words of a job. */
export const J = {
  State: 0,
  Owner: 1,
  Previous: 2,
  Next: 3,
  Pool: 4,
  Priority: 5,
  Flags: 6,
  Kind: 7,
  Deaths: 8,
  MaxDeaths: 9,
  Payload: 10,
  ValueLow: 14,
  ValueHigh: 15,
  /** 1 once somebody pinned it: only then the pins are looked through. */
  EverPinned: 16,
} as const;
const JOB_WORDS = 18;
/** Numbers of a job: sequence, place in the budget's line (0: not in it), bytes, reference of the error. */
export const N = { Sequence: 0, Line: 1, Bytes: 2, Error: 3 } as const;
const JOB_NUMBERS = 4;

/** Header words. */
export const H = {
  Magic: 0,
  Jobs: 1,
  Pools: 2,
  Places: 3,
  FreeFirst: 4,
  Closed: 5,
  Stopped: 6,
  /** Stopped, and what is queued is not to run any more. */
  Cancelling: 7,
  /** Job + 1 that is just being counted, and what the counter of its state will be then. */
  Counting: 8,
  Done: 9,
  Failed: 10,
  Cancelled: 11,
  ClaimedByNeed: 12,
  Requeued: 13,
  CountedTo: 14,
  Mutex: 16,
} as const;
const HEADER_WORDS = H.Mutex + MUTEX_WORDS;

/** Words of a pool; one more pool holds the bare holds. */
export const P = {
  /** Most budgeted jobs at once on pool workers. */
  Share: 0,
  Queued: 1,
  Claimed: 2,
  Budgeted: 3,
  /** Changes when there may be something to take. */
  Bell: 4,
  Sleepers: 5,
  /** Changes when the pool has nothing queued and nothing running. */
  Idle: 6,
  Workers: 7,
  /** Then for each priority and class: first and last job + 1. */
  Lists: 8,
} as const;
const POOL_WORDS = P.Lists + PRIORITIES * 4;

/** Class of a list: jobs without and with need of the budget. */
export const PlainClass = 0, BudgetedClass = 1;

/** Sizes of a board. */
export interface BoardSize {
  /** Jobs at one time. */
  readonly jobs: number;
  /** Pools. */
  readonly pools: number;
  /** Pins of one isolate. */
  readonly places: number;
}

/** The board's memory. */
export class JobRecords {
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly numbers: Float64Array<SharedArrayBuffer>;
  readonly jobs: number;
  readonly pools: number;
  /** Index of the first pin word. */
  readonly pinsAt: number;
  /** Byte offset of the budget. */
  readonly budgetAt: number;
  readonly #jobsAt: number;

  constructor(buffer: SharedArrayBuffer, size: BoardSize) {
    this.jobs = size.jobs;
    this.pools = size.pools;
    const layout = JobRecords.#layout(size, 0);
    this.#jobsAt = layout.jobsAt;
    this.pinsAt = layout.pinsAt;
    this.budgetAt = layout.budgetAt;
    this.numbers = new Float64Array(buffer, layout.numbersAt, 2 + size.jobs * JOB_NUMBERS);
    this.words = new Int32Array(buffer);
  }

  static #layout(size: BoardSize, slots: number) {
    const jobsAt = HEADER_WORDS + (size.pools + 1) * POOL_WORDS;
    const numbersAt = Math.ceil((jobsAt + size.jobs * JOB_WORDS) * 4 / 8) * 8;
    const budgetAt = numbersAt + 8 * (2 + size.jobs * JOB_NUMBERS);
    const pinsAt = (budgetAt + compileBudgetBytes(size.jobs)) / 4;
    return { jobsAt, numbersAt, budgetAt, pinsAt, bytes: 4 * (pinsAt + pinTableWords(slots, size.places)) };
  }

  /** Bytes of a board's memory. */
  static bytes(size: BoardSize, slots: number): number {
    return JobRecords.#layout(size, slots).bytes;
  }

  /** Index of a job's first word. */
  at(job: number): number {
    return this.#jobsAt + job * JOB_WORDS;
  }

  /** Index of a job's first number; the first two numbers are the sequence counters. */
  numberAt(job: number): number {
    return 2 + job * JOB_NUMBERS;
  }

  /** Index of a pool's first word. */
  poolAt(pool: number): number {
    return HEADER_WORDS + pool * POOL_WORDS;
  }

  /** State of a job. */
  state(job: number): number {
    return Atomics.load(this.words, this.at(job) + J.State) & STATE_MASK;
  }

  /** Changes a job's state: the last store of every change. */
  setState(job: number, state: number): void {
    const at = this.at(job) + J.State;
    Atomics.store(this.words, at, (this.words[at] & ~STATE_MASK) | state);
  }

  /** Number of a job in messages and words of others. */
  ticket(job: number): number {
    return this.ticketOf(job, this.words[this.at(job) + J.State]);
  }

  /** The same from a state word. */
  ticketOf(job: number, word: number): number {
    return (word >>> STATE_BITS) * 65536 + job + 1;
  }

  /** Puts a queued job into its list, in the order of sequences. */
  link(job: number): void {
    const words = this.words;
    const at = this.at(job);
    const list = this.#list(job);
    const sequence = this.numbers[this.numberAt(job) + N.Sequence];
    let previous = words[list + 1];
    while (previous !== 0 && this.numbers[this.numberAt(previous - 1) + N.Sequence] > sequence) {
      previous = words[this.at(previous - 1) + J.Previous];
    }
    const next = previous === 0 ? words[list] : words[this.at(previous - 1) + J.Next];
    words[at + J.Previous] = previous;
    words[at + J.Next] = next;
    if (previous === 0) words[list] = job + 1;
    else words[this.at(previous - 1) + J.Next] = job + 1;
    if (next === 0) words[list + 1] = job + 1;
    else words[this.at(next - 1) + J.Previous] = job + 1;
  }

  /** Takes a job out of its list. */
  unlink(job: number): void {
    const words = this.words;
    const at = this.at(job);
    const list = this.#list(job);
    const previous = words[at + J.Previous], next = words[at + J.Next];
    if (previous === 0) words[list] = next;
    else words[this.at(previous - 1) + J.Next] = next;
    if (next === 0) words[list + 1] = previous;
    else words[this.at(next - 1) + J.Previous] = previous;
    words[at + J.Previous] = words[at + J.Next] = 0;
  }

  /** First job of a class in a pool, the most urgent and then the oldest, or -1. */
  first(pool: number, jobClass: number): number {
    const lists = this.poolAt(pool) + P.Lists + jobClass * 2;
    for (let priority = 0; priority < PRIORITIES; priority++) {
      const first = this.words[lists + priority * 4];
      if (first !== 0) return first - 1;
    }
    return -1;
  }

  /** True if job `a` comes before job `b`. */
  before(a: number, b: number): boolean {
    const difference = this.words[this.at(a) + J.Priority] - this.words[this.at(b) + J.Priority];
    if (difference !== 0) return difference < 0;
    return this.numbers[this.numberAt(a) + N.Sequence] < this.numbers[this.numberAt(b) + N.Sequence];
  }

  /** Empties all lists and counts that are derived from the jobs. */
  clearDerived(): void {
    for (let pool = 0; pool <= this.pools; pool++) {
      const at = this.poolAt(pool);
      this.words[at + P.Queued] = this.words[at + P.Claimed] = this.words[at + P.Budgeted] = 0;
      this.words.fill(0, at + P.Lists, at + POOL_WORDS);
    }
    this.words[H.FreeFirst] = 0;
  }

  #list(job: number): number {
    const at = this.at(job);
    const jobClass = this.words[at + J.Flags] & JobFlag.Budgeted ? BudgetedClass : PlainClass;
    return this.poolAt(this.words[at + J.Pool]) + P.Lists + (this.words[at + J.Priority] * 2 + jobClass) * 2;
  }
}
