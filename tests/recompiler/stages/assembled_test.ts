import { assertEquals } from "@std/assert";
import { hasLlvmMc, llvmAssemble } from "../../rdna/llvm_mc.ts";
import { GROUP_PROGRAMS, REFUSED_GROUPS } from "./group_cases.ts";
import { PIXEL_PROGRAMS } from "./pixel_cases.ts";
import { linesOf } from "./programs.ts";
import { REFUSED_PROGRAMS } from "./refusal_cases.ts";
import { VERTEX_PROGRAMS } from "./vertex_cases.ts";
import { WORDS } from "./words.ts";

const missing = !hasLlvmMc();

Deno.test({
  name: `the words of the stage tests are what llvm-mc gives for their lines${
    missing ? " [ignored: llvm-mc-19 is not installed]" : ""
  }`,
  ignore: missing,
  fn: async () => {
    for (const wave of [32, 64] as const) {
      const groups = [...GROUP_PROGRAMS, ...REFUSED_GROUPS].flatMap(({ lines, back }) =>
        back === undefined ? [lines] : [lines, back]
      );
      const programs = [...PIXEL_PROGRAMS, ...VERTEX_PROGRAMS, ...REFUSED_PROGRAMS].map(({ lines }) => lines);
      const lines = [...new Set([...programs, ...groups].flatMap((each) => linesOf(each, wave)))]
        .filter((line) => !line.endsWith(":") && !/^s_c?branch/.test(line)).sort();
      const encodings = await llvmAssemble(lines, "gfx1030", wave);
      assertEquals(encodings, lines.map((line) => WORDS[`w${wave} ${line}`]), `wave ${wave}`);
      const known = Object.keys(WORDS).filter((key) => key.startsWith(`w${wave} `)).length;
      assertEquals(known, lines.length, "lines that no program has");
    }
  },
});
