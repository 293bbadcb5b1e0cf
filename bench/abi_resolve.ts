/**
 * Shader ABIs resolved by a loader: in the background (as it is), against on the loader's own thread (`APS5_SYNC_SHADER_PREPARE`).
 *
 *     deno run -A bench/abi_resolve.ts [--quick] [--json] [--threads N] [--chain N] [--runs N] [--scenario 0..3]
 *
 * The loader resolves 96 pixel shaders with one interpolant each, which registering does not prepare. Meanwhile another thread registers 192 compute
 * shaders, which fill the preparation pool. "loader" is the loader's loop, "total" ends when the pool has nothing to do. Runs of both kinds take turns, five
 * each. Each shader is a chain of f32 operations (`--chain`) that takes about 50 ms to recompile; `--threads` are the pool's workers.
 *
 * The last rows are the case that lost elsewhere: all artifacts are on the disk from an earlier run, and steady frames draw and dispatch with all of
 * them. There the background has nothing to win; what a use costs is counted.
 */
import { createRoom, Pool } from "../src/driver/pools/room.ts";
import { WorkerPool } from "../src/driver/pools/worker_pool.ts";
import { type Abi, recordAbi, stageAbi } from "../src/driver/registry/abi.ts";
import { ShaderRegistry } from "../src/driver/registry/shader_registry.ts";
import { closePreparation } from "../src/driver/registry/shutdown.ts";
import { ShaderCache } from "../src/driver/shader_cache/shader_cache.ts";
import { GENERIC_DEVICE } from "../src/recompiler/generic_device.ts";
import { recompile } from "../src/recompiler/recompile.ts";
import { waitCounts } from "../src/sync/waits.ts";
import type { IsolateResult, IsolateStart } from "./abi_resolve/isolate.ts";
import { addShaders, guestMemory, makeShaders, type ShaderSet } from "./abi_resolve/shaders.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";

const PIXELS = 96, COMPUTES = 192, RUNS = 5, JOB_MS = 50;
/** Shaders that each isolate recompiles before it is measured, and where they lie. */
const WARM_UP = 24, WARM_OPERATIONS = 6000, WARM_BASE = 0x6_0000_0000n;
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

interface Burst {
  readonly loaderMs: number;
  readonly totalMs: number;
  readonly worstMs: number;
  readonly pending: number;
  readonly recompiled: number;
}

interface Steady {
  readonly loadMs: number;
  readonly framesPerSecond: number;
  readonly waits: number;
  readonly boardLocks: number;
}

