import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { forgetInterrupts, watchInterrupts } from "../../../src/cli/interrupt.ts";
import { readTrace } from "../../driver/recording/trace_format.ts";
import { anyagc, projectFile, vulkanTest } from "../support.ts";

const PROGRAM = projectFile("shaders/julia/program.json");
const SECONDS = "APS5_TRACE_SECONDS";

/** Names of the threads of a trace, and how many events each has. */
function threads(file: string): Record<string, number> {
  const { traceEvents } = JSON.parse(Deno.readTextFileSync(file));
  const names: string[] = [], counts: Record<string, number> = {};
  for (const { ph, name, tid, args, ts, dur } of traceEvents) {
    if (name === "thread_name" && ph === "M") names[tid] = args.name;
    if (ph !== "X") continue;
    assert(ts >= 0 && dur >= 0);
    counts[names[tid]] = (counts[names[tid]] ?? 0) + 1;
  }
  return counts;
}

async function inFolder(body: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-trace-test-" });
  const before = Deno.env.get(SECONDS);
  try {
    await body(folder);
  } finally {
    if (before === undefined) Deno.env.delete(SECONDS);
    else Deno.env.set(SECONDS, before);
    await Deno.remove(folder, { recursive: true });
  }
}

vulkanTest(
  "run --trace writes queues, waits, compiles and batches, and says on a line of JSON what is in it",
  () =>
    inFolder(async (folder) => {
      const file = `${folder}/trace.json`;
      const { code, text, errors } = await anyagc("run", PROGRAM, "--trace", file, "--json", "--quiet");
      assertEquals(code, 0, errors);
      const summary = JSON.parse(errors);
      assertEquals(JSON.parse(text).trace, summary);
      assertEquals([summary.schema, summary.file, summary.startMs], ["anyagc.trace/1", file, 0]);
      const counts: Record<string, number> = {};
      // What overlaps on a track has threads beside it.
      for (const [name, count] of Object.entries(threads(file))) {
        const track = name.replace(/ \(\d+\)$/, "");
        counts[track] = (counts[track] ?? 0) + count;
      }
      assertEquals(
        Object.fromEntries(Object.entries(summary.tracks).map(([k, v]) => [k, (v as { spans: number }).spans])),
        counts,
      );
      assertEquals([summary.dropped, summary.creations], [0, { count: 1, insideMutex: 0 }]);
      const events = readTrace(Deno.readTextFileSync(file));
      const of = (category: string, thread?: string) =>
        events.filter((event) => event.category === category && (thread === undefined || event.thread === thread));
      // Queue 0 has packets, a wait unless the other queue was done before, and packets; nothing else of the sample waits.
      const names = of("queue", "queue 0x0").map(({ name }) => name.replace(/ .*/, ""));
      assertMatch(names.join(" "), /^packets(( waits)+ packets)?$/);
      assertEquals(of("queue", "queue 0x20").map(({ name }) => name), ["packets"]);
      assertEquals([counts["recompile 0x20"], counts["pipelines 0x20"], counts["device 0x20"]], [1, 1, 1]);
      // What the isolates put down themselves: locks, the creation, the batch.
      assert(of("mutex-hold").length > 0 && of("mutex-hold").every(({ name }) => name === "GPU mutex"));
      assertEquals([of("create").length, of("gpu").map(({ thread, name }) => `${thread}: ${name}`)], [
        1,
        ["device, queue 0x20: batch of 1"],
      ]);
      assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["trace.json"]);
    }),
);

vulkanTest(
  "APS5_TRACE_SECONDS cuts the trace to a part of the run, and a report beside it still has everything",
  () =>
    inFolder(async (folder) => {
      const file = `${folder}/trace.json`;
      Deno.env.set(SECONDS, "3600:1");
      const { code, errors } = await anyagc("run", PROGRAM, "--trace", file, "--report", folder, "--quiet");
      assertEquals(code, 0, errors);
      assertEquals(threads(file), {});
      assertEquals(JSON.parse(errors).startMs, 3_600_000);
      assertStringIncludes(Deno.readTextFileSync(`${folder}/index.html`), "queue 0x20");
    }),
);

Deno.test("a window that is none, and a trace that cannot be written, are wrong usage", () =>
  inFolder(async (folder) => {
    for (const seconds of ["5", "a:b", "-1:2", "1:0", "1:2:3", ":4"]) {
      Deno.env.set(SECONDS, seconds);
      const { code, errors } = await anyagc("run", PROGRAM, "--device", "software", "--quiet");
      assertEquals(code, 2, seconds);
      assertStringIncludes(errors, `not "${seconds}"`);
    }
    Deno.env.delete(SECONDS);
    const missing = `${folder}/missing/trace.json`;
    const { code, errors } = await anyagc("run", PROGRAM, "--device", "software", "--quiet", "--trace", missing);
    assertEquals(code, 2);
    assertStringIncludes(errors, `cannot write ${missing}: no such file or folder`);
  }));

Deno.test("a signal that the run looks at leaves a trace of what was before", () =>
  inFolder(async (folder) => {
    const file = `${folder}/trace.json`;
    await watchInterrupts({ deferred: false, pending: 2 });
    try {
      const { code, errors } = await anyagc("run", PROGRAM, "--device", "software", "--quiet", "--trace", file);
      assertEquals(code, 130);
      assertEquals(JSON.parse(errors.split("\n")[0]).spans, Object.values(threads(file)).reduce((a, b) => a + b, 0));
      assertEquals(threads(file).host, 1); // memory was made reachable
    } finally {
      forgetInterrupts();
    }
  }));

Deno.test({
  name: "Ctrl-C in a dispatch that does not look: the process ends, and the trace is whole",
  ignore: Deno.build.os !== "linux" || Deno.build.arch !== "x86_64",
  fn: () =>
    inFolder(async (folder) => {
      const file = `${folder}/trace.json`;
      const watched = Deno.watchFs(folder);
      // The interpreter takes much longer for the sample than this test.
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          "--no-check",
          projectFile("src/main.ts"),
          "run",
          PROGRAM,
          "--device",
          "software",
          "--trace",
          file,
        ],
        stdout: "null",
        stderr: "null",
      }).spawn();
      for await (const { paths } of watched) if (paths.includes(file)) break;
      child.kill("SIGINT");
      child.kill("SIGINT"); // a second one does not wait for the first
      const { code } = await child.status;
      assertEquals(code, 130);
      assertEquals(threads(file).host >= 1, true);
    }),
});
