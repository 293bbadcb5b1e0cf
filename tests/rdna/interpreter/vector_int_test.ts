/** Vector integer operations: cases by hand from the ISA document (sections 12.7, 12.8, 12.10). */
import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { asm, asm1030, asm64, execute, type Program } from "./asm.ts";
import { halves, u32 } from "./machine.ts";

/** v0 := op(v1, v2, v3). */
type Row = [program: Program, sources: readonly number[], result: number];

function check(rows: readonly Row[]): void {
  for (const [program, [a = 0, b = 0, c = 0], result] of rows) {
    const after = execute(program, { v: { 1: a, 2: b, 3: c } });
    assertEquals(after.v(0).toString(16), u32(result).toString(16), `${program.lines[0]} of ${a}, ${b}, ${c}`);
  }
}

Deno.test("vector bit operations", () => {
  check([
    [asm`v_and_b32 v0, v1, v2`, [12, 10], 8],
    [asm`v_or_b32 v0, v1, v2`, [12, 10], 14],
    [asm`v_xor_b32 v0, v1, v2`, [12, 10], 6],
    [asm`v_xnor_b32 v0, v1, v2`, [12, 10], ~6],
    [asm`v_not_b32 v0, v1`, [5], ~5],
    [asm`v_bfrev_b32 v0, v1`, [0x0000_0003], 0xc000_0000],
    [asm`v_lshlrev_b32 v0, v1, v2`, [36, 3], 48],
    [asm`v_lshrrev_b32 v0, v1, v2`, [31, 0x8000_0000], 1],
    [asm`v_ashrrev_i32 v0, v1, v2`, [31, 0x8000_0000], -1],
    [asm`v_ffbh_u32 v0, v1`, [0x0001_0000], 15],
    [asm`v_ffbh_u32 v0, v1`, [0], -1],
    [asm`v_ffbl_b32 v0, v1`, [0x0001_0000], 16],
    [asm`v_ffbh_i32 v0, v1`, [0xffff_0000], 16],
    [asm`v_ffbh_i32 v0, v1`, [-1], -1],
    [asm`v_bfe_u32 v0, v1, v2, v3`, [0xabcd1234, 12, 8], 0xd1],
    [asm`v_bfe_u32 v0, v1, v2, v3`, [0xabcd1234, 12, 32], 0],
    [asm`v_bfe_i32 v0, v1, v2, v3`, [0x800, 8, 4], -8],
    [asm`v_bfi_b32 v0, v1, v2, v3`, [0xff00, 0x1234, 0x5678], 0x1278],
    [asm`v_bfm_b32 v0, v1, v2`, [4, 8], 0xf00],
    [asm`v_alignbit_b32 v0, v1, v2, v3`, [0x11112222, 0x33334444, 8], 0x22333344],
    [asm`v_alignbit_b32 v0, v1, v2, v3`, [0x11112222, 0x33334444, 32], 0x33334444],
    [asm`v_alignbyte_b32 v0, v1, v2, v3`, [0x11112222, 0x33334455, 3], 0x11222233],
    [asm`v_xor3_b32 v0, v1, v2, v3`, [1, 2, 7], 4],
    [asm`v_or3_b32 v0, v1, v2, v3`, [1, 2, 8], 11],
    [asm`v_and_or_b32 v0, v1, v2, v3`, [12, 10, 1], 9],
    [asm`v_lshl_or_b32 v0, v1, v2, v3`, [3, 4, 1], 49],
    [asm`v_bcnt_u32_b32 v0, v1, v2`, [0xf0f0f0f0, 100], 116],
    // Selectors: bytes 0..3 of v2, 4..7 of v1; 8..11 signs of halves; 12 zero; above 0xff.
    [asm`v_perm_b32 v0, v1, v2, v3`, [0x44332211, 0x88776655, 0x07030400], 0x44881155],
    [asm`v_perm_b32 v0, v1, v2, v3`, [0x80000000, 0x00008000, 0x0b0a0908], 0xff0000ff],
    [asm`v_perm_b32 v0, v1, v2, v3`, [0, 0, 0x0c0d0cff], 0x00ff00ff],
    [asm`v_lerp_u8 v0, v1, v2, v3`, [0x01020304, 0x02020202, 0x00000001], 0x01020203],
  ]);
});

