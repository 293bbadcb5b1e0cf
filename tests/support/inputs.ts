/** Inputs for comparisons: random words with the values at the edges among them. */
import { Random } from "./random.ts";

/** Integers at which carries, signs and shifts change. */
const EDGES = [
  0,
  1,
  2,
  3,
  4,
  5,
  31,
  32,
  63,
  64,
  255,
  256,
  0xfffe,
  0xffff,
  0x1_0000,
  0x1_0001,
  0xff_ffff,
  0x100_0000,
  0x100_0001,
  0x5555_5555,
  0x7fff_fffe,
  0x7fff_ffff,
  0x8000_0000,
  0x8000_0001,
  0xaaaa_aaaa,
  0xffff_fffd,
  0xffff_fffe,
  0xffff_ffff,
];

/** `count` words: the edge values, then random ones of random width. */
export function integerWords(count: number, seed: number): Uint32Array<ArrayBuffer> {
  const random = new Random(seed);
  return Uint32Array.from({ length: count }, (_, i) => EDGES[i] ?? random.u32() >>> random.below(32));
}

/** Bits of an f32. */
export function floatBits(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0];
}
