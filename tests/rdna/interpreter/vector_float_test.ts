/** Vector float instructions: operands, modifiers and destinations; the arithmetic itself is tested in float/. */
import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { asm, asm1030, execute, type Program } from "./asm.ts";
import { f16, f32, f64, halves } from "./machine.ts";

/** f32 numbers in v1, v2, v3; result of v0. */
function floats(program: Program, sources: readonly number[], mode = 0xf0, old = 0): number {
  const [a = 0, b = 0, c = 0] = sources.map(f32);
  const { v } = execute(program, { v: { 0: f32(old), 1: a, 2: b, 3: c }, mode });
  return new Float32Array(Uint32Array.of(v(0)).buffer)[0];
}

Deno.test("f32 arithmetic reads and writes vector registers", () => {
  const rows: [Program, number[], number, number?][] = [
    [asm`v_add_f32 v0, v1, v2`, [1.5, 2], 3.5],
    [asm`v_sub_f32 v0, v1, v2`, [1.5, 2], -0.5],
    [asm`v_subrev_f32 v0, v1, v2`, [1.5, 2], 0.5],
    [asm`v_mul_f32 v0, v1, v2`, [1.5, 2], 3],
    [asm`v_mac_f32 v0, v1, v2`, [1.5, 2], 13, 10],
    [asm`v_fmac_f32 v0, v1, v2`, [1.5, 2], 13, 10],
    [asm`v_mad_f32 v0, v1, v2, v3`, [1.5, 2, 1], 4],
    [asm`v_fma_f32 v0, v1, v2, v3`, [1.5, 2, 1], 4],
    [asm`v_madmk_f32 v0, v1, 0x40800000, v2`, [1.5, 2], 8],
    [asm`v_madak_f32 v0, v1, v2, 0x40800000`, [1.5, 2], 7],
    [asm`v_fmamk_f32 v0, v1, 0x40800000, v2`, [1.5, 2], 8],
    [asm`v_fmaak_f32 v0, v1, v2, 0x40800000`, [1.5, 2], 7],
    [asm`v_min_f32 v0, v1, v2`, [1.5, 2], 1.5],
    [asm`v_max3_f32 v0, v1, v2, v3`, [1.5, 2, 1], 2],
    [asm`v_med3_f32 v0, v1, v2, v3`, [1.5, 2, 1], 1.5],
    [asm`v_ldexp_f32 v0, v1, -3`, [12], 1.5],
    [asm`v_mul_legacy_f32 v0, v1, v2`, [0, Infinity], 0],
    [asm`v_mac_legacy_f32 v0, v1, v2`, [0, Infinity], 10, 10],
    [asm`v_mad_legacy_f32 v0, v1, v2, v3`, [0, NaN, 5], 5],
    [asm1030`v_fma_legacy_f32 v0, v1, v2, v3`, [0, NaN, 5], 5],
    [asm1030`v_fmac_legacy_f32 v0, v1, v2`, [2, 3], 16, 10],
  ];
  for (const [program, sources, expected, old] of rows) {
    assertEquals(floats(program, sources, 0xf0, old), expected, program.lines[0]);
  }
});

Deno.test("absolute value comes before negation", () => {
  assertEquals(floats(asm`v_add_f32_e64 v0, -|v1|, |v2|`, [-3, -5]), 2);
  assertEquals(floats(asm`v_fma_f32 v0, -v1, |v2|, -v3`, [2, -3, 1]), -7);
});

