import { assertEquals } from "@std/assert";
import { PIXEL_PROGRAMS } from "./pixel_cases.ts";
import { linesOf } from "./programs.ts";
import { REFUSED_PROGRAMS } from "./refusal_cases.ts";
import { VERTEX_PROGRAMS } from "./vertex_cases.ts";
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
  name: `the words of the stage tests are what llvm-mc gives for their lines${
    missing ? " [ignored: llvm-mc-19 is not installed]" : ""
  }`,
  ignore: missing,
  fn: async () => {
    for (const wave of [32, 64] as const) {
      const programs = [...PIXEL_PROGRAMS, ...VERTEX_PROGRAMS, ...REFUSED_PROGRAMS];
      const lines = [...new Set(programs.flatMap((each) => linesOf(each.lines, wave)))]
        .filter((line) => !line.endsWith(":") && !/^s_c?branch/.test(line)).sort();
      const child = new Deno.Command(PROGRAM, {
        args: ["-arch=amdgcn", "-mcpu=gfx1030", `-mattr=+wavefrontsize${wave}`, "-show-encoding"],
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
        return Array.from(
          { length: list.length / 4 },
          (_, k) => list.slice(4 * k, 4 * k + 4).reduceRight((word, byte) => word * 256 + byte, 0),
        ).map((word) => word.toString(16).padStart(8, "0")).join(" ");
      });
      assertEquals(encodings, lines.map((line) => WORDS[`w${wave} ${line}`]), `wave ${wave}`);
      const known = Object.keys(WORDS).filter((key) => key.startsWith(`w${wave} `)).length;
      assertEquals(known, lines.length, "lines that no program has");
    }
  },
});
