/**
 * `anyagc completions`: scripts that teach a shell the command line, made from the table of commands.
 *
 * @module
 */
import { ExitCode, UsageError } from "../errors.ts";
import type { Command, CommandContext } from "./command.ts";
import { SHELLS } from "./completions/shells.ts";
import { didYouMean } from "./nearest.ts";

const NAMES = Object.keys(SHELLS);

/** The command. */
export const COMPLETIONS: Command = {
  name: "completions",
  summary: "print a script that completes command lines in a shell",
  details: [
    "bash: put source <(anyagc completions bash) into ~/.bashrc. zsh: write the script to a file _anyagc in a folder of $fpath. " +
    "fish: write it to ~/.config/fish/completions/anyagc.fish.",
  ],
  arguments: [{ name: "SHELL", summary: `the shell: ${NAMES.join(", ")}`, values: NAMES }],
  options: [],
  example: "anyagc completions bash",
  run,
};

async function run({ positionals: [name], out }: CommandContext) {
  const shell = SHELLS[name];
  if (shell === undefined) {
    throw new UsageError(
      "cli.unknown-shell",
      `there is no script for ${name}${didYouMean(name, NAMES)}: ${NAMES.join(", ")}`,
    );
  }
  // The table has this command in it, so it cannot be imported at the top.
  const { COMMANDS } = await import("./commands.ts");
  const script = shell(COMMANDS);
  out.line(script.trimEnd());
  return { exitCode: ExitCode.Done, data: { schema: "anyagc.completions/1", shell: name, script } };
}
