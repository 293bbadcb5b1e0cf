/**
 * Captures as output files of commands.
 *
 * @module
 */
import { UsageError } from "../../errors.ts";
import { readAgcap } from "../../guest/agcap/read_agcap.ts";
import { writeAgcap } from "../../guest/agcap/write_agcap.ts";
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

/** Writes a capture, after a look that it can be read. Returns its size in bytes. */
export async function saveCapture(path: string, program: LoadedProgram): Promise<number> {
  const { name, version: number } = version(), bytes = writeAgcap(program, { producer: `${name} ${number}` });
  // What a loader lets through must not become a file that nobody can read: the reader's error then names what is wrong with the program.
  readAgcap(path, bytes);
  await writeOutput(path, bytes);
  return bytes.length;
}
