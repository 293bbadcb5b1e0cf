import { assertMatch, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import { requestOf, STAGE_DEVICE } from "./stage_case.ts";
import { caseOf } from "./programs.ts";
import { REFUSED_PROGRAMS } from "./refusal_cases.ts";

for (const { name, lines, state, message, registers, without } of REFUSED_PROGRAMS) {
  Deno.test(`refused by name in a ${state.stage} program: ${name}`, () => {
    for (const waveSize of [32, 64] as const) {
      const graphics = without === undefined ? STAGE_DEVICE.graphics : { ...STAGE_DEVICE.graphics!, [without]: false };
      const device = { ...STAGE_DEVICE, graphics };
      const error = assertThrows(
        () => recompile(requestOf(caseOf(name, lines, state, waveSize, { registers }), device)),
        RefusedError,
      );
      assertMatch(error.message, message);
    }
  });
}
