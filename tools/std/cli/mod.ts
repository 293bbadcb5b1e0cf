/**
 * A local stand-in for `jsr:@std/cli`: our own code with the interface of its `parseArgs`, so that a fresh clone runs without a
 * network. It is not the @std package; deno.json maps the name here through `links`.
 *
 * @module
 */

/** A value that {@linkcode parseArgs} stores under an option's name. */
export type ArgValue = string | number | boolean | undefined | Array<string | number | boolean>;

/** Result of {@linkcode parseArgs}: positionals under `_`, the rest after `--` under `"--"` if asked for, options by name. */
export interface Args {
  // deno-lint-ignore no-explicit-any
  [name: string]: any;
  /** Positional arguments. Those that look like numbers are numbers, unless `string` contains `"_"`. */
  _: Array<string | number>;
  /** Everything after `--`, only with the `"--"` option. */
  "--"?: string[];
}

/** Options of {@linkcode parseArgs}. */
export interface ParseOptions {
  /** Names that take no value, or `true`: all `--name` without `=` take none. */
  boolean?: boolean | string | readonly string[];
  /** Names whose value is always a string. */
  string?: string | readonly string[];
  /** Other names of an option: every one of them gets the value. */
  alias?: Readonly<Record<string, string | readonly string[]>>;
  /** Values of options that are not given. */
  default?: Readonly<Record<string, unknown>>;
  /** Names that may repeat; the value is an array. Without it the last one wins. */
  collect?: string | readonly string[];
  /** Boolean names (or `true`: all) that accept `--no-name`. */
  negatable?: boolean | string | readonly string[];
  /** Stops at the first positional argument: the rest is positional. */
  stopEarly?: boolean;
  /** Puts everything after `--` under `"--"` instead of `_`. */
  "--"?: boolean;
  /** Called for every argument that no other option names; `false` drops it. */
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
}