Deno.test("vector additions, multiplications and their combinations", () => {
  check([
    [asm`v_add_nc_u32 v0, v1, v2`, [0xffffffff, 2], 1],
    [asm`v_sub_nc_u32 v0, v1, v2`, [1, 2], -1],
    [asm`v_subrev_nc_u32 v0, v1, v2`, [1, 2], 1],
    [asm`v_add3_u32 v0, v1, v2, v3`, [0xffffffff, 2, 3], 4],
    [asm`v_lshl_add_u32 v0, v1, v2, v3`, [3, 4, 5], 53],
    [asm`v_add_lshl_u32 v0, v1, v2, v3`, [3, 4, 2], 28],
    [asm`v_xad_u32 v0, v1, v2, v3`, [12, 10, 1], 7],
    [asm`v_mul_lo_u32 v0, v1, v2`, [0x10001, 0x10001], 0x20001],
    [asm`v_mul_hi_u32 v0, v1, v2`, [0xffffffff, 0xffffffff], 0xfffffffe],
    [asm`v_mul_hi_i32 v0, v1, v2`, [-1, 2], -1],
    [asm`v_mul_lo_i32 v0, v1, v2`, [-3, 5], -15],
    // 24-bit operations ignore the upper byte.
    [asm`v_mul_i32_i24 v0, v1, v2`, [0x55ffffff, 3], -3],
    [asm`v_mul_u32_u24 v0, v1, v2`, [0x55ffffff, 3], 0x2fffffd],
    [asm`v_mul_hi_i32_i24 v0, v1, v2`, [0x800000, 0x7fffff], -0x4000],
    [asm`v_mul_hi_u32_u24 v0, v1, v2`, [0xffffff, 0xffffff], 0xffff],
    [asm`v_mad_i32_i24 v0, v1, v2, v3`, [0xffffff, 5, 7], 2],
    [asm`v_mad_u32_u24 v0, v1, v2, v3`, [0x1000, 0x1000, 1], 0x1000001],
    [asm`v_mad_u32_u16 v0, v1, v2, v3`, [0x5555ffff, 0xffff, 1], 0xfffe0002],
    [asm`v_mad_i32_i16 v0, v1, v2, v3`, [0x5555ffff, 5, 7], 2],
    [asm`v_min_i32 v0, v1, v2`, [-1, 1], -1],
    [asm`v_min_u32 v0, v1, v2`, [-1, 1], 1],
    [asm`v_max_i32 v0, v1, v2`, [-1, 1], 1],
    [asm`v_max_u32 v0, v1, v2`, [-1, 1], -1],
    [asm`v_min3_i32 v0, v1, v2, v3`, [-1, 1, -2], -2],
    [asm`v_max3_u32 v0, v1, v2, v3`, [-1, 1, -2], -1],
    [asm`v_med3_i32 v0, v1, v2, v3`, [-1, 1, -2], -1],
    [asm`v_med3_u32 v0, v1, v2, v3`, [-1, 1, -2], -2],
    [asm`v_sad_u8 v0, v1, v2, v3`, [0x01ff0010, 0x0400000f, 100], 100 + 3 + 255 + 1],
    [asm`v_sad_hi_u8 v0, v1, v2, v3`, [0x01ff0010, 0x0400000f, 100], 100 + (259 << 16)],
    [asm`v_msad_u8 v0, v1, v2, v3`, [0x01ff0010, 0x0400000f, 100], 100 + 3 + 1],
    [asm`v_sad_u16 v0, v1, v2, v3`, [0x00010005, 0x00040001, 10], 17],
    [asm`v_sad_u32 v0, v1, v2, v3`, [3, 0xffffffff, 10], 6],
  ]);
});

Deno.test("clamp saturates integer results", () => {
  check([
    [asm`v_add_nc_u32_e64 v0, v1, v2 clamp`, [0xffffffff, 2], 0xffffffff],
    [asm`v_sub_nc_u32_e64 v0, v1, v2 clamp`, [1, 2], 0],
    [asm`v_add_nc_i32 v0, v1, v2 clamp`, [0x7fffffff, 1], 0x7fffffff],
    [asm`v_sub_nc_i32 v0, v1, v2 clamp`, [0x80000000, 1], 0x80000000],
    [asm`v_mad_u32_u24 v0, v1, v2, v3 clamp`, [0xffffff, 0xffffff, 0], 0xffffffff],
    [asm`v_mad_i32_i24 v0, v1, v2, v3 clamp`, [0x800000, 0x7fffff, 0], 0x80000000],
    [asm`v_sad_u8 v0, v1, v2, v3 clamp`, [0xff, 0, 0xffffffff], 0xffffffff],
  ]);
  // 16-bit results keep the other half of the register.
  const v = { 0: 0xabcd0000, 1: 0xfff0, 2: 0x20 };
  assertEquals(execute(asm`v_add_nc_u16 v0, v1, v2 clamp`, { v }).v(0), 0xabcdffff);
  assertEquals(execute(asm`v_add_nc_i16 v0, v1, v2 clamp`, { v: { ...v, 1: 0x7ff0 } }).v(0), 0xabcd7fff);
  assertEquals(execute(asm`v_sub_nc_u16 v0, v2, v1 clamp`, { v }).v(0), 0xabcd0000);
});

