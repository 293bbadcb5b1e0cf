/** Seeded damage for tests that must not depend on chance. */

/** A generator of numbers below `limit` (mulberry32, public domain). */
export function seededNumbers(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = state + 0x6D2B79F5 >>> 0;
    let mixed = Math.imul(state ^ state >>> 15, state | 1);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) % limit;
  };
}

/** Damaged copies of `bytes`: bytes changed, bits flipped, words set to extreme values, pieces cut out or doubled. */
export function* mutations(bytes: Uint8Array, count: number, seed: number): Generator<Uint8Array<ArrayBuffer>> {
  const random = seededNumbers(seed);
  const extremes = [0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF];
  for (let i = 0; i < count; i++) {
    let copy = bytes.slice();
    for (let edits = 1 + random(3); edits > 0 && copy.length >= 8; edits--) {
      const at = random(copy.length);
      switch (random(5)) {
        case 0:
          copy[at] = random(256);
          break;
        case 1:
          copy[at] ^= 1 << random(8);
          break;
        case 2:
          new DataView(copy.buffer).setUint32(
            Math.min(at & ~3, copy.length - 4),
            extremes[random(extremes.length)],
            true,
          );
          break;
        case 3:
          copy = cut(copy, at, at + 1 + random(16));
          break;
        default:
          copy = double(copy, at, at + 1 + random(16));
      }
    }
    yield copy;
  }
}

function cut(bytes: Uint8Array, from: number, to: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...bytes.subarray(0, from), ...bytes.subarray(to)]);
}

function double(bytes: Uint8Array, from: number, to: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...bytes.subarray(0, to), ...bytes.subarray(from)]);
}
