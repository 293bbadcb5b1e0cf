import { assertEquals } from "@std/assert";
import { hasLlvmMc } from "../../rdna/llvm_mc.ts";
import { WORDS as SCALAR_AND_VECTOR } from "./assembled_words.ts";
import { VECTOR_WORDS } from "./vector_words.ts";

const WORDS: Readonly<Record<string, string>> = {
  ...SCALAR_AND_VECTOR,
  ...Object.fromEntries(Object.entries(VECTOR_WORDS).map(([line, words]) => [`gfx1030 w32 ${line}`, words])),
};

const available = hasLlvmMc();

/** The words that llvm-mc gives for each line. */
function assemble(target: string, wave: string, lines: readonly string[]): string[] {
  const file = Deno.makeTempFileSync({ suffix: ".s" });
  try {
    Deno.writeTextFileSync(file, lines.join("\n") + "\n");
    const args = ["-arch=amdgcn", `-mcpu=${target}`, `-mattr=+wavefrontsize${wave}`, "-show-encoding", file];
    const { stdout } = new Deno.Command("llvm-mc-19", { args, stdout: "piped", stderr: "inherit" }).outputSync();
    return [...new TextDecoder().decode(stdout).matchAll(/encoding: \[(.*)\]/g)].map(([, bytes]) =>
      wordsOf(bytes.split(","))
    );
  } finally {
    Deno.removeSync(file);
  }
}

function wordsOf(bytes: readonly string[]): string {
  const words: string[] = [];
  for (let at = 0; at < bytes.length; at += 4) {
    words.push(bytes.slice(at, at + 4).reverse().map((byte) => byte.slice(2)).join(""));
  }
  return words.join(" ");
}

Deno.test({
  name: "the words of the lift tests are those of llvm-mc" +
    (available ? "" : " [ignored: llvm-mc-19 is not installed]"),
  ignore: !available,
  fn: () => {
    const groups = new Map<string, string[]>();
    for (const key of Object.keys(WORDS)) {
      const [target, wave] = key.split(" ");
      const name = `${target} ${wave}`;
      groups.set(name, [...groups.get(name) ?? [], key.slice(name.length + 1)]);
    }
    for (const [name, lines] of groups) {
      const [target, wave] = name.split(" ");
      const found = assemble(target, wave.slice(1), lines);
      assertEquals(found.length, lines.length);
      lines.forEach((line, i) => assertEquals(WORDS[`${name} ${line}`], found[i], `${name} ${line}`));
    }
  },
});
