/**
 * The trace of all isolates of a process, in shared memory: each isolate writes into a lane of its own, without locks, and the main isolate
 * reads them all at any time, also those of isolates that block, or have died. Made only when somebody asked for a trace.
 *
 * Clocks: `performance.now()` counts from the start of each isolate, `performance.timeOrigin` says when that was. A lane adds the difference
 * to the main isolate's, so all times are milliseconds since the same moment.
 *
 * A lane is a log of records, multiples of 8 bytes, each begun by its kind and its bytes; its first word says how much of it is whole.
 *
 * @module
 */
import type { Isolate } from "../../sync/isolates.ts";
import type { Tracer } from "../../sync/tracer.ts";
import { budgetSpans, type Mark } from "./budget_spans.ts";
import { inWindow, type Span, type TimeWindow, WHOLE_RUN } from "./timeline.ts";

/** Bytes of a lane; memory is taken when it is written. */
const LANE_BYTES = 4 << 20;
/** Words of a lane's head: bytes that are whole, records that found no room. */
const HEAD_BYTES = 16, USED = 0, DROPPED = 1;
/** Kinds of records: an isolate begins (its name); the next string; a span; a mark. */
const Begin = 1, Text = 2, SpanRecord = 3, MarkRecord = 4;
const SPAN_BYTES = 40, MARK_BYTES = 40;
/** Waits for the same thing with less than that in between are one. */
const ONE_WAIT_MS = 5;

/** The shared part, for postMessage. */
export interface SharedTraceHandle {
  readonly memory: SharedArrayBuffer;
  /** Moment that times count from, in milliseconds since 1970. */
  readonly zeroMs: number;
  /** What outside of it happens is not kept. */
  readonly window: TimeWindow;
}

/** What all lanes hold. */
export interface TraceContent {
  /** Times in milliseconds since `zeroMs`. */
  readonly spans: readonly Span[];
  /** Records that found no room. */
  readonly dropped: number;
}

/** See the module; the main isolate's. */
export class SharedTrace {
  readonly handle: SharedTraceHandle;
  readonly #lanes: number;

  /** @param lanes slots of the registry  @param zeroMs see the handle; the isolate's start when left out */
  constructor(lanes: number, window: TimeWindow = WHOLE_RUN, zeroMs = performance.timeOrigin) {
    this.#lanes = lanes;
    this.handle = { memory: new SharedArrayBuffer(lanes * LANE_BYTES), zeroMs, window };
  }

  /** Everything so far. */
  read(): TraceContent {
    const spans: Span[] = [], marks: Mark[] = [];
    let dropped = 0;
    for (let lane = 0; lane < this.#lanes; lane++) {
      const head = new Int32Array(this.handle.memory, lane * LANE_BYTES, 2);
      const used = Atomics.load(head, USED);
      dropped += Atomics.load(head, DROPPED);
      if (used > 0) readLane(this.handle.memory, lane * LANE_BYTES + HEAD_BYTES, used, spans, marks);
    }
    spans.push(...budgetSpans(marks, performance.timeOrigin + performance.now() - this.handle.zeroMs));
    return { spans: spans.filter((span) => inWindow(span, this.handle.window)), dropped };
  }
}

function readLane(memory: SharedArrayBuffer, at: number, used: number, spans: Span[], marks: Mark[]): void {
  const view = new DataView(memory, at, used);
  let isolate = "", texts: string[] = [];
  /** The last wait for each thing: who sleeps looks now and then whether it still has to. */
  const waits = new Map<string, Omit<Span, "endMs"> & { endMs: number }>();
  for (let from = 0; from < used;) {
    const kind = view.getUint32(from, true), bytes = view.getUint32(from + 4, true);
    const f64 = (offset: number) => view.getFloat64(from + offset, true);
    const u32 = (offset: number) => view.getUint32(from + offset, true);
    if (kind === Begin || kind === Text) {
      // TextDecoder takes no shared memory.
      const text = new TextDecoder().decode(new Uint8Array(memory, at + from + 16, u32(8)).slice());
      if (kind === Begin) isolate = text, texts = [], waits.clear();
      else texts.push(text);
    } else if (kind === SpanRecord) {
      const detail = u32(32) === 0 ? undefined : texts[u32(32) - 1];
      const [category, name] = [texts[u32(24) - 1], texts[u32(28) - 1]];
      // What the device does goes on beside what its isolate does.
      const track = category === "gpu" ? `device, ${isolate}` : isolate;
      const span = { track, category, name, startMs: f64(8), endMs: f64(16), detail }, before = waits.get(name);
      if (category !== "wait") spans.push(span);
      else if (before !== undefined && span.startMs - before.endMs < ONE_WAIT_MS) before.endMs = span.endMs;
      else waits.set(name, span), spans.push(span);
    } else if (kind === MarkRecord) {
      marks.push({ timeMs: f64(8), key: f64(16), value: f64(24), kind: u32(32) });
    }
    from += bytes;
  }
}

