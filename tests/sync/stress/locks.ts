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

/** Token of who is in alone; two words that agree when nobody is; the tokens of those that share. */
const ALONE = 0, BEFORE = 1, AFTER = 2, SHARERS = 3, SHARER_SLOTS = 64;

function sharedExclusive(
  { self, words, registry }: Place,
  recheckMs: number,
  handle?: { sharedExclusive: SharedArrayBuffer },
) {
  const repair = (dead: number) => {
    for (const at of [ALONE, ...Array.from({ length: SHARER_SLOTS }, (_, i) => SHARERS + i)]) {
      const token = Atomics.load(words, at);
      mustHold(token === 0 || registry.isDead(token), `${token} is in while what ${dead} left is repaired`);
    }
    words[AFTER] = words[BEFORE];
  };
  return new SharedExclusiveLock(self, { bit: LockBit.Device, name: "lock", recheckMs, repair }, handle);
}

export const sharedExclusiveScenario: Scenario<{ sharedExclusive: SharedArrayBuffer }> = {
  words: SHARERS + SHARER_SLOTS,
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
          for (let at = SHARERS; at < SHARERS + SHARER_SLOTS; at++) {
            mustHold(free(at), `${words[at]} shares beside one alone`);
          }
          Atomics.store(words, ALONE, self.token);
          mustHold(words[BEFORE] === words[AFTER], "not repaired");
          words[BEFORE]++;
          if (random.oneIn(500)) nap();
          const dies = place.mayDie();
          if (dies) await dies;
          words[AFTER]++;
          Atomics.store(words, ALONE, 0);
          own.unlockExclusive();
        } else {
          own.lockShared();
          Atomics.store(words, mine, self.token);
          mustHold(free(ALONE), `${words[ALONE]} is alone beside a sharer`);
          mustHold(words[BEFORE] === words[AFTER], "shared before it was repaired");
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