Deno.test("16-bit operations use the low half, and op_sel chooses halves", () => {
  const v = { 0: 0x11112222, 1: 0x00050003, 2: 0x00040002, 3: 0x00070001 };
  const rows: [Program, number][] = [
    [asm`v_add_nc_u16 v0, v1, v2`, 0x11110005],
    [asm`v_add_nc_u16 v0, v1, v2 op_sel:[1,0,0]`, 0x11110007],
    [asm`v_add_nc_u16 v0, v1, v2 op_sel:[1,1,1]`, 0x00092222],
    [asm`v_mul_lo_u16 v0, v1, v2`, 0x11110006],
    [asm`v_mad_u16 v0, v1, v2, v3`, 0x11110007],
    [asm`v_mad_i16 v0, v1, v2, v3 op_sel:[1,1,1,1]`, 0x001b2222],
    [asm`v_lshlrev_b16 v0, v2, v1`, 0x1111000c],
    [asm`v_lshrrev_b16 v0, v2, v1`, 0x11110000],
    [asm`v_max_u16 v0, v1, v2`, 0x11110003],
    [asm`v_min_i16 v0, v1, v2`, 0x11110002],
    [asm`v_med3_i16 v0, v1, v2, v3`, 0x11110002],
    [asm`v_min3_u16 v0, v1, v2, v3`, 0x11110001],
    [asm`v_max3_i16 v0, v1, v2, v3 op_sel:[1,1,1,0]`, 0x11110007],
  ];
  for (const [program, expected] of rows) assertEquals(execute(program, { v }).v(0), expected, program.lines[0]);
  assertEquals(execute(asm`v_ashrrev_i16 v0, v2, v1`, { v: { 1: 0x8000, 2: 1 } }).v(0), 0xc000);
});

Deno.test("carries: each lane's bit of the mask, inactive lanes give 0", () => {
  const lanes = (value: (lane: number) => number) => value;
  const before = { v: { 1: lanes((lane) => lane < 2 ? 0xffffffff : 1), 2: 1 }, exec: 0b0101n, s: { 4: 0xffffffff } };
  const added = execute(asm`v_add_co_u32 v0, s4, v1, v2`, before);
  assertEquals([added.lanes(0, 4), added.s(4)], [[0, 0, 2, 0], 1]);
  const subtracted = execute(asm`v_sub_co_u32 v0, vcc_lo, v2, v1`, before);
  assertEquals([subtracted.lanes(0, 4), subtracted.vcc], [[2, 0, 0, 0], 1n]);
  const chained = execute(asm`v_add_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo`, { ...before, vcc: 0b0100n });
  assertEquals([chained.lanes(0, 4), chained.vcc], [[0, 0, 3, 0], 1n]);
  const reversed = execute(asm`v_subrev_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo`, { ...before, vcc: 0b0101n });
  // 1 - 0xffffffff - 1 and 1 - 1 - 1 borrow.
  assertEquals([reversed.lanes(0, 4), reversed.vcc], [[1, 0, 0xffffffff, 0], 5n]);
  const named = execute(asm`v_sub_co_ci_u32_e64 v0, s4, v1, v2, s6`, { ...before, s: { 6: 1 } });
  assertEquals([named.v(0), named.s(4), named.v(0, 2)], [0xfffffffd, 0, 0]);
  const wide = execute(asm64`v_add_co_u32 v0, s[4:5], v1, v2`, {
    v: { 1: lanes((lane) => lane === 40 ? -1 : 0), 2: 1 },
  });
  assertEquals([wide.s64(4), wide.v(0, 40), wide.v(0, 41)], [1n << 40n, 0, 1]);
});

