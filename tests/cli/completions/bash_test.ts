import { assertEquals, assertMatch } from "@std/assert";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { anyagc } from "../support.ts";

const BASH = "/usr/bin/bash";
const missing = (() => {
  try {
    return Deno.statSync(BASH).isFile ? undefined : BASH;
  } catch {
    return BASH;
  }
})();

/** Sources the script in a bash of its own, and asks it what it offers behind `words`, as a press of the tab key would. */
async function complete(folder: string, ...words: string[]): Promise<string[]> {
  const { text } = await anyagc("completions", "bash");
  const ask = `
source /dev/stdin <<'SCRIPT'
${text}
SCRIPT
handler=$(complete -p anyagc | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
$handler anyagc "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { code, stdout, stderr } = await new Deno.Command(BASH, {
    args: ["--norc", "--noprofile", "-c", ask, "bash", "anyagc", ...words],
    cwd: folder,
  }).output();
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "").sort();
}

function bashTest(name: string, body: (folder: string) => Promise<void>): void {
  Deno.test({
    name: missing ? `${name} [ignored: ${missing} is missing]` : name,
    ignore: missing !== undefined,
    async fn() {
      const folder = await Deno.makeTempDir();
      try {
        await Deno.writeTextFile(`${folder}/program one.json`, "");
        await Deno.writeTextFile(`${folder}/other.json`, "");
        await body(folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

bashTest("bash completes commands, and those behind help", async (folder) => {
  assertEquals(await complete(folder, ""), [...COMMANDS.map((command) => command.name), "help"].sort());
  assertEquals(await complete(folder, "d"), ["disasm", "doctor"]);
  assertEquals(await complete(folder, "help", "recom"), ["recompile"]);
  assertEquals(await complete(folder, "--v"), ["--version"]);
});

bashTest("bash completes each command's own options", async (folder) => {
  for (const command of COMMANDS) {
    const names = [...command.options, { name: "json" }, { name: "quiet" }, { name: "help" }].map((o) => `--${o.name}`);
    assertEquals(await complete(folder, command.name, "--"), [...new Set(names)].sort(), command.name);
  }
});

bashTest("bash completes files, also with spaces, and words where there is a list of them", async (folder) => {
  assertEquals(await complete(folder, "run", ""), ["other.json", "program one.json"]);
  assertEquals(await complete(folder, "run", "prog"), ["program one.json"]);
  assertEquals(await complete(folder, "run", "--frames", "oth"), ["other.json"]);
  assertEquals(await complete(folder, "run", "--device", ""), ["cpu", "software"]);
  assertEquals(await complete(folder, "disasm", "--wave", ""), ["32", "64"]);
  assertEquals(await complete(folder, "completions", ""), ["bash", "fish", "zsh"]);
  assertEquals(await complete(folder, "bench", "rec"), ["recompile"]);
  assertEquals(await complete(folder, "doctor", "o"), []);
});

Deno.test("zsh's and fish's scripts name every command and option", async () => {
  for (const shell of ["zsh", "fish"]) {
    const { code, text } = await anyagc("completions", shell);
    assertEquals(code, 0);
    for (const command of COMMANDS) {
      assertMatch(text, new RegExp(`\\b${command.name}\\b`));
      for (const { name } of command.options) {
        assertMatch(text, new RegExp(shell === "zsh" ? `--${name}[=\\[]` : `-l ${name}\\b`));
      }
    }
  }
});

for (const [shell, flag] of [["zsh", "-n"], ["fish", "-n"]]) {
  const path = `/usr/bin/${shell}`;
  let there = false;
  try {
    there = Deno.statSync(path).isFile;
  } catch {
    // ignored below
  }
  Deno.test({
    name: `${shell} finds no mistake in its script${there ? "" : ` [ignored: ${path} is missing]`}`,
    ignore: !there,
    async fn() {
      const file = await Deno.makeTempFile();
      try {
        await Deno.writeTextFile(file, (await anyagc("completions", shell)).text);
        const { code, stderr } = await new Deno.Command(path, { args: [flag, file] }).output();
        assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
      } finally {
        await Deno.remove(file);
      }
    },
  });
}

Deno.test("an unknown shell is a mistake that names the nearest", async () => {
  const { code, errors } = await anyagc("completions", "bsh");
  assertEquals(code, 2);
  assertMatch(errors, /there is no script for bsh \(did you mean bash\?\)/);
});
