/**
 * Shader ABIs resolved by a loader: in the background (as it is), against on the loader's own thread (`APS5_SYNC_SHADER_PREPARE`).
 *
 *     deno run -A bench/abi_resolve.ts [--quick] [--json] [--threads N] [--chain N] [--runs N] [--scenario 0..3] [--limit SECONDS]
 *
 * The loader resolves 96 pixel shaders with one interpolant each, which registering does not prepare. Meanwhile another thread registers 192 compute
 * shaders, which fill the preparation pool. "loader" is the loader's loop, "total" ends when the pool has nothing to do. Runs of both kinds take turns, five
 * each. Each shader is a chain of f32 operations (`--chain`) that takes about 50 ms to recompile; `--threads` are the pool's workers.
 *
 * A scenario is printed as soon as it is measured. `--limit`, counted from the start of the process: runs that would end later are left out, and the line
 * has the ones that were made.
 *
 * The first rows are the case that lost elsewhere: all artifacts are on the disk from an earlier run, and steady frames draw and dispatch with all of
 * them. There the background has nothing to win; what a use costs is counted.
 */
import { createRoom } from "../src/driver/pools/room.ts";
import { type Abi, recordAbi, stageAbi } from "../src/driver/registry/abi.ts";
import { ShaderRegistry } from "../src/driver/registry/shader_registry.ts";
import { ShaderCache } from "../src/driver/shader_cache/shader_cache.ts";
import { GENERIC_DEVICE } from "../src/recompiler/generic_device.ts";
import { recompile } from "../src/recompiler/recompile.ts";
import { waitCounts } from "../src/sync/waits.ts";
import { type Burst, Bursts } from "./abi_resolve/bursts.ts";
import { guestMemory, makeShaders, type ShaderSet } from "./abi_resolve/shaders.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";

const PIXELS = 96, COMPUTES = 192, RUNS = 5, JOB_MS = 50;
/** At most, of the shaders that each isolate recompiles before it is measured. */
const WARM_OPERATIONS = 6000;
/** Of the steady frames: shaders as real ones are, and frames enough for a second. */
const STEADY_OPERATIONS = 600, FRAMES = 3000;
const HOST = { target: "gfx1013", device: GENERIC_DEVICE } as const;

/** How a table is made. */
interface Settings {
  readonly threads: number;
  readonly operations: number;
  /** Operations of what is recompiled before. */
  readonly warmUp: number;
  readonly pixels: number;
  readonly computes: number;
  readonly runs: number;
  readonly frames: number;
}

interface Steady {
  readonly loadMs: number;
  readonly framesPerSecond: number;
  readonly waits: number;
  readonly boardLocks: number;
}

/** Everything from an earlier run's cache, then frames that use every shader once. */
function steady(shaders: ShaderSet, folder: string, settings: Settings, synchronous: boolean): Steady {
  const room = createRoom({ workers: [1, 1, 1] }), cache = new ShaderCache(folder);
  const registry = ShaderRegistry.create(room, { host: HOST, memory: guestMemory(shaders.bytes), cache, synchronous });
  const begin = performance.now();
  const uses: [bigint, Abi][] = [...shaders.computes, ...shaders.pixels].map((record) => {
    const shader = registry.registerShader(record), state = recordAbi(record) ?? stageAbi(record, []);
    registry.resolveShaderAbi(shader, state);
    return [shader.code.address, state];
  });
  const snapshot = registry.snapshot();
  const frame = () => {
    for (let i = 0; i < uses.length; i++) registry.use(uses[i][0], uses[i][1], snapshot);
  };
  frame();
  const loadMs = performance.now() - begin;
  for (let i = 0; i < settings.frames / 10; i++) frame(); // compiled by now
  cache.flush();
  const waits = waitCounts(), locks = room.board.lockStats().acquired, start = performance.now();
  for (let i = 0; i < settings.frames; i++) frame();
  const ms = performance.now() - start, after = waitCounts();
  return {
    loadMs,
    framesPerSecond: settings.frames / ms * 1000,
    waits: after.work - waits.work + after.lock - waits.lock,
    boardLocks: room.board.lockStats().acquired - locks,
  };
}

/** Operations of a pixel shader that take about JOB_MS to recompile, on this machine, warm. */
function calibrate(): number {
  const probe = 2000, shaders = makeShaders(1, 0, probe);
  const room = createRoom({ workers: [1, 1, 1] });
  const registry = ShaderRegistry.create(room, { host: HOST, memory: guestMemory(shaders.bytes), synchronous: false });
  const shader = registry.registerShader(shaders.pixels[0]);
  const request = registry.request(shader, stageAbi(shader.record, []));
  const times = Array.from({ length: 24 }, () => {
    const start = performance.now();
    recompile(request);
    return performance.now() - start;
  });
  return Math.min(120_000, Math.max(600, Math.round(probe * JOB_MS / median(times.slice(12)) / 100) * 100));
}

const STEADY = "warm cache, steady frames";
const SCENARIOS = [
  { name: "while the others flood the pool", flood: true, otherMs: 0 },
  { name: "the same, 20 ms of other loader work per call", flood: true, otherMs: 20 },
  { name: "alone, idle pool", flood: false, otherMs: 0 },
] as const;
const MODES = ["synchronous", "background"] as const;

/** Measures a scenario: runs of both modes in turns. What would end after the limit, as long as the one before took, is left out. */
class Turns {
  readonly rows: Record<string, unknown>[] = [];
  readonly lines: string[] = [];
  readonly #context: BenchContext;
  readonly #runs: number;
  readonly #total: number;
  readonly #limitMs: number;
  #done = 0;

