import { assert, assertEquals } from "@std/assert";
import { spansWithin, traceSummary, traceText } from "../../../src/driver/recording/trace_events.ts";
import { type Span, Timeline, WHOLE_RUN } from "../../../src/driver/recording/timeline.ts";

const span = (track: string, name: string, startMs: number, endMs: number, detail?: string): Span => ({
  track,
  name,
  startMs,
  endMs,
  detail,
});

/** Events of a trace by thread name; fails where two events of a thread are neither beside nor inside each other. */
function threads(text: string) {
  const { traceEvents } = JSON.parse(text);
  const names = new Map<number, string>(), events = new Map<string, string[]>(), open = new Map<number, number[]>();
  for (const { ph, name, tid, args, ts, dur, pid } of traceEvents) {
    assertEquals(pid, 1);
    if (ph === "M") {
      if (name === "thread_name") names.set(tid, args.name);
      continue;
    }
    assertEquals(ph, "X");
    const ends = open.get(tid) ?? [];
    while (ends.length > 0 && ends.at(-1)! <= ts) ends.pop();
    assert(ends.length === 0 || ts + dur <= ends.at(-1)! + 1e-6, `${name} overlaps what is before it`);
    open.set(tid, [...ends, ts + dur]);
    const key = names.get(tid);
    assert(key !== undefined, "an event before the name of its thread");
    events.set(key, [...events.get(key) ?? [], `${name} ${ts}+${dur}${args ? ` ${args.detail}` : ""}`]);
  }
  return Object.fromEntries(events);
}

Deno.test("each track is a named thread, times are microseconds, details are arguments", () => {
  const text = traceText([
    span("queue 0x20", "packets", 0.0015, 2),
    span("recompile", "0x100", 1, 1.25, "3 instructions"),
    span("queue 0x20", "waits", 2, 5.5),
  ], "sample");
  assertEquals(threads(text), {
    "queue 0x20": ["packets 1.5+1998.5", "waits 2000+3500"],
    recompile: ["0x100 1000+250 3 instructions"],
  });
  const { traceEvents } = JSON.parse(text);
  assertEquals(traceEvents[0], { ph: "M", pid: 1, tid: 0, name: "process_name", args: { name: "sample" } });
});

Deno.test("spans inside others stay on their thread, those that overlap otherwise get another one", () => {
  const text = traceText([
    span("device", "a", 0, 10),
    span("device", "inside", 2, 4),
    span("device", "b", 5, 15),
    span("device", "behind both", 15, 16),
  ], "sample");
  assertEquals(threads(text), {
    device: ["a 0+10000", "inside 2000+2000", "behind both 15000+1000"],
    "device (2)": ["b 5000+10000"],
  });
});

Deno.test("a window keeps what touches it, cut to it", () => {
  const spans = [
    span("host", "before", 0, 10),
    span("host", "into", 5, 15),
    span("host", "moment at the start", 10, 10),
    span("host", "out of", 15, 25),
    span("host", "after", 20, 30),
  ];
  const window = { startMs: 10, endMs: 20 };
  assertEquals(spansWithin(spans, window).map(({ name, startMs, endMs }) => [name, startMs, endMs]), [
    ["into", 10, 15],
    ["moment at the start", 10, 10],
    ["out of", 15, 20],
  ]);
  assertEquals(spansWithin(spans, WHOLE_RUN), spans);
});

Deno.test("a timeline keeps nothing outside of its window", () => {
  const now = performance.now();
  const timeline = new Timeline({ startMs: 1e6, endMs: 2e6 });
  timeline.add("host", "early", now, now + 1000);
  timeline.add("host", "within", now + 1.5e6, now + 1.6e6);
  timeline.add("host", "late", now + 3e6, now + 4e6);
  assertEquals(timeline.spans.map(({ name }) => name), ["within"]);
});

Deno.test("the summary counts the time in which a track was busy once, however its spans overlap", () => {
  const spans = [span("a", "x", 10, 20), span("a", "y", 12, 14), span("a", "z", 18, 30), span("b", "w", 11, 12)];
  assertEquals(traceSummary(spans, { startMs: 10, endMs: 100 }), {
    schema: "anyagc.trace/1",
    startMs: 10,
    lengthMs: 20,
    spans: 4,
    dropped: 0,
    creations: { count: 0, insideMutex: 0 },
    tracks: { a: { spans: 3, busyMs: 20 }, b: { spans: 1, busyMs: 1 } },
  });
  assertEquals(traceSummary([], WHOLE_RUN).lengthMs, 0);
});
