import { assertEquals } from "@std/assert";
import { hasLlvmMc, llvmAssemble } from "../../rdna/llvm_mc.ts";
import { WORDS as SCALAR_AND_VECTOR } from "./assembled_words.ts";
import { VECTOR_WORDS } from "./vector_words.ts";

const WORDS: Readonly<Record<string, string>> = {
  ...SCALAR_AND_VECTOR,
  ...Object.fromEntries(Object.entries(VECTOR_WORDS).map(([line, words]) => [`gfx1030 w32 ${line}`, words])),
};

const available = hasLlvmMc();

Deno.test({
  name: "the words of the lift tests are those of llvm-mc" +
    (available ? "" : " [ignored: llvm-mc-19 is not installed]"),
  ignore: !available,
  fn: async () => {
    const groups = new Map<string, string[]>();
    for (const key of Object.keys(WORDS)) {
      const [target, wave] = key.split(" ");
      const name = `${target} ${wave}`;
      groups.set(name, [...groups.get(name) ?? [], key.slice(name.length + 1)]);
    }
    for (const [name, lines] of groups) {
      const [target, wave] = name.split(" ");
      const found = await llvmAssemble(lines, target, Number(wave.slice(1)));
      assertEquals(found.length, lines.length);
      lines.forEach((line, i) => assertEquals(WORDS[`${name} ${line}`], found[i], `${name} ${line}`));
    }
  },
});
