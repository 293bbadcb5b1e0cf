/**
 * Help texts, all of them derived from the table of commands and the table of environment switches.
 *
 * @module
 */
import { ExitCode } from "../errors.ts";
import { SWITCHES } from "../switches.ts";
import { type Command, type CommandOption, COMMON_OPTIONS } from "./command.ts";
import { alignColumns } from "./output.ts";

/** What each exit code means. */
const EXIT_CODES: readonly (readonly [number, string])[] = [
  [ExitCode.Done, "done"],
  [ExitCode.Guest, "the guest program failed, was refused, or its results differ"],
  [ExitCode.Usage, "the command line is wrong, or an input is not what it should be"],
  [ExitCode.Host, "the host lacks a library, a device or a feature"],
  [130, "stopped by Ctrl-C (by another signal: 128 and its number)"],
];

/** `anyagc --help`. */
export function generalHelp(commands: readonly Command[]): string[] {
  return [
    "AnyAGC runs AGC GPU programs (RDNA2-family machine code and PM4 command streams) on Vulkan.",
    "",
    "Usage: anyagc COMMAND [ARGUMENTS] [OPTIONS]",
    "",
    "Commands:",
    ...indent(alignColumns(commands.map((c) => [c.name, c.summary]))),
    "",
    "Options:",
    ...indent(
      alignColumns([["-h, --help", "this text; after a command: about the command"], ["--version", "what this is"]]),
    ),
    "",
    "Exit codes:",
    ...indent(alignColumns(EXIT_CODES.map(([code, meaning]) => [String(code), meaning]))),
    "",
    "Environment (ENVIRONMENT.md says more):",
    ...indent(alignColumns(SWITCHES.map((s) => [s.name, s.meaning]))),
    "",
    `Example: ${commands[0].example}`,
  ];
}

/** `anyagc COMMAND --help`. */
export function commandHelp(command: Command): string[] {
  const options = [...command.options, ...COMMON_OPTIONS];
  const shape = [
    ...command.arguments.map(({ name, optional, repeated }) => {
      const shown = repeated ? `${name}...` : name;
      return optional ? `[${shown}]` : shown;
    }),
    ...options.map((o) => `[${longForm(o)}]`),
  ];
  return [
    `anyagc ${command.name}: ${command.summary}`,
    "",
    `Usage: anyagc ${command.name} ${shape.join(" ")}`,
    ...(command.arguments.length ? ["", "Arguments:"] : []),
    ...indent(alignColumns(command.arguments.map((a) => [a.name, a.summary]))),
    "",
    "Options:",
    ...indent(alignColumns(options.map((o) => [o.short ? `-${o.short}, ${longForm(o)}` : longForm(o), o.summary]))),
    ...(command.details ?? []).flatMap((paragraph) => ["", paragraph]),
    "",
    `Example: ${command.example}`,
  ];
}

function longForm(option: CommandOption): string {
  return option.value === undefined ? `--${option.name}` : `--${option.name} ${option.value}`;
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => "  " + line);
}
