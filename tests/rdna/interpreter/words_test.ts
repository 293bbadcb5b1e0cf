import { assertEquals } from "@std/assert";
import { hasLlvmMc } from "../llvm_mc.ts";
import { WORDS } from "./words.ts";

const available = hasLlvmMc();

/** The words that llvm-mc gives for each line; lines without branches to labels. */
function assemble(target: string, wave: number, lines: readonly string[]): string[] {
  const file = Deno.makeTempFileSync({ suffix: ".s" });
  try {
    Deno.writeTextFileSync(file, lines.join("\n") + "\n");
    const attributes = `+wavefrontsize${wave},-wavefrontsize${96 - wave}`;
    const args = ["-arch=amdgcn", `-mcpu=${target}`, `-mattr=${attributes}`, "-show-encoding", file];
    const { stdout } = new Deno.Command("llvm-mc-19", { args, stdout: "piped", stderr: "inherit" }).outputSync();
    return [...new TextDecoder().decode(stdout).matchAll(/encoding: \[(.*)\]/g)].map(([, text]) => {
      const bytes = text.split(",").map((byte) => byte.slice(2));
      const words: string[] = [];
      for (let at = 0; at < bytes.length; at += 4) words.push(bytes.slice(at, at + 4).reverse().join(""));
      return words.join(" ");
    });
  } finally {
    Deno.removeSync(file);
  }
}

Deno.test({
  name: "the words of the interpreter's tests are those of llvm-mc" +
    (available ? "" : " [ignored: llvm-mc-19 is not installed]"),
  ignore: !available,
  fn: () => {
    const groups = new Map<string, string[]>();
    for (const key of Object.keys(WORDS)) {
      const name = key.split(" ", 2).join(" ");
      const lines = groups.get(name) ?? [];
      lines.push(key.slice(name.length + 1));
      groups.set(name, lines);
    }
    for (const [name, lines] of groups) {
      const [target, wave] = name.split(" ");
      const found = assemble(target, Number(wave.slice(1)), lines);
      assertEquals(found.length, lines.length);
      lines.forEach((line, k) => assertEquals(WORDS[`${name} ${line}`], found[k], `${name} ${line}`));
    }
  },
});
