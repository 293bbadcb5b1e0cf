import { assertEquals } from "@std/assert";
import { hasLlvmMc, llvmAssemble } from "../../rdna/llvm_mc.ts";
import { WORDS } from "./words.ts";

const missing = !hasLlvmMc();

Deno.test({
  name: `the words of the wave tests are what llvm-mc gives for their lines${
    missing ? " [ignored: llvm-mc-19 is not installed]" : ""
  }`,
  ignore: missing,
  fn: async () => {
    for (const dialect of ["gfx1030 w32", "gfx1030 w64", "gfx1013 w32", "gfx1013 w64"]) {
      const [cpu, wave] = dialect.split(" w");
      const keys = Object.keys(WORDS).filter((key) =>
        key.startsWith(dialect) || (cpu === "gfx1030" && !key.startsWith("gfx"))
      );
      const lines = keys.map((key) => key.startsWith(dialect) ? key.slice(dialect.length + 1) : key);
      const encodings = await llvmAssemble(lines, cpu, Number(wave));
      assertEquals(encodings, keys.map((key) => WORDS[key]), dialect);
    }
  },
});
