import { assert, assertEquals } from "@std/assert";
import { createRoom } from "../../../src/driver/pools/room.ts";
import { ROOM_SLOTS } from "../../../src/driver/pools/room_slots.ts";
import { budgetSpans } from "../../../src/driver/recording/budget_spans.ts";
import { countCreations } from "../../../src/driver/recording/creations.ts";
import { SharedTrace, TraceLane } from "../../../src/driver/recording/shared_trace.ts";
import { type Span, Timeline, type TimeWindow } from "../../../src/driver/recording/timeline.ts";
import { traceText } from "../../../src/driver/recording/trace_events.ts";
import { BudgetMark, setTracer, tracer } from "../../../src/sync/tracer.ts";
import { Members } from "../../sync/support/members.ts";
import { readTrace } from "./trace_format.ts";
import type { TraceTask } from "./trace_worker.ts";

function lanes(count: number, window?: TimeWindow) {
  const members = new Members(count), trace = new SharedTrace(16, window, performance.timeOrigin);
  return {
    members,
    trace,
    lane: (i: number, name = `i${i}`) => new TraceLane(trace.handle, members.isolates[i], name),
  };
}

const names = (spans: readonly Span[]) => spans.map(({ track, name }) => `${track}: ${name}`).sort();

Deno.test("spans of several isolates come back with track, category, detail and times", () => {
  const { trace, lane } = lanes(2);
  lane(0).span("mutex-hold", "GPU mutex", 10.25, 11.5);
  lane(1, "ü 1").span("create", "pipeline of 9 words", 1, 2, "locks: none");
  assertEquals(trace.read(), {
    dropped: 0,
    spans: [
      { track: "i0", category: "mutex-hold", name: "GPU mutex", startMs: 10.25, endMs: 11.5, detail: undefined },
      { track: "ü 1", category: "create", name: "pipeline of 9 words", startMs: 1, endMs: 2, detail: "locks: none" },
    ],
  });
});

Deno.test("what the device does has a track beside its isolate's", () => {
  const { trace, lane } = lanes(1);
  lane(0, "queue 0x20").span("gpu", "batch of 3", 1, 2);
  assertEquals(trace.read().spans[0].track, "device, queue 0x20");
});

Deno.test("waits for the same thing right after each other are one, others are not", () => {
  const { trace, lane } = lanes(2);
  const writer = lane(0), other = lane(1);
  const waits = [["job", 0, 100], ["job", 101, 200], ["pool", 200, 300], ["job", 300, 320], ["job", 321, 330]] as const;
  for (const [name, start, end] of waits) writer.span("wait", name, start, end);
  writer.span("create", "job", 331, 332);
  other.span("wait", "job", 202, 203);
  assertEquals(trace.read().spans.map(({ track, name, startMs, endMs }) => [track, name, startMs, endMs]), [
    ["i0", "job", 0, 200],
    ["i0", "pool", 200, 300],
    ["i0", "job", 300, 330],
    ["i0", "job", 331, 332],
    ["i1", "job", 202, 203],
  ]);
});

Deno.test("the records of an isolate outlive it, and its slot's next isolate writes behind them under its own name", () => {
  const { trace, lane } = lanes(1);
  lane(0, "old").span("a", "x", 1, 2);
  const next = lane(0, "new");
  next.span("b", "y", 3, 4);
  next.span("b", "x", 5, 6);
  assertEquals(names(trace.read().spans), ["new: x", "new: y", "old: x"]);
});

Deno.test("what has no room is counted, and what is there stays readable", () => {
  const { trace, lane } = lanes(1);
  const writer = lane(0), LONG = "x".repeat(100_000);
  for (let i = 0; i < 60; i++) writer.span("a", `${LONG}${i}`, i, i + 1);
  const { spans, dropped } = trace.read();
  assert(spans.length > 30 && spans.length < 60 && dropped >= 1, `${spans.length} and ${dropped}`);
  assertEquals(spans.at(-1)!.name, `${LONG}${spans.length - 1}`);
});

Deno.test("what lies outside of the window is not kept, and a hold that began before it is", () => {
  const origin = performance.now(), { trace, lane } = lanes(1, { startMs: origin + 1e6, endMs: origin + 2e6 });
  const writer = lane(0);
  writer.span("a", "early", origin, origin + 1);
  writer.span("a", "within", origin + 1.5e6, origin + 1.6e6);
  writer.span("a", "late", origin + 3e6, origin + 4e6);
  assertEquals(names(trace.read().spans), ["i0: within"]);
});

Deno.test("a wait for the budget and the hold after it are spans, whichever isolates wrote their marks", () => {
  const mark = (timeMs: number, kind: number, key: number, value = 0) => ({ timeMs, kind, key, value });
  const spans = budgetSpans([
    // Another isolate's marks come last.
    mark(1, BudgetMark.Held, 7, 100),
    mark(9, BudgetMark.Ended, 7),
    mark(4, BudgetMark.Waits, 8, 60),
    mark(6, BudgetMark.Waits, 9, 30),
    mark(8, BudgetMark.Ended, 9),
    mark(9.5, BudgetMark.Held, 8, 60),
  ], 20);
  assertEquals(spans.map(({ track, name, startMs, endMs }) => [track, name, startMs, endMs]), [
    ["budget waits", "30 bytes", 6, 8],
    ["budget holds", "100 bytes", 1, 9],
    ["budget waits", "60 bytes", 4, 9.5],
    ["budget holds", "60 bytes, not over", 9.5, 20],
  ]);
});

