/** Scalar ALU: cases by hand from the ISA document (sections 12.1 to 12.4). */
import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { asm, execute, type Program } from "./asm.ts";
import { halves } from "./machine.ts";

/** s4 op s5 -> s0, with SCC before and after. */
type Row = [program: Program, a: number, b: number, result: number, scc: number, sccBefore?: 0 | 1];

function check(rows: readonly Row[]): void {
  for (const [program, a, b, result, scc, sccBefore = 0] of rows) {
    const after = execute(program, { s: { 4: a, 5: b }, scc: sccBefore });
    assertEquals([after.s(0), after.scc], [result >>> 0, scc], `${program.lines[0]} of ${a}, ${b}`);
  }
}

Deno.test("scalar additions and subtractions: unsigned SCC is the carry, signed SCC the overflow", () => {
  check([
    [asm`s_add_u32 s0, s4, s5`, 0xffffffff, 2, 1, 1],
    [asm`s_add_u32 s0, s4, s5`, 0x7fffffff, 1, 0x80000000, 0],
    [asm`s_sub_u32 s0, s4, s5`, 1, 2, 0xffffffff, 1],
    [asm`s_sub_u32 s0, s4, s5`, 2, 2, 0, 0],
    [asm`s_add_i32 s0, s4, s5`, 0x7fffffff, 1, 0x80000000, 1],
    [asm`s_add_i32 s0, s4, s5`, 0xffffffff, 2, 1, 0],
    [asm`s_sub_i32 s0, s4, s5`, 0x80000000, 1, 0x7fffffff, 1],
    [asm`s_addc_u32 s0, s4, s5`, 0xffffffff, 0, 0, 1, 1],
    [asm`s_addc_u32 s0, s4, s5`, 0xffffffff, 0, 0xffffffff, 0, 0],
    [asm`s_subb_u32 s0, s4, s5`, 0, 0, 0xffffffff, 1, 1],
    [asm`s_subb_u32 s0, s4, s5`, 5, 2, 2, 0, 1],
  ]);
});

Deno.test("scalar minimum and maximum: SCC says that the first source was taken", () => {
  check([
    [asm`s_min_i32 s0, s4, s5`, 0xffffffff, 1, 0xffffffff, 1],
    [asm`s_min_u32 s0, s4, s5`, 0xffffffff, 1, 1, 0],
    [asm`s_min_i32 s0, s4, s5`, 7, 7, 7, 0],
    [asm`s_max_i32 s0, s4, s5`, 0xffffffff, 1, 1, 0],
    [asm`s_max_u32 s0, s4, s5`, 0xffffffff, 1, 0xffffffff, 1],
    [asm`s_max_i32 s0, s4, s5`, 7, 7, 7, 1],
    [asm`s_max_u32 s0, s4, s5`, 7, 7, 7, 1],
  ]);
});

Deno.test("scalar logic sets SCC when the result is not zero", () => {
  const a = 0b1100, b = 0b1010;
  check([
    [asm`s_and_b32 s0, s4, s5`, a, b, 0b1000, 1],
    [asm`s_or_b32 s0, s4, s5`, a, b, 0b1110, 1],
    [asm`s_xor_b32 s0, s4, s5`, a, a, 0, 0],
    [asm`s_andn2_b32 s0, s4, s5`, a, b, 0b0100, 1],
    [asm`s_orn2_b32 s0, s4, s5`, a, b, ~b | a, 1],
    [asm`s_nand_b32 s0, s4, s5`, 0xffffffff, 0xffffffff, 0, 0],
    [asm`s_nor_b32 s0, s4, s5`, a, b, ~0b1110, 1],
    [asm`s_xnor_b32 s0, s4, s5`, a, b, ~0b0110, 1],
    [asm`s_not_b32 s0, s4`, 0xffffffff, 0, 0, 0],
  ]);
});

Deno.test("scalar shifts use five bits of the amount", () => {
  check([
    [asm`s_lshl_b32 s0, s4, s5`, 1, 33, 2, 1],
    [asm`s_lshr_b32 s0, s4, s5`, 0x80000000, 31, 1, 1],
    [asm`s_lshr_b32 s0, s4, s5`, 1, 1, 0, 0],
    [asm`s_ashr_i32 s0, s4, s5`, 0x80000000, 31, 0xffffffff, 1],
    [asm`s_lshl1_add_u32 s0, s4, s5`, 0x80000000, 1, 1, 1],
    [asm`s_lshl2_add_u32 s0, s4, s5`, 3, 1, 13, 0],
    [asm`s_lshl3_add_u32 s0, s4, s5`, 3, 1, 25, 0],
    [asm`s_lshl4_add_u32 s0, s4, s5`, 0x0fffffff, 0x10, 0, 1],
    [asm`s_lshl4_add_u32 s0, s4, s5`, 0x10000000, 0, 0, 1],
  ]);
});

