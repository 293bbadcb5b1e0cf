/**
 * What a command is. Help, parsing and the list of commands derive from these descriptions.
 *
 * @module
 */
import type { Output } from "./output.ts";

/** An option of a command. */
export interface CommandOption {
  /** Long name, without dashes. */
  readonly name: string;
  /** One letter, without a dash. */
  readonly short?: string;
  /** Word for the value in help; an option without one is a flag. */
  readonly value?: string;
  /** Words that the value can be, for completion. What DIR, FILE or PATH names is on the disk. */
  readonly values?: readonly string[];
  /** What it does, in one line. */
  readonly summary: string;
}

/** A positional argument. */
export interface CommandArgument {
  /** Word for it in help. */
  readonly name: string;
  /** What it is, in one line. */
  readonly summary: string;
  /** May be left out. */
  readonly optional?: boolean;
  /** May be given several times; only the last argument can be. */
  readonly repeated?: boolean;
  /** The words that it can be, for completion; a file's name when left out. */
  readonly values?: readonly string[];
}

/** What a command gets. */
export interface CommandContext {
  /** Positional arguments, as many as the command declares. */
  readonly positionals: readonly string[];
  /** Values of options: text, or true for a flag; absent ones are undefined. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  /** Where results go. */
  readonly out: Output;
}

/** What a command gives back. */
export interface CommandResult {
  /** One of `ExitCode`. */
  readonly exitCode: number;
  /** What `--json` prints: an object with a `schema` (docs/cli-json.md). */
  readonly data: { readonly schema: string } & Record<string, unknown>;
}

/** One command of the launcher. */
export interface Command {
  readonly name: string;
  /** One line, no full stop. */
  readonly summary: string;
  /** More about it, for `--help`: paragraphs. */
  readonly details?: readonly string[];
  readonly arguments: readonly CommandArgument[];
  /** Options besides {@linkcode COMMON_OPTIONS}. */
  readonly options: readonly CommandOption[];
  /** A command line that works in a checkout. */
  readonly example: string;
  run(context: CommandContext): Promise<CommandResult>;
}

/** Options that every command has. */
export const COMMON_OPTIONS: readonly CommandOption[] = [
  { name: "json", summary: "print one JSON object for machines instead of text (docs/cli-json.md)" },
  { name: "quiet", short: "q", summary: "show no progress" },
  { name: "help", short: "h", summary: "explain the command" },
];

/** The value of an option that takes one. */
export function optionText(context: CommandContext, name: string): string | undefined {
  const value = context.options[name];
  return typeof value === "string" ? value : undefined;
}
