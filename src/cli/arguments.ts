/**
 * Takes the arguments of a command apart, by its description.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { UsageError } from "../errors.ts";
import { type Command, COMMON_OPTIONS } from "./command.ts";
import { didYouMean } from "./nearest.ts";

/** Positionals and options of a command line. */
export interface ParsedArguments {
  positionals: string[];
  options: Record<string, string | boolean | undefined>;
}

/**
 * Parses `args` (without the command's name).
 *
 * @throws UsageError for an unknown option, an option without its value, a flag with one, and too many positionals. Missing positionals are left to
 * {@linkcode requirePositionals}, so that `--help` works without them.
 */
export function parseCommandLine(command: Command, args: readonly string[]): ParsedArguments {
  const options = [...command.options, ...COMMON_OPTIONS];
  const texts = options.filter((o) => o.value !== undefined).map((o) => o.name);
  const flags = options.filter((o) => o.value === undefined).map((o) => o.name);
  for (const arg of args) {
    if (arg === "--") break;
    const flag = flags.find((name) => arg.startsWith(`--${name}=`));
    if (flag !== undefined) throw new UsageError("cli.extra-value", `--${flag} takes no value: ${arg}`);
  }
  const parsed = parseArgs(args, {
    string: [...texts, "_"],
    boolean: flags,
    alias: Object.fromEntries(options.filter((o) => o.short).map((o) => [o.name, o.short!])),
    unknown: (arg, key) => {
      if (key === undefined) return true;
      const given = arg.replace(/=.*$/s, "");
      const hint = didYouMean(key, options.map((o) => o.name), "--");
      throw new UsageError("cli.unknown-option", `${command.name} has no option ${given}${hint}`);
    },
  });
  const values: ParsedArguments["options"] = {};
  for (const option of options) {
    const value = parsed[option.name];
    if (option.value !== undefined && value === "") {
      throw new UsageError("cli.missing-value", `--${option.name} needs a value: --${option.name} ${option.value}`);
    }
    if (value !== undefined && value !== false) values[option.name] = value;
  }
  const positionals = parsed._.map(String);
  if (positionals.length > command.arguments.length && !command.arguments.at(-1)?.repeated) {
    const extra = positionals[command.arguments.length];
    throw new UsageError("cli.extra-argument", `${command.name} takes ${countOf(command)}, "${extra}" is one too many`);
  }
  return { positionals, options: values };
}

/** @throws UsageError when a positional argument is missing. */
export function requirePositionals(command: Command, positionals: readonly string[]): void {
  const missing = command.arguments.filter((a) => !a.optional)[positionals.length];
  if (missing) {
    throw new UsageError("cli.missing-argument", `${command.name} needs ${missing.name}: ${missing.summary}`);
  }
}

function countOf(command: Command): string {
  const n = command.arguments.length;
  return n === 0 ? "no arguments" : `${n} argument${n === 1 ? "" : "s"}`;
}