Deno.test("clamp and output modifiers act on the result", () => {
  assertEquals(floats(asm`v_add_f32_e64 v0, v1, v2 clamp`, [1.5, 2]), 1);
  assertEquals(floats(asm`v_add_f32_e64 v0, v1, v2 clamp`, [-1.5, 1]), 0);
  assertEquals(floats(asm`v_add_f32_e64 v0, v1, v2 mul:4`, [1.5, 2], 0x00), 14);
  assertEquals(floats(asm`v_add_f32_e64 v0, v1, v2 div:2`, [1.5, 2], 0x00), 1.75);
  // Ignored where denormal results are kept, and in IEEE mode.
  assertEquals(floats(asm`v_add_f32_e64 v0, v1, v2 mul:2`, [1.5, 2], 0x20), 3.5);
  assertEquals(floats(asm`v_add_f32_e64 v0, v1, v2 mul:2`, [1.5, 2], 0x200), 3.5);
  // The modifier comes before the clamp.
  assertEquals(floats(asm`v_mul_f32_e64 v0, v1, v2 clamp mul:4`, [0.5, 0.25], 0x00), 0.5);
});

Deno.test("the rounding mode of f32 is not that of f16 and f64", () => {
  // f32 up, f16 and f64 toward zero.
  const mode = 0xf0 | 1 | 3 << 2;
  const tiny = 2 ** -60;
  assertEquals(floats(asm`v_add_f32 v0, v1, v2`, [1, tiny], mode), 1 + 2 ** -23);
  const half = execute(asm`v_add_f16 v0, v1, v2`, { v: { 1: f16(1), 2: f16(2 ** -14) }, mode });
  assertEquals(half.v(0), f16(1));
  const [a, b] = [f64(1), f64(tiny)].map(halves);
  const double = execute(asm`v_add_f64 v[0:1], v[2:3], v[4:5]`, { v: { 2: a[0], 3: a[1], 4: b[0], 5: b[1] }, mode });
  assertEquals(double.v64(0), f64(1));
  // Conversion to f16 rounds as f16, from f64 to f32 as f32; packing always toward zero.
  assertEquals(
    execute(asm`v_cvt_f16_f32 v0, v1`, { v: { 1: f32(1 + 2 ** -11 + 2 ** -20) }, mode: 0xf0 | 1 << 2 }).v(0),
    f16(1 + 2 ** -10),
  );
  assertEquals(
    execute(asm`v_cvt_pkrtz_f16_f32 v0, v1, v1`, { v: { 1: f32(1 + 2 ** -11 + 2 ** -20) }, mode: 0xf5 }).v(0),
    0x3c003c00,
  );
  const [lo, hi] = halves(f64(1 + 2 ** -40));
  assertEquals(execute(asm`v_cvt_f32_f64 v0, v[1:2]`, { v: { 1: lo, 2: hi }, mode }).v(0), f32(1 + 2 ** -23));
});

Deno.test("f16 operations keep the other half; op_sel chooses halves; constants are f16", () => {
  const v = { 0: 0xabcd0000, 1: f16(4) << 16 | f16(3), 2: f16(2) << 16 | f16(1), 3: f16(0.5) };
  const high = 0xabcd0000;
  const rows: [Program, number][] = [
    [asm`v_add_f16 v0, v1, v2`, high | f16(4)],
    [asm`v_mul_f16 v0, 2.0, v1`, high | f16(6)],
    [asm`v_add_f16 v0, 1, v1`, high | f16(3)], // the integer 1 is the smallest denormal, lost in the sum
    [asm`v_mul_f16 v0, 0x4400, v1`, high | f16(12)],
    [asm`v_fma_f16 v0, v1, v2, v3`, high | f16(3.5)],
    [asm`v_fma_f16 v0, v1, v2, v3 op_sel:[1,1,0,0]`, high | f16(8.5)],
    [asm`v_fmaak_f16 v0, v1, v2, 0x4400`, high | f16(7)],
    [asm`v_fmamk_f16 v0, v1, 0x4400, v2`, high | f16(13)],
    [asm`v_subrev_f16 v0, v1, v2`, high | f16(-2)],
    [asm`v_max_f16 v0, v1, v2`, high | f16(3)],
    [asm`v_ldexp_f16 v0, v1, -1`, high | f16(1.5)],
    [asm`v_rcp_f16 v0, v3`, high | f16(2)],
    [asm`v_sqrt_f16 v0, 4.0`, high | f16(2)],
    [asm`v_min3_f16 v0, v1, v2, v3`, high | f16(0.5)],
    [asm`v_med3_f16 v0, v1, v2, v3`, high | f16(1)],
  ];
  for (const [program, expected] of rows) {
    assertEquals(execute(program, { v }).v(0).toString(16), (expected >>> 0).toString(16), program.lines[0]);
  }
  const upper = execute(asm`v_fma_f16 v0, v1, v2, v3 op_sel:[0,0,0,1]`, { v: { ...v, 0: 0x1234 } });
  assertEquals(upper.v(0), (f16(3.5) << 16 | 0x1234) >>> 0);
  const accumulated = execute(asm`v_fmac_f16 v0, v1, v2`, { v: { ...v, 0: 0xabcd0000 | f16(10) } });
  assertEquals(accumulated.v(0), (high | f16(13)) >>> 0);
});

