import { assert, assertEquals } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { GpuMutex } from "../../src/sync/gpu_mutex.ts";
import { JobBoard } from "../../src/sync/job_board.ts";
import { KeyedTable } from "../../src/sync/keyed_table.ts";
import { BudgetMark, setTracer, type Tracer } from "../../src/sync/tracer.ts";
import { Members } from "./support/members.ts";

function setUp() {
  const members = new Members(2), [a, b] = members.isolates;
  const arena = Arena.create(a, { bytes: 1 << 16, blobs: 64 });
  const board = JobBoard.create(a, arena, { pools: [{ workers: 4 }], jobs: 16, limitBytes: 100 });
  const table = KeyedTable.create(a, arena, { name: "table", capacity: 16 });
  const { reference, pin } = table.getOrCreate(new Uint32Array(8), () => 5n);
  table.unpin(pin);
  const gpu = new GpuMutex(a);
  /** What a dispatch does whose pipeline is there. */
  const dispatch = () => {
    const place = table.pin(reference)!;
    gpu.lock();
    gpu.unlock();
    table.unpin(place);
  };
  return { members, arena, board, table, gpu, b, dispatch };
}

class Recorder implements Tracer {
  readonly seen: string[] = [];
  span(category: string, name: string, start: number, end: number): void {
    assert(end >= start);
    this.seen.push(`${category} ${name}`);
  }
  mark(kind: number, _key: number, value: number): void {
    const name = Object.entries(BudgetMark).find(([, value]) => value === kind)![0];
    this.seen.push(`${name} ${value}`);
  }
}

function recorded(action: () => void): string[] {
  const recorder = new Recorder();
  setTracer(recorder);
  try {
    action();
  } finally {
    setTracer(undefined);
  }
  return recorder.seen;
}

/** Calls of functions while an action runs; they do what they did. */
function calls(action: () => void): { atomics: number; clock: number } {
  const counts = { atomics: 0, clock: 0 };
  const before = { ...Object.getOwnPropertyDescriptors(Atomics) }, now = performance.now;
  for (const [name, { value }] of Object.entries(before)) {
    if (typeof value !== "function") continue;
    Object.defineProperty(Atomics, name, {
      configurable: true,
      writable: true,
      value: (...args: unknown[]) => {
        counts.atomics++;
        return value(...args);
      },
    });
  }
  performance.now = () => {
    counts.clock++;
    return now.call(performance);
  };
  try {
    action();
  } finally {
    Object.defineProperties(Atomics, before);
    performance.now = now;
  }
  return counts;
}

Deno.test("holds of the GPU mutex are told, those of the locks inside the structures are not", () => {
  const { gpu, board } = setUp();
  assertEquals(
    recorded(() => {
      gpu.lock();
      gpu.unlock();
      board.submit({ pool: 0, kind: 1 });
    }),
    ["mutex-hold GPU mutex"],
  );
});

Deno.test("a wait for a lock that somebody has is told, one that is free is not waited for", () => {
  const { members, gpu, b } = setUp(), [a] = members.isolates;
  const other = new GpuMutex(b, gpu.handle);
  assertEquals(recorded(() => other.lock()), []);
  other.unlock();
  gpu.lock();
  members.kill(a); // its lock is taken over by who waits
  assertEquals(recorded(() => other.lock()), ["mutex-wait GPU mutex"]);
  other.unlock();
});

Deno.test("a hold that began before somebody asked for a trace is not told, and one that is cut off neither", () => {
  const { gpu } = setUp();
  gpu.lock();
  assertEquals(recorded(() => gpu.unlock()), []);
  assertEquals(recorded(() => gpu.lock()), []);
  gpu.unlock();
  assertEquals(recorded(() => gpu.tryLock() && gpu.unlock()), ["mutex-hold GPU mutex"]);
});

Deno.test("the wait for a job, and what happens to its bytes in the compile budget", () => {
  const { board } = setUp();
  const seen = recorded(() => {
    const first = board.submit({ pool: 0, kind: 1, bytes: 80 }), second = board.submit({ pool: 0, kind: 2, bytes: 70 });
    board.tryTake(0);
    board.tryTake(0);
    board.wait(first, 1);
    board.finish(first);
    board.tryTake(0);
    board.finish(second);
  });
  assertEquals(seen.filter((line) => !line.startsWith("wait ")), [
    "Held 80",
    "Waits 70",
    "Ended 0",
    "Held 70",
    "Ended 0",
  ]);
  assert(seen.some((line) => line.startsWith("wait wait for job ")), seen.join(", "));
});

Deno.test("a job that leaves the line, and a dead isolate's hold, end in the trace too", () => {
  const { board, members, arena, b } = setUp();
  const other = JobBoard.attach(b, Arena.attach(b, arena.handle), board.handle);
  const seen = recorded(() => {
    board.submit({ pool: 0, kind: 1, bytes: 80 });
    other.tryTake(0);
    const waiting = board.submit({ pool: 0, kind: 2, bytes: 70 });
    board.tryTake(0);
    board.cancel(waiting);
    members.kill(b);
    members.registry.sweep();
  });
  assertEquals(seen, ["Held 80", "Waits 70", "Ended 0", "Ended 0"]);
});

Deno.test("without a tracer a dispatch reads no clock, and takes as many atomic accesses as with one", () => {
  const { dispatch } = setUp();
  const off = calls(dispatch);
  assertEquals(off.clock, 0);
  setTracer(new Recorder());
  const on = calls(dispatch);
  setTracer(undefined);
  assert(on.clock > 0, "the count would see it");
  assertEquals(on.atomics, off.atomics, "what is recorded needs none of the structures");
  assertEquals(calls(dispatch), off);
});

Deno.test("without a tracer a dispatch allocates nothing for it", () => {
  const { dispatch } = setUp();
  const TIMES = 2000, ROUNDS = 41;
  /** Bytes for one, the median: a round with a collection in it shrinks, and one in which V8 compiles grows. */
  const grown = (work: () => void) => {
    const bytes = Array.from({ length: ROUNDS }, () => {
      const before = Deno.memoryUsage().heapUsed;
      for (let i = 0; i < TIMES; i++) work();
      return (Deno.memoryUsage().heapUsed - before) / TIMES;
    });
    return bytes.sort((a, b) => a - b)[ROUNDS >> 1];
  };
  const kept: { i: number }[] = [{ i: 0 }];
  const object = grown(() => kept[0] = { i: kept[0].i + 1 }), none = grown(dispatch);
  assert(object > 8, `an object for each would be seen: ${object} bytes`);
  assert(none < 4, `${none} bytes for each dispatch`);
});
