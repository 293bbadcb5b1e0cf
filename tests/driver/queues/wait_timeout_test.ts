import { assertEquals, assertThrows } from "@std/assert";
import { DEFAULT_WAIT_TIMEOUT_MS, waitTimeoutMs } from "../../../src/driver/queues/wait_timeout.ts";
import { UsageError } from "../../../src/errors.ts";

const NAME = "ANYAGC_WAIT_TIMEOUT_MS";

Deno.test("the time limit of waits is the switch's, and none where that is 0", () => {
  const before = Deno.env.get(NAME);
  try {
    Deno.env.delete(NAME);
    assertEquals([waitTimeoutMs(), DEFAULT_WAIT_TIMEOUT_MS], [600_000, 600_000]);
    for (const [text, ms] of [["250", 250], ["0", Infinity], ["", 600_000]] as const) {
      Deno.env.set(NAME, text);
      assertEquals(waitTimeoutMs(), ms);
    }
    for (const text of ["-1", "1.5", "soon", "1e3", "12345678901"]) {
      Deno.env.set(NAME, text);
      assertThrows(() => waitTimeoutMs(), UsageError, `not "${text}"`);
    }
  } finally {
    if (before === undefined) Deno.env.delete(NAME);
    else Deno.env.set(NAME, before);
  }
});
