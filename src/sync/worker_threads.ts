/**
 * Which thread a worker runs on, for who supervises it. A worker that closes itself ends without an event, and one that has not entered a registry yet is
 * nobody whose death a sweep could find; but its thread is gone from /proc/self/task.
 *
 * @module
 */
import { procProbe, runningThreads, type ThreadIdentity } from "./thread_probe.ts";

/** Threads that may be the worker's, in those isolates that start workers. */
const threads = new WeakMap<Worker, readonly ThreadIdentity[]>();

/**
 * Starts a worker so that {@linkcode hasEnded} knows of it. Its thread is there when the constructor has returned.
 *
 * @param start constructs it; if it may also give one that was started before, `mayBeOld` must be set
 */
export function startWatched(start: () => Worker, mayBeOld = false): Worker {
  const before = new Set(runningThreads().map(({ id }) => id));
  const worker = start();
  if (threads.has(worker)) return worker;
  const fresh = runningThreads().filter(({ id }) => !before.has(id));
  // Others may have begun at the same time; Deno names those of workers so.
  const named = fresh.filter(({ name }) => name.startsWith("worker-"));
  const own = named.length > 0 ? named : fresh;
  // Nothing is known of an old one that somebody else has started; a new one without a thread has ended already.
  if (own.length > 0 || !mayBeOld) threads.set(worker, own);
  return worker;
}

/** Whether a worker's thread has ended; false if nothing is known of it. What it said before may still be on its way. */
export function hasEnded(worker: Worker): boolean {
  return threads.get(worker)?.every((thread) => !procProbe.isRunning(thread)) ?? false;
}
