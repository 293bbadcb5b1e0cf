import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { InvalidInputError, RefusedError } from "../../../src/errors.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import { evaluatedDevice } from "../../support/spirv_eval/executor.ts";
import { GROUP_PROGRAMS, groupCaseOf, REFUSED_GROUPS } from "./group_cases.ts";
import { compareGroups, groupRequestOf } from "./group_frame.ts";
import { programOf, vertexState } from "./programs.ts";

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

Deno.test("a request that is no merged group's is bad input, and says why", () => {
  const good = groupRequestOf(groupCaseOf(GROUP_PROGRAMS[1], 32), evaluatedDevice(32));
  const { state } = programOf(vertexState(), 32);
  const cases: readonly (readonly [Partial<RecompileRequest>, string])[] = [
    [{ graphics: state }, "has the state of another stage"],
    [{ workgroupSize: [32, 2, 1] }, "is no row of whole waves"],
    [{ workgroupSize: [48, 1, 1] }, "is no row of whole waves"],
    [{ partialThreads: true }, "is no row of whole waves"],
    [{ workgroupIds: [true, false, false] }, "a dispatch's numbers"],
    [{ tgSize: true }, "a dispatch's numbers"],
    [{ threadIdCount: 1 }, "a dispatch's numbers"],
    [{ group: { next: { sgpr: 3, offset: 256 } } }, "a register that the hardware fills"],
  ];
  for (const [changes, message] of cases) {
    assertThrows(() => recompile({ ...good, ...changes }), InvalidInputError, message);
  }
});
