import { assert } from "@std/assert";
import { comparePixels } from "./pixel_frame.ts";
import { PIXEL_PROGRAMS } from "./pixel_cases.ts";
import { caseOf } from "./programs.ts";

for (const { name, lines, state, more } of PIXEL_PROGRAMS) {
  Deno.test(`a pixel program gives what the interpreter gives, bit by bit: ${name}`, () => {
    for (const waveSize of [32, 64] as const) {
      const compared = comparePixels(caseOf(name, lines, state, waveSize, more));
      assert(compared >= 3 * waveSize / 4, `${compared} pixels`);
    }
  });
}
