/** Entry point of the stress isolates. */
import { workerScope } from "../support/worker_scope.ts";
import { Arena } from "../../../src/sync/arena.ts";
import { IsolateRegistry } from "../../../src/sync/isolates.ts";
import { setStepHook } from "../../../src/sync/steps.ts";
import { Random, type Start } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

/** Milliseconds. */
const NESTED_RECHECK_MS = 50;

const start = await new Promise<Start>((resolve) => {
  workerScope.onmessage = (event: MessageEvent) => resolve(event.data);
});
const registry = IsolateRegistry.attach(start.isolates);
const isolate = registry.enter();
// Other structures take the arena's lock inside their own. While who has theirs sleeps for a dead one's arena lock, the supervisor, which waits for theirs,
// sweeps nothing: that is for the sleeper to notice. In the arena's own scenario nobody may.
const arena = Arena.attach(isolate, start.arena, start.scenario === "Arena" ? start.recheckMs : NESTED_RECHECK_MS);
const random = new Random(start.seed);
const delays = new Random(start.seed + 1);
const nap = new Int32Array(new SharedArrayBuffer(4));
let done = 0;
let dying = false;

const place = {
  registry,
  self: isolate,
  arena,
  words: start.words,
  random,
  place: start.place,
  isolates: start.progress.length - 2,
  quota: start.quota,
  mayDie: () => dying && start.dieBy !== "throw" ? die() : undefined,
};
const running = SCENARIOS[start.scenario].attach(place, start.handle as never, start.recheckMs);
setStepHook((point) => {
  // Not always at the first point of an operation.
  if (dying && start.dieBy === "throw" && delays.below(4) === 0) {
    setStepHook(undefined);
    throw new Error(`PLANNED: dies at ${point}`);
  }
  if (delays.below(64) !== 0) return;
  if (delays.below(100) === 0) Atomics.wait(nap, 0, 0, 1);
  else for (let spins = delays.below(2000); spins > 0; spins--) Atomics.load(nap, 0);
});

// All begin at once; else the first would be done before the last has started.
const isolates = start.progress.length - 2;
meet(isolates);

/** Waits until all are here. */
function meet(word: number): void {
  Atomics.add(start.progress, word, 1);
  Atomics.notify(start.progress, word);
  for (let here = 0; (here = Atomics.load(start.progress, word)) < isolates;) {
    Atomics.wait(start.progress, word, here, 1000);
  }
}

/** Ends here, with whatever it holds. */
async function die(): Promise<void> {
  setStepHook(undefined);
  workerScope.postMessage({ dies: start.dieBy, place: start.place });
  if (start.dieBy === "close") workerScope.close();
  await new Promise(() => {});
}

while (done < start.operations) {
  dying = start.dieAfter >= 0 && done >= start.dieAfter;
  // Some operations pass no point.
  if (dying && start.dieBy === "throw" && done > start.dieAfter + 50) {
    throw new Error("PLANNED: dies between operations");
  }
  const more = running.operate();
  if (more !== undefined) await more;
  done++;
  Atomics.add(start.progress, start.place, 1);
}
setStepHook(undefined);
running.finish();
// Nobody leaves before all are done: the sweep that follows would wake those whose wake-up was lost.
meet(isolates + 1);
registry.leave(isolate);
workerScope.postMessage({ done: true, place: start.place });
workerScope.close();
