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
): "ok" | "not-equal" | "timed-out" {
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
): Promise<"ok" | "not-equal" | "timed-out"> {
  assertNoLocksHeld(`wait for ${what}`);
  workWaits++;
  return await sleepAsync(words, index, value, timeoutMs);
}

/** Sleeps for a lock; only the lock classes call it. */
export function waitForLock(
  words: Int32Array<SharedArrayBuffer>,
  index: number,
  value: number,
  timeoutMs: number,
): "ok" | "not-equal" | "timed-out" {
  lockWaits++;
  return Atomics.wait(words, index, value, timeoutMs);
}

/** Sleeps for a lock without blocking the event loop. */
export async function waitForLockAsync(
  words: Int32Array<SharedArrayBuffer>,
  index: number,
  value: number,
  timeoutMs: number,
): Promise<"ok" | "not-equal" | "timed-out"> {
  lockWaits++;
  return await sleepAsync(words, index, value, timeoutMs);
}

async function sleepAsync(
  words: Int32Array<SharedArrayBuffer>,
  index: number,
  value: number,
  timeoutMs: number,
): Promise<"ok" | "not-equal" | "timed-out"> {
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
