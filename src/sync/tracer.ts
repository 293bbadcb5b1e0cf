/**
 * Where this isolate's shared structures tell what took time, when somebody records a trace. Nobody does by default: then each place is a
 * load of a variable and a comparison, without an allocation or an access to shared memory.
 *
 * @module
 */

/** Kinds of what happens to a job's hold of the compile budget; the key is the job's ticket, the value the bytes. */
export const BudgetMark = {
  /** It does not fit, and waits in line. */
  Waits: 1,
  /** It has its bytes. */
  Held: 2,
  /** It has left the line, or given its bytes back. */
  Ended: 3,
} as const;

/** Gets what happens in this isolate. Must not throw, and must take no lock: it is called with locks held. */
export interface Tracer {
  /**
   * Something took time.
   *
   * @param category short word for people who filter, for example `mutex`
   * @param start, end values of `performance.now()`
   */
  span(category: string, name: string, start: number, end: number, detail?: string): void;
  /** Something happened now. @param kind of {@linkcode BudgetMark} */
  mark(kind: number, key: number, value: number): void;
}

/** The tracer of this isolate. */
export let tracer: Tracer | undefined;

/** Sets the tracer of this isolate; undefined takes it out. */
export function setTracer(next: Tracer | undefined): void {
  tracer = next;
}
