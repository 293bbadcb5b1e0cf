/** Vector comparisons (AMD RDNA2 ISA, section 12.9). */
import { assertEquals } from "@std/assert";
import { asm, asm64, execute, type Program } from "./asm.ts";
import { f16, f32, f64, halves } from "./machine.ts";

Deno.test("float comparisons: ordered ones are false with a NaN, their negations true", () => {
  // Lanes: less, equal, greater, NaN.
  const v = { 1: [f32(1), f32(2), f32(3), f32(NaN)], 2: f32(2) };
  const rows: [Program, number][] = [
    [asm`v_cmp_f_f32 vcc_lo, v1, v2`, 0b0000],
    [asm`v_cmp_lt_f32 vcc_lo, v1, v2`, 0b0001],
    [asm`v_cmp_eq_f32 vcc_lo, v1, v2`, 0b0010],
    [asm`v_cmp_le_f32 vcc_lo, v1, v2`, 0b0011],
    [asm`v_cmp_gt_f32 vcc_lo, v1, v2`, 0b0100],
    [asm`v_cmp_lg_f32 vcc_lo, v1, v2`, 0b0101],
    [asm`v_cmp_ge_f32 vcc_lo, v1, v2`, 0b0110],
    [asm`v_cmp_o_f32 vcc_lo, v1, v2`, 0b0111],
    [asm`v_cmp_u_f32 vcc_lo, v1, v2`, 0b1000],
    [asm`v_cmp_nge_f32 vcc_lo, v1, v2`, 0b1001],
    [asm`v_cmp_nlg_f32 vcc_lo, v1, v2`, 0b1010],
    [asm`v_cmp_ngt_f32 vcc_lo, v1, v2`, 0b1011],
    [asm`v_cmp_nle_f32 vcc_lo, v1, v2`, 0b1100],
    [asm`v_cmp_neq_f32 vcc_lo, v1, v2`, 0b1101],
    [asm`v_cmp_nlt_f32 vcc_lo, v1, v2`, 0b1110],
    [asm`v_cmp_tru_f32 vcc_lo, v1, v2`, 0b1111],
  ];
  for (const [program, expected] of rows) {
    assertEquals(execute(program, { v, exec: 15n, vcc: 0xffffffffn }).vcc, BigInt(expected), program.lines[0]);
  }
});

Deno.test("integer comparisons are signed or unsigned, of 16, 32 and 64 bits", () => {
  const rows: [Program, bigint, bigint, boolean][] = [
    [asm`v_cmp_lt_i32 vcc_lo, v2, v4`, 0xffffffffn, 1n, true],
    [asm`v_cmp_lt_u32 vcc_lo, v2, v4`, 0xffffffffn, 1n, false],
    [asm`v_cmp_ne_u32 vcc_lo, v2, v4`, 1n, 1n, false],
    [asm`v_cmp_t_i32 vcc_lo, v2, v4`, 1n, 1n, true],
    [asm`v_cmp_f_u32 vcc_lo, v2, v4`, 1n, 1n, false],
    [asm`v_cmp_gt_i16 vcc_lo, v2, v4`, 0x1ffffn, 0xfffen, true],
    [asm`v_cmp_le_u16 vcc_lo, v2, v4`, 0x10001n, 1n, true],
    [asm`v_cmp_lt_i64 vcc_lo, v[2:3], v[4:5]`, 0xffff_ffff_0000_0000n, 1n, true],
    [asm`v_cmp_ge_u64 vcc_lo, v[2:3], v[4:5]`, 0xffff_ffff_0000_0000n, 1n, true],
    [asm`v_cmp_eq_u64 vcc_lo, v[2:3], v[4:5]`, 1n << 32n, 0n, false],
  ];
  for (const [program, a, b, expected] of rows) {
    const [a0, a1] = halves(a), [b0, b1] = halves(b);
    const after = execute(program, { v: { 2: a0, 3: a1, 4: b0, 5: b1 }, exec: 1n });
    assertEquals(after.vcc, expected ? 1n : 0n, program.lines[0]);
  }
});

Deno.test("comparisons of f16 and f64, with modifiers and constants", () => {
  const [lo, hi] = halves(f64(-2));
  const v = { 1: f16(-2), 2: lo, 3: hi };
  assertEquals(execute(asm`v_cmp_lt_f16 vcc_lo, v1, v1`, { v }).vcc, 0n);
  assertEquals(execute(asm`v_cmp_gt_f16_e64 s4, |v1|, v1`, { v }).s(4), 0xffffffff);
  assertEquals(execute(asm`v_cmp_eq_f64_e64 s4, -v[2:3], 2.0`, { v }).s(4), 0xffffffff);
});

Deno.test("denormals compare as zeros where MODE flushes sources", () => {
  const program = asm`v_cmp_eq_f32 vcc_lo, v1, v2`, v = { 1: 1, 2: 0 };
  assertEquals([execute(program, { v, mode: 0xf0 }).vcc, execute(program, { v, mode: 0xc0 }).vcc], [0n, 0xffffffffn]);
});

Deno.test("v_cmpx writes EXEC and nothing else; lanes that were off stay off", () => {
  const v = { 1: (lane: number) => lane, 2: 2 };
  const after = execute(asm`v_cmpx_ge_u32 v1, v2`, { v, exec: 0b10101n, vcc: 7n });
  assertEquals([after.exec, after.vcc], [0b10100n, 7n]);
  const wide = execute(asm64`v_cmpx_eq_u32_e64 v1, 40`, { v });
  assertEquals(wide.exec, 1n << 40n);
});

Deno.test("v_cmp in wave64 writes a pair, inactive lanes give 0", () => {
  const after = execute(asm64`v_cmp_gt_u32 s[4:5], v1, v2`, {
    v: { 1: (lane) => lane, 2: 30 },
    exec: 0xffff_ffff_0000_0000n,
    s: { 4: 9 },
  });
  assertEquals(after.s64(4), 0xffff_ffff_0000_0000n);
});

Deno.test("v_cmp_class tests ten classes, one bit each", () => {
  const patterns = [
    0x7f800001, // signalling NaN
    0x7fc00000, // quiet NaN
    0xff800000, // -infinity
    0xbf800000, // -normal
    0x80000001, // -denormal
    0x80000000, // -0
    0x00000000, // +0
    0x00000001, // +denormal
    0x3f800000, // +normal
    0x7f800000, // +infinity
  ];
  for (let bit = 0; bit < 10; bit++) {
    const after = execute(asm`v_cmp_class_f32 vcc_lo, v1, v2`, {
      v: { 1: patterns, 2: 1 << bit },
      exec: 0x3ffn,
      mode: 0,
    });
    assertEquals(after.vcc, 1n << BigInt(bit));
  }
  // The sign modifiers act before.
  const negated = execute(asm`v_cmp_class_f32_e64 s4, -v1, 0x200`, { v: { 1: 0xff800000 } });
  assertEquals(negated.s(4), 0xffffffff);
  const half = execute(asm`v_cmp_class_f16 vcc_lo, v1, v2`, {
    v: { 1: [0x7c01, 0x8001, 0xfc00], 2: 0b10101 },
    exec: 7n,
  });
  assertEquals(half.vcc, 7n);
  const [lo, hi] = halves(0x8000_0000_0000_0001n);
  assertEquals(execute(asm`v_cmp_class_f64 vcc_lo, v[1:2], v3`, { v: { 1: lo, 2: hi, 3: 16 }, exec: 1n }).vcc, 1n);
});
