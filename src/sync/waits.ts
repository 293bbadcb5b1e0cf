/**
 * The only places where an isolate sleeps. A wait for work asserts that no lock is held; a wait for a lock asserts nothing here, because
 * the order of locks was asserted before.
 *
 * A sleeping isolate gets no messages and is not stopped by `terminate()`, so every wait is on a word that somebody changes and notifies,
 * and has an interval after which the sleeper looks whether the one it waits for still lives.
 *
 * @module
 */
import { assertNoLocksHeld } from "./held_locks.ts";
import { tracer } from "./tracer.ts";

/** Milliseconds after which a sleeper checks that the isolate it waits for still lives. */
export const RECHECK_MS = 100;

let workWaits = 0;
let lockWaits = 0;

/** How often this isolate went to sleep, for the rule that a steady draw or dispatch never does. */
export function waitCounts(): { readonly work: number; readonly lock: number } {
  return { work: workWaits, lock: lockWaits };
}

/**
 * Sleeps until `words[index]` is notified, if it still has `value`.
 *
 * @param what what is waited for, for the error
 * @throws SyncError `sync.wait-with-lock` if this isolate holds a lock.
 */
export function waitForWork(
  words: Int32Array<SharedArrayBuffer>,
  index: number,
  value: number,
  timeoutMs: number,
  what: string,
): SleepEnd {
  assertNoLocksHeld(`wait for ${what}`);
  workWaits++;
  if (tracer === undefined) return Atomics.wait(words, index, value, timeoutMs);
  const start = performance.now(), result = Atomics.wait(words, index, value, timeoutMs);
  tracer.span("wait", `wait for ${what}`, start, performance.now());
  return result;
}

/** The same without blocking the isolate's event loop: for the main isolate, where the driver's callbacks run. */
export async function waitForWorkAsync(
  words: Int32Array<SharedArrayBuffer>,
  index: number,
  value: number,
  timeoutMs: number,
  what: string,
): Promise<SleepEnd> {
  assertNoLocksHeld(`wait for ${what}`);
  workWaits++;
  return await sleepAsync(words, index, value, timeoutMs);
}

/** One sleep of a wait; the parameters of {@linkcode waitForWork}. */
export interface Sleep {
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly index: number;
  readonly value: number;
  readonly timeoutMs: number;
  readonly what: string;
}

/** How a sleep ended. */
export type SleepEnd = "ok" | "not-equal" | "timed-out";

/** A wait that may take several sleeps: yields each, is told how it ended, and returns what came of it. The same steps block, or do not. */
export type WaitSteps<T> = Generator<Sleep, T, SleepEnd>;

/** Goes through a wait, blocking. What a sleep throws is thrown, and the wait gives back what it has. */
export function waitThrough<T>(steps: WaitSteps<T>): T {
  let next = steps.next();
  try {
    while (next.done !== true) {
      const { words, index, value, timeoutMs, what } = next.value;
      next = steps.next(waitForWork(words, index, value, timeoutMs, what));
    }
    return next.value;
  } finally {
    if (next.done !== true) steps.return(undefined as T);
  }
}

/** Goes through a wait without blocking the isolate's event loop. */
export async function waitThroughAsync<T>(steps: WaitSteps<T>): Promise<T> {
  let next = steps.next();
  try {
    while (next.done !== true) {
      const { words, index, value, timeoutMs, what } = next.value;
      next = steps.next(await waitForWorkAsync(words, index, value, timeoutMs, what));
    }
    return next.value;
  } finally {
    if (next.done !== true) steps.return(undefined as T);
  }
}

/** Sleeps for a lock; only the lock classes call it. */
export function waitForLock(
  words: Int32Array<SharedArrayBuffer>,
  index: number,
  value: number,
  timeoutMs: number,
): SleepEnd {
  lockWaits++;
  return Atomics.wait(words, index, value, timeoutMs);
}

/** Sleeps for a lock without blocking the event loop. */
export async function waitForLockAsync(
  words: Int32Array<SharedArrayBuffer>,
  index: number,
  value: number,
  timeoutMs: number,
): Promise<SleepEnd> {
  lockWaits++;
  return await sleepAsync(words, index, value, timeoutMs);
}

async function sleepAsync(
  words: Int32Array<SharedArrayBuffer>,
  index: number,
  value: number,
  timeoutMs: number,
): Promise<SleepEnd> {
  const result = Atomics.waitAsync(words, index, value, timeoutMs);
  if (!result.async) return result.value;
  // Deno's event loop ends while such a promise is pending; a timer keeps it.
  const timer = setInterval(() => {}, 60_000);
  try {
    return await result.value;
  } finally {
    clearInterval(timer);
  }
}
