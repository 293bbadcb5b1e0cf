/** Packed and mixed-precision instructions (AMD RDNA2 ISA, section 12.11). */
import { assertEquals } from "@std/assert";
import { asm, execute, type Program } from "./asm.ts";
import { f16, f32 } from "./machine.ts";

const pair = (low: number, high: number) => (f16(high) << 16 | f16(low)) >>> 0;

Deno.test("packed f16 arithmetic works on both halves; op_sel crosses them, neg_lo and neg_hi negate", () => {
  const v = { 1: pair(1, 2), 2: pair(3, 4), 3: pair(10, 20) };
  const rows: [Program, number][] = [
    [asm`v_pk_add_f16 v0, v1, v2`, pair(4, 6)],
    [asm`v_pk_mul_f16 v0, v1, v2`, pair(3, 8)],
    [asm`v_pk_fma_f16 v0, v1, v2, v3`, pair(13, 28)],
    [asm`v_pk_min_f16 v0, v1, v2`, pair(1, 2)],
    [asm`v_pk_max_f16 v0, v1, v2`, pair(3, 4)],
    [asm`v_pk_add_f16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]`, pair(5, 5)],
    [asm`v_pk_add_f16 v0, v1, v2 neg_lo:[1,0] neg_hi:[0,1]`, pair(2, -2)],
    [asm`v_pk_mul_f16 v0, v1, v2 clamp`, pair(1, 1)],
    // An inline float is in the low half only.
    [asm`v_pk_add_f16 v0, v1, 1.0`, pair(2, 2)],
    [asm`v_pk_add_f16 v0, v1, 1.0 op_sel_hi:[1,0]`, pair(2, 3)],
    [asm`v_pk_mul_f16 v0, v1, v2 op_sel:[0,0] op_sel_hi:[0,0]`, pair(3, 3)],
  ];
  for (const [program, expected] of rows) {
    assertEquals(execute(program, { v }).v(0).toString(16), expected.toString(16), program.lines[0]);
  }
  const accumulated = execute(asm`v_pk_fmac_f16 v0, v1, v2`, { v: { ...v, 0: pair(100, 200) } });
  assertEquals(accumulated.v(0), pair(103, 208));
});

Deno.test("packed integer arithmetic wraps, or saturates with clamp", () => {
  const v = { 1: 0x7fff_fffe, 2: 0x0002_0003, 3: 0x0001_0001 };
  const rows: [Program, number][] = [
    [asm`v_pk_add_u16 v0, v1, v2`, 0x8001_0001],
    [asm`v_pk_add_u16 v0, v1, v2 clamp`, 0x8001_ffff],
    [asm`v_pk_add_i16 v0, v1, v2`, 0x8001_0001],
    [asm`v_pk_add_i16 v0, v1, v2 clamp`, 0x7fff_0001],
    [asm`v_pk_sub_u16 v0, v2, v1 clamp`, 0x0000_0000],
    [asm`v_pk_sub_i16 v0, v2, v1`, 0x8003_0005],
    [asm`v_pk_mul_lo_u16 v0, v1, v2`, 0xfffe_fffa],
    [asm`v_pk_mad_u16 v0, v1, v2, v3`, 0xffff_fffb],
    [asm`v_pk_mad_i16 v0, v1, v2, v3`, 0xffff_fffb],
    [asm`v_pk_mad_i16 v0, v1, v2, v3 clamp`, 0x7fff_fffb],
    [asm`v_pk_lshlrev_b16 v0, v2, v1`, 0xfffc_fff0],
    [asm`v_pk_lshrrev_b16 v0, v2, v1`, 0x1fff_1fff],
    [asm`v_pk_ashrrev_i16 v0, v2, v1`, 0x1fff_ffff],
    [asm`v_pk_max_i16 v0, v1, v2`, 0x7fff_0003],
    [asm`v_pk_min_i16 v0, v1, v2`, 0x0002_fffe],
    [asm`v_pk_max_u16 v0, v1, v2`, 0x7fff_fffe],
    [asm`v_pk_min_u16 v0, v1, v2`, 0x0002_0003],
    // An inline integer fills the register with its sign; an inline float is an f32 pattern.
    [asm`v_pk_add_u16 v0, v2, -1`, 0x0001_0002],
    [asm`v_pk_add_u16 v0, v2, 2.0`, 0x4002_0003],
  ];
  for (const [program, expected] of rows) {
    assertEquals(execute(program, { v }).v(0).toString(16), (expected >>> 0).toString(16), program.lines[0]);
  }
});

Deno.test("mixed precision: op_sel_hi makes a source f16, op_sel its half; abs and neg act on the value", () => {
  const v = { 0: 0x11112222, 1: f32(1.5), 2: pair(2, 4), 3: pair(-3, 5) };
  const rows: [Program, number][] = [
    [asm`v_fma_mix_f32 v0, v1, v2, v3 op_sel_hi:[0,1,1]`, f32(0)],
    [asm`v_fma_mix_f32 v0, v1, v2, v3 op_sel:[0,1,1] op_sel_hi:[0,1,1]`, f32(11)],
    [asm`v_fma_mix_f32 v0, v1, v2, |v3| op_sel_hi:[0,1,1]`, f32(6)],
    [asm`v_fma_mix_f32 v0, -v1, v2, v3 op_sel_hi:[0,1,1]`, f32(-6)],
    [asm`v_fma_mix_f32 v0, v1, v1, v1`, f32(3.75)],
    [asm`v_fma_mixlo_f16 v0, v1, v2, v3 op_sel:[0,1,1] op_sel_hi:[0,1,1]`, 0x11110000 | f16(11)],
    [asm`v_fma_mixhi_f16 v0, v1, v2, v3 op_sel:[0,1,1] op_sel_hi:[0,1,1]`, f16(11) << 16 | 0x2222],
    [asm`v_fma_mixlo_f16 v0, v1, v2, v3 op_sel:[0,1,1] op_sel_hi:[0,1,1] clamp`, 0x11110000 | f16(1)],
  ];
  for (const [program, expected] of rows) {
    assertEquals(execute(program, { v }).v(0).toString(16), (expected >>> 0).toString(16), program.lines[0]);
  }
});
