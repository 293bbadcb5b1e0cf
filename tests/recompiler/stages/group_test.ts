import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import { evaluatedDevice } from "../../support/spirv_eval/executor.ts";
import { GROUP_PROGRAMS, groupCaseOf, REFUSED_GROUPS } from "./group_cases.ts";
import { compareGroups, groupRequestOf } from "./group_frame.ts";

for (const program of GROUP_PROGRAMS) {
  Deno.test(`a merged group gives what the interpreter gives, bit by bit: ${program.name}`, () => {
    for (const waveSize of [32, 64] as const) {
      const { groups, results } = compareGroups(groupCaseOf(program, waveSize), {
        seeds: [1],
        devices: [[waveSize], [8], [16, "spanned"]],
      });
      assertEquals(groups, 6);
      assert(results.some(({ exports }) => (exports.get(12) ?? []).some((word) => word !== 0)), "positions");
      assert(results.every(({ allocation }) => allocation !== 0), "space");
    }
  });
}

for (const program of REFUSED_GROUPS) {
  Deno.test(`refused by name in a merged group: ${program.name}`, () => {
    for (const waveSize of [32, 64] as const) {
      const c = groupCaseOf(program, waveSize);
      const error = assertThrows(() => recompile(groupRequestOf(c, evaluatedDevice(32))), RefusedError);
      assertMatch(error.message, program.message!);
    }
  });
}