  /** @param limitMs by `performance.now` */
  constructor(context: BenchContext, runs: number, scenarios: number, limitMs: number) {
    this.#context = context;
    this.#runs = runs;
    this.#total = runs * MODES.length * scenarios;
    this.#limitMs = limitMs;
  }

  say(line: string): void {
    this.lines.push(line);
    this.#context.said?.(line);
  }

  /** @param describe what the runs of one mode were, in one line */
  async measure<T>(
    scenario: string,
    run: (synchronous: boolean) => T | Promise<T>,
    describe: (runs: T[]) => string,
  ): Promise<void> {
    const results: [T[], T[]] = [[], []], took = [0, 0];
    for (let i = 0; i < this.#runs; i++) {
      // What there is first: where the time is up, it has been seen.
      for (const kind of [1, 0]) {
        const start = performance.now();
        if (start + took[kind] < this.#limitMs) results[kind].push(await run(kind === 0));
        took[kind] = Math.max(took[kind], performance.now() - start);
        this.#context.progress(++this.#done, this.#total);
      }
    }
    for (const [kind, runs] of results.entries()) {
      const mode = MODES[kind];
      this.rows.push({ scenario, mode, runs });
      this.say(`${scenario}, ${mode}: ${runs.length === 0 ? "not measured, the time was up" : describe(runs)}`);
    }
  }
}

async function run(context: BenchContext): Promise<BenchResult> {
  const { quick } = context, limitMs = (option("--limit") ?? Infinity) * 1000;
  const threads = option("--threads") ?? Math.max(1, navigator.hardwareConcurrency - 2);
  const operations = option("--chain") ?? (quick ? 600 : calibrate());
  const settings: Settings = quick
    ? { threads, operations, warmUp: 100, pixels: 8, computes: 8, runs: 1, frames: 20 }
    : {
      threads,
      operations,
      warmUp: Math.min(operations, WARM_OPERATIONS),
      pixels: PIXELS,
      computes: COMPUTES,
      runs: option("--runs") ?? RUNS,
      frames: FRAMES,
    };
  const only = option("--scenario");
  const wanted = SCENARIOS.filter((_, number) => only === undefined || only === number);
  const isSteady = only === undefined || only === SCENARIOS.length;
  const turns = new Turns(context, settings.runs, wanted.length + Number(isSteady), limitMs);
  turns.say(
    `${settings.pixels} pixel shaders resolved, ${settings.computes} compute shaders registered, ${operations} operations each; ` +
      `${threads} pool workers; ${settings.runs} runs of each kind in turns`,
  );
  if (isSteady) await measureSteady(settings, turns);
  if (wanted.length > 0) {
    const shaders = makeShaders(settings.pixels, settings.computes, operations);
    const bursts = await Bursts.open(HOST, shaders, threads, settings.warmUp);
    for (const { name, flood, otherMs } of wanted) {
      const other = quick ? Math.min(1, otherMs) : otherMs;
      await turns.measure(name, (synchronous) => bursts.run({ synchronous, flood, otherMs: other }), describeBursts);
    }
    await bursts.close();
  }
  const { rows, lines } = turns;
  return { data: { schema: "anyagc.bench.abi_resolve/1", ...settings, rows, lines }, lines };
}

function describeBursts(runs: Burst[]): string {
  const pending = runs.map((r) => r.pending);
  return `loader ${seconds(runs.map((r) => r.loaderMs))}, total ${seconds(runs.map((r) => r.totalMs))}; ` +
    `longest call ${Math.max(...runs.map((r) => r.worstMs)).toFixed(1)} ms; jobs pending at return ` +
    `${Math.min(...pending)} to ${Math.max(...pending)}; ${runs[0].recompiled} recompiled`;
}

/** The steady frames. */
async function measureSteady(settings: Settings, turns: Turns): Promise<void> {
  const folder = Deno.makeTempDirSync({ prefix: "anyagc-bench-" });
  try {
    const real = makeShaders(settings.pixels, settings.computes, STEADY_OPERATIONS);
    steady(real, folder, { ...settings, frames: 1 }, false); // fills the cache
    const uses = settings.pixels + settings.computes;
    await turns.measure(
      `${STEADY} of ${uses} uses (${STEADY_OPERATIONS} operations a shader)`,
      (synchronous) => steady(real, folder, settings, synchronous),
      (runs) => {
        const fps = runs.map((r) => r.framesPerSecond);
        return `${median(fps).toFixed(1)} frames per second (${fps.map((n) => n.toFixed(1)).join(" ")}); ` +
          `load and first frame ${seconds(runs.map((r) => r.loadMs))}; waits ${runs.map((r) => r.waits).join(" ")}, ` +
          `locks of the job board ${runs.map((r) => r.boardLocks).join(" ")}`;
      },
    );
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

function option(name: string): number | undefined {
  const at = Deno.args.indexOf(name);
  return at < 0 ? undefined : Number(Deno.args[at + 1]);
}

/** Median (all runs) in seconds. */
function seconds(ms: number[]): string {
  return `${(median(ms) / 1000).toFixed(3)} s (${ms.map((n) => (n / 1000).toFixed(3)).join(" ")})`;
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}

/** The table. */
export const TABLE: BenchTable = {
  name: "abi_resolve",
  summary: "shader ABIs that a loader resolves: in the background against on its own thread",
  run,
};

if (import.meta.main) await runAsScript(TABLE);
