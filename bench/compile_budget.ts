/**
 * The compile budget: peak memory, pipelines per second and compile time on the side of dispatches, without a limit and with limits of 16, 8
 * and 4 MiB, over module sizes as titles have them (compile_budget/sizes.ts).
 *
 *     deno run -A bench/compile_budget.ts [--quick] [--json] [--device] [--rounds N] [--window SECONDS]
 *         [--workers N] [--modules N] [--title N] [--seed N] [--limits none,16,8,4] [--keep-heaps]
 *
 * Room, job board, table of pipelines and workers are the real ones. Three of four pipelines are announced to the prebuild pool before a queue needs
 * them (another program's queue made 68 of 285 itself); the queue asks for one after the other, at the pace at which the pool's share can just keep up, and
 * makes itself what nobody has begun.
 * A run lasts until all are made, or until its window ends. Each is a process of its own, so that its peak is its own; limits alternate (backwards
 * in every other round), the modules of a round are the same for all of them, and rounds go through the titles (--title: all have that one, and
 * other modules of it). Each run is printed as it is measured.
 *
 * Workers are as many as in the setting that the budget was made for: 12 that compile (24 hardware threads; here 24 workers, half of which compile).
 *
 * With --keep-heaps each limit is measured a second time, with what compiles have freed left with the C heap (`PipelineDriver.giveBack`).
 *
 * By default a stub compiler computes (compile_budget/stub.ts): a driver on the CPU compiles at the first dispatch, outside of
 * vkCreateComputePipelines, where the budget holds nothing. With --device the driver compiles real modules (compile_budget/modules.ts): to be
 * run with its own caches off (__GL_SHADER_DISK_CACHE=0).
 */
import { BUILD_STAMP } from "../src/build_stamp.ts";
import type { MadeModule } from "./compile_budget/modules.ts";
import { drawSizes, title, TITLES } from "./compile_budget/sizes.ts";
import type { StubCosts } from "./compile_budget/stub.ts";
import type { Compiles, RunResult, RunTask } from "./compile_budget/task.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";

const MIB = 1 << 20;
/** Limits in MiB. */
const LIMITS = "none,16,8,4";
/**
 * What the stub takes for a byte of SPIR-V. A desktop driver took 160 to 320 bytes of memory (0.5 to 1 GB for 3.2 MB) and 2.4 microseconds (9.9 s for
 * 4.1 MB); here less of both, so that a run fits a small machine: what this work takes there alone is measured in each round.
 */
const STUB: StubCosts = { memory: 8, visits: 2 };
/** Modules of the mean size that are compiled alone, one after the other, before a round. */
const ALONE = 2;
/** Each so many-th pipeline is not announced. */
const UNANNOUNCED = 4;
const SEED = 20261130;

const FULL = { modules: 48, windowMs: 60_000, rounds: TITLES, workers: 24 };
/** A queue that makes every fourth of them itself needs some three seconds for each. */
const FULL_DEVICE = { ...FULL, modules: 24, windowMs: 50_000, rounds: 1 };
const QUICK = { modules: 6, windowMs: 2_000, rounds: 1, workers: 4 };

/** The table. */
export const TABLE: BenchTable = {
  name: "compile_budget",
  summary: "peak memory, pipelines per second and a queue's compile time, by the limit of the compile budget",
  run,
};

/** What is measured: a limit in MiB, or null for none; with the heaps kept or given back. */
interface Setting {
  readonly limitMiB: number | null;
  readonly keepsHeaps: boolean;
}

/** A setting, over all rounds; medians. */
interface Row extends Setting {
  peakMiB: number;
  pipelinesPerSecond: number;
  /** Processor seconds for a MiB of SPIR-V that was compiled: what others on the machine take is not in it, what compiles cost each other is. */
  cpuSecondsOfMiB: number;
  /** Seconds until a pipeline was there, from the beginning, on average over the pipelines. */
  readySeconds: number;
  pool: RowCompiles;
  queue: RowCompiles;
  /** Seconds that the queue had no pipeline, its own compiles and waits for others' included; for each pipeline that it asked for, ms. */
  blockedSeconds: number;
  blockedMsEach: number;
  heldMiB: number;
  waited: number;
}

/** Compiles of the pool or the queue. */
interface RowCompiles {
  compiles: number;
  seconds: number;
  /** How long a byte took, as a multiple of what it takes alone; null without compiles. */
  slower: number | null;
}

/** A round's modules. */
interface Round {
  readonly sizes: readonly number[];
  readonly modules?: readonly string[];
  /** Nanoseconds for a byte of SPIR-V when nothing else compiles. */
  readonly aloneNs: number;
}

/** A run, and what its round's compiles take alone. */
interface Measured {
  readonly result: RunResult;
  readonly aloneNs: number;
}

