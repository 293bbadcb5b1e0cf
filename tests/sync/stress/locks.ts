/** FutexMutex: nobody else is inside, and what the owner left unfinished is repaired. SharedExclusiveLock: sharers, or one alone. */
import { type MutexHandle, SharedMutex } from "../../../src/sync/futex_mutex.ts";
import { LockBit } from "../../../src/sync/held_locks.ts";
import { SharedExclusiveLock } from "../../../src/sync/shared_exclusive_lock.ts";
import { slotOf } from "../../../src/sync/isolates.ts";
import { mustHold, nap, type Place, type Scenario } from "./scenario.ts";

const INSIDE = 0, FIRST = 1, SECOND = 2;

function mutex({ self, words }: Place, recheckMs: number, handle?: MutexHandle): SharedMutex {
  const repair = () => {
    words[SECOND] = words[FIRST];
    words[INSIDE] = 0;
  };
  return new SharedMutex(self, { bit: LockBit.Other, name: "mutex", repair, recheckMs }, handle);
}

export const mutexScenario: Scenario<MutexHandle> = {
  words: 8,
  create(place, recheckMs) {
    const own = mutex(place, recheckMs);
    return {
      handle: own.handle,
      check: () => undefined,
      end: () => {
        const { words } = place;
        if (!own.tryLock()) return "the lock is still held";
        own.unlock();
        if (own.stats().lost !== 0) return `${own.stats().lost} wake-ups lost`;
        return words[INSIDE] === 0 && words[FIRST] === words[SECOND] ? undefined : "the data is not whole";
      },
    };
  },
  attach(place, handle, recheckMs) {
    const own = mutex(place, recheckMs, handle);
    const { words, random, self } = place;
    const inside = () => {
      mustHold(words[INSIDE] === 0, `${self.token} is inside while ${words[INSIDE]} is`);
      mustHold(words[FIRST] === words[SECOND], `the data is half changed: ${words[FIRST]}, ${words[SECOND]}`);
      words[INSIDE] = self.token;
      words[FIRST]++;
    };
    return {
      async operate() {
        if (random.oneIn(4)) {
          if (!own.tryLock()) return;
        } else own.lock();
        inside();
        const dies = place.mayDie();
        if (dies) await dies;
        if (random.oneIn(500)) nap();
        words[SECOND]++;
        words[INSIDE] = 0;
        own.unlock();
      },
      finish() {},
    };
  },
};

const ALONE = 0, SHARERS = 1;

function sharedExclusive({ self }: Place, recheckMs: number, handle?: { sharedExclusive: SharedArrayBuffer }) {
  return new SharedExclusiveLock(self, { bit: LockBit.Device, name: "lock", recheckMs }, handle);
}

export const sharedExclusiveScenario: Scenario<{ sharedExclusive: SharedArrayBuffer }> = {
  words: SHARERS + 64,
  create(place, recheckMs) {
    const own = sharedExclusive(place, recheckMs);
    return {
      handle: own.handle,
      check: () => undefined,
      end: () => {
        const { shared, exclusive } = own.stats();
        return shared === 0 && !exclusive ? undefined : `still shared by ${shared}, alone ${exclusive}`;
      },
    };
  },
  attach(place, handle, recheckMs) {
    const own = sharedExclusive(place, recheckMs, handle);
    const { words, random, self, registry } = place;
    const mine = SHARERS + slotOf(self.token);
    /** Nobody alive says that he is in. */
    const free = (at: number) => {
      const token = Atomics.load(words, at);
      return token === 0 || registry.isDead(token);
    };
    return {
      async operate() {
        if (random.oneIn(4)) {
          own.lockExclusive();
          mustHold(free(ALONE), `alone twice: ${words[ALONE]}`);
          for (let at = SHARERS; at < SHARERS + 64; at++) mustHold(free(at), `${words[at]} shares beside one alone`);
          Atomics.store(words, ALONE, self.token);
          if (random.oneIn(500)) nap();
          const dies = place.mayDie();
          if (dies) await dies;
          Atomics.store(words, ALONE, 0);
          own.unlockExclusive();
        } else {
          own.lockShared();
          Atomics.store(words, mine, self.token);
          mustHold(free(ALONE), `${words[ALONE]} is alone beside a sharer`);
          if (random.oneIn(1000)) nap();
          const dies = place.mayDie();
          if (dies) await dies;
          Atomics.store(words, mine, 0);
          own.unlockShared();
        }
      },
      finish() {},
    };
  },
};
