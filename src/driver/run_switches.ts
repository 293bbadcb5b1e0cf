import { compileLimitBytes } from "./compile_cost/compile_limit.ts";
import { prebuildThreads } from "./pools/room_slots.ts";
import { waitTimeoutMs } from "./queues/wait_timeout.ts";

/**
 * Looks at the switches that say how a program runs, so that values which mean nothing are refused before anything runs, and whichever way it
 * will: in isolates, in turns, or in the interpreter, which needs none of them.
 *
 * @throws UsageError
 */
export function checkRunSwitches(): void {
  compileLimitBytes();
  prebuildThreads();
  waitTimeoutMs();
}
