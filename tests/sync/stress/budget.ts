/** CompileBudget: what is held at once is within the limit, or one hold alone. */
import { JobBoard, type JobBoardHandle } from "../../../src/sync/job_board.ts";
import { mustHold, type Scenario } from "./scenario.ts";

const LIMIT = 1000;
const SLOTS = 64;

export const budgetScenario: Scenario<JobBoardHandle> = {
  // For each slot: token and bytes.
  words: SLOTS * 2,
  create({ self, arena }, recheckMs) {
    const board = JobBoard.create(self, arena, { pools: [{ workers: 1 }], jobs: 64, limitBytes: LIMIT }, recheckMs);
    return {
      handle: board.handle,
      check: () => board.check(),
      end: () => {
        const { budget, kept, pins, claimed, queued } = board.stats();
        return budget.held + budget.holds + budget.waiting + kept + pins + claimed + queued === 0
          ? undefined
          : JSON.stringify(board.stats());
      },
    };
  },
  attach({ self, arena, registry, words, random, mayDie }, handle, recheckMs) {
    const board = JobBoard.attach(self, arena, handle, recheckMs);
    const mine = self.slot * 2;
    return {
      async operate() {
        const bytes = random.oneIn(8) ? LIMIT + 1 + random.below(2000) : random.below(600);
        const hold = random.oneIn(8) ? board.hold(bytes, random.below(3)) : board.hold(bytes);
        if (hold === undefined) return;
        // What is written here is at most what is held: set after the grant, cleared before the release.
        Atomics.store(words, mine + 1, bytes);
        Atomics.store(words, mine, self.token);
        let held = 0, holds = 0;
        for (let slot = 0; slot < SLOTS; slot++) {
          const token = Atomics.load(words, slot * 2);
          if (token === 0 || (token !== self.token && registry.isDead(token))) continue;
          const size = Atomics.load(words, slot * 2 + 1);
          // Still the same hold after reading its size?
          if (Atomics.load(words, slot * 2) !== token) continue;
          held += size;
          holds++;
        }
        mustHold(bytes <= LIMIT || holds === 1, `${bytes} bytes held beside others: ${held} in ${holds}`);
        const dies = mayDie();
        if (dies) await dies;
        Atomics.store(words, mine, 0);
        board.releaseHold(hold);
      },
      finish() {},
    };
  },
};
