import { assert, assertEquals } from "@std/assert";
import { runTask } from "../../bench/compile_budget/run.ts";
import { drawSizes, title, TITLES } from "../../bench/compile_budget/sizes.ts";

const KIB = 1024, MIB = 1024 * KIB;

Deno.test("titles have the medians, means and largest modules that are known of them", () => {
  assertEquals(title(0), { median: 239 * KIB, mean: 0.65 * MIB, largest: 4.8 * MIB });
  assertEquals(title(TITLES - 1), { median: 671 * KIB, mean: 1.5 * MIB, largest: 18.1 * MIB });
  for (let index = 0; index < TITLES; index++) {
    const { median, mean, largest } = title(index), sizes = drawSizes(title(index), 40_000, 7).sort((a, b) => a - b);
    const sum = sizes.reduce((a, b) => a + b) / sizes.length;
    assert(Math.abs(sizes[20_000] / median - 1) < 0.05, `median ${sizes[20_000]} of title ${index}`);
    assert(Math.abs(sum / mean - 1) < 0.05, `mean ${sum} of title ${index}`);
    assertEquals(sizes.at(-1)!, Math.floor(largest / 4) * 4);
    assert(sizes.every((size) => size % 4 === 0));
  }
});

Deno.test("the same seed draws the same sizes, another one others", () => {
  assertEquals(drawSizes(title(1), 50, 3), drawSizes(title(1), 50, 3));
  assert(drawSizes(title(1), 50, 3).join() !== drawSizes(title(1), 50, 4).join());
});

Deno.test("a run of the stub compiler makes each pipeline once, within the limit", async () => {
  const sizes = [300, 900, 200, 2000, 100, 400].map((kib) => kib * KIB);
  for (const limitBytes of [null, MIB]) {
    const run = await runTask({
      limitBytes,
      workers: 4,
      sizes,
      unannounced: 3,
      windowMs: 60_000,
      paceMs: 1,
      stub: { memory: 1, visits: 0.1 },
    });
    const { result } = run;
    await run.close();
    assertEquals(result.pipelines, sizes.length);
    // What the queue or a worker had only just ended when the last one was there is counted a moment later.
    const compiles = result.pool.compiles + result.queue.compiles;
    assert(compiles <= sizes.length && compiles >= sizes.length - 2, `${compiles} compiles`);
    // The third and the sixth nobody else knows of.
    assert(result.queue.compiles >= 1, `${result.queue.compiles} compiles of the queue`);
    assert(result.queue.asked > 0 && result.peakBytes > 0);
    if (limitBytes !== null) assert(result.heldBytes <= MIB || result.heldBytes === 2000 * KIB, `${result.heldBytes}`);
  }
});
