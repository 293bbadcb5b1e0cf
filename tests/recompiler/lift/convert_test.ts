import { assertEquals } from "@std/assert";
import { execute } from "../../support/lift_harness.ts";
import { bits32, f32, halfValue, toHalf } from "../../support/ir_eval/scalar.ts";
import { PLAIN_DEVICE } from "../../support/lift.ts";
import { asm } from "./assembled.ts";

const INTS = [0, 1, 0xff, 0x01000001, 0x01000003, 0x7fffffff, 0x80000000, 0xffffff80, 0xffffffff, 0x12345678];
const FLOATS = [
  0,
  -0,
  0.4,
  0.5,
  0.9999,
  1.5,
  2.5,
  -0.5,
  -1.5,
  255.9,
  2 ** 31,
  2 ** 32,
  4294967040,
  -(2 ** 31),
  -3e9,
  1e20,
  NaN,
  Infinity,
  -Infinity,
].map(bits32);

function results(line: string, inputs: readonly number[], more: Parameters<typeof execute>[1] = {}): number[] {
  const after = execute(asm(line), { ...more, v: { 0: inputs, ...more?.v } });
  return inputs.map((_, i) => after.v(3, i));
}

Deno.test("integers become floats, rounded to nearest even", () => {
  assertEquals(results("v_cvt_f32_u32_e32 v3, v0", INTS), INTS.map((x) => bits32(x)));
  assertEquals(results("v_cvt_f32_i32_e32 v3, v0", INTS), INTS.map((x) => bits32(x | 0)));
  for (const k of [0, 1, 2, 3]) {
    assertEquals(results(`v_cvt_f32_ubyte${k}_e32 v3, v0`, INTS), INTS.map((x) => bits32((x >>> (k * 8)) & 255)));
  }
  const nibbles = Array.from({ length: 16 }, (_, i) => i + 0xf0);
  assertEquals(results("v_cvt_off_f32_i4_e32 v3, v0", nibbles), nibbles.map((x) => bits32(((x << 28) >> 28) / 16)));
});

Deno.test("floats become integers: cut off, clamped, NaN is 0", () => {
  const clamp = (x: number, low: number, high: number) => Number.isNaN(x) ? 0 : Math.min(Math.max(x, low), high) >>> 0;
  const expected = (f: (x: number) => number, low: number, high: number) =>
    FLOATS.map((bits) => clamp(f(f32(bits)), low, high));
  assertEquals(results("v_cvt_u32_f32_e32 v3, v0", FLOATS), expected(Math.trunc, 0, 0xffffffff));
  assertEquals(results("v_cvt_i32_f32_e32 v3, v0", FLOATS), expected(Math.trunc, -0x80000000, 0x7fffffff));
  assertEquals(results("v_cvt_flr_i32_f32_e32 v3, v0", FLOATS), expected(Math.floor, -0x80000000, 0x7fffffff));
  assertEquals(
    results("v_cvt_rpi_i32_f32_e32 v3, v0", FLOATS),
    expected((x) => Math.floor(Math.fround(x + 0.5)), -0x80000000, 0x7fffffff),
  );
});

Deno.test("floor of a negative denormal depends on whether MODE flushes inputs", () => {
  const run = (floatMode: number) =>
    results("v_cvt_flr_i32_f32_e32 v3, v0", [0x80000001], { request: { floatMode, device: PLAIN_DEVICE } });
  assertEquals([run(0xf0), run(0xc0)], [[0xffffffff], [0]]);
});

const HALVES = [0, 1, 0x3ff, 0x400, 0x3c00, 0x3c01, 0x7bff, 0x7c00, 0x8001, 0xc500, 0xfc00];

Deno.test("v_cvt_f32_f16 is exact; denormal halves as MODE says; op_sel and SDWA name the half", () => {
  const packed = HALVES.map((h) => h | 0x56780000);
  assertEquals(results("v_cvt_f32_f16_e32 v3, v0", packed), HALVES.map((h) => bits32(halfValue(h))));
  const flushed = results("v_cvt_f32_f16_e32 v3, v0", packed, { request: { floatMode: 0x30 } });
  assertEquals(flushed, HALVES.map((h) => (h & 0x7c00) === 0 ? ((h & 0x8000) << 16) >>> 0 : bits32(halfValue(h))));
  assertEquals(results("v_cvt_f32_f16_sdwa v3, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1", [0x3c00c500]), [
    bits32(1),
  ]);
  assertEquals(results("v_cvt_f32_f16_e64 v3, -|v0|", [0xc500]), [bits32(-5)]);
  assertEquals(results("v_cvt_f32_f16_e32 v3, 0.5", [0]), [bits32(0.5)]);
});

Deno.test("v_cvt_f16_f32 rounds to nearest even and keeps the other half of the register", () => {
  const values = [0, 1, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 65504, 65520, 1e9, 2 ** -24, 2 ** -25, 1.5 * 2 ** -25, -0.1, -0]
    .map(Math.fround);
  const inputs = values.map(bits32);
  assertEquals(
    results("v_cvt_f16_f32_e32 v3, v0", inputs, { v: { 3: 0xabcd1234 } }),
    values.map((x) => (0xabcd0000 | toHalf(x, false)) >>> 0),
  );
  const flushed = results("v_cvt_f16_f32_e32 v3, v0", inputs, { request: { floatMode: 0x30 } });
  assertEquals(flushed, values.map((x) => toHalf(x, false)).map((h) => (h & 0x7c00) === 0 ? h & 0x8000 : h));
  assertEquals(
    results("v_cvt_f16_f32_sdwa v3, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD", [bits32(1)], {
      v: { 3: 0x7777 },
    }),
    [0x3c007777],
  );
});

Deno.test("v_cvt_pkrtz_f16_f32 cuts towards zero", () => {
  const values = [1 + 3 * 2 ** -11, 65535, -(1 + 3 * 2 ** -11), 1e9, 2 ** -24 * 1.9].map(Math.fround);
  const packed = results("v_cvt_pkrtz_f16_f32_e32 v3, v0, v1", values.map(bits32), { v: { 1: bits32(-2) } });
  assertEquals(packed, values.map((x) => (0xc0000000 | toHalf(x, true)) >>> 0));
});

Deno.test("v_cvt_u32_f32 with SDWA packs bytes into a register", () => {
  const after = execute(
    asm(
      "v_cvt_u32_f32_e32 v3, v0",
      "v_cvt_u32_f32_sdwa v3, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
      "v_cvt_u32_f32_sdwa v3, v2 dst_sel:BYTE_3 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
    ),
    { v: { 0: bits32(0x12), 1: bits32(0x134), 2: bits32(0x56) } },
  );
  assertEquals(after.v(3), 0x56003412);
});