Deno.test("scalar bit fields: offset in bits 4:0, width in bits 22:16 of the second source", () => {
  check([
    [asm`s_bfe_u32 s0, s4, s5`, 0xabcd1234, 8 << 16 | 12, 0xd1, 1],
    [asm`s_bfe_u32 s0, s4, s5`, 0xabcd1234, 0 << 16 | 12, 0, 0],
    [asm`s_bfe_u32 s0, s4, s5`, 0xabcd1234, 32 << 16 | 4, 0x0abcd123, 1],
    [asm`s_bfe_i32 s0, s4, s5`, 0x00000800, 4 << 16 | 8, 0xfffffff8, 1],
    [asm`s_bfe_i32 s0, s4, s5`, 0x80000000, 16 << 16 | 24, 0xffffff80, 1],
    [asm`s_bfm_b32 s0, s4, s5`, 4, 8, 0xf00, 0],
    [asm`s_absdiff_i32 s0, s4, s5`, 3, 10, 7, 1],
    [asm`s_absdiff_i32 s0, s4, s5`, 3, 3, 0, 0],
    [asm`s_mul_i32 s0, s4, s5`, 0x10001, 0x10001, 0x20001, 0],
    [asm`s_mul_hi_u32 s0, s4, s5`, 0xffffffff, 0xffffffff, 0xfffffffe, 0],
    [asm`s_mul_hi_i32 s0, s4, s5`, 0xffffffff, 2, 0xffffffff, 0],
    [asm`s_pack_ll_b32_b16 s0, s4, s5`, 0x11112222, 0x33334444, 0x44442222, 0],
    [asm`s_pack_lh_b32_b16 s0, s4, s5`, 0x11112222, 0x33334444, 0x33332222, 0],
    [asm`s_pack_hh_b32_b16 s0, s4, s5`, 0x11112222, 0x33334444, 0x33331111, 0],
    [asm`s_cselect_b32 s0, s4, s5`, 1, 2, 1, 1, 1],
    [asm`s_cselect_b32 s0, s4, s5`, 1, 2, 2, 0, 0],
  ]);
});

/** s[4:5] op s[6:7] or s6 -> s[0:1]. */
type WideRow = [program: Program, a: bigint, b: bigint, result: bigint, scc: number, sccBefore?: 0 | 1];

Deno.test("64-bit scalar operations", () => {
  const rows: WideRow[] = [
    [asm`s_and_b64 s[0:1], s[4:5], s[6:7]`, 0xff00_0000_0000_0000n, 0xf000_0000_0000_0001n, 0xf000_0000_0000_0000n, 1],
    [asm`s_xnor_b64 s[0:1], s[4:5], s[6:7]`, 0n, 0xffff_ffff_ffff_ffffn, 0n, 0],
    [asm`s_nor_b64 s[0:1], s[4:5], s[6:7]`, 1n, 2n, 0xffff_ffff_ffff_fffcn, 1],
    [asm`s_lshl_b64 s[0:1], s[4:5], s6`, 1n, 96n, 0x1_0000_0000n, 1],
    [asm`s_lshr_b64 s[0:1], s[4:5], s6`, 1n << 63n, 63n, 1n, 1],
    [asm`s_ashr_i64 s[0:1], s[4:5], s6`, 1n << 63n, 63n, 0xffff_ffff_ffff_ffffn, 1],
    [asm`s_bfm_b64 s[0:1], s4, s6`, 8n, 40n, 0xff00_0000_0000n, 0],
    [asm`s_bfe_u64 s[0:1], s[4:5], s6`, 0x1234_5678_9abc_def0n, 16n << 16n | 40n, 0x3456n, 1],
    [asm`s_bfe_u64 s[0:1], s[4:5], s6`, 0xffff_ffff_ffff_ffffn, 0n << 16n | 3n, 0n, 0],
    [asm`s_bfe_u64 s[0:1], s[4:5], s6`, 0xffff_ffff_ffff_ffffn, 100n << 16n | 60n, 15n, 1],
    [asm`s_bfe_i64 s[0:1], s[4:5], s6`, 0x0000_8000_0000_0000n, 8n << 16n | 40n, 0xffff_ffff_ffff_ff80n, 1],
    [asm`s_cselect_b64 s[0:1], s[4:5], s[6:7]`, 1n, 2n, 1n, 1, 1],
    [asm`s_not_b64 s[0:1], s[4:5]`, 0xffff_ffff_ffff_ffffn, 0n, 0n, 0],
    [asm`s_brev_b64 s[0:1], s[4:5]`, 1n, 0n, 1n << 63n, 0],
    [asm`s_wqm_b64 s[0:1], s[4:5]`, 0x1000_0000_0000_0021n, 0n, 0xf000_0000_0000_00ffn, 1],
    [asm`s_quadmask_b64 s[0:1], s[4:5]`, 0x1000_0000_0000_0021n, 0n, 0x8003n, 1],
    [asm`s_bitreplicate_b64_b32 s[0:1], s4`, 0x8000_0005n, 0n, 0xc000_0000_0000_0033n, 0],
    [asm`s_bitset1_b64 s[0:1], s4`, 65n, 0n, 2n, 0],
  ];
  for (const [program, a, b, result, scc, sccBefore = 0] of rows) {
    const [a0, a1] = halves(a), [b0, b1] = halves(b);
    const after = execute(program, { s: { 4: a0, 5: a1, 6: b0, 7: b1 }, scc: sccBefore });
    assertEquals([after.s64(0), after.scc], [result, scc], program.lines[0]);
  }
});

