import type { Span } from "./timeline.ts";

/** Pipeline creations of a trace. */
export interface CreationCount {
  /** All. */
  readonly count: number;
  /** Of them, those that were going on while their isolate had the GPU mutex: there must be none. */
  readonly insideMutex: number;
}

/** Counts the creations of a trace, as `VulkanPipelineDriver` and `GpuMutex` put them down, from their times alone. */
export function countCreations(spans: readonly Span[]): CreationCount {
  const holds = new Map<string, Span[]>();
  for (const span of spans) {
    if (span.category !== "mutex-hold" || span.name !== "GPU mutex") continue;
    const own = holds.get(span.track);
    if (own === undefined) holds.set(span.track, [span]);
    else own.push(span);
  }
  const created = spans.filter(({ category }) => category === "create");
  const inside = created.filter(({ track, startMs, endMs }) =>
    holds.get(track)?.some((hold) => hold.startMs < endMs && hold.endMs > startMs) ?? false
  );
  return { count: created.length, insideMutex: inside.length };
}
