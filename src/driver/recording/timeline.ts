/** Something that took time. */
export interface Span {
  /** Who did it: a queue, the recompiler, the driver, the host. */
  readonly track: string;
  /** What it was. */
  readonly name: string;
  /** Milliseconds since the timeline began. */
  readonly startMs: number;
  /** Milliseconds since the timeline began; not before `startMs`. */
  readonly endMs: number;
  /** More about it, for people. */
  readonly detail?: string;
  /** Short word for people who filter; the first word of the track when left out. */
  readonly category?: string;
}

/** A part of a run, in milliseconds since its timeline began; `endMs` is not part of it. */
export interface TimeWindow {
  readonly startMs: number;
  readonly endMs: number;
}

/** All of a run. */
export const WHOLE_RUN: TimeWindow = { startMs: 0, endMs: Infinity };

/** Whether a part of the span, or its only moment, lies in the window. */
export function inWindow(span: Pick<Span, "startMs" | "endMs">, { startMs, endMs }: TimeWindow): boolean {
  return span.startMs < endMs && (span.endMs > startMs || span.startMs >= startMs);
}

/** What happened when, for reports. Only made when somebody asked for one: each span is an object. */
export class Timeline {
  readonly #origin = performance.now();
  readonly #spans: Span[] = [];
  readonly #window: TimeWindow;

  /** @param window spans that lie outside are not kept */
  constructor(window: TimeWindow = WHOLE_RUN) {
    this.#window = window;
  }

  /** Milliseconds since it began. */
  get now(): number {
    return performance.now() - this.#origin;
  }

  /** When it began, in milliseconds since 1970, by the isolate's clock. */
  get zeroMs(): number {
    return performance.timeOrigin + this.#origin;
  }

  /** Takes over spans of another isolate's timeline. @param zeroMs that one's */
  merge(spans: readonly Span[], zeroMs: number): void {
    const later = zeroMs - this.zeroMs;
    for (const span of spans) {
      const moved = { ...span, startMs: span.startMs + later, endMs: span.endMs + later };
      if (inWindow(moved, this.#window)) this.#spans.push(moved);
    }
  }

  /** Adds a span. @param start, end values of `performance.now()` */
  add(track: string, name: string, start: number, end: number, detail?: string): void {
    const startMs = start - this.#origin;
    const span = { track, name, startMs, endMs: Math.max(startMs, end - this.#origin), detail };
    if (inWindow(span, this.#window)) this.#spans.push(span);
  }

  /** All spans so far, in the order of their ends. */
  get spans(): readonly Span[] {
    return this.#spans;
  }
}
