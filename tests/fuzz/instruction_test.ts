/** A round of the instruction fuzzer with fixed seeds: recompiled code on the device against the interpreter. The long run is `deno task fuzz`. */
import { assert, assertEquals } from "@std/assert";
import { deviceTest } from "../support/vulkan.ts";
import { SUITE, suiteRound } from "./instructions.ts";
import { knownRefusals, newRefusals } from "./refusals.ts";
import { SideMaker } from "./sides.ts";

for (const part of SUITE) {
  deviceTest(
    `${part.what}: recompiled instructions give the interpreter's results, bit for bit or within their tolerance`,
    (device) => {
      using sides = new SideMaker(device);
      const report = suiteRound(part, (settings) => sides.take(settings.target));
      assertEquals(report.failures.map(({ seed, text }) => `seed ${seed}: ${text}`), []);
      assertEquals(newRefusals(report.refused, knownRefusals()), [], "refusals that refusals.json does not list");
      // A fuzzer that runs nothing finds nothing.
      assert(report.cases > report.batches * 500, `${report.cases} cases in ${report.batches} batches`);
    },
    { validation: false },
  );
}
