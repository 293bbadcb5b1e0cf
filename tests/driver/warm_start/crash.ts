/**
 * Kills runs while they build pipelines and write journal and cache, and looks at what the next run finds. crash_test.ts does it a few times;
 * `deno task crash [KILLS] [SEED]` often.
 */
import { assert, assertEquals } from "@std/assert";
import { Random } from "../../support/random.ts";

/** What a crash run did. */
export interface CrashSummary {
  /** Runs that were killed, and of them those that were already done. */
  kills: number;
  late: number;
  /** Journals that ended within a record: a note said so. */
  torn: number;
  /** Pipelines that were recorded in all. */
  recorded: number;
  /** Creations by replays. */
  replayed: number;
}

const CHILD = new URL("crash_child.ts", import.meta.url).pathname;
/** Pipelines of the program, at most: groups of 1 to so many threads. */
const MOST = 128;

/**
 * Kills `kills` runs, each at a random line of its output and a random moment behind it, on a journal and a cache that grow; begins anew
 * when a run had nothing left to build.
 */
export async function crash(kills: number, seed: number): Promise<CrashSummary> {
  const random = new Random(seed);
  const summary: CrashSummary = { kills: 0, late: 0, torn: 0, recorded: 0, replayed: 0 };
  while (summary.kills < kills) {
    const folder = await Deno.makeTempDir({ prefix: "anyagc-crash-test-" });
    try {
      await crashHere(folder, Math.min(kills - summary.kills, 12), random, summary);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
  return summary;
}

async function crashHere(folder: string, kills: number, random: Random, summary: CrashSummary) {
  const onDisk = new Set<string>();
  for (let n = 0; n < kills; n++) {
    const recorded = onDisk.size;
    // Behind the replay mostly, sometimes within it.
    const lines = random.below(4) === 0 ? 1 + random.below(recorded + 2) : 2 + recorded + random.below(24);
    const life = await run(folder, lines, random.below(8));
    summary.kills++;
    if (life.done) summary.late++;
    check(life, onDisk, summary);
    life.recorded.forEach((module) => onDisk.add(module));
    summary.recorded += onDisk.size - recorded;
    if (life.done) break;
  }
  // Not killed: it finishes the work. And once more: there is nothing left to do.
  for (const built of [undefined, 0]) {
    const life = await run(folder, Infinity, 0);
    assert(life.done, "a run that nobody killed did not come to its end");
    if (built !== undefined) assertEquals(life.built, built);
    check(life, onDisk, summary);
    life.recorded.forEach((module) => onDisk.add(module));
  }
}

interface Life {
  loaded: string[];
  before: string[];
  after: string[];
  recorded: string[];
  notes: string[];
  replayed: boolean;
  done: boolean;
  built: number;
}

/** Runs the child until it has said so many lines, and a little longer. */
async function run(folder: string, lines: number, milliseconds: number): Promise<Life> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", CHILD, folder, String(MOST)],
    stdout: "piped",
    stderr: "piped",
    env: { MESA_SHADER_CACHE_DIR: `${folder}/mesa` },
  }).spawn();
  const errors = new Response(child.stderr).text();
  let text = "", killed = false;
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (!killed && text.split("\n").length > lines) {
      killed = true;
      if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds));
      try {
        child.kill("SIGKILL");
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // it has ended already
      }
    }
  }
  const { code } = await child.status;
  assertEquals([await errors, killed ? 0 : code], ["", 0], text);
  const life: Life = {
    loaded: [],
    before: [],
    after: [],
    recorded: [],
    notes: [],
    replayed: false,
    done: false,
    built: 0,
  };
  for (const line of text.split("\n").slice(0, -1)) {
    const [what, ...rest] = line.split(" ");
    if (what === "loaded") life.loaded = rest;
    else if (what === "created") (life.replayed ? life.after : life.before).push(rest[0]);
    else if (what === "recorded") life.recorded.push(rest[0]);
    else if (what === "note") life.notes.push(rest.join(" "));
    else if (what === "replayed") life.replayed = true;
    else if (what === "done") [life.done, life.built] = [true, Number(rest[0])];
    else throw new Error(`the child said: ${line}`);
  }
  return life;
}

/** @param onDisk modules that earlier runs said were recorded */
function check({ loaded, before, after, notes, replayed }: Life, onDisk: ReadonlySet<string>, summary: CrashSummary) {
  for (const note of notes) {
    assert(/a record at the end was not finished, and is cut off$/.test(note), note);
    summary.torn++;
  }
  summary.replayed += before.length;
  const all = [...before, ...after];
  assertEquals(new Set(all).size, all.length, "a pipeline was created twice");
  assertEquals(after.filter((module) => onDisk.has(module)), [], "a recorded pipeline was built again");
  if (!replayed) return;
  assertEquals([...onDisk].filter((module) => !before.includes(module)), [], "recorded pipelines are lost");
  assertEquals([...onDisk].filter((module) => !loaded.includes(module)), [], "the cache has lost pipelines");
}

if (import.meta.main) {
  const kills = Number(Deno.args[0] ?? 200), seed = Number(Deno.args[1] ?? Date.now() % 2 ** 32);
  console.log(`${kills} kills, seed ${seed}`);
  console.log(JSON.stringify({ seed, ...await crash(kills, seed) }));
}
