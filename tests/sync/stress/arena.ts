/** Arena: a blob that is pinned has the bytes that were written, until the last pin goes. */
import type { ArenaHandle } from "../../../src/sync/arena.ts";
import { mustHold, type Scenario } from "./scenario.ts";

const CELLS = 16;

/** References in shared cells: 64-bit atomics. */
function cells(words: Int32Array<SharedArrayBuffer>): BigInt64Array<SharedArrayBuffer> {
  return new BigInt64Array(words.buffer, 0, CELLS);
}

export const arenaScenario: Scenario<ArenaHandle> = {
  words: CELLS * 2,
  create(place) {
    // The arena of the run itself is the one under test.
    const { arena, words } = place;
    return {
      handle: arena.handle,
      check: () => arena.check(),
      end: () => {
        for (let i = 0; i < CELLS; i++) {
          const reference = Number(Atomics.exchange(cells(words), i, 0n));
          if (reference !== 0) arena.retire(reference);
        }
        const { blobs, pins, owned } = arena.stats();
        return blobs === 0 && pins === 0 && owned === 0
          ? undefined
          : `${blobs} blobs, ${pins} pins, ${owned} owned are left`;
      },
    };
  },
  attach({ arena, words, random, mayDie }) {
    const shared = cells(words);
    const scratch = new Int32Array(512);
    const pins: { place: number; reference: number }[] = [];
    const verify = (reference: number) => {
      const view = arena.view(reference);
      const content = new Int32Array(view.buffer, view.byteOffset, view.byteLength >> 2);
      for (let i = 1; i < content.length; i++) {
        mustHold(content[i] === content[0] + i, `blob ${reference}: word ${i} is ${content[i]} after ${content[0]}`);
      }
    };
    const unpin = () => {
      const { place, reference } = pins.pop()!;
      verify(reference);
      arena.unpin(place);
    };
    return {
      async operate() {
        const cell = random.below(CELLS);
        if (random.oneIn(3)) {
          const length = 1 + random.below(random.oneIn(8) ? 512 : 40);
          const first = random.below(1 << 30);
          for (let i = 0; i < length; i++) scratch[i] = first + i;
          const reference = arena.append(scratch.subarray(0, length));
          const dies = mayDie();
          if (dies) await dies;
          arena.share(reference);
          const old = Number(Atomics.exchange(shared, cell, BigInt(reference)));
          if (old !== 0) arena.retire(old);
        } else {
          const reference = Number(Atomics.load(shared, cell));
          const place = reference === 0 ? undefined : arena.pin(reference);
          if (place !== undefined) {
            verify(reference);
            pins.push({ place, reference });
          }
          while (pins.length > random.below(6)) unpin();
        }
      },
      finish() {
        while (pins.length > 0) unpin();
      },
    };
  },
};
