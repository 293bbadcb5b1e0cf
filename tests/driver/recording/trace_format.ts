/**
 * Checks a trace against what the "Trace Event Format" document (Google, public) asks of the events that AnyAGC writes, and gives its events.
 *
 * An object with "traceEvents"; each event has a phase, integers pid and tid, a name; complete events ("X") a category, "ts" and "dur" in
 * microseconds, not negative; metadata events ("M") one of the document's names and its argument. On a thread complete events are beside or
 * inside each other: else viewers stack them wrongly.
 */
import { assert } from "@std/assert";

/** A complete event, with its thread's name. */
export interface TraceEvent {
  readonly thread: string;
  readonly category: string;
  readonly name: string;
  readonly ts: number;
  readonly dur: number;
  readonly detail?: string;
}

const METADATA: Readonly<Record<string, readonly [argument: string, type: string]>> = {
  process_name: ["name", "string"],
  process_sort_index: ["sort_index", "number"],
  process_labels: ["labels", "string"],
  thread_name: ["name", "string"],
  thread_sort_index: ["sort_index", "number"],
};
const UNITS = ["ms", "ns"];

/** See the module. @throws AssertionError that names the first thing that is wrong */
export function readTrace(text: string): TraceEvent[] {
  const trace = JSON.parse(text);
  assert(Array.isArray(trace.traceEvents), "traceEvents is no array");
  assert(trace.displayTimeUnit === undefined || UNITS.includes(trace.displayTimeUnit), "displayTimeUnit");
  const names = new Map<string, string>(), events: (TraceEvent & { key: string })[] = [];
  for (const event of trace.traceEvents) {
    const what = JSON.stringify(event), { ph, pid, tid, name, cat, ts, dur, args } = event;
    assert(Number.isInteger(pid) && Number.isInteger(tid), `pid or tid: ${what}`);
    assert(typeof name === "string" && name !== "", `name: ${what}`);
    assert(args === undefined || (typeof args === "object" && args !== null), `args: ${what}`);
    const key = `${pid} ${tid}`;
    if (ph === "M") {
      const [argument, type] = METADATA[name] ?? [];
      assert(argument !== undefined && typeof args?.[argument] === type, `metadata: ${what}`);
      if (name === "thread_name") names.set(key, args.name);
      continue;
    }
    assert(ph === "X", `phase: ${what}`);
    assert(typeof cat === "string" && cat !== "" && !cat.includes(","), `cat: ${what}`);
    assert(Number.isFinite(ts) && ts >= 0 && Number.isFinite(dur) && dur >= 0, `ts or dur: ${what}`);
    events.push({ key, thread: "", category: cat, name, ts, dur, detail: args?.detail });
  }
  const open = new Map<string, number[]>();
  for (const { key, ts, dur, name } of [...events].sort((a, b) => a.ts - b.ts || b.dur - a.dur)) {
    const ends = open.get(key) ?? [];
    // Times are whole nanoseconds; the sum of two is so but for its last bits.
    while (ends.length > 0 && ends.at(-1)! <= ts + 0.0005) ends.pop();
    assert(ends.length === 0 || ts + dur <= ends.at(-1)! + 0.002, `${name} at ${ts} overlaps what is before it`);
    open.set(key, [...ends, ts + dur]);
  }
  return events.map(({ key, ...event }) => {
    const thread = names.get(key);
    assert(thread !== undefined, `a thread without a name: ${key}`);
    return { ...event, thread };
  });
}
