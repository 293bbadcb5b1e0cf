/** f64, f16 and fused operations: the device against exact arithmetic (through the IR evaluator), NaNs being one. */
import { AssertionError, assertStringIncludes, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { Op, Type } from "../../../src/recompiler/ir/ops.ts";
import type { RecompilerDevice } from "../../../src/recompiler/request.ts";
import { DOUBLE, HALF, isNanBits, SINGLE } from "../../support/exact_float.ts";
import { join, OPERATIONS } from "../../support/ir_eval/scalar.ts";
import { Random } from "../../support/random.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { INPUT, Lanes, OUTPUT } from "./programs.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import { emitValid, request, Rig } from "./support.ts";

type Kind = "f32" | "f32near" | "f64" | "f16" | "u32" | "scale32" | "scale64";
const DWORDS: Readonly<Record<Kind, number>> = { f32: 1, f32near: 1, f64: 2, f16: 1, u32: 1, scale32: 1, scale64: 1 };

const SPECIAL: Readonly<Record<string, readonly number[]>> = {
  f32: [
    0,
    0x80000000,
    1,
    0x80000001,
    0x7fffff,
    0x800000,
    0x3f800000,
    0xbf800000,
    0x7f7fffff,
    0x7f800000,
    0xff800000,
    0x7fc00000,
  ],
  f16: [0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00],
  u32: [0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x1000001],
};
const HIGH_WORDS = [
  0,
  0xfffff,
  0x100000,
  0x3ff00000,
  0xbff00000,
  0x7fefffff,
  0x7ff00000,
  0xfff00000,
  0x7ff80000,
  0x80000000,
  0x41e00000,
  0xc1e00000,
];

/**
 * Operands of one lane: any bits, special values, and numbers whose exponents lie close together, so that sums cancel; the last of three operands
 * is often near the negated product of the others.
 */
function operands(random: Random, kinds: readonly Kind[]): number[] {
  const close = random.chance(0.5), middle = random.u32();
  return kinds.flatMap((kind) => {
    const word = random.u32(), special = random.chance(0.15);
    switch (kind) {
      case "u32":
        return [special ? random.pick(SPECIAL.u32) : word >>> random.below(32)];
      case "scale32":
        return [random.pick([0, 64, -64]) >>> 0];
      case "scale64":
        return [random.pick([0, 128, -128]) >>> 0];
      case "f32":
        if (special) return [random.pick(SPECIAL.f32)];
        return [close ? (word & 0x807fffff | (middle % 200 + 20 + random.below(26)) << 23) >>> 0 : word];
      case "f32near":
        return [(word & 0x807fffff | (80 + random.below(50)) << 23) >>> 0];
      case "f16": {
        const half = () => {
          if (random.chance(0.15)) return random.pick(SPECIAL.f16);
          const bits = random.u32();
          return close ? bits & 0x83ff | (9 + random.below(12)) << 10 : bits & 0xffff;
        };
        return [(half() | half() << 16) >>> 0];
      }
      case "f64": {
        const low = random.chance(0.3) ? random.pick([0, 1, 0xffffffff, 0xffc00000, 0xffe00000]) : random.u32();
        if (special) return [low & -random.below(2), random.pick(HIGH_WORDS)];
        return [low, close ? (word & 0x800fffff | (middle % 1800 + 100 + random.below(56)) << 20) >>> 0 : word];
      }
    }
  });
}

/** Bits of the third operand that nearly cancels the product of the first two. */
function cancelling32(words: Uint32Array, at: number, random: Random): void {
  const floats = new Float32Array(words.buffer, words.byteOffset);
  floats[at + 2] = -(floats[at] * floats[at + 1]);
  words[at + 2] = words[at + 2] + random.below(3) - 1;
}

function cancelling64(words: Uint32Array, at: number, random: Random): void {
  const view = new DataView(words.buffer, words.byteOffset + at * 4);
  const product = view.getFloat64(0, true) * view.getFloat64(8, true);
  view.setFloat64(16, -product, true);
  view.setBigUint64(16, BigInt.asUintN(64, view.getBigUint64(16, true) + BigInt(random.below(3) - 1)), true);
}

interface Case {
  kinds: readonly Kind[];
  /** Immediate behind the operands. */
  immediates?: readonly number[];
  cancel?: (words: Uint32Array, at: number, random: Random) => void;
  device?: Partial<RecompilerDevice>;
  /** Largest difference in units of the last place; 0 when left out. */
  ulp?: bigint;
}

/** Runs operation `name` on `count` random lanes and compares each result with exact arithmetic. */
function check(rig: Rig, name: string, c: Case, count = 8192, seed = 1): void {
  const stride = c.kinds.reduce((sum, kind) => sum + DWORDS[kind], 0);
  const threads = 64, groups = Math.ceil(count / threads);
  const random = new Random(seed);
  const words = new Uint32Array(groups * threads * stride);
  for (let lane = 0; lane < groups * threads; lane++) {
    words.set(operands(random, c.kinds), lane * stride);
    if (c.cancel !== undefined && lane % 4 === 0) c.cancel(words, lane * stride, random);
  }
  const p = new Lanes(threads);
  const op = (Op as Readonly<Record<string, number>>)[name];
  let at = 0;
  const values = c.kinds.map((kind) => {
    const [low, high] = [0, 1].map((k) => k < DWORDS[kind] ? p.input(stride, at + k) : 0);
    at += DWORDS[kind];
    if (kind === "f64") return p.ir.emit(Op.BitcastF64, p.ir.emit(Op.Pack64, low, high));
    return kind.startsWith("f32") ? p.ir.emit(Op.BitcastF, low) : low;
  });
  const result = p.ir.emit(op, ...[...values, ...c.immediates ?? []]);
  const isDouble = p.ir.type[result] === Type.F64;
  p.output([isDouble ? p.ir.emit(Op.BitcastU64, result) : result]);
  const { windows: [, got] } = rig.run(p.end(), {
    groups: [groups, 1, 1],
    workgroupSize: [threads, 1, 1],
    waveSize: 64,
    device: c.device,
    windows: [{ base: INPUT, words }, {
      base: OUTPUT,
      words: new Uint32Array(groups * threads * (isDouble ? 2 : 1)),
    }],
  });
  const wrong: string[] = [];
  for (let lane = 0; lane < count && wrong.length < 10; lane++) {
    const given: (number | bigint)[] = [];
    let place = lane * stride;
    for (const kind of c.kinds) {
      const word = words[place];
      given.push(kind === "f64" ? join(word, words[place + 1]) : kind.startsWith("f32") ? asSeen(rig, word) : word);
      place += DWORDS[kind];
    }
    const wanted = BigInt(OPERATIONS[name]([...given, ...c.immediates ?? []] as never[]) as number | bigint);
    const have = isDouble ? join(got[lane * 2], got[lane * 2 + 1]) : BigInt(got[lane]);
    const isSingle = p.ir.type[result] === Type.F32;
    // Below the normal numbers a device that flushes may do so before or after it rounds, and in conversions or not.
    const isSmall = (bits: bigint) => (bits & 0x7fffffffn) <= 0x00800000n;
    if (isSingle && !rig.keepsDenormals && isSmall(wanted) && isSmall(have)) continue;
    if (!same(name, isDouble, isSingle, have, wanted, c)) {
      wrong.push(
        `${name}(${given.map((x) => x.toString(16)).join(", ")}): ${have.toString(16)}, not ${wanted.toString(16)}`,
      );
    }
  }
  if (wrong.length > 0) throw new AssertionError(wrong.join("\n"));
}

/** An f32 operand as the device sees it. */
function asSeen(rig: Rig, bits: number): number {
  return !rig.keepsDenormals && (bits & 0x7f800000) === 0 ? (bits & 0x80000000) >>> 0 : bits;
}

function same(name: string, double: boolean, single: boolean, have: bigint, wanted: bigint, c: Case): boolean {
  if (have === wanted) return true;
  if (/^H(Add|Mul|Fma)$/.test(name)) {
    const halves = c.immediates![0] === 1 ? [0n] : [0n, 16n];
    return halves.every((k) => {
      const [a, b] = [have, wanted].map((bits) => bits >> k & 0xffffn);
      return a === b || (isNanBits(a, HALF) && isNanBits(b, HALF));
    });
  }
  if (!double && !single) return false;
  const format = double ? DOUBLE : SINGLE;
  if (isNanBits(have, format) || isNanBits(wanted, format)) return isNanBits(have, format) && isNanBits(wanted, format);
  const difference = have - wanted;
  return (difference < 0n ? -difference : difference) <= (c.ulp ?? 0n);
}

deviceTest("f64 operations are exact on the device", (device) => {
  const rig = new Rig(device);
  try {
    check(rig, "FAdd64", { kinds: ["f64", "f64"] });
    check(rig, "FMul64", { kinds: ["f64", "f64"] });
    check(rig, "FMin64", { kinds: ["f64", "f64"] });
    check(rig, "FMax64", { kinds: ["f64", "f64"] });
    for (
      const name of ["FNeg64", "FAbs64", "FFloor64", "FCeil64", "FTrunc64", "FRndne64", "CvtD2F", "CvtD2U", "CvtD2S"]
    ) {
      check(rig, name, { kinds: ["f64"] });
    }
    check(rig, "CvtF2D", { kinds: ["f32"] });
    check(rig, "CvtU2D", { kinds: ["u32"] });
    check(rig, "CvtS2D", { kinds: ["u32"] });
  } finally {
    rig.destroy();
  }
});

deviceTest("f64 reciprocals and roots are within one unit in the last place of the rounded result", (device) => {
  const rig = new Rig(device);
  try {
    for (const name of ["FRcp64", "FSqrt64", "FRsq64"]) check(rig, name, { kinds: ["f64"], ulp: 1n });
  } finally {
    rig.destroy();
  }
});

deviceTest("fused multiply-adds are rounded once, by whatever means the device has", (device) => {
  const rig = new Rig(device);
  try {
    const f32: Case = { kinds: ["f32", "f32", "f32"], cancel: cancelling32 };
    const f64: Case = { kinds: ["f64", "f64", "f64"], cancel: cancelling64 };
    check(rig, "FFma", f32, 1 << 20);
    check(rig, "FFma", { ...f32, device: { float64: false } }, 1 << 16, 2);
    check(rig, "FFma64", f64, 1 << 16, 3);
    check(rig, "FFmaOdd", f32, 1 << 16, 7);
    check(rig, "FFmaOdd", { ...f32, device: { float64: false } }, 1 << 15, 8);
    const scaled32: Case = { kinds: ["f32", "f32", "f32", "scale32"], cancel: cancelling32 };
    check(rig, "FFmaScaled", scaled32, 1 << 15, 4);
    check(rig, "FFmaScaled", { ...scaled32, device: { float64: false } }, 1 << 15, 5);
    check(rig, "FFmaScaled64", { kinds: ["f64", "f64", "f64", "scale64"], cancel: cancelling64 }, 1 << 15, 6);
  } finally {
    rig.destroy();
  }
});

deviceTest("f16 operations are exact, by instructions and through f32", (device) => {
  const rig = new Rig(device);
  try {
    for (const exactHalf of new Set([rig.recompilerDevice.exactHalf ?? false, false])) {
      for (const count of [1, 2]) {
        const more = { immediates: [count], device: { exactHalf, exactHalfPack: exactHalf } };
        check(rig, "HAdd", { kinds: ["f16", "f16"], ...more });
        check(rig, "HMul", { kinds: ["f16", "f16"], ...more });
        check(rig, "HFma", { kinds: ["f16", "f16", "f16"], ...more }, 1 << 15);
      }
      check(rig, "CvtH2F", { kinds: ["f16"], device: { exactHalfPack: exactHalf } }, 1 << 16);
    }
    check(rig, "BitInsert", { kinds: ["u32", "u32"], immediates: [16, 16] }, 256);
    check(rig, "BitInsert", { kinds: ["u32", "u32"], immediates: [0, 16] }, 256);
  } finally {
    rig.destroy();
  }
});

deviceTest("sums of f16 products are rounded to odd in f32", (device) => {
  const rig = new Rig(device);
  try {
    // Exponents such that neither the sum nor what it loses is a denormal.
    check(rig, "FAddOdd", { kinds: ["f32near", "f32near"] }, 1 << 15);
  } finally {
    rig.destroy();
  }
});

Deno.test("f64 without shaderFloat64 is refused by name", () => {
  const p = new Lanes(32);
  const value = p.ir.emit(Op.BitcastF64, p.ir.emit(Op.Pack64, p.input(2, 0), p.input(2, 1)));
  p.output([p.ir.emit(Op.BitcastU64, p.ir.emit(Op.FSqrt64, value))]);
  const ir = p.end();
  const error = assertThrows(
    () => emitValid(ir, request({ device: { ...GENERIC_DEVICE, float64: false } })),
    RefusedError,
  );
  assertStringIncludes(error.message, "FSqrt64");
  assertStringIncludes(error.message, "shaderFloat64");
});