Deno.test("64-bit shifts and multiply-adds", () => {
  const [lo, hi] = halves(0x8000_0000_0000_0001n);
  const v = { 1: 4, 2: lo, 3: hi };
  assertEquals(execute(asm`v_lshlrev_b64 v[4:5], v1, v[2:3]`, { v }).v64(4), 0x10n);
  assertEquals(execute(asm`v_lshrrev_b64 v[4:5], v1, v[2:3]`, { v }).v64(4), 0x0800_0000_0000_0000n);
  assertEquals(execute(asm`v_ashrrev_i64 v[4:5], v1, v[2:3]`, { v }).v64(4), 0xf800_0000_0000_0000n);
  const product = execute(asm`v_mad_u64_u32 v[4:5], s4, v1, v2, v[6:7]`, {
    v: { 1: 0xffffffff, 2: 0xffffffff, 6: 0xffffffff, 7: 0xffffffff },
  });
  // (2^32 - 1)^2 + 2^64 - 1 = 2^65 - 2^33: it carries.
  assertEquals([product.v64(4), product.s(4)], [0xffff_fffe_0000_0000n, 0xffffffff]);
  const signed = execute(asm`v_mad_i64_i32 v[4:5], s4, v1, v2, v[6:7]`, { v: { 1: -3, 2: 5, 6: 10, 7: 0 } });
  assertEquals([signed.v64(4), signed.s(4)], [BigInt.asUintN(64, -5n), 0]);
});

Deno.test("sums of absolute differences over sliding windows", () => {
  // Bytes of v[2:3], lowest first: 1 2 3 4 5 6 7 8; reference bytes 1 0 3 0.
  const v = { 2: 0x04030201, 3: 0x08070605, 4: 0x00030001, 6: 0x00640000, 7: 0, 8: 0, 9: 0 };
  const quad = execute(asm`v_qsad_pk_u16_u8 v[10:11], v[2:3], v4, v[6:7]`, { v });
  // Windows 1234, 2345, 3456, 4567 against 1 0 3 0: 0+2+0+4, 1+3+1+5, 2+4+2+6, 3+5+3+7.
  assertEquals([quad.v(10), quad.v(11)], [6 | 110 << 16, 14 | 18 << 16]);
  const masked = execute(asm`v_mqsad_pk_u16_u8 v[10:11], v[2:3], v4, v[6:7]`, { v });
  assertEquals([masked.v(10), masked.v(11)], [0 | 102 << 16, 4 | 6 << 16]);
  const wide = execute(asm`v_mqsad_u32_u8 v[10:13], v[2:3], v4, v[6:9]`, { v });
  assertEquals([10, 11, 12, 13].map((register) => wide.v(register)), [0x640000, 2, 4, 6]);
});

Deno.test("packing and saturating", () => {
  check([
    [asm`v_cvt_pk_u16_u32 v0, v1, v2`, [70000, 5], 0x0005ffff],
    [asm`v_cvt_pk_i16_i32 v0, v1, v2`, [-70000, 70000], 0x7fff8000],
    [asm`v_pack_b32_f16 v0, v1, v2`, [0x11112222, 0x33334444], 0x44442222],
    [asm`v_pack_b32_f16 v0, v1, v2 op_sel:[1,1,0]`, [0x11112222, 0x33334444], 0x33331111],
    [asm`v_sat_pk_u8_i16 v0, v1`, [0xffff0123], 0x00ff],
    [asm`v_cvt_pk_u8_f32 v0, v1, v2, v3`, [0x43002000, 2, 0x11223344], 0x11803344],
  ]);
});

Deno.test("v_cndmask chooses by the lane's bit, with float modifiers on bits", () => {
  const before = { v: { 1: 10, 2: 0x3f800000 }, vcc: 2n };
  assertEquals(execute(asm`v_cndmask_b32 v0, v1, v2, vcc_lo`, before).lanes(0, 2), [10, 0x3f800000]);
  assertEquals(execute(asm`v_cndmask_b32_e64 v0, v1, -|v2|, s4`, { ...before, s: { 4: 1 } }).lanes(0, 2), [
    0xbf800000,
    10,
  ]);
});

Deno.test("lanes outside EXEC keep their registers, in wave64 too", () => {
  const after = execute(asm64`v_mov_b32 v0, 7`, { exec: 1n << 63n | 4n, v: { 0: 1 } });
  assertEquals([0, 2, 62, 63].map((lane) => after.v(0, lane)), [1, 7, 1, 7]);
});

