/**
 * Spans as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open: JSON of the "Trace Event Format" (Google, public document),
 * complete events ("ph": "X", microseconds) on one thread for each track, names of threads as metadata ("ph": "M").
 *
 * @module
 */
import { countCreations, type CreationCount } from "./creations.ts";
import { inWindow, type Span, type TimeWindow } from "./timeline.ts";

/** What a trace holds, in a line. */
export interface TraceSummary {
  readonly schema: "anyagc.trace/1";
  /** When the trace begins, in milliseconds since the run's timeline began. */
  readonly startMs: number;
  /** From there to the end of the last span. */
  readonly lengthMs: number;
  readonly spans: number;
  /** What isolates had no room for. */
  readonly dropped: number;
  /** Pipelines that were created. */
  readonly creations: CreationCount;
  /** By track: spans, and the milliseconds in which at least one of them went on. */
  readonly tracks: Readonly<Record<string, { readonly spans: number; readonly busyMs: number }>>;
}

/** One process: isolates share it. */
const PROCESS = 1;

/** The spans that touch a window, cut to it. */
export function spansWithin(spans: readonly Span[], window: TimeWindow): Span[] {
  const { startMs, endMs } = window;
  return spans
    .filter((span) => inWindow(span, window))
    .map((span) => ({ ...span, startMs: Math.max(span.startMs, startMs), endMs: Math.min(span.endMs, endMs) }));
}

/**
 * The trace as JSON text.
 *
 * @param spans as {@linkcode spansWithin} gives them
 * @param name of what ran
 */
export function traceText(spans: readonly Span[], name: string): string {
  const events: Record<string, unknown>[] = [metadata("process_name", 0, { name })];
  const threads = lanesOf(spans);
  threads.forEach(({ track, spans }, index) => {
    const thread = index + 1;
    events.push(metadata("thread_name", thread, { name: track }));
    events.push(metadata("thread_sort_index", thread, { sort_index: thread }));
    for (const { name, startMs, endMs, detail, category } of spans) {
      events.push({
        ph: "X",
        pid: PROCESS,
        tid: thread,
        cat: category ?? track.replace(/ .*/, ""),
        name,
        ts: microseconds(startMs),
        dur: (nanoseconds(endMs) - nanoseconds(startMs)) / 1000,
        ...(detail === undefined || detail === "" ? {} : { args: { detail } }),
      });
    }
  });
  // An event on each line: the file can be looked at, and compared, with tools for text.
  const lines = events.map((event) => JSON.stringify(event)).join(",\n");
  return `{"displayTimeUnit":"ms","traceEvents":[\n${lines}\n]}\n`;
}

/** What the spans amount to. */
export function traceSummary(spans: readonly Span[], { startMs }: TimeWindow, dropped = 0): TraceSummary {
  const tracks: Record<string, { spans: number; busyMs: number }> = {};
  for (const [track, own] of byTrack(spans)) {
    let busyMs = 0, until = -Infinity;
    for (const span of own) {
      busyMs += Math.max(0, span.endMs - Math.max(span.startMs, until));
      until = Math.max(until, span.endMs);
    }
    tracks[track] = { spans: own.length, busyMs: microseconds(busyMs) / 1000 };
  }
  const end = spans.reduce((last, { endMs }) => Math.max(last, endMs), startMs);
  return {
    schema: "anyagc.trace/1",
    startMs,
    lengthMs: microseconds(end - startMs) / 1000,
    spans: spans.length,
    dropped,
    creations: countCreations(spans),
    tracks,
  };
}

/**
 * Tracks as threads. On a thread the format wants spans beside or inside each other; those of a track that overlap in another way go to a
 * further thread with the track's name and a number.
 */
function lanesOf(spans: readonly Span[]): { track: string; spans: Span[] }[] {
  const threads: { track: string; spans: Span[] }[] = [];
  for (const [track, own] of byTrack(spans)) {
    const lanes: { spans: Span[]; open: Span[] }[] = [];
    for (const span of own) {
      let lane = lanes.find(({ open }) => {
        while (open.length > 0 && open.at(-1)!.endMs <= span.startMs) open.pop();
        return open.length === 0 || span.endMs <= open.at(-1)!.endMs;
      });
      if (lane === undefined) lanes.push(lane = { spans: [], open: [] });
      lane.spans.push(span);
      lane.open.push(span);
    }
    lanes.forEach((lane, i) => threads.push({ track: i === 0 ? track : `${track} (${i + 1})`, spans: lane.spans }));
  }
  return threads;
}

/** Spans of each track by their start, longer ones first; tracks in the order of their first span in the list. */
function byTrack(spans: readonly Span[]): Map<string, Span[]> {
  const tracks = new Map<string, Span[]>();
  for (const span of spans) {
    const own = tracks.get(span.track);
    if (own === undefined) tracks.set(span.track, [span]);
    else own.push(span);
  }
  for (const own of tracks.values()) own.sort((a, b) => a.startMs - b.startMs || b.endMs - a.endMs);
  return tracks;
}

function metadata(name: string, thread: number, args: Record<string, unknown>) {
  return { ph: "M", pid: PROCESS, tid: thread, name, args };
}

/** Milliseconds as microseconds, to the nanosecond. */
function microseconds(milliseconds: number): number {
  return nanoseconds(milliseconds) / 1000;
}

function nanoseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1e6);
}
