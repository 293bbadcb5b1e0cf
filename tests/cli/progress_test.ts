import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Output } from "../../src/cli/output.ts";
import { CLEAR_LINE, duration, Progress, type ProgressTarget } from "../../src/cli/progress.ts";
import { projectFile } from "./support.ts";

class FakeTarget implements ProgressTarget {
  written: string[] = [];
  time = 5000;
  constructor(readonly terminal: boolean, readonly columns = 80) {}
  write(text: string): void {
    this.written.push(text);
  }
  now(): number {
    return this.time;
  }
}

Deno.test("plain lines: nothing in the first second, then a state every five seconds, with rate and remaining time", () => {
  const target = new FakeTarget(false), progress = new Progress(target, "running x", "dispatches", 40);
  const at = (ms: number, done: number) => {
    target.time = 5000 + ms;
    progress.update(done);
  };
  at(0, 0);
  at(999, 9);
  assertEquals(target.written, []);
  at(1000, 10);
  at(2000, 20);
  at(5999, 39);
  assertEquals(target.written, ["running x: 10 of 40 dispatches, 1 s, 10/s, 3 s left\n"]);
  at(6000, 40);
  progress.finish();
  assertEquals(target.written.slice(1), ["running x: 40 of 40 dispatches, 6 s, 6.7/s, 0 s left\n"]);
});

Deno.test("a terminal: the name at once, the line rewritten ten times a second at most, cut to its width, and cleared at the end", () => {
  const target = new FakeTarget(true, 30), progress = new Progress(target, "running x", "dispatches");
  assertEquals(target.written, ["running x ..."]);
  const at = (ms: number, done: number) => {
    target.time = 5000 + ms;
    progress.update(done);
  };
  at(1000, 250);
  at(1099, 300);
  at(1100, 400);
  progress.finish();
  progress.finish();
  assertEquals(target.written.slice(1), [
    CLEAR_LINE + "running x: 250 dispatches, 1 ",
    CLEAR_LINE + "running x: 400 dispatches, 1 ",
    CLEAR_LINE,
  ]);
});

Deno.test("without a total there is no remaining time, and before the first of them no rate", () => {
  const target = new FakeTarget(false), progress = new Progress(target, "w", "files");
  target.time += 1000;
  progress.update(0);
  target.time += 5000;
  progress.update(600);
  assertEquals(target.written, ["w: 0 files, 1 s\n", "w: 600 files, 6 s, 100/s\n"]);
});

Deno.test("--quiet shows nothing; errors of the work come out, and the terminal's line goes away", async () => {
  const target = new FakeTarget(true);
  const sink = { out: () => {}, err: () => {}, progress: target };
  const work = (progress: Progress) => {
    target.time += 2000;
    progress.update(1);
    return "result";
  };
  assertEquals(await new Output(sink, false, true).progress("w", "files", 2, work), "result");
  assertEquals(await new Output(sink, false, true).during("w", () => 1), 1);
  assertEquals(target.written, []);
  let message = "";
  try {
    await new Output(sink, false).progress("w", "files", 2, (progress) => {
      work(progress);
      throw new Error("no");
    });
  } catch (error) {
    message = (error as Error).message;
  }
  assertEquals(message, "no");
  assertEquals(target.written.at(-1), CLEAR_LINE);
});

Deno.test("durations are as people say them", () => {
  assertEquals([0.2, 59.4, 60, 200, 3600, 7500].map(duration), [
    "0 s",
    "59 s",
    "1 min 0 s",
    "3 min 20 s",
    "1 h 0 min",
    "2 h 5 min",
  ]);
});

const FIXTURE = [Deno.execPath(), "run", "-A", "--no-check", projectFile("tests/cli/interrupt_fixture.ts")];

Deno.test("in a process whose standard error is a pipe, work over a second gives plain lines, and none with --quiet", async () => {
  for (
    const [args, expected] of [[[], /^working: [34] of 4 turns, [12] s, [\d.]+\/s, [01] s left\n$/], [
      ["-q"],
      /^$/,
    ]] as const
  ) {
    const { code, stdout, stderr } = await new Deno.Command(FIXTURE[0], {
      args: [...FIXTURE.slice(1), "works", ...args],
    })
      .output();
    assertEquals([code, new TextDecoder().decode(stdout)], [0, ""]);
    assertMatch(new TextDecoder().decode(stderr), expected);
  }
});

function hasScript(): boolean {
  try {
    return Deno.statSync("/usr/bin/script").isFile;
  } catch {
    return false;
  }
}

const noTerminal = hasScript() ? "" : " [ignored: /usr/bin/script (util-linux) is missing]";
Deno.test({
  name: `on a real terminal the line is rewritten and then cleared${noTerminal}`,
  ignore: noTerminal !== "",
  async fn() {
    const { code, stdout } = await new Deno.Command("/usr/bin/script", {
      args: ["-qec", [...FIXTURE, "works"].map((word) => `'${word}'`).join(" "), "/dev/null"],
      env: { TERM: "xterm", SHELL: "/bin/sh" },
      stdin: "null",
    }).output();
    const text = new TextDecoder().decode(stdout);
    assertEquals(code, 0);
    assert(text.startsWith("working ..."), JSON.stringify(text));
    assertStringIncludes(text, `${CLEAR_LINE}working: 4 of 4 turns`);
    assert(text.endsWith(CLEAR_LINE), JSON.stringify(text));
  },
});
