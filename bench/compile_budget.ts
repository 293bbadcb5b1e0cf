/**
 * The compile budget: peak memory, pipelines per second and compile time on the side of dispatches, without a limit and with limits of 16, 8
 * and 4 MiB, over module sizes as titles have them (compile_budget/sizes.ts).
 *
 *     deno run -A bench/compile_budget.ts [--quick] [--json] [--device] [--rounds N] [--window SECONDS]
 *         [--workers N] [--modules N] [--title N]
 *
 * Room, job board, table of pipelines and workers are the real ones. Every pipeline is announced to the prebuild pool before a queue needs
 * it; the queue asks for one after the other, at the pace at which the pool's share can just keep up, and makes itself what nobody has begun.
 * A run lasts until all are made, or until its window ends. Each is a process of its own, so that its peak is its own; limits alternate, the
 * modules of a round are the same for all of them, and rounds go through the titles (--title: all have that one, and other modules of it).
 *
 * By default a stub compiler takes memory and time (see STUB): a driver on the CPU compiles at the first dispatch, outside of
 * vkCreateComputePipelines, where the budget holds nothing. With --device the driver compiles real modules (compile_budget/modules.ts): to be
 * run with its own caches off (__GL_SHADER_DISK_CACHE=0).
 */
import { BUILD_STAMP } from "../src/build_stamp.ts";
import { drawSizes, title, TITLES } from "./compile_budget/sizes.ts";
import type { RunResult, RunTask, StubCosts } from "./compile_budget/task.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";

const MIB = 1 << 20;
/** Limits in MiB; null: none. */
const LIMITS = [null, 16, 8, 4] as const;
/**
 * The stub's costs for a byte of SPIR-V. A desktop driver took 0.5 to 1 GB for 3.2 MB (160 to 320 bytes), and 9.9 s for 4.1 MB (2.4
 * microseconds); here both are scaled down, memory by 80 and time by 5, so that a run fits a small
 * machine, taking memory is no work, and a compile is longer than what a busy machine takes to wake somebody.
 */
const STUB: StubCosts & { readonly memoryScale: number; readonly timeScale: number } = {
  memory: 4,
  ms: 2.4e-3 / 5,
  memoryScale: 80,
  timeScale: 5,
};
/** Milliseconds of the driver for a byte, for the queue's pace: 0.43 s for 207 kB. */
const DEVICE_MS = 2.1e-3;
const SEED = 20261130;

const FULL = { modules: 48, windowMs: 60_000, rounds: TITLES, workers: 8 };
const FULL_DEVICE = { modules: 48, windowMs: 20_000, rounds: 2, workers: 8 };
const QUICK = { modules: 6, windowMs: 2_000, rounds: 1, workers: 4 };

/** The table. */
export const TABLE: BenchTable = {
  name: "compile_budget",
  summary: "peak memory, pipelines per second and a queue's compile time, by the limit of the compile budget",
  run,
};

/** A limit, over all rounds; medians. */
interface Row {
  limitMiB: number | null;
  peakMiB: number;
  pipelinesPerSecond: number;
  poolCompiles: number;
  poolSeconds: number;
  queueCompiles: number;
  queueSeconds: number;
  /** Seconds that the queue had no pipeline, its own compiles and waits for others' included; for each pipeline that it asked for, ms. */
  blockedSeconds: number;
  blockedMsEach: number;
  heldMiB: number;
  waited: number;
}