Deno.test("f64 operations use register pairs; inline floats are f64, integers are bit patterns, literals the high word", () => {
  const pair = (value: number) => halves(f64(value));
  const [a0, a1] = pair(3), [b0, b1] = pair(0.5), [c0, c1] = pair(10);
  const v = { 2: a0, 3: a1, 4: b0, 5: b1, 6: c0, 7: c1 };
  const rows: [Program, bigint][] = [
    [asm`v_add_f64 v[0:1], v[2:3], v[4:5]`, f64(3.5)],
    [asm`v_mul_f64 v[0:1], v[2:3], v[4:5]`, f64(1.5)],
    [asm`v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]`, f64(11.5)],
    [asm`v_add_f64 v[0:1], -v[2:3], |v[4:5]|`, f64(-2.5)],
    [asm`v_add_f64 v[0:1], v[2:3], 4.0`, f64(7)],
    [asm`v_mul_f64 v[0:1], v[2:3], 0.15915494309189532`, f64(3 * 0.15915494309189532)],
    [asm`v_max_f64 v[0:1], 1, 0`, 1n],
    [asm`v_rndne_f64 v[0:1], v[4:5]`, f64(0)],
    [asm`v_ldexp_f64 v[0:1], v[2:3], 2`, f64(12)],
    [asm`v_frexp_mant_f64 v[0:1], v[2:3]`, f64(0.75)],
    [asm`v_rcp_f64 v[0:1], v[4:5]`, f64(2)],
    [asm`v_cvt_f64_i32 v[0:1], -7`, f64(-7)],
    [asm`v_cvt_f64_u32 v[0:1], -7`, f64(4294967289)],
    [asm`v_cvt_f64_f32 v[0:1], 0.5`, f64(0.5)],
    [asm`v_trunc_f64 v[0:1], 0x40091eb8`, f64(3)],
    [asm`v_add_f64 v[0:1], v[2:3], v[4:5] clamp`, f64(1)],
  ];
  for (const [program, expected] of rows) {
    assertEquals(execute(program, { v }).v64(0).toString(16), expected.toString(16), program.lines[0]);
  }
  assertEquals(execute(asm`v_frexp_exp_i32_f64 v0, v[2:3]`, { v }).v(0), 2);
  assertEquals(execute(asm`v_cvt_i32_f64 v0, -v[2:3]`, { v }).v(0), 0xfffffffd);
});