/** One burst: a room, its pool, and the guest's threads. */
async function burst(shaders: ShaderSet, settings: Settings, synchronous: boolean, flood: boolean, otherMs: number) {
  const room = createRoom({ workers: [settings.threads, 1, 1] });
  const failed: string[] = [];
  const pool = new WorkerPool(room, {
    name: "preparation",
    module: new URL("../src/workers/preparation.ts", import.meta.url),
    pool: Pool.Preparation,
    workers: settings.threads,
    onLog: (line) => failed.push(line),
  });
  const memory = guestMemory(shaders.bytes),
    warm = makeShaders(WARM_UP * settings.threads, 0, settings.warmUp, WARM_BASE);
  addShaders(memory, warm);
  const registry = ShaderRegistry.create(room, { host: HOST, memory });
  // The pool's isolates have compiled their own code when the loader comes: a title's first shaders are not what is measured.
  for (const record of warm.pixels) registry.resolveShaderAbi(registry.registerShader(record), stageAbi(record, []));
  const go = new Int32Array(new SharedArrayBuffer(4));
  const isolates = (flood ? ["loader", "flooder"] as const : ["loader"] as const).map((role) => {
    const worker = new Worker(new URL("./abi_resolve/isolate.ts", import.meta.url), { type: "module", name: role });
    let ready = () => {}, done: (result: IsolateResult) => void = () => {};
    const isReady = new Promise<void>((resolve) => ready = resolve);
    const result = new Promise<IsolateResult>((resolve, reject) => {
      done = resolve;
      worker.onerror = (event) => (event.preventDefault(), reject(new Error(`${role}: ${event.message}`)));
    });
    worker.onmessage = ({ data }) => data === "ready" ? ready() : done(data);
    worker.postMessage(
      {
        room: room.handle,
        registry: registry.handle,
        shaders,
        warm,
        synchronous,
        role,
        otherMs,
        go,
      } satisfies IsolateStart,
    );
    return { isReady, result };
  });
  await pool.ready();
  await Promise.all(isolates.map(({ isReady, result }) => Promise.race([isReady, result])));
  await room.board.drainAsync(Pool.Preparation);
  const before = room.artifacts.stats().created;
  const begin = performance.now();
  Atomics.store(go, 0, 1);
  Atomics.notify(go, 0);
  const [loader] = await Promise.all(isolates.map(({ result }) => result));
  await room.board.drainAsync(Pool.Preparation);
  const totalMs = performance.now() - begin;
  const recompiled = room.artifacts.stats().created - before;
  if (!await closePreparation(room, [pool], registry)) throw new Error("the pool does not end");
  if (failed.length > 0) throw new Error(failed[0]);
  return { loaderMs: loader.ms, totalMs, worstMs: loader.worstMs, pending: loader.pending, recompiled } satisfies Burst;
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

const SCENARIOS = [
  { name: "while the others flood the pool", flood: true, otherMs: 0 },
  { name: "the same, 20 ms of other loader work per call", flood: true, otherMs: 20 },
  { name: "alone, idle pool", flood: false, otherMs: 0 },
] as const;

async function run({ quick, progress }: BenchContext): Promise<BenchResult> {
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
  const shaders = makeShaders(settings.pixels, settings.computes, operations);
  const only = option("--scenario");
  const total = settings.runs * 2 * (only === undefined ? SCENARIOS.length + 1 : 1);
  let done = 0;
  const rows: Record<string, unknown>[] = [], lines: string[] = [];
  for (const [number, { name, flood, otherMs }] of SCENARIOS.entries()) {
    if (only !== undefined && only !== number) continue;
    const results: [Burst[], Burst[]] = [[], []];
    for (let i = 0; i < settings.runs; i++) {
      for (const kind of [0, 1]) {
        results[kind].push(await burst(shaders, settings, kind === 0, flood, quick ? Math.min(1, otherMs) : otherMs));
        progress(++done, total);
      }
    }
    for (const [kind, runs] of results.entries()) {
      rows.push({ scenario: name, mode: MODES[kind], runs });
      lines.push(
        `${name}, ${MODES[kind]}: loader ${seconds(runs.map((r) => r.loaderMs))}, total ${
          seconds(runs.map((r) => r.totalMs))
        }; ` +
          `longest call ${Math.max(...runs.map((r) => r.worstMs)).toFixed(1)} ms; jobs pending at return ${
            Math.min(...runs.map((r) => r.pending))
          } to ${Math.max(...runs.map((r) => r.pending))}; ${runs[0].recompiled} recompiled`,
      );
    }
  }
  if (only === undefined || only === SCENARIOS.length) {
    rows.push(...steadyRows(settings, lines, () => progress(++done, total)));
  }
  const head =
    `${settings.pixels} pixel shaders resolved, ${settings.computes} compute shaders registered, ${operations} operations each; ` +
    `${threads} pool workers; ${settings.runs} runs of each kind in turns`;
  const all = [head, ...lines];
  return { data: { schema: "anyagc.bench.abi_resolve/1", ...settings, rows, lines: all }, lines: all };
}

/** The steady frames: rows, and their lines. */
function steadyRows(settings: Settings, lines: string[], step: () => void): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = [];
  const folder = Deno.makeTempDirSync({ prefix: "anyagc-bench-" });
  try {
    const real = makeShaders(settings.pixels, settings.computes, STEADY_OPERATIONS);
    steady(real, folder, { ...settings, frames: 1 }, false); // fills the cache
    const results: [Steady[], Steady[]] = [[], []];
    for (let i = 0; i < settings.runs; i++) {
      for (const kind of [0, 1]) {
        results[kind].push(steady(real, folder, settings, kind === 0));
        step();
      }
    }
    for (const [kind, runs] of results.entries()) {
      rows.push({ scenario: "warm cache, steady frames", mode: MODES[kind], runs });
      const fps = runs.map((r) => r.framesPerSecond);
      lines.push(
        `warm cache, steady frames of ${
          settings.pixels + settings.computes
        } uses (${STEADY_OPERATIONS} operations a shader), ${MODES[kind]}: ${
          median(fps).toFixed(1)
        } frames per second (${fps.map((n) => n.toFixed(1)).join(" ")}); load and first frame ${
          seconds(runs.map((r) => r.loadMs))
        }; waits ${runs.map((r) => r.waits).join(" ")}, locks of the job board ${
          runs.map((r) => r.boardLocks).join(" ")
        }`,
      );
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
  return rows;
}

const MODES = ["synchronous", "background"] as const;

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