async function run({ quick, progress }: BenchContext): Promise<BenchResult> {
  const device = Deno.args.includes("--device");
  const size = { ...quick ? QUICK : device ? FULL_DEVICE : FULL };
  size.rounds = argument("--rounds") ?? size.rounds;
  size.windowMs = (argument("--window") ?? size.windowMs / 1000) * 1000;
  size.workers = argument("--workers") ?? size.workers;
  size.modules = argument("--modules") ?? size.modules;
  const fixed = argument("--title"), titleOf = (round: number) => fixed ?? round % TITLES;
  const results = LIMITS.map((): RunResult[] => []);
  const folder = await Deno.makeTempDir({ prefix: "anyagc-compile-budget-" });
  let name = "";
  try {
    for (let round = 0; round < size.rounds; round++) {
      const sizes = drawSizes(title(titleOf(round)), size.modules, SEED + round);
      const modules = device ? await makeModules(`${folder}/${round}`, SEED + round, sizes) : undefined;
      for (const [index, limit] of LIMITS.entries()) {
        progress(round * LIMITS.length + index, size.rounds * LIMITS.length);
        const task = taskOf(size, modules?.map(({ bytes }) => bytes) ?? sizes, limit);
        const result = await runProcess(modules ? { ...task, modules: modules.map(({ path }) => path) } : task);
        if (result.queue.asked === 0 || result.pipelines === 0) throw new Error("a run in which nothing was made");
        results[index].push(result);
        name = result.device;
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const rows = LIMITS.map((limit, index) => rowOf(limit, results[index]));
  const costs = device ? undefined : STUB;
  return {
    data: {
      schema: "anyagc.bench.compile_budget/1",
      device: name,
      seed: SEED,
      title: fixed ?? "all",
      ...size,
      stub: costs,
      rows,
      runs: results,
    },
    lines: table(rows, name, size, device, [
      ...new Set(Array.from({ length: size.rounds }, (_, round) => titleOf(round))),
    ]),
  };
}

function taskOf({ workers, windowMs }: typeof FULL, sizes: readonly number[], limit: number | null): RunTask {
  const stub = Deno.args.includes("--device") ? undefined : STUB, ms = stub?.ms ?? DEVICE_MS;
  const mean = sizes.reduce((sum, bytes) => sum + bytes, 0) / sizes.length;
  // Half of the pool's workers may compile.
  const paceMs = mean * ms / Math.max(1, workers >> 1);
  return { limitBytes: limit === null ? null : limit * MIB, workers, sizes, windowMs, paceMs, stub };
}

/** Recompiles modules of such sizes; the sizes are met as nearly as whole operations can. */
async function makeModules(folder: string, seed: number, sizes: readonly number[]) {
  await Deno.mkdir(folder);
  const made = await script("modules.ts", [folder, String(seed), ...sizes.map(String)]);
  return made.files as { path: string; bytes: number }[];
}

async function runProcess(task: RunTask): Promise<RunResult> {
  // What is bundled has no scripts.
  if (BUILD_STAMP !== undefined) return await (await import("./compile_budget/run.ts")).runTask(task);
  return await script("run.ts", [JSON.stringify(task)]);
}

/** Runs a script of this benchmark, and gives its line of JSON. */
async function script(name: string, args: readonly string[]) {
  const path = decodeURIComponent(new URL(`./compile_budget/${name}`, import.meta.url).pathname);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", path, ...args],
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (code !== 0) throw new Error(`${name}: exit code ${code}\n${text}${new TextDecoder().decode(stderr)}`);
  return JSON.parse(text);
}

function rowOf(limitMiB: number | null, results: readonly RunResult[]): Row {
  const median = (value: (result: RunResult) => number) => {
    const sorted = results.map(value).sort((a, b) => a - b);
    return sorted[sorted.length >> 1];
  };
  return {
    limitMiB,
    peakMiB: median(({ peakBytes }) => peakBytes / MIB),
    pipelinesPerSecond: median(({ pipelines, ms }) => pipelines / ms * 1000),
    poolCompiles: median(({ pool }) => pool.compiles),
    poolSeconds: median(({ pool }) => pool.ms / 1000),
    queueCompiles: median(({ queue }) => queue.compiles),
    queueSeconds: median(({ queue }) => queue.ms / 1000),
    blockedSeconds: median(({ queue }) => queue.blockedMs / 1000),
    blockedMsEach: median(({ queue }) => queue.blockedMs / queue.asked),
    heldMiB: median(({ heldBytes }) => heldBytes / MIB),
    waited: median(({ waited }) => waited),
  };
}

function table(rows: readonly Row[], device: string, size: typeof FULL, real: boolean, titles: number[]): string[] {
  const { modules, rounds, workers, windowMs } = size,
    f = (value: number) => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
  return [
    `${device}: ${modules} modules a round, ${rounds} rounds (titles ${
      titles.join(", ")
    }), ${workers} workers of which ` +
    `${Math.max(1, workers >> 1)} compile, runs of at most ${windowMs / 1000} s; medians` +
    (real ? "" : `; stub: ${STUB.memory} bytes and ${Math.round(STUB.ms * 1e6)} ns a byte`),
    "",
    "| limit MiB | peak MiB | pipelines/s | pool builds / s | queue builds / s | queue blocked s | ms a pipeline | held at most MiB | waited |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ...rows.map((row) =>
      [
        row.limitMiB ?? "none",
        f(row.peakMiB),
        f(row.pipelinesPerSecond),
        `${row.poolCompiles} / ${f(row.poolSeconds)}`,
        `${row.queueCompiles} / ${f(row.queueSeconds)}`,
        f(row.blockedSeconds),
        f(row.blockedMsEach),
        f(row.heldMiB),
        row.waited,
      ].join(" | ")
    ).map((line) => `| ${line} |`),
  ];
}

function argument(name: string): number | undefined {
  const at = Deno.args.indexOf(name);
  if (at === -1) return undefined;
  const value = Number(Deno.args[at + 1]);
  if (!(value >= 0)) throw new Error(`${name} takes a number`);
  return value;
}

if (import.meta.main) await runAsScript(TABLE);
