import { assertEquals } from "@std/assert";
import { parseArgs, type ParseOptions } from "@std/cli";
import { parseArgs as alsoParseArgs } from "@std/cli/parse-args";

/** [name, arguments, options, expected] */
const CASES: [string, string[], ParseOptions, Record<string, unknown>][] = [
  ["values may follow or be joined by =", ["--a", "x", "--b=y=z"], {}, { _: [], a: "x", b: "y=z" }],
  ["numbers become numbers", ["--a", "5", "--b=0x10", "1.5", "1e3"], {}, { _: [1.5, 1000], a: 5, b: 16 }],
  ["strings stay text", ["--a", "5", "7"], { string: ["a", "_"] }, { _: ["7"], a: "5" }],
  ["a string option without a value is empty", ["--a"], { string: "a" }, { _: [], a: "" }],
  ["an option without a value is true", ["--a", "--b"], {}, { _: [], a: true, b: true }],
  ["a flag takes no value", ["--a", "x"], { boolean: "a" }, { _: ["x"], a: true }],
  ["a flag takes true and false", ["--a", "false", "--b=true"], { boolean: ["a", "b"] }, { _: [], a: false, b: true }],
  ["absent flags are false", [], { boolean: ["a"] }, { _: [], a: false }],
  ["all options are flags", ["--a", "x"], { boolean: true }, { _: ["x"], a: true }],
  ["letters in a group", ["-abc", "x"], {}, { _: [], a: true, b: true, c: "x" }],
  ["a letter with a joined number", ["-n5"], {}, { _: [], n: 5 }],
  ["a letter with =", ["-o=file"], {}, { _: [], o: "file" }],
  ["a letter of a string option takes the rest", ["-ofile"], { string: "o" }, { _: [], o: "file" }],
  ["a lone dash is positional", ["-"], {}, { _: ["-"] }],
  ["a negative number is a value", ["--a", "-5", "-7"], {}, { _: [-7], a: -5 }],
  ["aliases get the value", ["-o", "x"], { alias: { output: ["o", "out"] } }, { _: [], output: "x", o: "x", out: "x" }],
  ["aliases share the kind", ["-v", "x"], { boolean: "verbose", alias: { verbose: "v" } }, {
    _: ["x"],
    verbose: true,
    v: true,
  }],
  ["defaults fill in, aliases too", [], { default: { a: 1 }, alias: { a: "b" } }, { _: [], a: 1, b: 1 }],
  ["given values beat defaults", ["--b=2"], { default: { a: 1 }, alias: { a: "b" } }, { _: [], a: 2, b: 2 }],
  ["the last of several values wins", ["--a=1", "--a=2"], {}, { _: [], a: 2 }],
  ["collected values", ["--a=1", "--a=2"], { collect: "a" }, { _: [], a: [1, 2] }],
  ["collected options that are absent are empty", [], { collect: "a" }, { _: [], a: [] }],
  ["--no- is a name of its own", ["--no-a"], {}, { _: [], "no-a": true }],
  ["--no- of a negatable option", ["--no-a"], { boolean: "a", negatable: "a", default: { a: true } }, {
    _: [],
    a: false,
  }],
  ["after -- all is positional", ["a", "--", "--b", "5"], {}, { _: ["a", "--b", 5] }],
  ["after -- apart", ["a", "--", "--b", "5"], { "--": true }, { _: ["a"], "--": ["--b", "5"] }],
  ["stops early", ["--a", "x", "y", "--b"], { boolean: "a", stopEarly: true }, { _: ["x", "y", "--b"], a: true }],
  ["dotted names nest", ["--a.b=1", "--a.c=2"], {}, { _: [], a: { b: 1, c: 2 } }],
];

for (const [name, args, options, expected] of CASES) {
  Deno.test(`parseArgs: ${name}`, () => assertEquals<unknown>(parseArgs(args, options), expected));
}

Deno.test("parseArgs reports what nobody declared, and drops it on false", () => {
  const seen: unknown[] = [];
  const result = parseArgs(["--a=1", "--b", "2", "file", "-c"], {
    boolean: "a",
    unknown: (...args) => {
      seen.push(args);
      return false;
    },
  });
  assertEquals(seen, [["--b", "b", 2], ["file"], ["-c", "c", true]]);
  assertEquals<unknown>(result, { _: [], a: true });
});

Deno.test("parseArgs does not let a name reach the prototype of all objects", () => {
  parseArgs(["--__proto__.polluted=1", "--constructor.prototype.polluted=1"]);
  assertEquals(Reflect.get({}, "polluted"), undefined);
});

Deno.test("parseArgs is also at @std/cli/parse-args", () => assertEquals(alsoParseArgs, parseArgs));
