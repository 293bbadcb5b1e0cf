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
}

/** What happened when, for reports. Only made when somebody asked for one: each span is an object. */
export class Timeline {
  readonly #origin = performance.now();
  readonly #spans: Span[] = [];

  /** Adds a span. @param start, end values of `performance.now()` */
  add(track: string, name: string, start: number, end: number, detail?: string): void {
    const startMs = start - this.#origin;
    this.#spans.push({ track, name, startMs, endMs: Math.max(startMs, end - this.#origin), detail });
  }

  /** All spans so far, in the order of their ends. */
  get spans(): readonly Span[] {
    return this.#spans;
  }
}
