import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { COMMANDS } from "../../src/cli/commands.ts";
import project from "../../deno.json" with { type: "json" };
import { anyagc, projectFile, vulkanTest } from "./support.ts";

const README = Deno.readTextFileSync(projectFile("README.md"));

/** Contents of the code blocks of a language. */
function blocks(language: string): string[] {
  return [...README.matchAll(new RegExp("^```" + language + "\\n([\\s\\S]*?)^```$", "gm"))].map((match) => match[1]);
}

Deno.test("the README's commands are tasks", () => {
  const commands = blocks("sh").flatMap((block) => block.trim().split("\n"));
  assertEquals(commands, ["npx --yes deno@2.9.6 task run", "npx --yes deno@2.9.6 task test"]);
  for (const name of ["run", "test", "build", "check", "gen", "bench"]) {
    assert(name in project.tasks, name);
    assert(README.includes(`task ${name}`), name);
  }
});

Deno.test("CI runs the README's test command", () => {
  assert(Deno.readTextFileSync(projectFile(".ci/run")).includes("npx --yes deno@2.9.6 task test"));
});

Deno.test("the README lists every command with its summary", () => {
  const rows = [...README.matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)].map(([, name, summary]) => [name, summary]);
  assertEquals(rows, COMMANDS.map(({ name, summary }) => [name, summary]));
});

Deno.test("files that the README names exist", () => {
  for (const [, path] of README.matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
    assert(Deno.statSync(projectFile(path)), path);
  }
});

vulkanTest("the README shows what the sample prints, but for device, times and sizes", async () => {
  const program = projectFile("shaders/julia/program.json"), folder = await Deno.makeTempDir();
  try {
    const { text, code } = await anyagc("run", program, "--frames", folder);
    assertEquals(code, 0);
    assertEquals(comparable(blocks("text")[0].trimEnd()), comparable(text));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Takes out of a run's output what differs from machine to machine. */
function comparable(text: string): string {
  return text
    .replace(/^( +device +).*$/m, "$1DEVICE")
    .replace(/^( +time +).*$/m, "$1TIMES")
    .replace(/\d+ SPIR-V words/, "WORDS SPIR-V words")
    .replace(/, \S*julia\.png$/m, ", FILE");
}

vulkanTest("the README's library example runs and sees a picture", async () => {
  const [example] = blocks("ts");
  assert(example.trim().split("\n").length <= 16);
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, example.replace("./mod.ts", new URL("../../mod.ts", import.meta.url).href));
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--config", projectFile("deno.json"), file],
      cwd: projectFile(""),
      env: { NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder().decode(stdout);
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    assertMatch(
      text,
      /^julia on .+: passed, 1 label written\n\d+ instructions became \d+ words of SPIR-V\nthe middle pixel is \d+,\d+,\d+,255\n$/,
    );
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("the README counts opcodes as docs/isa.md does", () => {
  const isa = Deno.readTextFileSync(projectFile("docs/isa.md"));
  const all = isa.split("\n").find((line) => line.startsWith("| all "))!.split("|").map((cell) => cell.trim());
  const [known, recompiled] = [all[2], all.at(-2)!].map((count) => Number(count).toLocaleString("en-US"));
  assertStringIncludes(README, `${recompiled} of ${known} opcodes`);
});