Deno.test("scalar operations with one source", () => {
  check([
    [asm`s_brev_b32 s0, s4`, 1, 0, 0x80000000, 0],
    [asm`s_bcnt0_i32_b32 s0, s4`, 0xffff0000, 0, 16, 1],
    [asm`s_bcnt1_i32_b32 s0, s4`, 0, 0, 0, 0],
    [asm`s_bcnt1_i32_b32 s0, s4`, 0xff, 0, 8, 1],
    [asm`s_ff0_i32_b32 s0, s4`, 0b0111, 0, 3, 0],
    [asm`s_ff0_i32_b32 s0, s4`, 0xffffffff, 0, -1, 0],
    [asm`s_ff1_i32_b32 s0, s4`, 0x80, 0, 7, 0],
    [asm`s_ff1_i32_b32 s0, s4`, 0, 0, -1, 0],
    [asm`s_flbit_i32_b32 s0, s4`, 0x00010000, 0, 15, 0],
    [asm`s_flbit_i32_b32 s0, s4`, 0, 0, -1, 0],
    [asm`s_flbit_i32 s0, s4`, 0xffff0000, 0, 16, 0],
    [asm`s_flbit_i32 s0, s4`, 0xffffffff, 0, -1, 0],
    [asm`s_sext_i32_i8 s0, s4`, 0x180, 0, -128, 0],
    [asm`s_sext_i32_i16 s0, s4`, 0x18000, 0, -32768, 0],
    [asm`s_abs_i32 s0, s4`, -5, 0, 5, 1],
    [asm`s_abs_i32 s0, s4`, 0x80000000, 0, 0x80000000, 1],
    [asm`s_wqm_b32 s0, s4`, 0x00100001, 0, 0x00f0000f, 1],
    [asm`s_quadmask_b32 s0, s4`, 0x00100001, 0, 0x21, 1],
    [asm`s_cmov_b32 s0, s4`, 9, 0, 9, 1, 1],
    [asm`s_cmov_b32 s0, s4`, 9, 0, 0, 0, 0],
    [asm`s_bitset1_b32 s0, s4`, 35, 0, 8, 0],
  ]);
  const after = execute(
    asm`s_bcnt1_i32_b64 s0, s[4:5]
    s_ff1_i32_b64 s1, s[4:5]
    s_flbit_i32_b64 s2, s[4:5]
    s_flbit_i32_i64 s3, s[4:5]
    s_bcnt0_i32_b64 s6, s[4:5]
    s_ff0_i32_b64 s7, s[4:5]`,
    { s: { 4: 0, 5: 0x00f00000 } },
  );
  assertEquals([0, 1, 2, 3, 6, 7].map((register) => after.s(register)), [4, 52, 8, 8, 60, 0]);
});

