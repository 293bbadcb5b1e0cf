/**
 * From a command line to an exit code: finds the command, parses, runs, prints errors as one line (or as JSON).
 *
 * @module
 */
import { AnyAgcError, type ErrorData, ExitCode, UsageError } from "../errors.ts";
import { switchFlag } from "../switches.ts";
import { parseCommandLine, requirePositionals } from "./arguments.ts";
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { commandHelp, generalHelp } from "./help.ts";
import { InterruptedError } from "./interrupt.ts";
import { didYouMean } from "./nearest.ts";
import { Output, type Sink, STANDARD_SINK, toJson, UNWRITABLE } from "./output.ts";
import { version, versionLine } from "./version.ts";

/** Runs the command line `args` and returns the exit code. Never throws. */
export async function launch(
  args: readonly string[],
  sink: Sink = STANDARD_SINK,
  commands: readonly Command[] = COMMANDS,
): Promise<number> {
  const end = args.indexOf("--");
  const json = (end < 0 ? args : args.slice(0, end)).includes("--json");
  let command: Command | undefined;
  try {
    const [first, ...rest] = args;
    if (first === undefined || first === "--help" || first === "-h" || first === "help") {
      return about(rest[0], sink, commands, first === undefined ? ExitCode.Usage : ExitCode.Done);
    }
    if (first === "--version") {
      const v = version();
      sink.out(json ? toJson({ schema: "anyagc.version/1", ...v }) : versionLine(v));
      return ExitCode.Done;
    }
    command = findCommand(first, commands);
    const { positionals, options } = parseCommandLine(command, rest);
    if (options.help) {
      commandHelp(command).forEach((line) => sink.out(line));
      return ExitCode.Done;
    }
    requirePositionals(command, positionals);
    const result = await command.run({ positionals, options, out: new Output(sink, json, options.quiet === true) });
    if (json) sink.out(toJson(result.data));
    return result.exitCode;
  } catch (error) {
    return report(error, command, sink, json);
  }
}

function about(name: string | undefined, sink: Sink, commands: readonly Command[], exitCode: number): number {
  const command = name === undefined || name.startsWith("-") ? undefined : findCommand(name, commands);
  const lines = command === undefined ? generalHelp(commands) : commandHelp(command);
  // Without a command this is an answer to a mistake, so it must not end up in somebody's data.
  lines.forEach((line) => (exitCode === ExitCode.Done ? sink.out(line) : sink.err(line)));
  return exitCode;
}

function findCommand(name: string, commands: readonly Command[]): Command {
  const command = commands.find((c) => c.name === name);
  if (command) return command;
  const kind = name.startsWith("-") ? "option" : "command";
  const hint = didYouMean(name, kind === "option" ? ["--help", "--version"] : commands.map((c) => c.name));
  throw new UsageError(`cli.unknown-${kind}`, `there is no ${kind} ${name}${hint}; anyagc --help lists them`);
}

function report(error: unknown, command: Command | undefined, sink: Sink, json: boolean): number {
  const data = describe(error);
  // Where nothing can be written there is nobody to read JSON either.
  if (json && data.code !== UNWRITABLE) {
    try {
      sink.out(toJson({ schema: "anyagc.error/1", error: data }));
    } catch (failure) {
      return report(failure, command, sink, false);
    }
  } else {
    sink.err(`anyagc: ${data.message.replaceAll("\n", "\n  ")}`);
    if (data.code.startsWith("cli.") && command) sink.err(`anyagc: try anyagc ${command.name} --help`);
  }
  if (switchFlag("ANYAGC_DEBUG") && error instanceof Error) sink.err(error.stack ?? String(error));
  return data.exitCode;
}

function describe(error: unknown): ErrorData {
  if (error instanceof AnyAgcError) return error.toData();
  if (error instanceof InterruptedError) {
    const { name, code, message, exitCode } = error;
    return { class: name, code, message, exitCode, place: {} };
  }
  // Anything else is a defect of ours: say so, and how to see more.
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return {
    class: error instanceof Error ? error.name : typeof error,
    code: "internal",
    message: `internal error, please report it: ${message} (ANYAGC_DEBUG=1 shows where)`,
    exitCode: ExitCode.Guest,
    place: {},
  };
}
