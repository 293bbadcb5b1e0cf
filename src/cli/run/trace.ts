/**
 * `anyagc run --trace` and APS5_TRACE_SECONDS: the file for Perfetto.
 *
 * @module
 */
import type { TimeWindow } from "../../driver/recording/timeline.ts";
import { ROOM_SLOTS } from "../../driver/pools/room_slots.ts";
import { SharedTrace } from "../../driver/recording/shared_trace.ts";
import { spansWithin, type TraceSummary, traceSummary, traceText } from "../../driver/recording/trace_events.ts";
import { UsageError } from "../../errors.ts";
import { switchValue } from "../../switches.ts";
import { type CommandContext, optionText } from "../command.ts";
import { writeOutputNow } from "../files.ts";
import type { RunRecording } from "./recording.ts";

/** Name of the file where only the switch asks for a trace. */
const DEFAULT_FILE = "anyagc-trace.json";
/** The file is written anew at most so often while the run goes on, in milliseconds, and in at most a part of the time. */
const PAUSE_MS = 1000, TIME_SHARE = 1 / 20;

/** What the user wants to see. */
export interface TraceOptions {
  /** File to write. */
  readonly file: string;
  /** Part of the run. */
  readonly window: TimeWindow;
}

/** What command line and environment say of a trace; undefined when none is wanted. @throws UsageError */
export function traceOptions(context: CommandContext): TraceOptions | undefined {
  const file = optionText(context, "trace"), seconds = switchValue("APS5_TRACE_SECONDS");
  if (file === undefined && seconds === undefined) return undefined;
  return { file: file ?? DEFAULT_FILE, window: traceWindow(seconds ?? "0:") };
}

/** The window of `start:length`, both in seconds; without a length it goes on to the end. @throws UsageError */
function traceWindow(text: string): TimeWindow {
  const match = /^(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)?$/.exec(text);
  const startMs = Number(match?.[1]) * 1000, lengthMs = match?.[2] === undefined ? Infinity : Number(match[2]) * 1000;
  if (match === null || lengthMs === 0) {
    throw new UsageError(
      "cli.bad-trace-seconds",
      `APS5_TRACE_SECONDS is start:length in seconds since the run began, for example 2.5:10, not "${text}"`,
    );
  }
  return { startMs, endMs: startMs + lengthMs };
}

/** The trace of one run, while it goes on. */
export class RunTrace {
  readonly #options: TraceOptions;
  readonly #name: string;
  readonly #recording: RunRecording;
  /** What isolates put down themselves: locks, the compile budget, creations, waits. */
  readonly shared: SharedTrace;
  #next = -Infinity;
  #spans = -1;
  #complete = false;

  /**
   * @param name of what runs
   * @param recording gets {@linkcode RunRecording.beforeWork}: before anything that a signal may have to end, what is known is on the disk
   */
  constructor(options: TraceOptions, name: string, recording: RunRecording) {
    this.#options = options;
    this.#name = name;
    this.#recording = recording;
    this.shared = new SharedTrace(ROOM_SLOTS, options.window, recording.timeline.zeroMs);
    recording.beforeWork = () => this.#checkpoint();
  }

  /** Writes the file. @throws UsageError when that cannot be */
  write(): TraceSummary & { file: string } {
    const { file, window } = this.#options;
    const { spans: shared, dropped } = this.shared.read();
    const spans = spansWithin([...this.#recording.timeline.spans, ...shared], window);
    writeOutputNow(file, new TextEncoder().encode(traceText(spans, this.#name)));
    return { ...traceSummary(spans, window, dropped), file };
  }

  #checkpoint(): void {
    const { timeline } = this.#recording, { startMs, endMs } = this.#options.window;
    const start = timeline.now;
    if (this.#complete || start < startMs || start < this.#next || timeline.spans.length === this.#spans) return;
    this.write();
    this.#complete = start >= endMs;
    this.#spans = timeline.spans.length;
    this.#next = timeline.now + Math.max(PAUSE_MS, (timeline.now - start) / TIME_SHARE);
  }
}
