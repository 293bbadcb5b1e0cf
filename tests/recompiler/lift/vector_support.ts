/** Runs single vector instructions on random and special operands, and compares them with exact arithmetic. */
import { assertEquals } from "@std/assert";
import { parseWords } from "../../support/assemble.ts";
import { type Format, isNanBits } from "../../support/exact_float.ts";
import { type Before, execute } from "../../support/lift_harness.ts";
import { PLAIN_DEVICE } from "../../support/lift.ts";
import type { Random } from "../../support/random.ts";
import { VECTOR_WORDS } from "./vector_words.ts";

/** Words of some lines, one after the other. */
export function vasm(...lines: readonly string[]): number[] {
  return lines.flatMap((line) => {
    const words = VECTOR_WORDS[line];
    if (words === undefined) throw new Error(`vector_words.ts has no words for "${line}"`);
    return parseWords(words);
  });
}

/** Lanes of a run. */
export const LANES = 32;

const SPECIAL16 = [
  0,
  0x8000,
  1,
  0x8001,
  0x3ff,
  0x83ff,
  0x400,
  0x3c00,
  0xbc00,
  0x3800,
  0x7bff,
  0xfbff,
  0x7c00,
  0xfc00,
  0x7e00,
  0x7c01,
  0xffff,
];
const SPECIAL64 = [
  0n,
  1n,
  0xf_ffff_ffff_ffffn,
  0x10_0000_0000_0000n,
  0x3fe0_0000_0000_0000n,
  0x3ff0_0000_0000_0000n,
  0x41e0_0000_0000_0000n,
  0x41ef_ffff_ffff_ffffn,
  0x7fef_ffff_ffff_ffffn,
  0x7ff0_0000_0000_0000n,
  0x7ff8_0000_0000_0000n,
  0x7ff0_0000_0000_0001n,
];
const SPECIAL32 = [
  0,
  1,
  0x7fffff,
  0x800000,
  0x3f000000,
  0x3f800000,
  0x4f000000,
  0x4f800000,
  0x7f7fffff,
  0x7f800000,
  0x7fc00000,
  0x7f800001,
];

/** One register's values: two halves each, special ones and any. */
export function halves(random: Random): number[] {
  const half = () => {
    if (random.chance(0.3)) return random.pick(SPECIAL16);
    const bits = random.u32() & 0xffff;
    return random.chance(0.5) ? bits : bits & 0x83ff | (11 + random.below(9)) << 10;
  };
  return Array.from({ length: LANES }, () => (half() | half() << 16) >>> 0);
}

/** One register's values: f32 numbers. */
export function singles(random: Random): number[] {
  return Array.from({ length: LANES }, () => {
    const bits = random.u32();
    if (random.chance(0.3)) return (random.pick(SPECIAL32) | bits & 0x80000000) >>> 0;
    return random.chance(0.5) ? bits : (bits & 0x807fffff | (110 + random.below(40)) << 23) >>> 0;
  });
}

/** A register pair's values: f64 numbers. */
export function doubles(random: Random): bigint[] {
  return Array.from({ length: LANES }, () => {
    const bits = BigInt(random.u32()) << 32n | BigInt(random.u32());
    if (random.chance(0.3)) return random.pick(SPECIAL64) | bits & 1n << 63n;
    return random.chance(0.5) ? bits : bits & ~(0x7ffn << 52n) | BigInt(1000 + random.below(50)) << 52n;
  });
}

/** One register's values: any words, the edges among them. */
export function words(random: Random): number[] {
  const edges = [0, 1, 0x7fff, 0x8000, 0xffff, 0x7fff7fff, 0x80008000, 0xffffffff, 0x7fffffff, 0x80000000, 0x00ff00ff];
  return Array.from({ length: LANES }, () => random.chance(0.25) ? random.pick(edges) : random.u32());
}

/** How MODE treats f16 and f64 denormals: the field, and whether operands and results are flushed. */
export const DENORMAL_MODES = [[0xf0, false, false], [0x30, true, true], [0xb0, true, false], [
  0x70,
  false,
  true,
]] as const;

/** Denormals to zeros of their sign. */
export function flushed(bits: bigint, f: Format, on: boolean): bigint {
  const magnitude = (1n << BigInt(f.fraction + f.exponent)) - 1n;
  const small = (bits & magnitude) >> BigInt(f.fraction) === 0n;
  return on && small ? bits & ~magnitude : bits;
}

/** All NaNs as one. */
export function canonical(bits: bigint, f: Format): string {
  return isNanBits(bits, f) ? "NaN" : bits.toString(16);
}

/** Runs instructions with denormal handling as a device without float modes needs it. */
export function run(lines: readonly string[], before: Before): ReturnType<typeof execute> {
  return execute(vasm(...lines), { ...before, request: { device: PLAIN_DEVICE, dx10Clamp: false, ...before.request } });
}

/** Compares lane by lane; `show` gives what both sides are printed as. */
export function compareLanes(what: string, got: (lane: number) => string, wanted: (lane: number) => string): void {
  for (let lane = 0; lane < LANES; lane++) assertEquals(got(lane), wanted(lane), `${what}, lane ${lane}`);
}

/** Low words of 64-bit values, and high ones. */
export function split(values: readonly bigint[]): [number[], number[]] {
  return [values.map((v) => Number(v & 0xffffffffn)), values.map((v) => Number(v >> 32n))];
}
