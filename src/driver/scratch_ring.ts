import { RefusedError } from "../errors.ts";
import type { ComputeDispatch } from "./executor.ts";

/**
 * Refuses a dispatch with more waves than its scratch memory has places (COMPUTE_TMPRING_SIZE.WAVES): the console runs no more of them at a time, but a
 * device may run all at once, and each gets a place of its own.
 *
 * @param groups workgroups of the dispatch
 */
export function checkScratchRing(dispatch: ComputeDispatch, groups: number): void {
  const { program, waveSize } = dispatch;
  if (!program.scratchEn) return;
  const threads = program.numThreadsX * program.numThreadsY * program.numThreadsZ;
  const waves = groups * Math.ceil(threads / waveSize);
  if (waves <= program.scratchWaves) return;
  throw new RefusedError(
    "driver.scratch-ring",
    `the dispatch has ${waves} waves, its scratch memory room for ${program.scratchWaves} ` +
      `(COMPUTE_TMPRING_SIZE.WAVES), and a device may run all at once`,
    { ...dispatch.place, guestAddress: program.address },
  );
}
