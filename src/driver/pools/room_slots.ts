import { UsageError } from "../../errors.ts";
import { switchNumber } from "../../switches.ts";

/**
 * Isolates of a room, at most: as many as a registry can have. Main, the writer of the shader cache, the 57 queues of a guest, and the workers of three
 * pools on a machine with 128 hardware threads.
 */
export const ROOM_SLOTS = 255;

/** Those that are no workers of the three pools. */
const OTHERS = 1 + 1 + 57;

/** Workers that each of the three pools may have. */
const MAX_POOL_WORKERS = Math.floor((ROOM_SLOTS - OTHERS) / 3);

/** Workers of a pool by default: half the hardware threads, at least one, and as many as there is room for. */
export function defaultPoolWorkers(hardwareThreads: number): number {
  return Math.min(MAX_POOL_WORKERS, Math.max(1, hardwareThreads >> 1));
}

/** APS5_PREBUILD_THREADS, at least one; undefined where it is not set. @throws UsageError if there is no room for so many */
export function prebuildThreads(): number | undefined {
  const name = "APS5_PREBUILD_THREADS", threads = switchNumber(name);
  if (threads === undefined) return undefined;
  if (threads <= MAX_POOL_WORKERS) return Math.max(1, threads);
  throw new UsageError("driver.prebuild-threads", `${name} is at most ${MAX_POOL_WORKERS}, not ${threads}`);
}