async function run({ quick, progress, said }: BenchContext): Promise<BenchResult> {
  const device = Deno.args.includes("--device");
  const size = { ...quick ? QUICK : device ? FULL_DEVICE : FULL };
  size.rounds = argument("--rounds") ?? size.rounds;
  size.windowMs = (argument("--window") ?? size.windowMs / 1000) * 1000;
  size.workers = argument("--workers") ?? size.workers;
  size.modules = argument("--modules") ?? size.modules;
  const fixed = argument("--title"), titleOf = (round: number) => fixed ?? round % TITLES;
  const first = argument("--seed") ?? SEED, settings = settingsOf(textArgument("--limits") ?? LIMITS);
  const measured = settings.map((): Measured[] => []);
  const folder = await Deno.makeTempDir({ prefix: "anyagc-compile-budget-" });
  const started = performance.now();
  let name = "";
  said?.(`title  ${HEAD.join(" | ")}`);
  try {
    for (let round = 0; round < size.rounds; round++) {
      const made = await prepare(
        `${folder}/${round}`,
        first + round,
        drawSizes(title(titleOf(round)), size.modules, first + round),
        device,
      );
      const mib = made.sizes.reduce((sum, bytes) => sum + bytes, 0) / MIB;
      said?.(
        `round ${round}, title ${titleOf(round)}: ${mib.toFixed(1)} MiB, alone ${made.aloneNs.toFixed(0)} ns a byte; ${
          seconds(started)
        }`,
      );
      const order = settings.map((_, index) => round % 2 === 0 ? index : settings.length - 1 - index);
      for (const [place, index] of order.entries()) {
        progress(round * settings.length + place, size.rounds * settings.length);
        const result = await runProcess(taskOf(size, made, settings[index]));
        if (result.queue.asked === 0 || result.pipelines === 0) throw new Error("a run in which nothing was made");
        const each = { result, aloneNs: made.aloneNs };
        measured[index].push(each);
        said?.(`${titleOf(round)}      ${cells(rowOf(settings[index], [each])).join(" | ")}; ${seconds(started)}`);
        name = result.device;
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const rows = settings.map((setting, index) => rowOf(setting, measured[index]));
  return {
    data: {
      schema: "anyagc.bench.compile_budget/3",
      device: name,
      seed: first,
      title: fixed ?? "all",
      ...size,
      stub: device ? undefined : STUB,
      rows,
      runs: measured,
    },
    lines: table(rows, name, size, device, [
      ...new Set(Array.from({ length: size.rounds }, (_, round) => titleOf(round))),
    ]),
  };
}

/** What is measured in a round, in that order. */
function settingsOf(limits: string): Setting[] {
  const kept = Deno.args.includes("--keep-heaps") ? [false, true] : [false];
  return limits.split(",").flatMap((text) => {
    const limitMiB = text === "none" ? null : Number(text);
    if (limitMiB !== null && !(limitMiB > 0)) {
      throw new Error(`--limits takes numbers of MiB and "none", not "${text}"`);
    }
    return kept.map((keepsHeaps) => ({ limitMiB, keepsHeaps }));
  });
}

/** Makes a round's modules, if the driver is to compile them, and measures what compiling takes alone. */
async function prepare(folder: string, seed: number, wanted: readonly number[], device: boolean): Promise<Round> {
  const files = device ? await makeModules(folder, seed, wanted) : undefined;
  const sizes = files?.map(({ bytes }) => bytes) ?? wanted, modules = files?.map(({ path }) => path);
  const mean = sizes.reduce((sum, bytes) => sum + bytes, 0) / sizes.length;
  const near = sizes.map((_, i) => i).sort((a, b) => Math.abs(sizes[a] - mean) - Math.abs(sizes[b] - mean)).slice(
    0,
    ALONE,
  );
  const { pool } = await runProcess({
    limitBytes: null,
    workers: 1,
    sizes: near.map((i) => sizes[i]),
    unannounced: 1e9,
    modules: modules && near.map((i) => modules[i]),
    windowMs: 60_000,
    paceMs: 60_000,
    stub: device ? undefined : STUB,
  });
  if (pool.bytes === 0) throw new Error("a module of the mean size took more than a minute to compile");
  return { sizes, modules, aloneNs: pool.ms * 1e6 / pool.bytes };
}

function taskOf({ workers, windowMs }: typeof FULL, { sizes, modules, aloneNs }: Round, setting: Setting): RunTask {
  const stub = modules === undefined ? STUB : undefined;
  const mean = sizes.reduce((sum, bytes) => sum + bytes, 0) / sizes.length;
  // Half of the pool's workers may compile, and a core compiles one.
  const paceMs = mean * aloneNs / 1e6 / Math.max(1, Math.min(workers >> 1, navigator.hardwareConcurrency));
  return {
    limitBytes: setting.limitMiB === null ? null : setting.limitMiB * MIB,
    keepsHeaps: setting.keepsHeaps,
    workers,
    sizes,
    unannounced: UNANNOUNCED,
    modules,
    windowMs,
    paceMs,
    stub,
  };
}

/** Recompiles modules of such sizes; the sizes are met as nearly as whole operations can. */
async function makeModules(folder: string, seed: number, sizes: readonly number[]) {
  await Deno.mkdir(folder);
  const made = await script("modules.ts", [folder, String(seed), ...sizes.map(String)]);
  return made.files as MadeModule[];
}

async function runProcess(task: RunTask): Promise<RunResult> {
  // What is bundled has no scripts.
  if (BUILD_STAMP !== undefined) {
    const { result, close } = await (await import("./compile_budget/run.ts")).runTask(task);
    await close();
    return result;
  }
  return await script("run.ts", [JSON.stringify(task)]);
}

/** Runs a script of this benchmark, and gives its line of JSON. */
async function script(name: string, args: readonly string[]) {
  const path = decodeURIComponent(new URL(`./compile_budget/${name}`, import.meta.url).pathname);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", path, ...args],
  }).output();
  const text = new TextDecoder().decode(stdout);
  // A run ends itself by a signal when its line is written: see run.ts.
  if (!text.endsWith("}\n")) throw new Error(`${name}: exit code ${code}\n${text}${new TextDecoder().decode(stderr)}`);
  return JSON.parse(text);
}

function rowOf(setting: Setting, measured: readonly Measured[]): Row {
  const median = (value: (result: RunResult, aloneNs: number) => number) => {
    const sorted = measured.map(({ result, aloneNs }) => value(result, aloneNs)).sort((a, b) => a - b);
    return sorted[sorted.length >> 1];
  };
  const compiles = (of: (result: RunResult) => Compiles): RowCompiles => {
    const some = measured.filter(({ result }) => of(result).bytes > 0);
    const slower = some.map(({ result, aloneNs }) => of(result).ms * 1e6 / of(result).bytes / aloneNs).sort((a, b) =>
      a - b
    );
    return {
      compiles: median((result) => of(result).compiles),
      seconds: median((result) => of(result).ms / 1000),
      slower: slower[slower.length >> 1] ?? null,
    };
  };
  return {
    ...setting,
    peakMiB: median(({ peakBytes }) => peakBytes / MIB),
    pipelinesPerSecond: median(({ pipelines, ms }) => pipelines / ms * 1000),
    cpuSecondsOfMiB: median(({ cpuMs, pool, queue }) => cpuMs / 1000 / ((pool.bytes + queue.bytes) / MIB)),
    readySeconds: median(({ readyMs }) => readyMs / 1000),
    pool: compiles(({ pool }) => pool),
    queue: compiles(({ queue }) => queue),
    blockedSeconds: median(({ queue }) => queue.blockedMs / 1000),
    blockedMsEach: median(({ queue }) => queue.blockedMs / queue.asked),
    heldMiB: median(({ heldBytes }) => heldBytes / MIB),
    waited: median(({ waited }) => waited),
  };
}

const HEAD = [
  "limit MiB",
  "peak MiB",
  "pipelines/s",
  "CPU s a MiB",
  "s until one is there",
  "pool: builds / s / times alone",
  "queue: builds / s / times alone",
  "queue blocked s",
  "ms a pipeline",
  "held at most MiB",
  "waited",
];

function cells(row: Row): string[] {
  const f = (value: number) => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
  const compiles = ({ compiles, seconds, slower }: RowCompiles) =>
    `${compiles} / ${f(seconds)} / ${slower === null ? "-" : f(slower)}`;
  return [
    `${row.limitMiB ?? "none"}${row.keepsHeaps ? ", heaps kept" : ""}`,
    f(row.peakMiB),
    f(row.pipelinesPerSecond),
    f(row.cpuSecondsOfMiB),
    f(row.readySeconds),
    compiles(row.pool),
    compiles(row.queue),
    f(row.blockedSeconds),
    f(row.blockedMsEach),
    f(row.heldMiB),
    String(row.waited),
  ];
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(0)} s`;
}

function table(rows: readonly Row[], device: string, size: typeof FULL, real: boolean, titles: number[]): string[] {
  const { modules, rounds, workers, windowMs } = size;
  return [
    `${device}: ${modules} modules a round, ${rounds} rounds (titles ${
      titles.join(", ")
    }), ${workers} workers of which ` +
    `${Math.max(1, workers >> 1)} compile, ${navigator.hardwareConcurrency} hardware threads, runs of at most ${
      windowMs / 1000
    } s; medians` +
    (real ? "" : `; stub: ${STUB.memory} bytes and ${STUB.visits} visits a byte`),
    "",
    `| ${HEAD.join(" | ")} |`,
    `|${HEAD.map(() => " --- |").join("")}`,
    ...rows.map((row) => `| ${cells(row).join(" | ")} |`),
  ];
}

function textArgument(name: string): string | undefined {
  const at = Deno.args.indexOf(name);
  return at === -1 ? undefined : Deno.args[at + 1] ?? "";
}

function argument(name: string): number | undefined {
  const text = textArgument(name);
  if (text === undefined) return undefined;
  const value = text === "" ? NaN : Number(text);
  if (!(value >= 0)) throw new Error(`${name} takes a number`);
  return value;
}

if (import.meta.main) await runAsScript(TABLE);
