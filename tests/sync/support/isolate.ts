/** Starts real isolates (workers) that run a named action of `actions.ts` over shared structures. */
import type { Arena } from "../../../src/sync/arena.ts";
import type { IsolateRegistry } from "../../../src/sync/isolates.ts";
import type { JobBoard } from "../../../src/sync/job_board.ts";
import type { KeyedTable } from "../../../src/sync/keyed_table.ts";
import { waitForWorkAsync } from "../../../src/sync/waits.ts";
import type { Handles } from "./actions.ts";

/** A running worker. */
export interface RunningIsolate {
  readonly worker: Worker;
  /** Its result; an uncaught error in it is `{ uncaught }`. */
  readonly result: Promise<unknown>;
}

/** Everything that actions may use. */
export interface Structures {
  readonly registry: IsolateRegistry;
  readonly arena: Arena;
  readonly board?: JobBoard;
  readonly table?: KeyedTable;
  /** Words for the test itself. */
  readonly flags: Int32Array<SharedArrayBuffer>;
}

/** Runs an action in a new isolate. */
export function startIsolate(structures: Structures, action: string, ...parameters: unknown[]): RunningIsolate {
  const worker = new Worker(new URL("./isolate_main.ts", import.meta.url), { type: "module" });
  const handles: Handles = {
    registry: structures.registry.handle,
    arena: structures.arena.handle,
    board: structures.board?.handle,
    table: structures.table?.handle,
    flags: structures.flags,
  };
  const result = new Promise<unknown>((resolve) => {
    const timer = setTimeout(() => resolve({ uncaught: `${action} does not end` }), 120_000);
    const end = (value: unknown) => {
      clearTimeout(timer);
      resolve(value);
    };
    worker.onmessage = (event) => end(event.data);
    worker.onerror = (event) => {
      event.preventDefault();
      end({ uncaught: event.message });
    };
    // One that is to die may do so without a word; the timer must not keep the test for it.
    Deno.unrefTimer(timer);
  });
  worker.postMessage({ handles, action, parameters });
  return { worker, result };
}

/**
 * Starts one isolate and waits for it. The first one has Deno check the types of its modules; several at once would all do so.
 */
export async function warmUp(structures: Structures): Promise<void> {
  await startIsolate(structures, "nothing").result;
  await sweepUntil(structures.registry, 1);
}

/** Sets a word and wakes who waits for it. */
export function signal(flags: Int32Array<SharedArrayBuffer>, index: number, value = 1): void {
  Atomics.store(flags, index, value);
  Atomics.notify(flags, index);
}

/** Waits, without blocking, until a word has at least a value; fails after 10 s. */
export async function reached(flags: Int32Array<SharedArrayBuffer>, index: number, value: number): Promise<void> {
  const end = performance.now() + 10_000;
  for (;;) {
    const now = Atomics.load(flags, index);
    if (now >= value) return;
    if (performance.now() > end) throw new Error(`word ${index} is ${now} after 10 s, not ${value}`);
    await waitForWorkAsync(flags, index, now, 1000, "the test's isolate");
  }
}

/** Sweeps until the registry has so few living members. */
export async function sweepUntil(registry: IsolateRegistry, live: number) {
  const deaths = [];
  const end = performance.now() + 10_000;
  for (;;) {
    deaths.push(...registry.sweep());
    if (registry.stats().live <= live) return deaths;
    if (performance.now() > end) throw new Error(`${registry.stats().live} isolates live after 10 s, not ${live}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
