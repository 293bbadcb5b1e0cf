import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Command, CommandContext } from "../../src/cli/command.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { launch } from "../../src/cli/launcher.ts";
import { GuestFaultError, HostError, RefusedError, UsageError } from "../../src/errors.ts";
import { anyagc, projectFile, TestSink } from "./support.ts";

/** A command that shows what it was given, or throws what the test wants. */
function probe(act: (context: CommandContext) => unknown = () => 0): Command {
  return {
    name: "probe",
    summary: "shows what it gets",
    arguments: [{ name: "FILE", summary: "the file" }, { name: "MORE", summary: "another", optional: true }],
    options: [
      { name: "output", short: "o", value: "PATH", summary: "where to" },
      { name: "strict", summary: "no mercy" },
    ],
    example: "anyagc probe x",
    run: async (context) => {
      await act(context);
      context.out.line("text for people");
      return {
        exitCode: 0,
        data: { schema: "test/1", got: context.positionals, options: context.options, big: 1n << 63n },
      };
    },
  };
}

async function run(args: string[], command = probe()): Promise<{ code: number; sink: TestSink }> {
  const sink = new TestSink();
  return { code: await launch(args, sink, [command]), sink };
}

Deno.test("a command gets its positionals and options, and its text goes to standard output", async () => {
  let seen: unknown;
  const command = probe(({ positionals, options }) => seen = { positionals, options });
  const { code, sink } = await run(["probe", "a", "-o", "5", "--strict", "7"], command);
  assertEquals(code, 0);
  assertEquals(seen, { positionals: ["a", "7"], options: { output: "5", strict: true } });
  assertEquals(sink.outLines, ["text for people"]);
  assertEquals(sink.errLines, []);
});

Deno.test("--json prints one JSON object and no text; 64-bit numbers are hexadecimal text", async () => {
  const { code, sink } = await run(["probe", "a", "--json"]);
  assertEquals(code, 0);
  assertEquals(JSON.parse(sink.text), {
    schema: "test/1",
    got: ["a"],
    options: { json: true },
    big: "0x8000000000000000",
  });
});

const MISTAKES: [string, string[], RegExp][] = [
  ["an unknown command names the nearest", ["prboe"], /there is no command prboe \(did you mean probe\?\)/],
  ["an unknown command far from all names none", ["zzz"], /there is no command zzz; anyagc --help lists them/],
  ["an unknown option of the launcher", ["--versoin"], /there is no option --versoin \(did you mean --version\?\)/],
  [
    "an unknown option names the nearest",
    ["probe", "a", "--ouptut=x"],
    /probe has no option --ouptut \(did you mean --output\?\)/,
  ],
  ["an unknown letter", ["probe", "a", "-x"], /probe has no option -x/],
  ["an option without its value", ["probe", "a", "--output"], /--output needs a value: --output PATH/],
  ["an option followed by another", ["probe", "a", "--output", "--strict"], /--output needs a value/],
  ["a missing argument", ["probe"], /probe needs FILE: the file/],
  ["an argument too many", ["probe", "a", "b", "c"], /probe takes 2 arguments, "c" is one too many/],
];

for (const [name, args, message] of MISTAKES) {
  Deno.test(`a wrong command line is one clear line and exit code 2: ${name}`, async () => {
    const { code, sink } = await run(args);
    assertEquals(code, 2);
    assertEquals(sink.outLines, []);
    assertMatch(sink.errLines[0], message);
    const asJson = await run([...args, "--json"]);
    assertEquals(asJson.code, 2);
    const { schema, error } = JSON.parse(asJson.sink.text);
    assertEquals([schema, error.class, error.exitCode], ["anyagc.error/1", "UsageError", 2]);
    assertMatch(error.message, message);
  });
}

const ERRORS: [Error, number][] = [
  [new RefusedError("pm4.unknown", "packet 0x99 is not supported", { fileOffset: 16 }), 1],
  [new GuestFaultError("guest.fault", "read of unmapped memory", { guestAddress: 0xffff800012345678n, pc: 8 }), 1],
  [new UsageError("x.y", "no capture"), 2],
  [new HostError("host.no-loader", "there is no Vulkan loader"), 3],
];

for (const [error, exitCode] of ERRORS) {
  Deno.test(`a ${error.name} becomes exit code ${exitCode}, one line of text, and data with --json`, async () => {
    const command = probe(() => {
      throw error;
    });
    const text = await run(["probe", "a"], command);
    assertEquals(text.code, exitCode);
    assertEquals(text.sink.errLines, [`anyagc: ${error.message}`]);
    const json = await run(["probe", "a", "--json"], command);
    assertEquals(json.code, exitCode);
    const data = JSON.parse(json.sink.text).error;
    assertEquals([data.class, data.message, data.exitCode], [error.name, error.message, exitCode]);
  });
}

