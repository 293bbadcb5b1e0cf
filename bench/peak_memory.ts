/**
 * Peak memory of this process.
 *
 * @module
 */

/** Largest resident set so far, in bytes: VmHWM of proc(5) on Linux; elsewhere the resident set of now. */
export function peakBytes(): number {
  try {
    const line = /^VmHWM:\s*(\d+) kB$/m.exec(Deno.readTextFileSync("/proc/self/status"));
    if (line !== null) return Number(line[1]) * 1024;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return Deno.memoryUsage().rss;
}
