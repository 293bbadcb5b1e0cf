/**
 * Completion scripts by shell. They know commands, options, and arguments of which there is a list; everything else is a file's name.
 *
 * @module
 */
import { type Command, type CommandOption, COMMON_OPTIONS } from "../command.ts";

/** Name of the program in the scripts. */
const PROGRAM = "anyagc";
/** Options without a command. */
const GENERAL: readonly CommandOption[] = [
  { name: "help", short: "h", summary: "about the program" },
  { name: "version", summary: "what this is" },
];

/** Makes the script for a shell. */
export const SHELLS: Readonly<Record<string, (commands: readonly Command[]) => string>> = { bash, zsh, fish };

function optionsOf(command: Command): readonly CommandOption[] {
  return [...command.options, ...COMMON_OPTIONS];
}

/** Words of the options: `--name`, and `-n` where there is one. */
function words(options: readonly CommandOption[]): string[] {
  return options.flatMap(({ name, short }) => (short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`]));
}

/** Words that an option's value can be: a list, undefined for names of files, none when nobody can know. */
function valuesOf(option: CommandOption): readonly string[] | undefined {
  if (option.values !== undefined) return option.values;
  return option.value === "DIR" || option.value === "FILE" || option.value === "PATH" ? undefined : [];
}

/** Bash: one function; COMPREPLY by `compgen`. */
function bash(commands: readonly Command[]): string {
  const branches = commands.map((command) => {
    const options = optionsOf(command);
    const values = options.filter((option) => option.value !== undefined).map((option) => {
      const list = valuesOf(option);
      const reply = list === undefined ? "_anyagc_files" : `_anyagc_words "${list.join(" ")}"`;
      return `        ${words([option]).join("|")}) ${reply}; return ;;`;
    });
    const lists = command.arguments.flatMap(({ values }) => values ?? []);
    return [
      `    ${command.name})`,
      ...(values.length === 0 ? [] : ['      case "$previous" in', ...values, "      esac"]),
      `      if [[ $current == -* ]]; then _anyagc_words "${words(options).join(" ")}"`,
      lists.length > 0 || command.arguments.length === 0
        ? `      else _anyagc_words "${lists.join(" ")}"`
        : "      else _anyagc_files",
      "      fi ;;",
    ].join("\n");
  });
  const names = [...commands.map((command) => command.name), "help"].join(" ");
  return `# Completion of ${PROGRAM} for bash, made by: ${PROGRAM} completions bash
_anyagc_words() {
  COMPREPLY=($(compgen -W "$1" -- "$current"))
}
_anyagc_files() {
  compopt -o filenames 2>/dev/null
  local IFS=$'\\n'
  COMPREPLY=($(compgen -f -- "$current"))
}
_anyagc() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  if ((COMP_CWORD == 1)); then
    if [[ $current == -* ]]; then _anyagc_words "${words(GENERAL).join(" ")}"
    else _anyagc_words "${names}"
    fi
    return
  fi
  case "\${COMP_WORDS[1]}" in
    help) _anyagc_words "${commands.map((command) => command.name).join(" ")}" ;;
${branches.join("\n")}
  esac
}
complete -F _anyagc ${PROGRAM}
`;
}

/** Zsh: `_arguments` and `_describe` of its completion system. */
function zsh(commands: readonly Command[]): string {
  const branches = commands.map((command) => {
    const specs = [
      ...optionsOf(command).map((option) => quote(zshOption(option))),
      ...command.arguments.map(({ name, values, optional, repeated }) => {
        const action = values === undefined ? "_files" : `(${values.join(" ")})`;
        return quote(`${repeated ? "*" : ""}:${optional && !repeated ? ":" : ""}${zshText(name)}:${action}`);
      }),
    ];
    return `      (${command.name})\n        _arguments -S ${specs.join(" \\\n          ")} ;;`;
  });
  const list = commands.map(({ name, summary }) => quote(`${name}:${zshText(summary)}`)).join("\n    ");
  return `#compdef ${PROGRAM}
# Completion of ${PROGRAM} for zsh, made by: ${PROGRAM} completions zsh
_anyagc() {
  local context state line
  typeset -A opt_args
  local -a commands
  commands=(
    ${list}
  )
  _arguments -C ${
    GENERAL.map((option) => quote(zshOption(option))).join(" ")
  } '1:command:->command' '*::argument:->argument'
  case $state in
    (command) _describe command commands ;;
    (argument)
      case $line[1] in
${branches.join("\n")}
      esac ;;
  esac
}
if [[ $funcstack[1] == _anyagc ]]; then _anyagc "$@"; else compdef _anyagc ${PROGRAM}; fi
`;
}

/** One option as `_arguments` wants it: `--name=[text]:word:action`. */
function zshOption(option: CommandOption): string {
  const list = valuesOf(option);
  const action = list === undefined ? "_files" : list.length === 0 ? "" : `(${list.join(" ")})`;
  const value = option.value === undefined ? "" : `:${zshText(option.value)}:${action}`;
  const equals = option.value === undefined ? "" : "=";
  return `--${option.name}${equals}[${zshText(option.summary)}]${value}`;
}

/** Text inside of a specification: colons and brackets mean something there. */
function zshText(text: string): string {
  return text.replace(/[:[\]\\]/g, "\\$&");
}

/** Fish: one `complete` line each. */
function fish(commands: readonly Command[]): string {
  const lines = [`# Completion of ${PROGRAM} for fish, made by: ${PROGRAM} completions fish`];
  const none = "__fish_use_subcommand";
  lines.push(`complete -c ${PROGRAM} -n ${none} -f`);
  for (const option of GENERAL) lines.push(`complete -c ${PROGRAM} -n ${none} ${fishOption(option)}`);
  for (const { name, summary } of commands) {
    lines.push(`complete -c ${PROGRAM} -n ${none} -a ${name} -d ${quote(summary)}`);
  }
  for (const command of commands) {
    const when = quote(`__fish_seen_subcommand_from ${command.name}`);
    for (const option of optionsOf(command)) lines.push(`complete -c ${PROGRAM} -n ${when} ${fishOption(option)}`);
    const values = command.arguments.flatMap((argument) => argument.values ?? []);
    if (values.length > 0) lines.push(`complete -c ${PROGRAM} -n ${when} -f -a ${quote(values.join(" "))}`);
    else if (command.arguments.length === 0) lines.push(`complete -c ${PROGRAM} -n ${when} -f`);
  }
  return lines.join("\n") + "\n";
}

function fishOption(option: CommandOption): string {
  const parts = [`-l ${option.name}`];
  if (option.short !== undefined) parts.push(`-s ${option.short}`);
  if (option.value !== undefined) {
    const list = valuesOf(option);
    parts.push(list === undefined ? "-r -F" : `-x${list.length === 0 ? "" : ` -a ${quote(list.join(" "))}`}`);
  }
  return [...parts, `-d ${quote(option.summary)}`].join(" ");
}

/** A word in single quotes, for all three shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
