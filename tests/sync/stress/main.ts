/**
 * The long stress run: every structure, 1,000,000 operations over 8 isolates, deaths included.
 *
 *     deno task stress [--operations N] [--isolates N] [--deaths N] [--seed N] [--rounds N] [STRUCTURE...]
 *
 * Prints one JSON line for each run, with its seed. A failure names its seed; `--seed` runs it again.
 */
import { parseArgs } from "node:util";
import { SCENARIOS } from "./scenarios.ts";
import { stress } from "./stress.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    operations: { type: "string", default: "1000000" },
    isolates: { type: "string", default: "8" },
    deaths: { type: "string", default: "60" },
    seed: { type: "string" },
    rounds: { type: "string", default: "1" },
  },
});
const names = positionals.length > 0 ? positionals : Object.keys(SCENARIOS);
for (const name of names) {
  if (!Object.hasOwn(SCENARIOS, name)) {
    console.error(`no structure ${name}; there are ${Object.keys(SCENARIOS).join(", ")}`);
    Deno.exit(2);
  }
}
let failed = 0;
for (let round = 0; round < Number(values.rounds); round++) {
  const seed = values.seed === undefined ? Math.floor(Math.random() * 1e6) : Number(values.seed) + round;
  for (const scenario of names) {
    try {
      const report = await stress({
        scenario,
        operations: Number(values.operations),
        isolates: Number(values.isolates),
        seed,
        deaths: Number(values.deaths),
        watchdogMs: 60_000,
      });
      console.log(JSON.stringify({ scenario, seed, ...report }));
    } catch (error) {
      failed++;
      console.log(JSON.stringify({ scenario, seed, failed: error instanceof Error ? error.message : String(error) }));
    }
  }
}
// A terminated isolate that still sleeps would keep the process.
Deno.exit(failed === 0 ? 0 : 1);