Deno.test("scalar comparisons write SCC only", () => {
  const rows: [Program, number, number, number][] = [
    [asm`s_cmp_eq_i32 s4, s5`, 5, 5, 1],
    [asm`s_cmp_lg_i32 s4, s5`, 5, 5, 0],
    [asm`s_cmp_gt_i32 s4, s5`, 1, 0xffffffff, 1],
    [asm`s_cmp_gt_u32 s4, s5`, 1, 0xffffffff, 0],
    [asm`s_cmp_ge_u32 s4, s5`, 7, 7, 1],
    [asm`s_cmp_lt_i32 s4, s5`, 0x80000000, 0, 1],
    [asm`s_cmp_le_u32 s4, s5`, 0x80000000, 0, 0],
    [asm`s_bitcmp0_b32 s4, s5`, 4, 2, 0],
    [asm`s_bitcmp1_b32 s4, s5`, 4, 34, 1],
    [asm`s_cmpk_eq_i32 s4, 0xfffe`, -2, 0, 1],
    [asm`s_cmpk_eq_u32 s4, 0xfffe`, 0xfffe, 0, 1],
    [asm`s_cmpk_gt_i32 s4, 0xfffe`, 0, 0, 1],
    [asm`s_cmpk_lt_u32 s4, 0xfffe`, 5, 0, 1],
    [asm`s_cmp_eq_u64 s[4:5], s[4:5]`, 3, 4, 1],
    [asm`s_cmp_lg_u64 s[4:5], 3`, 3, 1, 1],
  ];
  for (const [program, a, b, scc] of rows) {
    assertEquals(execute(program, { s: { 4: a, 5: b } }).scc, scc, program.lines[0]);
  }
});

Deno.test("16-bit immediates are sign-extended", () => {
  const after = execute(
    asm`s_movk_i32 s0, 0x8000
    s_mulk_i32 s1, 0xfffe
    s_addk_i32 s2, 0x7fff`,
    { s: { 1: 7, 2: 0x7fff8001 } },
  );
  assertEquals([after.s(0), after.s(1), after.s(2), after.scc], [0xffff8000, -14 >>> 0, 0x80000000, 1]);
  assertEquals(execute(asm`s_cmovk_i32 s0, 5`, { scc: 1 }).s(0), 5);
});

Deno.test("operands: inline constants, literals, VCC, M0, SCC, and NULL", () => {
  const after = execute(
    asm`s_mov_b32 s0, -16
    s_mov_b32 s1, 64
    s_mov_b32 s2, -4.0
    s_mov_b32 s3, 0.15915494
    s_mov_b32 s4, 0x12345678
    s_mov_b64 s[6:7], -3
    s_mov_b64 s[8:9], 2.0
    s_mov_b64 s[10:11], 0x87654321
    s_mov_b32 s12, m0
    s_mov_b32 s13, src_scc
    s_mov_b32 s14, null
    s_mov_b32 null, 5
    s_mov_b32 vcc_hi, 9
    s_mov_b32 s15, vcc_hi
    s_mov_b32 s16, src_execz
    s_mov_b32 s17, src_vccz`,
    { m0: 77, scc: 1, vcc: 0n },
  );
  const expected = [
    -16,
    64,
    0xc0800000,
    0x3e22f983,
    0x12345678,
    0,
    -3,
    -1,
    0,
    0x40000000,
    0x87654321,
    0,
    77,
    1,
    0,
    9,
    0,
    1,
  ];
  assertEquals(expected.map((_, register) => after.s(register)), expected.map((value) => value >>> 0));
});

Deno.test("relative moves add M0 to the register's number", () => {
  const s = { 10: 100, 11: 101, 12: 102, 13: 103 };
  const after = execute(
    asm`s_movrels_b32 s0, s10
    s_movreld_b32 s1, s10
    s_movrels_b64 s[4:5], s[10:11]
    s_movreld_b64 s[6:7], s[12:13]`,
    { s, m0: 2 },
  );
  assertEquals([0, 3, 4, 5, 8, 9].map((register) => after.s(register)), [102, 100, 102, 103, 102, 103]);
  // Source offset in M0[9:0], destination offset in M0[25:16].
  const both = execute(asm`s_movrelsd_2_b32 s0, s10`, { s, m0: 3 | 5 << 16 });
  assertEquals(both.s(5), 103);
  assertThrows(() => execute(asm`s_movrels_b32 s0, s10`, { m0: 500 }), RefusedError, "scalar register 510");
});

Deno.test("trap handler registers are refused", () => {
  assertThrows(() => execute(asm`s_mov_b32 s0, ttmp3`), RefusedError, "TTMP");
  assertThrows(() => execute(asm`s_mov_b32 ttmp3, s0`), RefusedError, "TTMP");
});
