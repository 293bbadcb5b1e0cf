/** KeyedTable: one creation at a time for each key, and a pinned value is alive. */
import { KeyedTable, type KeyedTableHandle } from "../../../src/sync/keyed_table.ts";
import { mustHold, type Scenario } from "./scenario.ts";

const KEYS = 64, SERIALS = 1 << 16;
/** Token of who creates each key; serial counter; state of each value: 0 never, 1 alive, 2 destroyed. */
const CREATORS = 0, SERIAL = KEYS, ALIVE = KEYS + 8;

function keyOf(n: number): Uint32Array {
  return Uint32Array.of(n, Math.imul(n, 0x9e3779b1), 0, 0, 0, 0, 0, n);
}

export const tableScenario: Scenario<KeyedTableHandle> = {
  words: ALIVE + SERIALS,
  create({ self, arena, words }, recheckMs) {
    const table = KeyedTable.create(self, arena, { name: "table", capacity: 128, pins: 32 }, recheckMs);
    return {
      handle: table.handle,
      check: () => table.check(),
      end: (deaths) => {
        table.close();
        if (!table.waitForBuilds(1000)) return "a creation never ended";
        let twice = 0;
        const rest = table.clear((value) => {
          if (Atomics.exchange(words, ALIVE + Number(value >> 8n) % SERIALS, 2) !== 1) twice++;
        });
        const stats = table.stats();
        if (rest + twice + stats.pins + stats.ready + stats.building + stats.pending + stats.ending !== 0) {
          return `${rest} left, ${twice} destroyed twice, ${JSON.stringify(stats)}`;
        }
        let alive = 0;
        for (let i = 0; i < SERIALS; i++) if (words[ALIVE + i] === 1) alive++;
        // A creator that died after creating and before publishing took its value with it; so did an evictor before destroying.
        if (alive > deaths) return `${alive} values were never destroyed, ${deaths} deaths`;
        return arena.stats().blobs === 0 ? undefined : `${arena.stats().blobs} errors are left`;
      },
    };
  },
  attach({ self, arena, words, random, registry, mayDie }, handle, recheckMs) {
    const table = KeyedTable.attach(self, arena, "table", handle, recheckMs);
    const held: { n: number; value: bigint; reference: number; pin: number }[] = [];
    const alive = (value: bigint) => Atomics.load(words, ALIVE + Number(value >> 8n) % SERIALS) === 1;
    const create = (n: number) => {
      const before = Atomics.load(words, CREATORS + n);
      mustHold(before === 0 || registry.isDead(before), `key ${n} is created by ${before} and ${self.token}`);
      Atomics.store(words, CREATORS + n, self.token);
      for (let spins = random.below(300); spins > 0; spins--) Atomics.load(words, SERIAL + 4);
      if (random.oneIn(8)) {
        Atomics.store(words, CREATORS + n, 0);
        throw new RangeError(`key ${n}`);
      }
      let serial: number;
      // A serial whose value lives is not given again.
      do serial = Atomics.add(words, SERIAL, 1) & (SERIALS - 1); while (Atomics.load(words, ALIVE + serial) === 1);
      Atomics.store(words, ALIVE + serial, 1);
      Atomics.store(words, CREATORS + n, 0);
      return (BigInt(serial) << 8n) | BigInt(n);
    };
    const unpin = () => {
      const { n, value, reference, pin } = held.pop()!;
      mustHold(alive(value), `key ${n}: the value was destroyed while pinned`);
      mustHold(table.value(reference) === value, `key ${n}: the value changed`);
      table.unpin(pin);
    };
    return {
      async operate() {
        const n = random.below(KEYS);
        const what = random.below(16);
        if (what < 10) {
          try {
            const got = table.getOrCreate(keyOf(n), () => create(n));
            mustHold(Number(got.value & 0xffn) === n, `key ${n} has the value of ${got.value & 0xffn}`);
            mustHold(alive(got.value), `key ${n}: the value is dead`);
            held.push({ n, value: got.value, reference: got.reference, pin: got.pin });
          } catch (error) {
            if (!(error instanceof RangeError)) throw error;
            mustHold(error.message === `key ${n}`, `key ${n} got the error of ${error.message}`);
          }
          const dies = mayDie();
          if (dies) await dies;
          while (held.length > random.below(6)) unpin();
        } else if (what < 12 && held.length > 0) {
          const { reference, pin, value } = held.pop()!;
          table.unpin(pin);
          const evicted = table.evict(reference);
          if (evicted === undefined) return;
          mustHold(evicted === value, "another value was evicted");
          mustHold(
            Atomics.exchange(words, ALIVE + Number(value >> 8n) % SERIALS, 2) === 1,
            "a value was destroyed twice",
          );
        } else if (what === 12) {
          for (const { key, value, reference } of table.snapshot()) {
            mustHold(Number(value & 0xffn) === key[0], "a torn row in a snapshot");
            if (!random.oneIn(16)) continue;
            const pin = table.pin(reference);
            if (pin === undefined) continue;
            mustHold(alive(value), "a pinned row of a snapshot is dead");
            table.unpin(pin);
          }
        } else if (what === 13) table.announce(keyOf(n));
        else if (what === 14) table.peek(keyOf(n));
        else {
          const begun = table.begin(keyOf(n));
          if (begun.state === "create") {
            const dies = mayDie();
            if (dies) await dies;
            table.abandon(begun.reference);
          }
          table.unpin(begun.pin);
        }
      },
      finish() {
        while (held.length > 0) unpin();
      },
    };
  },
};
