import { UsageError } from "../../errors.ts";
import { switchValue } from "../../switches.ts";

/**
 * Milliseconds after which a wait is given up although other queues run: somebody whose pipeline is in creation for 470 s (the longest that
 * was seen) and whose batch then takes the minute that a device gives it may still be the one that ends the wait.
 */
export const DEFAULT_WAIT_TIMEOUT_MS = 600_000;

/** ANYAGC_WAIT_TIMEOUT_MS in milliseconds; Infinity where it is 0. @throws UsageError if it is no whole number */
export function waitTimeoutMs(): number {
  const text = switchValue("ANYAGC_WAIT_TIMEOUT_MS");
  if (text === undefined) return DEFAULT_WAIT_TIMEOUT_MS;
  if (!/^\d{1,9}$/.test(text)) {
    throw new UsageError(
      "driver.bad-wait-timeout",
      `ANYAGC_WAIT_TIMEOUT_MS is a whole number of milliseconds below 10^9, not "${text}"`,
    );
  }
  return Number(text) || Infinity;
}
