import { assert, assertEquals } from "@std/assert";
import { Journal } from "../../../src/storage/journal.ts";
import { switchFlag } from "../../../src/switches.ts";
import { Random } from "../../support/random.ts";
import { missingDevice } from "../../support/vulkan.ts";
import { inFolder } from "./stores.ts";

const CHILD = new URL("room_crash_child.ts", import.meta.url).pathname;
/** Pipelines of the program. */
const PIPELINES = 16;
const ignore = missingDevice !== undefined && !switchFlag("ANYPS5_REQUIRE_VULKAN");

/** Runs the child until its journal has grown so far, and a little longer; what it said, and the whole records that it left. */
async function run(folder: string, records: number, milliseconds: number) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", CHILD, folder, String(PIPELINES)],
    stdout: "piped",
    stderr: "piped",
    env: { MESA_SHADER_CACHE_DIR: `${folder}/mesa` },
  }).spawn();
  const output = new Response(child.stdout).text(), errors = new Response(child.stderr).text();
  let ended = false, killed = false;
  const status = child.status.then((status) => {
    ended = true;
    return status;
  });
  while (!ended && !killed) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    if (recordsIn(folder).length < records) continue;
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    try {
      child.kill("SIGKILL");
      killed = true;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // it has ended already
    }
  }
  const { code } = await status, text = await output;
  assertEquals([await errors, killed ? 0 : code], ["", 0], text);
  const lines = text.split("\n").map((line) => line.split(" "));
  const numbers = (what: string) => lines.find(([first]) => first === what)?.slice(1).map(Number);
  const notes = lines.filter(([first]) => first === "note").map((words) => words.slice(1).join(" "));
  return { notes, replayed: numbers("replayed"), done: numbers("done"), left: recordsIn(folder) };
}

/** Whole records of the journal as it is, from a copy: opening the file itself may cut it. */
function recordsIn(folder: string): readonly Uint8Array[] {
  const copy = `${folder}/copy`;
  try {
    Deno.mkdirSync(copy, { recursive: true, mode: 0o700 });
    Deno.copyFileSync(`${folder}/crash.journal`, `${copy}/crash.journal`);
  } catch {
    return []; // it is not there yet
  }
  return new Journal(copy, "crash", new Uint8Array(4)).records;
}

Deno.test({
  name: `isolates that are killed with their process lose no record, and nothing that was recorded is built again${
    ignore ? ` [ignored: ${missingDevice}]` : ""
  }`,
  ignore,
  fn: () =>
    inFolder(async (folder) => {
      const random = new Random(11);
      let left: readonly Uint8Array[] = [], kills = 0;
      const check = ({ notes, replayed }: Awaited<ReturnType<typeof run>>) => {
        for (const note of notes) assert(/a record at the end was not finished, and is cut off$/.test(note), note);
        if (replayed === undefined) return;
        // What is recorded is there, and is created once.
        assertEquals(replayed, [left.length, left.length, 0]);
      };
      for (const share of [0.3, 0.7]) {
        const life = await run(folder, Math.ceil(PIPELINES * share), random.below(8));
        check(life);
        assert(left.every((record) => life.left.some((other) => `${other}` === `${record}`)), "a record was lost");
        left = life.left;
        if (life.done === undefined) kills++;
      }
      assert(kills > 0, "no run was killed in the middle");
      const last = await run(folder, Infinity, 0);
      check(last);
      assertEquals(last.done, [PIPELINES - left.length, 0], "only what was not recorded is built");
      assertEquals(last.left.length, PIPELINES);
    }),
});
