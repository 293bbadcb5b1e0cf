/**
 * Inputs for a module of which nobody knows what it computes: data of moderate size, and push constants small enough that indices stay in the buffers.
 *
 * @module
 */
import { Random } from "../../tests/support/random.ts";

/** One choice of inputs. */
export interface Profile {
  /** What every integer push constant is. */
  readonly push: number;
  /** What the buffers hold. */
  readonly data: "numbers" | "small integers";
  /** Workgroups; one, because with invented strides several would write the same words in any order. */
  readonly groups: readonly [number, number, number];
}

/** The choices, in the order in which they are tried. A module runs with the first one under which its original writes something. */
export const PROFILES: readonly Profile[] = [
  { push: 64, data: "numbers", groups: [1, 1, 1] },
  { push: 2, data: "numbers", groups: [1, 1, 1] },
  { push: 1, data: "numbers", groups: [1, 1, 1] },
  { push: 256, data: "numbers", groups: [1, 1, 1] },
  { push: 64, data: "small integers", groups: [1, 1, 1] },
  { push: 4096, data: "numbers", groups: [1, 1, 1] },
  { push: 0, data: "numbers", groups: [1, 1, 1] },
];

/** Bytes of each buffer. */
export const BUFFER_BYTES = 1 << 18;

/**
 * Words of a buffer. `numbers`: both halves of a word are finite f16 values from 2^-7 to 2, so that the word is also an f32 of moderate size, and its bytes
 * are small quants. `small integers`: 0 to 15.
 */
export function bufferWords(data: Profile["data"], seed: number): Uint32Array<ArrayBuffer> {
  const random = new Random(seed);
  const half = () => (random.u32() & 0x8000) | (0x2000 + random.below(0x2000));
  const word = data === "numbers" ? () => (half() << 16 | half()) >>> 0 : () => random.below(16);
  return Uint32Array.from({ length: BUFFER_BYTES / 4 }, word);
}

/** Push-constant words by the types of the block's members: integers as the profile says, floats 0.5, 0.75 and so on. */
export function pushWords(words: number, isFloat: (word: number) => boolean, push: number): number[] {
  const bits = new DataView(new ArrayBuffer(4));
  return Array.from({ length: words }, (_, word) => {
    if (!isFloat(word)) return push;
    bits.setFloat32(0, 0.5 + word % 4 / 4);
    return bits.getUint32(0);
  });
}