Deno.test("conversions", () => {
  const rows: [Program, number, number][] = [
    [asm`v_cvt_f32_i32 v0, v1`, -7, f32(-7)],
    [asm`v_cvt_f32_u32 v0, v1`, -7, f32(4294967289)],
    [asm`v_cvt_i32_f32 v0, v1`, f32(-2.9), -2],
    [asm`v_cvt_u32_f32 v0, v1`, f32(-2.9), 0],
    [asm`v_cvt_flr_i32_f32 v0, v1`, f32(-2.1), -3],
    [asm`v_cvt_rpi_i32_f32 v0, v1`, f32(2.5), 3],
    [asm`v_cvt_f32_f16 v0, v1`, 0x5555_0000 | f16(1.5), f32(1.5)],
    [asm`v_cvt_off_f32_i4 v0, v1`, 0xf8, f32(-0.5)],
    [asm`v_cvt_f32_ubyte0 v0, v1`, 0x44332211, f32(0x11)],
    [asm`v_cvt_f32_ubyte1 v0, v1`, 0x44332211, f32(0x22)],
    [asm`v_cvt_f32_ubyte2 v0, v1`, 0x44332211, f32(0x33)],
    [asm`v_cvt_f32_ubyte3 v0, v1`, 0x44332211, f32(0x44)],
    [asm`v_cvt_f16_i16 v0, v1`, 0x5555_fff9, f16(-7)],
    [asm`v_cvt_f16_u16 v0, v1`, 0x5555_0007, f16(7)],
    [asm`v_cvt_i16_f16 v0, v1`, f16(-7.5), 0xfff9],
    [asm`v_cvt_u16_f16 v0, v1`, f16(7.5), 7],
    [asm`v_cvt_norm_i16_f16 v0, v1`, f16(-1), 0x8001],
    [asm`v_cvt_norm_u16_f16 v0, v1`, f16(1), 0xffff],
    [asm`v_cvt_pknorm_i16_f32 v0, v1, 1.0`, f32(-1), 0x7fff8001],
    [asm`v_cvt_pknorm_u16_f32 v0, v1, 1.0`, f32(0), 0xffff0000],
    [asm`v_frexp_exp_i32_f32 v0, v1`, f32(12), 4],
    [asm`v_frexp_mant_f32 v0, v1`, f32(12), f32(0.75)],
    [asm`v_frexp_exp_i16_f16 v0, v1`, f16(0.25), 0xffff],
  ];
  for (const [program, source, expected] of rows) {
    assertEquals(execute(program, { v: { 1: source } }).v(0), expected >>> 0, program.lines[0]);
  }
  // Output modifiers do nothing to a conversion to an integer; clamp is refused, because nobody documents it.
  assertEquals(execute(asm`v_cvt_i32_f32_e64 v0, v1 mul:2`, { v: { 1: f32(3) }, mode: 0 }).v(0), 3);
  assertThrows(() => execute(asm`v_cvt_i32_f32_e64 v0, v1 clamp`, {}), RefusedError, "clamp");
});

Deno.test("transcendental functions of the vector unit", () => {
  const rows: [Program, number, number][] = [
    [asm`v_rcp_f32 v0, v1`, 4, 0.25],
    [asm`v_rcp_iflag_f32 v0, v1`, 4, 0.25],
    [asm`v_rsq_f32 v0, v1`, 16, 0.25],
    [asm`v_sqrt_f32 v0, v1`, 2, Math.fround(Math.sqrt(2))],
    [asm`v_exp_f32 v0, v1`, -3, 0.125],
    [asm`v_log_f32 v0, v1`, 1024, 10],
    [asm`v_sin_f32 v0, v1`, 0.25, 1],
    [asm`v_cos_f32 v0, v1`, 0.5, -1],
    [asm`v_fract_f32 v0, v1`, -0.25, 0.75],
  ];
  for (const [program, source, expected] of rows) assertEquals(floats(program, [source]), expected, program.lines[0]);
  const double = execute(asm`v_sqrt_f64 v[0:1], 4.0
    v_rsq_f64 v[2:3], 4.0`);
  assertEquals([double.v64(0), double.v64(2)], [f64(2), f64(0.5)]);
});

