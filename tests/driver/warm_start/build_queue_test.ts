import { assertEquals } from "@std/assert";
import { OwnBudget } from "../../../src/driver/pools/own_budget.ts";
import { BuildQueue } from "../../../src/driver/warm_start/build_queue.ts";

/** Starts work of these sizes; `log` tells what goes on at each start. Each work ends when the next one cannot start. */
async function starts(limit: number, budget: number, sizes: readonly number[]): Promise<string[]> {
  const own = new OwnBudget({ compileBytes: budget });
  const queue = new BuildQueue(limit, own), log: string[] = [], running: { size: number; end(): void }[] = [];
  for (const size of sizes) {
    let started = false;
    const start = queue.start(size, () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      running.push({ size, end: resolve });
      log.push(running.map((each) => each.size).join(" "));
      return promise;
    }).then(() => started = true);
    for (;;) {
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
      if (started) break;
      assertEquals(own.heldBytes, running.reduce((sum, { size }) => sum + size, 0));
      running.shift()!.end();
    }
    await start;
  }
  running.forEach(({ end }) => end());
  await queue.finished();
  assertEquals(own.heldBytes, 0);
  own.close();
  return log;
}

Deno.test("at most so many creations go on at once", async () => {
  assertEquals(await starts(2, 100, [1, 2, 3, 4]), ["1", "1 2", "2 3", "3 4"]);
});

Deno.test("their modules have at most the budget's bytes, one that has more is created alone", async () => {
  assertEquals(await starts(8, 10, [4, 6, 1, 11, 2]), ["4", "4 6", "6 1", "11", "2"]);
});
