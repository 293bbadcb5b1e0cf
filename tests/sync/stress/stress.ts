/** Runs a scenario over several isolates, with delays and deaths from a seed, a watchdog, and checks throughout. */
import { Arena } from "../../../src/sync/arena.ts";
import { IsolateRegistry } from "../../../src/sync/isolates.ts";
import { Random, type Start } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

/** How a run is set up. */
export interface StressOptions {
  readonly scenario: string;
  readonly operations: number;
  readonly isolates: number;
  readonly seed: number;
  /** Isolates that die, a third each by throw, close and terminate. */
  readonly deaths: number;
  /** Without progress for so long, a wake-up was lost. */
  readonly watchdogMs: number;
}

/** What a run found. */
export interface StressReport {
  readonly operations: number;
  readonly deaths: number;
  readonly checks: number;
  readonly ms: number;
}

/** So long that nothing goes on because of it: a lost wake-up stops the run, and the watchdog sees it. */
const RECHECK_MS = 600_000;
/** The supervisor itself may meet a lock whose owner died a moment ago, and nobody else sweeps. */
const SUPERVISOR_RECHECK_MS = 20;
const WAYS = ["throw", "close", "terminate"] as const;

/**
 * Runs a scenario.
 *
 * @throws Error that names the seed, if an invariant does not hold, nothing goes on, or something is left at the end.
 */
export async function stress(options: StressOptions): Promise<StressReport> {
  const begin = performance.now();
  const { scenario: name, isolates, seed } = options;
  const registry = IsolateRegistry.create(64);
  const self = registry.enter();
  const arena = Arena.create(self, { bytes: 1 << 26, blobs: 4096, pins: 64 }, SUPERVISOR_RECHECK_MS);
  const scenario = SCENARIOS[name];
  const words = new Int32Array(new SharedArrayBuffer(4 * scenario.words));
  const random = new Random(seed);
  const quota = Math.ceil(options.operations / isolates);
  const own = { registry, self, arena, words, random, place: -1, isolates, quota, mayDie: () => undefined };
  const made = scenario.create(own, SUPERVISOR_RECHECK_MS);
  const progress = new Int32Array(new SharedArrayBuffer(4 * (isolates + 2)));
  let plannedDeaths = options.deaths, deaths = 0, done = 0, checks = 0, started = 0, expected = 0;
  let failure: string | undefined;
  const workers = new Set<Worker>();

  const start = (place: number) => {
    const rest = quota - progress[place];
    const dies = plannedDeaths > 0 && rest > 100;
    const dieBy = WAYS[plannedDeaths % 3];
    if (dies) plannedDeaths--;
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    workers.add(worker);
    started++;
    expected++;
    worker.onmessage = ({ data }) => {
      if (data.done) {
        done++;
        expected--;
        workers.delete(worker);
      } else again(worker, data.place, data.dies === "terminate");
    };
    worker.onerror = (event) => {
      event.preventDefault();
      if (event.message.includes("PLANNED")) again(worker, place, false);
      else failure ??= event.message;
    };
    worker.postMessage(
      {
        scenario: name,
        isolates: registry.handle,
        arena: arena.handle,
        words,
        progress,
        place,
        operations: rest,
        quota,
        seed: seed * 1000 + started * 2,
        handle: made.handle,
        recheckMs: RECHECK_MS,
        dieAfter: dies ? 1 + random.below(Math.max(1, Math.min(rest - 100, Math.floor(quota / 3)))) : -1,
        dieBy,
      } satisfies Start,
    );
  };
  const again = (worker: Worker, place: number, terminate: boolean) => {
    if (terminate) worker.terminate();
    workers.delete(worker);
    deaths++;
    expected--;
    // The dead one is found by the sweep; another takes its place.
    if (progress[place] < quota) start(place);
    else {
      done++;
      Atomics.add(progress, isolates + 1, 1);
      Atomics.notify(progress, isolates + 1);
    }
  };

  for (let place = 0; place < isolates; place++) start(place);
  let last = -1, lastChange = performance.now();
  while (done < isolates && failure === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    registry.sweep();
    if (++checks % 4 === 0) failure ??= made.check();
    const now = progress.reduce((a, b) => a + b) + deaths * 7 + started;
    if (now !== last) [last, lastChange] = [now, performance.now()];
    else if (performance.now() - lastChange > options.watchdogMs) {
      failure = `nothing goes on for ${options.watchdogMs} ms: a wake-up was lost after ${
        progress.join(", ")
      } operations`;
    }
  }
  // All threads end; then nothing may be left.
  for (let tries = 0; failure === undefined && registry.stats().live > 1; tries++) {
    registry.sweep();
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (tries > 2000) failure = `${registry.stats().live - 1} isolates never end`;
  }
  registry.sweep();
  failure ??= made.check() ?? made.end(deaths);
  const { entered, died, left, live } = registry.stats();
  if (entered !== died + left + 1 || live !== 1 || died !== deaths) {
    failure ??= `registry: entered ${entered}, died ${died} (${deaths} planned), left ${left}, live ${live}`;
  }
  if (failure !== undefined) {
    for (const worker of workers) worker.terminate();
    throw new Error(`${name}, seed ${seed}: ${failure}`);
  }
  return {
    operations: progress.subarray(0, isolates).reduce((a, b) => a + b),
    deaths,
    checks,
    ms: Math.round(performance.now() - begin),
  };
}
