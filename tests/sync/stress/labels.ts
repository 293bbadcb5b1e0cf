/**
 * LabelWatch: who waits for memory goes on once it is written, whoever wrote it and died right after; waits are for ever exactly when all
 * are.
 *
 * Every isolate counts its operations. Nobody gets ahead of another by more than a few: who is last never waits, so nothing ever stands
 * still. After so many operations everybody waits for what nobody writes, which all must be told at once; they go on with the next watch.
 */
import { LabelWatch, type LabelWatchHandle, Stop } from "../../../src/sync/label_watch.ts";
import { mustHold, type Scenario } from "./scenario.ts";

/** Operations with one watch. */
const ROUND = 250;
/** How far an isolate may get ahead. */
const AHEAD = 3;
const MAX_ISOLATES = 64;
/** More than anybody counts to: an isolate that is done. */
const DONE = 1 << 30;

export const labelsScenario: Scenario<LabelWatchHandle[]> = {
  words: MAX_ISOLATES,
  create({ self, isolates, quota }, recheckMs) {
    // A few more: an operation in which an isolate died is done again.
    const watches = Array.from({ length: Math.ceil(quota / ROUND) + 2 }, () => {
      const watch = LabelWatch.create(self, isolates, { onDeath: "go-on", recheckMs });
      for (let place = 0; place < isolates; place++) watch.handOver(place);
      watch.seal();
      return watch;
    });
    return {
      handle: watches.map(({ handle }) => handle),
      check: () => undefined,
      end: () => {
        const left = watches.filter((watch) => {
          for (let place = 0; place < isolates; place++) if (watch.pending(place) !== 0) return true;
        });
        return left.length === 0 ? undefined : `${left.length} watches have queues that never finished`;
      },
    };
  },
  attach({ self, words, random, mayDie, place, isolates }, handles, recheckMs) {
    const watches = handles.map((handle) => LabelWatch.attach(self, handle, { onDeath: "go-on", recheckMs }));
    let round = -1;
    return {
      async operate() {
        const count = words[place];
        const now = Math.floor(count / ROUND), watch = watches[now];
        if (now !== round) watch.enter(place);
        round = now;
        if (count % ROUND === ROUND - 1) {
          const outcome = watch.wait(place, () => false, Infinity);
          mustHold(outcome === "stopped" && watch.stopped === Stop.Forever, `a wait for ever ended with ${outcome}`);
          for (let other = 0; other < isolates; other++) {
            const reached = Atomics.load(words, other);
            mustHold(reached >= count, `waits were called for ever while ${other} had done ${reached} of ${count}`);
          }
        } else {
          const other = random.below(isolates);
          const outcome = watch.wait(place, () => Atomics.load(words, other) >= count - AHEAD, Infinity);
          mustHold(outcome === "ready", `a wait that ${other} ends was ${outcome} (${watch.stopped})`);
        }
        words[place] = count + 1;
        // Whoever waits for this must be woken though the writer dies before it says so.
        const dies = mayDie();
        if (dies) await dies;
        watch.written();
      },
      finish() {
        words[place] = DONE;
        for (const watch of watches.slice(Math.max(0, round))) {
          watch.finished(place);
          watch.written();
        }
        for (const watch of watches.slice(0, Math.max(0, round))) if (watch.pending(place) > 0) watch.finished(place);
      },
    };
  },
};
