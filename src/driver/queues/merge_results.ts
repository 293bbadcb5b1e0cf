/**
 * What the isolates of queues gave over, as the result of one run.
 *
 * @module
 */
import type { ProgramReport } from "../executor.ts";
import type { QueueResults } from "./messages.ts";

/** Things of all queues in the order of their numbers, without them. */
export function inOrder<T extends { readonly order: number }>(of: readonly (readonly T[])[]): Omit<T, "order">[] {
  return of.flat().sort((a, b) => a.order - b.order).map(({ order: _, ...rest }) => rest);
}

/** A program of the run. */
export interface MergedProgram {
  readonly report: ProgramReport;
  readonly words: Uint32Array | undefined;
}

/** Programs of all queues: one that several queues dispatched is one. */
export function mergePrograms(of: readonly Pick<QueueResults, "programs" | "modules">[]): MergedProgram[] {
  const merged = new Map<string, MergedProgram>();
  for (const { programs, modules } of of) {
    // A queue's own reports are of different programs, also those that look the same.
    const seen = new Map<string, number>();
    programs.forEach((report, i) => {
      const looks = identity(report), nth = seen.get(looks) ?? 0;
      seen.set(looks, nth + 1);
      const key = `${looks} ${nth}`, known = merged.get(key);
      if (known === undefined) {
        merged.set(key, { report: { ...report }, words: modules[i] });
        return;
      }
      const sum = known.report;
      sum.instructions = Math.max(sum.instructions, report.instructions);
      sum.recompileMs += report.recompileMs;
      sum.createMs += report.createMs;
      sum.dispatches += report.dispatches;
    });
  }
  return [...merged.values()];
}

/** Milliseconds of all queues; they may have passed at the same time. */
export function mergeDeviceMs(of: readonly Pick<QueueResults, "deviceMs">[]): number | undefined {
  let sum: number | undefined;
  for (const { deviceMs } of of) if (deviceMs !== undefined) sum = (sum ?? 0) + deviceMs;
  return sum;
}

/** What makes two queues' reports ones of the same program. */
function identity({ address, words, waveSize, laneMode, laneModeReason, workgroupSize }: ProgramReport): string {
  return [address, words, waveSize, laneMode, laneModeReason, ...workgroupSize].join(" ");
}
