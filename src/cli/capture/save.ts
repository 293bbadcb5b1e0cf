/**
 * Captures as output files of commands.
 *
 * @module
 */
import { UsageError } from "../../errors.ts";
import type { LoadedProgram } from "../../guest/program.ts";
import { type CommandContext, optionText } from "../command.ts";
import { writeOutput } from "../files.ts";
import { version } from "../version.ts";

/** The value of `--output`, which the command cannot do without. */
export function outputOption(context: CommandContext, command: string): string {
  const output = optionText(context, "output");
  if (output === undefined) {
    throw new UsageError("cli.missing-option", `${command} needs -o FILE.agcap: where the capture goes`);
  }
  return output;
}

/** Refuses an output whose folder is not there, before time is spent on what would go there. */
export function requireFolderOf(path: string): void {
  const slash = path.lastIndexOf("/"), folder = slash < 0 ? "." : path.slice(0, slash) || "/";
  try {
    if (Deno.statSync(folder).isDirectory) return;
  } catch {
    // Not there, or not to be seen: the same to whoever wants to write there.
  }
  throw new UsageError("cli.unwritable-file", `cannot write ${path}: there is no folder ${folder}`, { file: path });
}

/** Writes a capture, after a look that it can be read. Returns its size in bytes. */
export async function saveCapture(path: string, program: LoadedProgram): Promise<number> {
  const { readAgcap } = await import("../../guest/agcap/read_agcap.ts");
  const { writeAgcap } = await import("../../guest/agcap/write_agcap.ts");
  const { name, version: number } = version(), bytes = writeAgcap(program, { producer: `${name} ${number}` });
  // What a loader lets through must not become a file that nobody can read: the reader's error then names what is wrong with the program.
  readAgcap(path, bytes);
  await writeOutput(path, bytes);
  return bytes.length;
}
