/** IsolateRegistry: no two members have one slot, and no token is given twice. */
import { IsolateRegistry, type IsolatesHandle } from "../../../src/sync/isolates.ts";
import { slotOf } from "../../../src/sync/isolates.ts";
import type { ThreadProbe } from "../../../src/sync/thread_probe.ts";
import { mustHold, type Scenario } from "./scenario.ts";

/** The members of this scenario live until they leave; the isolates themselves are in the real registry. */
const probe: ThreadProbe = { current: () => ({ id: 1, start: 1 }), isRunning: () => true };
const SLOTS = 250, RELEASED = 256, LEFT = 257;

export const isolatesScenario: Scenario<IsolatesHandle> = {
  words: 264,
  create({ words }) {
    const registry = IsolateRegistry.create(SLOTS, probe);
    let swept = 0;
    registry.attachStructure({
      name: "slots",
      recover: (token) => {
        // Given back exactly once: whoever comes later finds another token or none.
        const once = Atomics.compareExchange(words, slotOf(token), token, 0) === token;
        if (once) Atomics.add(words, RELEASED, 1);
        return once ? 1 : 0;
      },
    });
    return {
      handle: registry.handle,
      check: () => {
        for (const { released } of registry.sweep()) {
          swept++;
          if (released.slots !== 1) return "a member's slot was given back twice, or never";
        }
        return undefined;
      },
      end: () => {
        for (const { released } of registry.sweep()) {
          swept++;
          if (released.slots !== 1) return "a member's slot was given back twice, or never";
        }
        const { left, live } = registry.stats();
        // Members of isolates that died between entering and leaving stay: their thread is invented.
        return left === words[LEFT] && swept === left && words[RELEASED] === left && live <= SLOTS
          ? undefined
          : `left ${left}, ${words[LEFT]}, swept ${swept}, given back ${words[RELEASED]}, live ${live}`;
      },
    };
  },
  attach({ words, random, mayDie }, handle) {
    const registry = IsolateRegistry.attach(handle, probe);
    let last = 0;
    return {
      async operate() {
        let member;
        try {
          member = registry.enter();
        } catch (error) {
          // All slots wait for the sweep.
          if ((error as { code?: string }).code !== "sync.isolates-full") throw error;
          await new Promise((resolve) => setTimeout(resolve, 1));
          return;
        }
        mustHold(member.token !== last, `token ${member.token} twice`);
        last = member.token;
        const before = Atomics.compareExchange(words, member.slot, 0, member.token);
        mustHold(before === 0, `slot ${member.slot} belongs to ${before} and ${member.token}`);
        for (let spins = random.below(50); spins > 0; spins--) Atomics.load(words, 260);
        mustHold(!registry.isDead(member.token), "a living member is called dead");
        Atomics.add(words, LEFT, 1);
        registry.leave(member);
        const dies = mayDie();
        if (dies) await dies;
      },
      finish() {},
    };
  },
};
