import { assertEquals } from "@std/assert";
import { hasLlvmMc, llvmAssemble } from "../llvm_mc.ts";
import { WORDS } from "./words.ts";

const available = hasLlvmMc();

Deno.test({
  name: "the words of the interpreter's tests are those of llvm-mc" +
    (available ? "" : " [ignored: llvm-mc-19 is not installed]"),
  ignore: !available,
  fn: async () => {
    const groups = new Map<string, string[]>();
    for (const key of Object.keys(WORDS)) {
      const name = key.split(" ", 2).join(" ");
      const lines = groups.get(name) ?? [];
      lines.push(key.slice(name.length + 1));
      groups.set(name, lines);
    }
    for (const [name, lines] of groups) {
      const [target, wave] = name.split(" ");
      const found = await llvmAssemble(lines, target, Number(wave.slice(1)));
      assertEquals(found.length, lines.length);
      lines.forEach((line, k) => assertEquals(WORDS[`${name} ${line}`], found[k], `${name} ${line}`));
    }
  },
});
