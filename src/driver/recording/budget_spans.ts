import { BudgetMark } from "../../sync/tracer.ts";
import type { Span } from "./timeline.ts";

/** Something that happened to a hold of the compile budget, in some isolate. */
export interface Mark {
  readonly timeMs: number;
  /** Ticket of the job. */
  readonly key: number;
  /** Bytes of SPIR-V. */
  readonly value: number;
  /** Of `BudgetMark`. */
  readonly kind: number;
}

/** Tracks of the compile budget. */
const BUDGET_TRACKS = { waits: "budget waits", holds: "budget holds" } as const;

/**
 * Waits for the compile budget and holds of it as spans. One isolate puts a job in line, another one admits it, and a third may give its
 * bytes back, so each wrote a mark only.
 *
 * @param endMs when what is not over yet is cut off
 */
export function budgetSpans(marks: readonly Mark[], endMs: number): Span[] {
  const spans: Span[] = [], open = new Map<number, Mark>();
  const close = (key: number, timeMs: number, how: string) => {
    const began = open.get(key);
    if (began === undefined) return;
    open.delete(key);
    const waits = began.kind === BudgetMark.Waits;
    spans.push({
      track: waits ? BUDGET_TRACKS.waits : BUDGET_TRACKS.holds,
      category: "budget",
      name: `${began.value} bytes${how}`,
      startMs: began.timeMs,
      endMs: Math.max(began.timeMs, timeMs),
      detail: `job ${key}`,
    });
  };
  for (const mark of [...marks].sort((a, b) => a.timeMs - b.timeMs)) {
    close(mark.key, mark.timeMs, "");
    if (mark.kind !== BudgetMark.Ended) open.set(mark.key, mark);
  }
  for (const key of [...open.keys()]) close(key, endMs, ", not over");
  return spans;
}