/** An isolate's lane. */
export class TraceLane implements Tracer {
  readonly #handle: SharedTraceHandle;
  readonly #head: Int32Array<SharedArrayBuffer>;
  readonly #view: DataView<SharedArrayBuffer>;
  readonly #bytes: Uint8Array<SharedArrayBuffer>;
  readonly #texts = new Map<string, number>();
  readonly #encoder = new TextEncoder();
  /** To be added to `performance.now()`. */
  readonly #later: number;
  #used: number;
  #full = false;

  /** @param name what the isolate is called in the trace */
  constructor(handle: SharedTraceHandle, self: Isolate, name: string) {
    this.#handle = handle;
    const at = self.slot * LANE_BYTES;
    this.#head = new Int32Array(handle.memory, at, 2);
    this.#view = new DataView(handle.memory, at + HEAD_BYTES, LANE_BYTES - HEAD_BYTES);
    this.#bytes = new Uint8Array(handle.memory, at + HEAD_BYTES, LANE_BYTES - HEAD_BYTES);
    this.#later = performance.timeOrigin - handle.zeroMs;
    // An isolate that had the slot before has left its records.
    this.#used = Atomics.load(this.#head, USED);
    this.#write(Begin, name);
  }

  span(category: string, name: string, start: number, end: number, detail = ""): void {
    const startMs = start + this.#later, endMs = end + this.#later, { window } = this.#handle;
    if (this.#full || !inWindow({ startMs, endMs }, window)) return;
    const texts = [this.#text(category), this.#text(name), detail === "" ? 0 : this.#text(detail)];
    const at = this.#begin(SpanRecord, SPAN_BYTES);
    if (at === -1) return;
    this.#view.setFloat64(at + 8, startMs, true);
    this.#view.setFloat64(at + 16, endMs, true);
    texts.forEach((text, i) => this.#view.setUint32(at + 24 + 4 * i, text, true));
    this.#end(SPAN_BYTES);
  }

  mark(kind: number, key: number, value: number): void {
    // Of all of the run: what begins before a window may end in it.
    const at = this.#begin(MarkRecord, MARK_BYTES);
    if (at === -1) return;
    this.#view.setFloat64(at + 8, performance.now() + this.#later, true);
    this.#view.setFloat64(at + 16, key, true);
    this.#view.setFloat64(at + 24, value, true);
    this.#view.setUint32(at + 32, kind, true);
    this.#end(MARK_BYTES);
  }

  /** Number of a string, from 1; written when it is new. */
  #text(text: string): number {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (!this.#write(Text, text)) return 0;
    this.#texts.set(text, this.#texts.size + 1);
    return this.#texts.size;
  }

  #write(kind: number, text: string): boolean {
    const encoded = this.#encoder.encode(text), bytes = 16 + Math.ceil(encoded.length / 8) * 8;
    const at = this.#begin(kind, bytes);
    if (at === -1) return false;
    this.#view.setUint32(at + 8, encoded.length, true);
    this.#bytes.set(encoded, at + 16);
    this.#end(bytes);
    return true;
  }

  /** Where a record goes, its head written; -1 when there is no room. */
  #begin(kind: number, bytes: number): number {
    const at = this.#used;
    if (this.#full || at + bytes > this.#view.byteLength) {
      this.#full = true;
      Atomics.add(this.#head, DROPPED, 1);
      return -1;
    }
    this.#view.setUint32(at, kind, true);
    this.#view.setUint32(at + 4, bytes, true);
    return at;
  }

  #end(bytes: number): void {
    this.#used += bytes;
    Atomics.store(this.#head, USED, this.#used);
  }
}