Deno.test("cube map coordinates: face, s, t and twice the major axis", () => {
  const programs = [
    asm`v_cubeid_f32 v0, v1, v2, v3`,
    asm`v_cubesc_f32 v0, v1, v2, v3`,
    asm`v_cubetc_f32 v0, v1, v2, v3`,
    asm`v_cubema_f32 v0, v1, v2, v3`,
  ];
  const rows: [number[], number[]][] = [
    [[5, 2, 3], [0, -3, -2, 10]],
    [[-5, 2, 3], [1, 3, -2, -10]],
    [[1, 5, 3], [2, 1, 3, 10]],
    [[1, -5, 3], [3, 1, -3, -10]],
    [[1, 2, 5], [4, 1, -2, 10]],
    [[1, 2, -5], [5, -1, -2, -10]],
    // Of equal components z comes first, then y.
    [[5, 5, 5], [4, 5, -5, 10]],
    [[5, 5, 1], [2, 5, 1, 10]],
  ];
  for (const [direction, expected] of rows) {
    assertEquals(programs.map((program) => floats(program, direction)), expected);
  }
});

Deno.test("division steps: the scale, the mask, and the scaled multiply-add", () => {
  const scale = (a: number, b: number, c: number) => {
    const after = execute(asm`v_div_scale_f32 v0, vcc_lo, v1, v2, v3`, {
      v: { 1: f32(a), 2: f32(b), 3: f32(c) },
      exec: 1n,
    });
    return [after.v(0), Number(after.vcc)];
  };
  assertEquals(scale(3, 3, 1), [f32(3), 0]);
  // The quotient is near the largest number: the denominator is scaled up, and the result will be.
  assertEquals(scale(1, 1, 2 ** 100), [f32(2 ** 64), 1]);
  assertEquals(scale(2 ** 100, 1, 2 ** 100), [f32(2 ** 100), 1]);
  // A denormal denominator: both are scaled.
  assertEquals(scale(2 ** -140, 2 ** -140, 2 ** -100), [f32(2 ** -76), 0]);
  assertEquals(scale(2 ** -100, 2 ** -140, 2 ** -100), [f32(2 ** -36), 0]);
  // A denormal quotient: the numerator is scaled, and the result will be.
  assertEquals(scale(2 ** -100, 2 ** 50, 2 ** -100), [f32(2 ** -36), 1]);
  const fmas = (c: number, vcc: bigint) =>
    execute(asm`v_div_fmas_f32 v0, v1, v2, v3`, { v: { 1: f32(1), 2: f32(1), 3: f32(c) }, vcc }).v(0);
  assertEquals([fmas(2, 0n), fmas(2, 1n), fmas(1, 1n)], [f32(3), f32(3 * 2 ** 64), f32(2 * 2 ** -64)]);
  const fixup = execute(asm`v_div_fixup_f32 v0, v1, v2, v3`, { v: { 1: f32(7), 2: f32(-2), 3: f32(1) } });
  assertEquals(fixup.v(0), f32(-7));
  assertEquals(execute(asm`v_div_fixup_f16 v0, v1, v2, v3`, { v: { 1: 0, 2: f16(0), 3: f16(-1) } }).v(0), 0xfc00);
});

Deno.test("v_mullit_f32 guards its second and third operand", () => {
  const lowest = -3.4028234663852886e38;
  const program = asm`v_mullit_f32 v0, v1, v2, v3`;
  assertEquals(floats(program, [3, 4, 1]), 12);
  assertEquals(
    [[3, 4, 0], [3, 4, -1], [3, NaN, 1], [3, -Infinity, 1], [3, lowest, 1], [3, 4, NaN]].map((each) =>
      floats(program, each)
    ),
    new Array(6).fill(lowest),
  );
});

Deno.test("dot products of f16 pairs round after each addition", () => {
  const pair = (low: number, high: number) => (f16(high) << 16 | f16(low)) >>> 0;
  const after = execute(
    asm1030`v_dot2_f32_f16 v0, v1, v2, v3
    v_dot2c_f32_f16 v4, v1, v2`,
    { v: { 1: pair(2, 3), 2: pair(4, 5), 3: f32(100), 4: f32(1000) } },
  );
  assertEquals([after.v(0), after.v(4)], [f32(123), f32(1023)]);
});
