import { assert } from "@std/assert";
import { compareVertices } from "./vertex_frame.ts";
import { caseOf } from "./programs.ts";
import { VERTEX_PROGRAMS } from "./vertex_cases.ts";

for (const { name, lines, state, more } of VERTEX_PROGRAMS) {
  Deno.test(`a vertex program gives what the interpreter gives, bit by bit: ${name}`, () => {
    for (const waveSize of [32, 64] as const) {
      const compared = compareVertices(caseOf(name, lines, state, waveSize, more), [1, 2, 3, 4]);
      assert(compared >= 4, `${compared} vertices`);
    }
  });
}