Deno.test("an error of our own making is called one, without a stack unless ANYAGC_DEBUG is set", async () => {
  const before = Deno.env.get("ANYAGC_DEBUG");
  const command = probe(() => {
    throw new TypeError("undefined is no function");
  });
  try {
    Deno.env.delete("ANYAGC_DEBUG");
    const plain = await run(["probe", "a"], command);
    assertEquals(plain.code, 1);
    assertEquals(plain.sink.errLines.length, 1);
    assertMatch(plain.sink.errors, /internal error, please report it: TypeError: undefined is no function/);
    Deno.env.set("ANYAGC_DEBUG", "1");
    assertStringIncludes((await run(["probe", "a"], command)).sink.errors, "launcher_test.ts");
  } finally {
    if (before === undefined) Deno.env.delete("ANYAGC_DEBUG");
    else Deno.env.set("ANYAGC_DEBUG", before);
  }
});

Deno.test("no command at all prints the help on standard error and is a mistake", async () => {
  const { code, sink } = await run([]);
  assertEquals(code, 2);
  assertEquals(sink.outLines, []);
  assertStringIncludes(sink.errors, "Usage: anyagc COMMAND");
});

Deno.test("--version tells version, kind and Deno's version", async () => {
  const { code, sink } = await run(["--version"]);
  assertEquals(code, 0);
  assertMatch(sink.text, /^anyagc \d+\.\d+\.\d+ \(source(, commit [0-9a-f]{12})?; Deno \d+\.\d+\.\d+, V8 /);
  const json = JSON.parse((await run(["--version", "--json"])).sink.text);
  assertEquals([json.schema, json.kind, json.deno], ["anyagc.version/1", "source", Deno.version.deno]);
});

Deno.test("the general help names every command, switch and exit code", async () => {
  for (const args of [["--help"], ["-h"], ["help"]]) {
    const sink = new TestSink();
    assertEquals(await launch(args, sink), 0);
    for (const command of COMMANDS) assertStringIncludes(sink.text, `${command.name} `);
    for (const word of ["ANYPS5_GPU", "0    done", "3    the host lacks", "130  stopped by Ctrl-C"]) {
      assertStringIncludes(sink.text, word);
    }
  }
});

for (const command of COMMANDS) {
  Deno.test(`${command.name} --help shows every argument and option and a working example`, async () => {
    for (const args of [[command.name, "--help"], ["help", command.name]]) {
      const sink = new TestSink();
      assertEquals(await launch(args, sink), 0);
      for (const option of command.options) assertStringIncludes(sink.text, `--${option.name}`);
      for (const argument of command.arguments) assertStringIncludes(sink.text, argument.name);
      assertStringIncludes(sink.text, `Example: ${command.example}`);
    }
  });
}

Deno.test("a flag with a value is a usage error, also --json itself", async () => {
  for (const args of [["--json=yes"], ["--json=false"], ["--validate=1"], ["--help=x"]]) {
    const { code, errors, text } = await anyagc("run", "program.json", ...args);
    assertEquals([code, text], [2, ""], args[0]);
    assertStringIncludes(errors, `takes no value: ${args[0]}`);
  }
  // Behind -- it is a file's name, and the output is for people.
  const { code, errors, text } = await anyagc("disasm", "--", "--json");
  assertEquals([code, text], [2, ""]);
  assertStringIncludes(errors, "no such file");
});

Deno.test("standard output that takes nothing is exit code 3 with the cause, with and without --json", async () => {
  for (const more of [[], ["--json"]]) {
    const { code, stderr } = await new Deno.Command("sh", {
      args: ["-c", '"$@" > /dev/full', "sh", Deno.execPath(), "run", "-A", "--no-check"].concat(
        projectFile("src/main.ts"),
        "disasm",
        projectFile("shaders/julia/program.json"),
        more,
      ),
      env: { NO_COLOR: "1" },
    }).output();
    assertEquals(code, 3);
    assertStringIncludes(new TextDecoder().decode(stderr), "anyagc: cannot write to standard output: ");
  }
});

Deno.test("a reader that has read enough and a closed standard output are no errors", async () => {
  const command = [Deno.execPath(), "run", "-A", "--no-check", projectFile("src/main.ts"), "disasm"].concat(
    projectFile("shaders/julia/program.json"),
  );
  for (
    const [script, expected] of [
      ['{ "$@"; echo "code $?" >&2; } | head -n 1', "submission 0"],
      ['{ "$@"; echo "code $?" >&2; } | true', ""],
      ['"$@" >&-; echo "code $?" >&2', ""],
    ]
  ) {
    const { stdout, stderr } = await new Deno.Command("sh", {
      args: ["-c", script, "sh", ...command],
      env: { NO_COLOR: "1" },
    }).output();
    assertEquals(new TextDecoder().decode(stderr), "code 0\n", script);
    assert(new TextDecoder().decode(stdout).startsWith(expected), script);
  }
  // Errors have nowhere to go; the exit code still tells.
  const { code } = await new Deno.Command("sh", {
    args: ["-c", '"$@" none 2>&-', "sh", ...command],
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(code, 2);
});

Deno.test("every command has --quiet, --json and --help, and an example that begins with it", () => {
  for (const command of COMMANDS) {
    assert(command.example.startsWith(`anyagc ${command.name}`), command.name);
    for (const option of command.options) {
      assert(
        !["quiet", "json", "help"].includes(option.name) && !["q", "h"].includes(option.short ?? ""),
        command.name,
      );
    }
  }
});