const NUMBER = /^(?:0[xX][0-9a-fA-F]+|[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)$/;

/** Takes an array of command-line arguments apart. Dotted names build nested objects. */
export function parseArgs(args: readonly string[], options: ParseOptions = {}): Args {
  const booleans = names(options.boolean), strings = names(options.string);
  const collects = names(options.collect), negatables = names(options.negatable);
  const aliases = aliasTable(options.alias ?? {});
  const spread = (set: Set<string>) => {
    for (const name of [...set]) for (const other of aliases.get(name) ?? []) set.add(other);
  };
  [booleans, strings, collects, negatables].forEach(spread);
  const known = new Set([
    ...booleans,
    ...strings,
    ...collects,
    ...negatables,
    ...aliases.keys(),
    ...Object.keys(options.default ?? {}),
  ]);
  const result: Args = { _: [] };
  const given = new Set<string>();

  const store = (name: string, value: unknown) => {
    const previous = collects.has(name) ? getNested(result, name) : undefined;
    setNested(
      result,
      name,
      collects.has(name) ? [...(given.has(name) && Array.isArray(previous) ? previous : []), value] : value,
    );
    given.add(name);
  };
  const set = (arg: string, name: string, raw: string | boolean) => {
    const value = typeof raw === "string" && !strings.has(name) && NUMBER.test(raw) ? Number(raw) : raw;
    if (options.unknown && !known.has(name) && options.unknown(arg, name, value) === false) return;
    for (const key of [name, ...(aliases.get(name) ?? [])]) store(key, value);
  };
  const positional = (arg: string) => {
    if (options.unknown && options.unknown(arg) === false) return;
    result._.push(!strings.has("_") && NUMBER.test(arg) ? Number(arg) : arg);
  };
  const isBoolean = (name: string) => booleans.has(name);
  const bare = (name: string): string | boolean => (strings.has(name) ? "" : true);
  const takesNext = (next: string | undefined): next is string =>
    next !== undefined && (!next.startsWith("-") || NUMBER.test(next));

  let index = 0;
  for (; index < args.length; index++) {
    const arg = args[index], next = args[index + 1];
    if (arg === "--") {
      const rest = args.slice(index + 1);
      if (options["--"]) result["--"] = [...rest];
      else rest.forEach(positional);
      break;
    }
    const long = arg.match(/^--([^=]+)(?:=([\s\S]*))?$/);
    if (long) {
      const [, name, value] = long;
      const positive = name.startsWith("no-") ? name.slice(3) : undefined;
      if (value !== undefined) {
        set(arg, name, isBoolean(name) ? value !== "false" : value);
      } else if (positive !== undefined && (options.negatable === true || negatables.has(positive))) {
        set(arg, positive, false);
      } else if (!isBoolean(name) && options.boolean !== true && takesNext(next)) {
        set(arg, name, next);
        index++;
      } else if (isBoolean(name) && (next === "true" || next === "false")) {
        set(arg, name, next === "true");
        index++;
      } else set(arg, name, bare(name));
    } else if (/^-[^-]/.test(arg) && !NUMBER.test(arg)) {
      if (shortOptions(arg, next)) index++;
    } else {
      positional(arg);
      if (options.stopEarly) {
        args.slice(index + 1).forEach((a) => result._.push(a));
        break;
      }
    }
  }

  /** Takes `-abc`, `-n5`, `-n=5` and `-n 5` apart; true if it used the next argument. */
  function shortOptions(arg: string, next: string | undefined): boolean {
    const letters = arg.slice(1);
    for (let i = 0; i < letters.length; i++) {
      const name = letters[i], rest = letters.slice(i + 1);
      if (rest.startsWith("=")) {
        set(arg, name, isBoolean(name) ? rest.slice(1) !== "false" : rest.slice(1));
        return false;
      }
      if (rest !== "" && !isBoolean(name) && (strings.has(name) || NUMBER.test(rest) || /^\W/.test(rest))) {
        set(arg, name, rest);
        return false;
      }
      if (rest !== "") {
        set(arg, name, bare(name));
      } else if (!isBoolean(name) && takesNext(next)) {
        set(arg, name, next);
        return true;
      } else if (isBoolean(name) && (next === "true" || next === "false")) {
        set(arg, name, next === "true");
        return true;
      } else set(arg, name, bare(name));
    }
    return false;
  }

  for (const [name, value] of Object.entries(options.default ?? {})) {
    for (const key of [name, ...(aliases.get(name) ?? [])]) {
      if (given.has(key)) continue;
      setNested(result, key, value);
      given.add(key);
    }
  }
  for (const name of booleans) if (!given.has(name) && !collects.has(name)) setNested(result, name, false);
  for (const name of collects) if (!given.has(name)) setNested(result, name, []);
  return result;
}

function names(value: boolean | string | readonly string[] | undefined): Set<string> {
  return new Set(typeof value === "string" ? [value] : Array.isArray(value) ? value : []);
}

/** Name -> all its other names, in every direction. */
function aliasTable(alias: Readonly<Record<string, string | readonly string[]>>): Map<string, string[]> {
  const table = new Map<string, string[]>();
  for (const [name, others] of Object.entries(alias)) {
    const group = [name, ...(typeof others === "string" ? [others] : others)];
    for (const member of group) table.set(member, group.filter((other) => other !== member));
  }
  return table;
}

function getNested(target: Record<string, unknown>, name: string): unknown {
  let value: unknown = target;
  for (const part of name.split(".")) {
    if (value === null || typeof value !== "object") return undefined;
    value = Object.hasOwn(value, part) ? Reflect.get(value, part) : undefined;
  }
  return value;
}

function setNested(target: Record<string, unknown>, name: string, value: unknown): void {
  const parts = name.split(".");
  // A name such as __proto__.x must not reach the prototype of every object.
  if (parts.some((part) => part === "__proto__" || part === "constructor" || part === "prototype")) return;
  let object = target;
  for (const part of parts.slice(0, -1)) {
    const inner = Object.hasOwn(object, part) ? object[part] : undefined;
    object = (inner !== null && typeof inner === "object" ? inner : (object[part] = {})) as Record<string, unknown>;
  }
  object[parts[parts.length - 1]] = value;
}
