import { assert, assertEquals } from "@std/assert";
import { Random } from "../random.ts";
import { DeviceMemory } from "./memory.ts";
import type { SpirvType } from "./parse.ts";
import { History, WeakMemory } from "./weak_memory.ts";

const WORD: SpirvType = { kind: "int", bits: 32 };
const DATA = 0x1000n, FLAG = 0x1100n, COUNT = 0x1200n;

/** Two workgroups of two invocations on one memory. */
function twoGroups(seed: number) {
  const device = new DeviceMemory(), random = new Random(seed);
  device.add({ address: 0x1000n, bytes: new Uint8Array(0x300) });
  const history = new History(device);
  const [one, other] = [0, 1].map(() => new WeakMemory(history, 2, random));
  const at = (address: bigint) => device.load(address, WORD, 4);
  return { one, other, at };
}

const SEEDS = Array.from({ length: 64 }, (_, k) => k + 1);

/** How often of all seeds something is so. */
const count = (is: (seed: number) => boolean) => SEEDS.filter(is).length;

Deno.test("a store is its workgroup's at once and the others' at any time, in any order", () => {
  const outcomes = SEEDS.map((seed) => {
    const { one, at } = twoGroups(seed);
    one.store(DATA, WORD, 1, 4, 0);
    one.store(FLAG, WORD, 1, 4, 0);
    assertEquals([one.load(DATA, WORD, 4, 1), one.load(FLAG, WORD, 4, 1)], [1, 1]);
    for (let k = 0; k < 8; k++) one.load(COUNT, WORD, 4, 0);
    return `${at(DATA)}${at(FLAG)}`;
  });
  assertEquals([...new Set(outcomes)].sort(), ["00", "01", "10", "11"]);
});

Deno.test("a barrier of an invocation delivers what it has stored, and not what others have", () => {
  const late = count((seed) => {
    const { one, at } = twoGroups(seed);
    one.store(DATA, WORD, 1, 4, 0);
    one.store(FLAG, WORD, 1, 4, 1);
    one.fence([0]);
    assertEquals(at(DATA), 1);
    return at(FLAG) === 0;
  });
  assert(late > 32);
});

Deno.test("stores to the same bytes stay in order, and all get there in the end", () => {
  for (const seed of SEEDS) {
    const { one, at } = twoGroups(seed);
    for (let k = 1; k < 5; k++) one.store(DATA, WORD, k, 4, k % 2);
    for (let k = 0; k < 3; k++) one.deliverOne();
    one.deliverAll();
    assertEquals(at(DATA), 4);
  }
});

Deno.test("an atomic load finds what was there since the invocation's last barrier, and nothing older than it has seen", () => {
  let stale = 0, fresh = 0;
  for (const seed of SEEDS) {
    const { one, other } = twoGroups(seed);
    let seen = 0;
    for (let k = 1; k < 5; k++) {
      one.store(DATA, WORD, k, 4, 0);
      one.fence([0]);
      const value = other.load(DATA, WORD, 4, 0, true) as number;
      assert(value >= seen && value <= k);
      seen = value;
      if (value < k) stale++;
      else fresh++;
    }
    other.fence([0]);
    assertEquals(other.load(DATA, WORD, 4, 0, true), 4);
  }
  assert(stale > 20 && fresh > 20);
});

Deno.test("another load may find what was there before the invocation's last barrier", () => {
  const stale = count((seed) => {
    const { one, other } = twoGroups(seed);
    one.store(DATA, WORD, 1, 4, 0);
    one.fence([0]);
    other.fence([0]);
    return other.load(DATA, WORD, 4, 0) === 0;
  });
  assert(stale > 32 && stale < 64);
});

Deno.test("atomic operations work on what is there now, behind their workgroup's own stores to the place", () => {
  const { one, other, at } = twoGroups(1);
  one.store(COUNT, WORD, 10, 4, 0);
  assertEquals(one.update(COUNT, WORD, (old) => old as number + 1), 10);
  assertEquals(other.update(COUNT, WORD, (old) => old as number + 1), 11);
  assertEquals([at(COUNT), one.load(COUNT, WORD, 4, 0) as number >= 11], [12, true]);
});
