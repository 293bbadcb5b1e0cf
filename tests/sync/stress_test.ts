import { assert, assertEquals } from "@std/assert";
import { SCENARIOS } from "./stress/scenarios.ts";
import { stress } from "./stress/stress.ts";

// Set to a seed that a failure named, to see it again.
const SEED = 20261130;
const OPERATIONS = 50_000;
const DEATHS = 9;

/** Deno checks the types of a worker's modules when the first one starts; eight at once would all do so. */
let warm: Promise<unknown> | undefined;

for (const scenario of Object.keys(SCENARIOS)) {
  Deno.test(`${scenario} holds its invariants over ${OPERATIONS} operations in 8 isolates, some of which die`, async () => {
    await (warm ??= stress({ scenario, operations: 1, isolates: 1, seed: SEED, deaths: 0, watchdogMs: 300_000 }));
    const report = await stress({
      scenario,
      operations: OPERATIONS,
      isolates: 8,
      seed: SEED,
      deaths: DEATHS,
      watchdogMs: 30_000,
    });
    assert(report.operations >= OPERATIONS - DEATHS);
    assertEquals(report.deaths, DEATHS);
  });
}
