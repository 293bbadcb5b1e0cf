import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  forgetInterrupts,
  InterruptedError,
  stopIfAsked,
  stoppable,
  watchInterrupts,
} from "../../src/cli/interrupt.ts";
import { projectFile } from "./support.ts";

const FIXTURE = projectFile("tests/cli/interrupt_fixture.ts");

/** Starts the fixture, sends the signals one after another once it is ready, and waits for its end. */
async function interrupt(args: readonly string[], signals: readonly Deno.Signal[], before: readonly string[] = []) {
  const [program, ...rest] = [...before, Deno.execPath(), "run", "-A", "--no-check", FIXTURE, ...args];
  const child = new Deno.Command(program, { args: rest, stdout: "piped", stderr: "piped", env: { NO_COLOR: "1" } })
    .spawn();
  const errors = new Response(child.stderr).text();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("ready\n")) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  for (const signal of signals) {
    child.kill(signal);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { code, signal } = await child.status;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  return { code, signal, text, errors: await errors };
}

const linux = Deno.build.os === "linux" && Deno.build.arch === "x86_64";

for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const) {
  Deno.test({
    name: `${signal} ends a command that computes at once, with exit code ${code}`,
    ignore: !linux,
    async fn() {
      const result = await interrupt(["computes"], [signal]);
      assertEquals([result.code, result.signal, result.errors], [code, null, ""]);
    },
  });
}

Deno.test({
  name: "a command that looks for signals stops there: one line says so, files are whole, nothing else is left",
  ignore: !linux,
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const result = await interrupt(["looks", `${folder}/file`], ["SIGINT"]);
      assertEquals([result.code, result.errors], [130, "anyagc: stopped (SIGINT)\n"]);
      assertEquals([...Deno.readDirSync(folder)].map((entry) => entry.name), ["file"]);
      assertEquals(Deno.readTextFileSync(`${folder}/file`), "before");
      const json = await interrupt(["looks", `${folder}/file`, "--json"], ["SIGTERM"]);
      assertEquals(json.code, 143);
      const { schema, error } = JSON.parse(json.text.replace("ready\n", ""));
      assertEquals([schema, error.code, error.exitCode], ["anyagc.error/1", "interrupted", 143]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name:
    "a command that should look and does not is ended by a second signal, or after a while, with the first one's code",
  ignore: !linux,
  async fn() {
    assertEquals((await interrupt(["never-looks"], ["SIGINT", "SIGTERM"])).code, 130);
    assertEquals((await interrupt(["never-looks"], ["SIGTERM"])).code, 143);
  },
});

Deno.test({
  name: "a signal that is ignored from the start stays ignored, as nohup wants it",
  ignore: !linux,
  async fn() {
    const shell = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh"];
    assertEquals((await interrupt(["computes"], ["SIGHUP", "SIGINT"], shell)).code, 130);
  },
});

Deno.test("signals are deferred exactly while something stoppable runs, however deep, and are not lost at its end", async () => {
  const state = { deferred: false, pending: 0 };
  await watchInterrupts(state);
  try {
    await stoppable(async () => {
      assert(state.deferred);
      await stoppable(() => assert(state.deferred));
      assert(state.deferred);
    });
    assertEquals(state.deferred, false);
    let error: unknown;
    try {
      await stoppable(() => {
        state.pending = 15;
        return "result";
      });
    } catch (caught) {
      error = caught;
    }
    assert(error instanceof InterruptedError);
    assertEquals(error.exitCode, 143);
    assertStringIncludes(error.message, "SIGTERM");
    assertEquals(state.deferred, false);
    assertThrows(stopIfAsked, InterruptedError);
  } finally {
    forgetInterrupts();
  }
  stopIfAsked(); // nobody watches: nothing is thrown
});
