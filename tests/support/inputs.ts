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

/** Finite f32 values at the edges: zeros, denormals, the smallest and largest normals, powers of two and their neighbours. */
const FLOAT_EDGES = [
  0x0000_0000,
  0x8000_0000,
  0x0000_0001,
  0x8000_0001,
  0x0040_0000,
  0x007f_ffff,
  0x807f_ffff,
  0x0080_0000,
  0x8080_0000,
  0x0080_0001,
  0x3f7f_ffff,
  0x3f80_0000,
  0x3f80_0001,
  0xbf80_0000,
  0x4b00_0000,
  0x4b7f_ffff,
  0x7e7f_ffff,
  0xfe7f_ffff,
];

/**
 * `count` words that are finite f32 values: the edges, then random ones, most of them of moderate size. No NaN and no infinity: the sign of the NaN that an
 * operation makes from infinities is the host's own (x86 makes negative ones), so that they belong into tests with expectations of their own.
 */
export function floatWords(count: number, seed: number): Uint32Array<ArrayBuffer> {
  const random = new Random(seed);
  const value = () => {
    const sign = random.u32() & 0x8000_0000, fraction = random.u32() & 0x7f_ffff;
    const exponent = random.chance(0.1) ? random.below(254) : 107 + random.below(40);
    return (sign | exponent << 23 | fraction) >>> 0;
  };
  return Uint32Array.from({ length: count }, (_, i) => FLOAT_EDGES[i] ?? value());
}
