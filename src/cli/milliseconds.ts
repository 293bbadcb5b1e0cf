/** A duration for people. */
export function milliseconds(ms: number): string {
  if (ms === 0) return "0";
  return ms >= 100 ? `${Math.round(ms)} ms` : ms >= 1 ? `${ms.toFixed(1)} ms` : `${(ms * 1000).toFixed(0)} us`;
}