Deno.test("relative vector registers add M0; outside the file they are refused", () => {
  const v = { 10: 100, 11: 101, 12: 102 };
  assertEquals(execute(asm`v_movrels_b32 v0, v10`, { v, m0: 2 }).v(0), 102);
  assertEquals(execute(asm`v_movreld_b32 v0, v10`, { v, m0: 2 }).v(2), 100);
  assertEquals(execute(asm`v_movrelsd_b32 v0, v10`, { v, m0: 1 }).v(1), 101);
  assertEquals(execute(asm`v_movrelsd_2_b32 v0, v10`, { v, m0: 2 | 5 << 16 }).v(5), 102);
  const swapped = execute(
    asm`v_swap_b32 v10, v11
    v_swaprel_b32 v0, v10`,
    { v, m0: 2 | 3 << 16 },
  );
  assertEquals([swapped.v(10), swapped.v(11), swapped.v(3), swapped.v(12)], [101, 100, 102, 0]);
  assertThrows(() => execute(asm`v_movrels_b32 v0, v10`, { m0: 300 }), RefusedError, "vector register 310");
  // A decoded instruction is not changed by its execution.
  const twice = execute(
    asm`v_movrels_b32 v0, v10
    s_mov_b32 m0, 1
    v_movrels_b32 v1, v10`,
    { v, m0: 2 },
  );
  assertEquals([twice.v(0), twice.v(1)], [102, 101]);
});

Deno.test("SDWA selects parts of sources and of the destination", () => {
  const v = { 0: 0xaabbccdd, 1: 0x80ff7f01, 2: 0x01020304 };
  const rows: [Program, number][] = [
    [asm`v_mov_b32_sdwa v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2`, 0xff],
    [asm`v_mov_b32_sdwa v0, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2`, 0xffffffff],
    [asm`v_mov_b32_sdwa v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0`, 0x00000100],
    [asm`v_mov_b32_sdwa v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0`, 0xaabb01dd],
    [asm`v_mov_b32_sdwa v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3`, 0xffff8000],
    [asm`v_mov_b32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0`, 0x7f01ccdd],
    [asm`v_add_nc_u32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_3`, 0x8100],
    [
      asm`v_add_nc_u32_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_0`,
      0xffff8103,
    ],
  ];
  for (const [program, expected] of rows) assertEquals(execute(program, { v }).v(0), expected, program.lines[0]);
  const compared = execute(asm`v_cmp_eq_u32_sdwa s4, v1, v2 src0_sel:BYTE_0 src1_sel:BYTE_3`, { v });
  assertEquals(compared.s(4), 0xffffffff);
});

Deno.test("dot products of integers exist on gfx10.3 only", () => {
  const rows: [Program, number, number, number, number][] = [
    [asm1030`v_dot4_i32_i8 v0, v1, v2, v3`, 0x01ff02fe, 0x02020202, 10, 10],
    [asm1030`v_dot4_u32_u8 v0, v1, v2, v3`, 0x01ff02fe, 0x02020202, 10, 10 + 2 * (1 + 255 + 2 + 254)],
    [asm1030`v_dot8_i32_i4 v0, v1, v2, v3`, 0x0000000f, 0x00000003, 10, 7],
    [asm1030`v_dot8_u32_u4 v0, v1, v2, v3`, 0x1000000f, 0x20000003, 10, 57],
    [asm1030`v_dot2_i32_i16 v0, v1, v2, v3`, 0xffff0002, 0x00030004, 10, 15],
    [asm1030`v_dot2_u32_u16 v0, v1, v2, v3`, 0xffff0002, 0x00010004, 0, 0x10007],
    [asm1030`v_dot2_u32_u16 v0, v1, v2, v3 clamp`, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
    [asm1030`v_dot4_i32_i8 v0, v1, v2, v3 clamp`, 0x7f7f7f7f, 0x7f7f7f7f, 0x7fffffff, 0x7fffffff],
  ];
  for (const [program, a, b, c, expected] of rows) {
    assertEquals(execute(program, { v: { 1: a, 2: b, 3: c } }).v(0), expected, program.lines[0]);
  }
  assertEquals(execute(asm1030`v_dot4c_i32_i8 v0, v1, v2`, { v: { 0: 5, 1: 0x03, 2: 0x04 } }).v(0), 17);
});
