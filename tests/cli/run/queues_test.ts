import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { forgetInterrupts, watchInterrupts } from "../../../src/cli/interrupt.ts";
import { writeAgcap } from "../../../src/guest/agcap/write_agcap.ts";
import type { LoadedProgram } from "../../../src/guest/program.ts";
import { chain } from "../../driver/queues/programs.ts";
import { anyagc, vulkanTest } from "../support.ts";

/** A capture of a program with three queues. */
async function inFolder(name: string, body: (folder: string, file: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-queues-test-" }), file = `${folder}/queues.agcap`;
  try {
    Deno.writeFileSync(file, writeAgcap({ ...chain(4).program as LoadedProgram, name }));
    await body(folder, file);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

vulkanTest(
  "run tells of queues that ran at the same time what it tells of others; the next run, which has all pipelines, is the same",
  () =>
    inFolder("queues 1", async (folder, file) => {
      const outcomes = [];
      for (let round = 0; round < 2; round++) {
        const report = round === 0 ? ["--report", folder] : [];
        const { code, text, errors } = await anyagc("run", file, "--json", "--quiet", ...report);
        assertEquals(code, 0, errors);
        const { outcome, queues, submissions, dispatches, labels, programs, pipelines } = JSON.parse(text);
        outcomes.push([
          outcome,
          queues,
          submissions,
          dispatches,
          labels,
          programs.map((p: { words: number }) => p.words).sort(),
        ]);
        const { replay: { recorded, created, failed }, used, built } = pipelines;
        assertEquals([recorded, created, failed, used, built], round === 0 ? [0, 0, 0, 0, 2] : [2, 2, 0, 2, 0]);
      }
      assertEquals(outcomes[1], outcomes[0]);
      assertEquals(outcomes[0].slice(0, 4), ["passed", [0x30, 0x21, 0], 3, 8]);
      const page = Deno.readTextFileSync(`${folder}/index.html`);
      for (const track of ["queue 0x0", "queue 0x21", "queue 0x30", "device 0x21", "device 0x30"]) {
        assertStringIncludes(page, track);
      }
      // The modules of the isolates are in the page, too.
      assertStringIncludes(page, "OpEntryPoint");
    }),
);

vulkanTest(
  "capture and replay of several queues: equal to what was recorded, on the device and in the interpreter",
  () =>
    inFolder("queues 2", async (folder, file) => {
      const recorded = `${folder}/recorded.agcap`;
      assertEquals((await anyagc("capture", file, "-o", recorded, "--quiet")).code, 0);
      for (const device of [[], ["--device", "software"]]) {
        const { code, text } = await anyagc("replay", recorded, "--quiet", ...device);
        assertEquals(code, 0, text);
        assertMatch(text, /equal, 12 labels/);
      }
    }),
);

vulkanTest("a signal stops queues that run at the same time", () =>
  inFolder("queues 3", async (_folder, file) => {
    await watchInterrupts({ deferred: false, pending: 2 });
    try {
      const { code, errors } = await anyagc("capture", file, "-o", `${file}.out`, "--quiet");
      assertEquals([code, errors], [130, "anyagc: stopped (SIGINT)"]);
    } finally {
      forgetInterrupts();
    }
  }));
