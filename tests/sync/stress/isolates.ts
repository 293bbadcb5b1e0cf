/** IsolateRegistry: no two members have one slot, no token is given twice, and no slot is lost, also of who dies while it enters or leaves. */
import { IsolateRegistry, type IsolatesHandle } from "../../../src/sync/isolates.ts";
import { slotOf } from "../../../src/sync/isolates.ts";
import { procProbe, type ThreadProbe } from "../../../src/sync/thread_probe.ts";
import { mustHold, type Scenario } from "./scenario.ts";

/** This isolate's thread does not change. */
const thread = procProbe.current();
const probe: ThreadProbe = { current: () => thread, isRunning: procProbe.isRunning };
const SLOTS = 250, RELEASED = 256, LEFT = 257;

export const isolatesScenario: Scenario<IsolatesHandle> = {
  words: 264,
  create({ words }) {
    const registry = IsolateRegistry.create(SLOTS, probe);
    let swept = 0;
    const sweep = () => {
      for (const { left, released } of registry.sweep()) {
        if (left) swept++;
        // Who died had perhaps not said yet which slot it has.
        if (left && released.slots !== 1) return "a member's slot was given back twice, or never";
      }
      return undefined;
    };
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
      check: sweep,
      end: () => {
        const wrong = sweep();
        const { entered, left, died, live, entering } = registry.stats();
        // Who died between saying that it leaves and leaving counts as one that left, too.
        return wrong ??
          (left === swept && left === words[LEFT] && entered === left + died && live + entering === 0
            ? undefined
            : `entered ${entered}, left ${left}, ${
              words[LEFT]
            }, swept ${swept}, died ${died}, live ${live}, entering ${entering}`);
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
        if (random.oneIn(2)) await mayDie();
        Atomics.add(words, LEFT, 1);
        registry.leave(member);
        const dies = mayDie();
        if (dies) await dies;
      },
      finish() {},
    };
  },
};
