/** Random operand values: ordinary ones, and the special ones of each type far more often than chance would give them. */
import type { Random } from "../support/random.ts";

const F32_SPECIAL = [
  ...[0x00000000, 0x80000000], // zeros
  ...[0x00000001, 0x80000001, 0x00400000, 0x007fffff, 0x807fffff], // denormals
  ...[0x00800000, 0x80800000, 0x00800001], // smallest normal numbers
  ...[0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000], // largest numbers, infinities
  ...[0x7fc00000, 0xffc00000, 0x7fc12345, 0x7f800001, 0xff812345, 0x7fbfffff], // NaN, quiet and signalling
  ...[0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x3f000000, 0xbf000000, 0x40000000, 0x40800000], // about 1
  ...[0x3fc00000, 0x40200000, 0xbfc00000, 0x3effffff, 0x4b000000, 0x4b7fffff, 0x4b800000, 0x4afffffe], // ties, 2^23, 2^24
  ...[0x4f000000, 0xcf000000, 0x4effffff, 0x4f800000, 0x4f7fffff, 0x5f000000], // limits of integers
  ...[0x477fe000, 0x477ff000, 0x477fefff, 0x38800000, 0x387fc000, 0x33000000, 0x33000001, 0x33800000], // limits of f16
  ...[0x3e22f983, 0x437f0000, 0x43000000, 0x42ff0000], // 1/(2 pi), 255, 128
];

const F16_SPECIAL = [
  ...[0x0000, 0x8000, 0x0001, 0x8001, 0x0200, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x0401],
  ...[0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7e12, 0x7c01, 0xfc34, 0x7dff],
  ...[0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x3800, 0xb800, 0x4000, 0x3e00, 0x4100, 0x6400, 0x67ff, 0x6800, 0x77ff, 0x7800],
];

/** High words; the low word is 0, 1, all ones or random. */
const F64_SPECIAL = [
  ...[0x00000000, 0x80000000, 0x00080000, 0x000fffff, 0x00100000, 0x80100000],
  ...[0x7fefffff, 0xffefffff, 0x7ff00000, 0xfff00000, 0x7ff80000, 0xfff80000, 0x7ff00001],
  ...[0x3ff00000, 0xbff00000, 0x3fefffff, 0x3fe00000, 0x40000000, 0x43300000, 0x41e00000, 0xc1e00000, 0x41efffff],
  ...[0x47efffff, 0x47f00000, 0x38100000, 0x380fffff, 0x36a00000, 0x36900000],
];

const INT_SPECIAL = [
  ...[0, 1, 2, 3, 0xffffffff, 0xfffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0x7ffffffe],
  ...[0xff, 0x100, 0x7f, 0x80, 0xffff, 0x10000, 0x7fff, 0x8000, 0xffff8000, 0xffff7fff, 0xffffff80],
  ...[0xffffff, 0x1000000, 0x7fffff, 0x800000, 0xff800000, 31, 32, 33, 63, 64, 65],
  ...[0x55555555, 0xaaaaaaaa, 0x33333333, 0x0000ffff, 0xffff0000],
];

/** Bits of an f32 number. */
export function randomF32(random: Random): number {
  const kind = random.below(8);
  if (kind < 2) return random.pick(F32_SPECIAL) >>> 0;
  if (kind === 2) return random.u32();
  const sign = random.below(2) << 31;
  const fraction = random.chance(0.3) ? random.below(8) << 20 : random.below(1 << 23);
  if (kind < 6) return (sign | 112 + random.below(32) << 23 | fraction) >>> 0; // moderate
  if (kind === 6) return (sign | random.below(256) << 23 | fraction) >>> 0;
  // Small integers and halves.
  return new Uint32Array(Float32Array.of((random.below(513) - 256) / 2).buffer)[0];
}

/** Bits of an f32 number that is denormal, or makes denormals with others: small, or about 1 and 2 to some power. */
export function randomSmallF32(random: Random): number {
  const kind = random.below(8), sign = random.below(2) << 31, fraction = random.below(1 << 23);
  if (kind < 2) return randomF32(random);
  if (kind < 4) return (sign | fraction >>> random.below(23)) >>> 0; // denormal
  if (kind === 4) return (sign | random.below(48) << 23 | fraction) >>> 0;
  if (kind === 5) return (sign | 52 + random.below(24) << 23 | fraction) >>> 0; // products are about 2^-126
  if (kind === 6) return (sign | 1 + random.below(253) << 23) >>> 0;
  return (sign | 0x800000 + random.below(9) - 4) >>> 0; // about 2^-126
}

/** Bits of an f16 number. */
export function randomF16(random: Random): number {
  const kind = random.below(6);
  if (kind < 2) return random.pick(F16_SPECIAL);
  if (kind === 2) return random.below(0x10000);
  if (kind === 3) return random.below(2) << 15 | random.below(31) << 10 | random.below(4) << 8;
  return random.below(2) << 15 | 8 + random.below(16) << 10 | random.below(1024);
}

/** Low and high word of an f64 number. */
export function randomF64(random: Random): [number, number] {
  const kind = random.below(8);
  if (kind < 2) return [random.pick([0, 0, 0, 1, 0xffffffff, random.u32()]), random.pick(F64_SPECIAL) >>> 0];
  if (kind === 2) return [random.u32(), random.u32()];
  const low = random.pick([0, random.u32(), random.u32() & 0xe0000000]);
  const sign = random.below(2) << 31;
  if (kind < 6) return [low, (sign | 1000 + random.below(64) << 20 | random.below(1 << 20)) >>> 0];
  if (kind === 6) return [low, (sign | random.below(2048) << 20 | random.below(1 << 20)) >>> 0];
  const words = new Uint32Array(Float64Array.of((random.below(4097) - 2048) / 4).buffer);
  return [words[0], words[1]];
}

/** 32 bits that are interesting as an integer. */
export function randomInt(random: Random): number {
  const kind = random.below(6);
  if (kind < 2) return random.pick(INT_SPECIAL);
  if (kind === 2) return random.below(64);
  if (kind === 3) return random.u32() >>> random.below(32);
  if (kind === 4) return ((1 << random.below(32)) + random.below(3) - 1) >>> 0;
  return random.u32();
}

/** 64 bits that are interesting as an integer. */
export function randomInt64(random: Random): [number, number] {
  const kind = random.below(5);
  if (kind === 0) return [randomInt(random), randomInt(random)];
  if (kind === 1) return [randomInt(random), random.pick([0, 0xffffffff])];
  if (kind === 2) {
    const bit = 1n << BigInt(random.below(64));
    const value = BigInt.asUintN(64, bit + BigInt(random.below(3)) - 1n);
    return [Number(value & 0xffffffffn), Number(value >> 32n)];
  }
  return [random.u32(), random.u32()];
}

/** Two f16 numbers in a word. */
export function randomHalves(random: Random): number {
  return (randomF16(random) << 16 | randomF16(random)) >>> 0;
}
