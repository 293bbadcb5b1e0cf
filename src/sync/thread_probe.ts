/**
 * Which thread an isolate runs on, and whether that thread still exists.
 *
 * A Deno worker has a thread of its own for its whole life. The thread's entry under /proc/self/task goes away at once after an uncaught
 * error or `close()`, and after `terminate()` only when what runs in it has returned. Numbers of threads are reused, so the start time
 * (field 22 of `stat`, proc(5)) is compared as well.
 *
 * @module
 */
import { HostError } from "../errors.ts";

/** A thread, told apart from later ones with the same number. */
export interface ThreadIdentity {
  /** Kernel thread id. */
  readonly id: number;
  /** Start time in clock ticks since boot. */
  readonly start: number;
}

/** How liveness is found out; tests put their own in. */
export interface ThreadProbe {
  /** The thread that calls. */
  current(): ThreadIdentity;
  /** True while that very thread exists in this process. */
  isRunning(thread: ThreadIdentity): boolean;
}

/** The probe over /proc. */
export const procProbe: ThreadProbe = {
  current() {
    let link: string;
    try {
      link = Deno.readLinkSync("/proc/thread-self");
    } catch (cause) {
      throw new HostError("sync.no-proc", `/proc/thread-self cannot be read (${cause}); threads cannot be watched`);
    }
    const id = Number(link.slice(link.lastIndexOf("/") + 1));
    const start = startTime(id);
    if (start === undefined) throw new HostError("sync.no-proc", `/proc/self/task/${id}/stat cannot be read`);
    return { id, start };
  },
  isRunning(thread) {
    return startTime(thread.id) === thread.start;
  },
};

/** All threads of the process, with their names (proc(5): `comm`, at most 15 characters). */
export function runningThreads(): (ThreadIdentity & { readonly name: string })[] {
  const found: (ThreadIdentity & { readonly name: string })[] = [];
  for (const { name: entry } of Deno.readDirSync("/proc/self/task")) {
    const id = Number(entry), stat = readStat(id);
    if (stat !== undefined) found.push({ id, ...stat });
  }
  return found;
}

function startTime(thread: number): number | undefined {
  return readStat(thread)?.start;
}

function readStat(thread: number): { start: number; name: string } | undefined {
  let text: string;
  try {
    text = Deno.readTextFileSync(`/proc/self/task/${thread}/stat`);
  } catch (error) {
    // Only a missing entry means a thread that is gone (ENOENT on opening, ESRCH on reading); out of file descriptors, for one, does not.
    if (error instanceof Deno.errors.NotFound || /os error 3\b/.test(String(error))) return undefined;
    throw error;
  }
  // The name in parentheses may hold anything; the fields after it start with field 3.
  const end = text.lastIndexOf(")"), fields = text.slice(end + 2).split(" ");
  return { start: Number(fields[22 - 3]), name: text.slice(text.indexOf("(") + 1, end) };
}
