import { assertEquals } from "@std/assert";
import { WORDS } from "./words.ts";

const PROGRAM = "llvm-mc-19";

function hasAssembler(): boolean {
  try {
    return new Deno.Command(PROGRAM, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

const missing = !hasAssembler();

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
      const child = new Deno.Command(PROGRAM, {
        args: ["-arch=amdgcn", `-mcpu=${cpu}`, `-mattr=+wavefrontsize${wave}`, "-show-encoding"],
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const writer = child.stdin.getWriter();
      const written = writer.write(new TextEncoder().encode(lines.join("\n") + "\n")).then(() => writer.close());
      const { stdout, stderr } = await child.output();
      await written;
      assertEquals(new TextDecoder().decode(stderr), "");
      const encodings = [...new TextDecoder().decode(stdout).matchAll(/encoding: \[(.*?)\]/g)].map(([, bytes]) => {
        const list = bytes.split(",").map(Number);
        const words = Array.from(
          { length: list.length / 4 },
          (_, k) => list.slice(4 * k, 4 * k + 4).reduceRight((word, byte) => word * 256 + byte, 0),
        );
        return words.map((word) => word.toString(16).padStart(8, "0")).join(" ");
      });
      assertEquals(encodings, keys.map((key) => WORDS[key]), dialect);
    }
  },
});