Deno.test("creations inside the GPU mutex of their own isolate are counted", () => {
  const span = (track: string, category: string, name: string, startMs: number, endMs: number): Span => ({
    track,
    category,
    name,
    startMs,
    endMs,
  });
  const hold = (track: string, startMs: number, endMs: number) =>
    span(track, "mutex-hold", "GPU mutex", startMs, endMs);
  const create = (track: string, startMs: number, endMs: number) => span(track, "create", "p", startMs, endMs);
  const held = [hold("a", 10, 20), hold("b", 0, 100), span("a", "mutex-hold", "device", 0, 100)];
  assertEquals(countCreations([...held, create("a", 0, 10), create("a", 20, 30)]), { count: 2, insideMutex: 0 });
  assertEquals(countCreations([...held, create("a", 15, 30)]), { count: 1, insideMutex: 1 });
  assertEquals(countCreations([...held, create("a", 0, 11)]), { count: 1, insideMutex: 1 });
});

/** A room with a worker that is traced, and what the trace had. */
async function traced(inside: boolean, dies: boolean) {
  const trace = new SharedTrace(ROOM_SLOTS);
  const room = createRoom({ workers: [1, 1, 1], compileBytes: 100, arenaBytes: 1 << 20, trace: trace.handle });
  const flags = new Int32Array(new SharedArrayBuffer(64));
  const worker = new Worker(new URL("./trace_worker.ts", import.meta.url), { type: "module", name: "queue 0x20" });
  let death = "";
  const ended = new Promise<void>((resolve) => {
    worker.onmessage = () => resolve();
    worker.onerror = (event) => {
      event.preventDefault();
      death = event.message;
      resolve();
    };
  });
  worker.postMessage({ room: room.handle, flags, inside, dies } satisfies TraceTask);
  const reach = async (word: number) => {
    while (Atomics.load(flags, word) === 0) await Atomics.waitAsync(flags, word, 0, 1000).value;
  };
  const go = (word: number) => {
    Atomics.store(flags, word, 1);
    Atomics.notify(flags, word);
  };
  await reach(0);
  const start = performance.now();
  tracer!.span("test", "meanwhile", start, performance.now());
  go(1);
  await reach(2);
  // 60 of 100 bytes are held: this waits in line until its time is over, and has never held anything.
  assertEquals(room.board.hold(50, 20), undefined);
  setTimeout(() => go(3), 20);
  await new Promise((resolve) => setTimeout(resolve, 5));
  const asked = room.gpu.lockAsync();
  await asked;
  room.gpu.unlock();
  await ended;
  room.registry.sweep();
  setTracer(undefined);
  return { ...trace.read(), death };
}

Deno.test("a trace of a room: mutex, budget and creations of all isolates, on one clock, in the trace event format", async () => {
  const { spans, dropped } = await traced(false, false);
  assertEquals([dropped, countCreations(spans)], [0, { count: 1, insideMutex: 0 }]);
  const text = traceText(spans, "sample"), events = readTrace(text);
  const only = (category: string, thread?: string) =>
    events.filter((event) => event.category === category && (thread === undefined || event.thread === thread));
  assertEquals(only("mutex-hold", "queue 0x20").map(({ name }) => name), ["GPU mutex"]);
  assertEquals(only("mutex-hold", "main").map(({ name }) => name), ["GPU mutex"]);
  assertEquals(only("budget").map(({ thread, name }) => `${thread}: ${name}`).sort(), [
    "budget holds: 60 bytes",
    "budget waits: 50 bytes",
  ]);
  // Isolates began at different times: what one did while another waited for it lies inside that wait.
  const [first] = events.filter(({ name }) => name === "first"),
    [meanwhile] = events.filter(({ name }) => name === "meanwhile");
  assertEquals([first.thread, first.detail, meanwhile.thread], ["queue 0x20", "of the worker", "main"]);
  const slack = 500; // microseconds by which two readings of the system's clock may differ
  assert(first.ts - slack <= meanwhile.ts && meanwhile.ts + meanwhile.dur <= first.ts + first.dur + slack);
  // The creation is over before the mutex is taken.
  const [creation] = only("create"), [hold] = only("mutex-hold", "queue 0x20");
  assert(creation.ts + creation.dur <= hold.ts);
});

Deno.test("a creation under the mutex is seen in the trace, also of an isolate that has died", async () => {
  const { spans, death } = await traced(true, true);
  assert(death.includes("dies with its records written"));
  assertEquals(countCreations(spans), { count: 1, insideMutex: 1 });
  readTrace(traceText(spans, "sample"));
});

Deno.test("spans of other isolates are merged into a timeline by their clocks", () => {
  const timeline = new Timeline(), trace = new SharedTrace(4, undefined, timeline.zeroMs);
  const now = performance.now(), member = new Members(1).isolates[0];
  new TraceLane(trace.handle, member, "w").span("a", "x", now + 5, now + 6);
  timeline.add("host", "y", now + 5, now + 6);
  const [{ startMs }] = trace.read().spans;
  assert(Math.abs(startMs - timeline.spans[0].startMs) < 0.01, `${startMs} and ${timeline.spans[0].startMs}`);
});
