/**
 * {@linkcode crash} of crash.ts for runs whose queues have isolates of their own: several isolates create pipelines and record them in one journal when
 * the process is killed. room_crash_test.ts does it a few times; `deno task crash:room [KILLS] [SEED]` often.
 */
import { assert, assertEquals } from "@std/assert";
import { Journal } from "../../../src/storage/journal.ts";
import { Random } from "../../support/random.ts";
import { inFolder } from "./stores.ts";

const CHILD = new URL("room_crash_child.ts", import.meta.url).pathname;
/** Pipelines of the program. */
const PIPELINES = 16;
/** Kills of one journal at most. */
const LIVES = 3;

/** What {@linkcode roomCrash} did. */
export interface RoomCrashSummary {
  /** Runs that were killed, and of them those that had come to their ends. */
  kills: number;
  late: number;
  /** Journals that ended within a record: a note said so. */
  torn: number;
  /** Records that killed runs left, and creations by the replays after them. */
  recorded: number;
  replayed: number;
}

/**
 * Kills `kills` runs, each when its journal has grown by a random number of records and a random moment later. After each kill: whole records of before are
 * all there, the replay creates each of them once, and the run at the end builds only what was not recorded.
 */
export async function roomCrash(kills: number, seed: number): Promise<RoomCrashSummary> {
  const random = new Random(seed), summary = { kills: 0, late: 0, torn: 0, recorded: 0, replayed: 0 };
  while (summary.kills < kills) {
    await inFolder(async (folder) => {
      let left: readonly Uint8Array[] = [];
      const check = ({ notes, replayed, left: now }: Life) => {
        for (const note of notes) {
          assert(/a record at the end was not finished, and is cut off$/.test(note), note);
          summary.torn++;
        }
        assert(left.every((record) => now.some((other) => `${other}` === `${record}`)), "a record was lost");
        if (replayed === undefined) return;
        // What is recorded is there, and is created once.
        assertEquals(replayed, [left.length, left.length, 0]);
        summary.replayed += left.length;
      };
      for (let n = 0; n < LIVES && summary.kills < kills && left.length < PIPELINES; n++) {
        const life = await run(folder, left.length + 1 + random.below(PIPELINES - left.length), random.below(8));
        check(life);
        summary.kills++;
        if (life.done !== undefined) summary.late++;
        summary.recorded += life.left.length - left.length;
        left = life.left;
      }
      const last = await run(folder, Infinity, 0);
      check(last);
      assertEquals(last.done, [PIPELINES - left.length, 0], "only what was not recorded is built");
      assertEquals(last.left.length, PIPELINES);
    });
  }
  return summary;
}

type Life = Awaited<ReturnType<typeof run>>;

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

if (import.meta.main) {
  const kills = Number(Deno.args[0] ?? 200), seed = Number(Deno.args[1] ?? Date.now() % 2 ** 32);
  console.log(`${kills} kills, seed ${seed}`);
  console.log(JSON.stringify({ seed, ...await roomCrash(kills, seed) }));
}
