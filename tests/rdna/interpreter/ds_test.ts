/** LDS and GDS (AMD RDNA2 ISA, sections 10 and 12.12). */
import { assertEquals } from "@std/assert";
import { FaultReason } from "../../../src/rdna/interpreter/mod.ts";
import { asm, asm64, execute, type Program } from "./asm.ts";
import { f32, f64, halves } from "./machine.ts";

const LDS = Array.from({ length: 64 }, (_, n) => 0x01010101 * n);

/** One lane, address in v1. */
function one(program: Program, v: Readonly<Record<number, number>>, lds: readonly number[] = LDS) {
  return execute(program, { v, lds, exec: 1n });
}

Deno.test("LDS loads of every width, at any address", () => {
  const lds = [0x83828180, 0x87868584, 0x8b8a8988, 0x8f8e8d8c, 0x93929190];
  const v = { 0: 0xaaaa5555, 1: 1 };
  const rows: [Program, number[]][] = [
    [asm`ds_read_u8 v0, v1`, [0x81]],
    [asm`ds_read_i8 v0, v1 offset:2`, [0xffffff83]],
    [asm`ds_read_u16 v0, v1`, [0x8281]],
    [asm`ds_read_i16 v0, v1`, [0xffff8281]],
    [asm`ds_read_b32 v0, v1`, [0x84838281]],
    [asm`ds_read_b64 v[0:1], v1 offset:3`, [0x87868584, 0x8b8a8988]],
    [asm`ds_read_b96 v[0:2], v1 offset:3`, [0x87868584, 0x8b8a8988, 0x8f8e8d8c]],
    [asm`ds_read_b128 v[0:3], v1 offset:3`, [0x87868584, 0x8b8a8988, 0x8f8e8d8c, 0x93929190]],
    [asm`ds_read2_b32 v[0:1], v1 offset0:1 offset1:3`, [0x88878685, 0x908f8e8d]],
    [asm`ds_read_u8_d16 v0, v1`, [0xaaaa0081]],
    [asm`ds_read_u8_d16_hi v0, v1`, [0x00815555]],
    [asm`ds_read_i8_d16 v0, v1`, [0xaaaaff81]],
    [asm`ds_read_i8_d16_hi v0, v1`, [0xff815555]],
    [asm`ds_read_u16_d16 v0, v1`, [0xaaaa8281]],
    [asm`ds_read_u16_d16_hi v0, v1`, [0x82815555]],
  ];
  for (const [program, expected] of rows) {
    const after = one(program, v, lds);
    assertEquals(
      expected.map((_, k) => after.v(k).toString(16)),
      expected.map((each) => each.toString(16)),
      program.lines[0],
    );
  }
  const strided = one(
    asm`ds_read2st64_b32 v[0:1], v1 offset0:0 offset1:1`,
    { 1: 0 },
    Array.from({ length: 128 }, (_, n) => n),
  );
  assertEquals([strided.v(0), strided.v(1)], [0, 64]);
  const wide = one(asm`ds_read2_b64 v[4:7], v1 offset0:0 offset1:1`, { 1: 4 }, lds);
  assertEquals([4, 5, 6, 7].map((register) => wide.v(register)), [0x87868584, 0x8b8a8988, 0x8f8e8d8c, 0x93929190]);
});

Deno.test("LDS stores of every width", () => {
  const v = { 1: 8, 2: 0x44332211, 3: 0x88776655, 4: 0xccbbaa99, 5: 0x00ffeedd };
  const rows: [Program, Readonly<Record<number, number>>][] = [
    [asm`ds_write_b8 v1, v2 offset:1`, { 8: 0x02021102 }],
    [asm`ds_write_b16 v1, v2`, { 8: 0x02022211 }],
    [asm`ds_write_b8_d16_hi v1, v2`, { 8: 0x02020233 }],
    [asm`ds_write_b16_d16_hi v1, v2 offset:3`, { 8: 0x33020202, 12: 0x03030344 }],
    [asm`ds_write_b32 v1, v2 offset:1`, { 8: 0x33221102, 12: 0x03030344 }],
    [asm`ds_write_b64 v1, v[2:3]`, { 8: 0x44332211, 12: 0x88776655 }],
    [asm`ds_write_b96 v1, v[2:4]`, { 8: 0x44332211, 12: 0x88776655, 16: 0xccbbaa99, 20: 0x05050505 }],
    [asm`ds_write_b128 v1, v[2:5]`, { 12: 0x88776655, 20: 0x00ffeedd, 24: 0x06060606 }],
    [asm`ds_write2_b32 v1, v2, v4 offset0:1 offset1:3`, {
      8: 0x02020202,
      12: 0x44332211,
      16: 0x04040404,
      20: 0xccbbaa99,
    }],
    [asm`ds_write2_b64 v1, v[2:3], v[4:5] offset0:0 offset1:1`, {
      8: 0x44332211,
      12: 0x88776655,
      16: 0xccbbaa99,
      20: 0x00ffeedd,
    }],
  ];
  for (const [program, expected] of rows) {
    const after = one(program, v);
    for (const [address, value] of Object.entries(expected)) {
      assertEquals(after.lds(Number(address)).toString(16), value.toString(16), `${program.lines[0]} at ${address}`);
    }
  }
  const far = one(asm`ds_write2st64_b32 v1, v2, v3 offset0:0 offset1:1`, { 1: 0, 2: 5, 3: 6 }, new Array(128).fill(0));
  assertEquals([far.lds(0), far.lds(256)], [5, 6]);
});

Deno.test("out of range, each dword reads 0 and is not written", () => {
  const lds = [1, 2, 3];
  const after = one(
    asm`ds_read_b128 v[4:7], v1
    ds_write_b64 v1, v[2:3] offset:4`,
    { 1: 4, 2: 8, 3: 9, 6: 1, 7: 1 },
    lds,
  );
  assertEquals([4, 5, 6, 7].map((register) => after.v(register)), [2, 3, 0, 0]);
  assertEquals([after.lds(8), after.fault], [8, null]);
  assertEquals(one(asm`ds_read_u16 v4, v1`, { 1: 11, 4: 1 }, lds).v(4), 0);
  assertEquals(one(asm`ds_read_b32 v4, v1`, { 1: -4, 4: 1 }, lds).v(4), 0);
});

/** Old value, data, second data; result in memory; the same opcode with and without return. */
type AtomicRow = [
  plain: Program,
  returning: Program | undefined,
  old: number,
  data: number,
  result: number,
  data1?: number,
];

Deno.test("32-bit LDS atomics, with and without return", () => {
  const rows: AtomicRow[] = [
    [asm`ds_add_u32 v1, v2`, asm`ds_add_rtn_u32 v0, v1, v2`, 0xffffffff, 2, 1],
    [asm`ds_sub_u32 v1, v2`, asm`ds_sub_rtn_u32 v0, v1, v2`, 1, 2, 0xffffffff],
    [asm`ds_rsub_u32 v1, v2`, asm`ds_rsub_rtn_u32 v0, v1, v2`, 1, 2, 1],
    [asm`ds_inc_u32 v1, v2`, asm`ds_inc_rtn_u32 v0, v1, v2`, 5, 5, 0],
    [asm`ds_inc_u32 v1, v2`, asm`ds_inc_rtn_u32 v0, v1, v2`, 4, 5, 5],
    [asm`ds_dec_u32 v1, v2`, asm`ds_dec_rtn_u32 v0, v1, v2`, 0, 5, 5],
    [asm`ds_dec_u32 v1, v2`, asm`ds_dec_rtn_u32 v0, v1, v2`, 6, 5, 5],
    [asm`ds_dec_u32 v1, v2`, asm`ds_dec_rtn_u32 v0, v1, v2`, 5, 5, 4],
    [asm`ds_min_i32 v1, v2`, asm`ds_min_rtn_i32 v0, v1, v2`, 1, 0xffffffff, 0xffffffff],
    [asm`ds_max_i32 v1, v2`, asm`ds_max_rtn_i32 v0, v1, v2`, 1, 0xffffffff, 1],
    [asm`ds_min_u32 v1, v2`, asm`ds_min_rtn_u32 v0, v1, v2`, 1, 0xffffffff, 1],
    [asm`ds_max_u32 v1, v2`, asm`ds_max_rtn_u32 v0, v1, v2`, 1, 0xffffffff, 0xffffffff],
    [asm`ds_and_b32 v1, v2`, asm`ds_and_rtn_b32 v0, v1, v2`, 12, 10, 8],
    [asm`ds_or_b32 v1, v2`, asm`ds_or_rtn_b32 v0, v1, v2`, 12, 10, 14],
    [asm`ds_xor_b32 v1, v2`, asm`ds_xor_rtn_b32 v0, v1, v2`, 12, 10, 6],
    // The first datum is the mask of what is cleared, the second is or-ed.
    [asm`ds_mskor_b32 v1, v2, v3`, asm`ds_mskor_rtn_b32 v0, v1, v2, v3`, 0xff, 0x0f, 0xf5, 5],
    // The first datum is compared, the second stored.
    [asm`ds_cmpst_b32 v1, v2, v3`, asm`ds_cmpst_rtn_b32 v0, v1, v2, v3`, 7, 7, 9, 9],
    [asm`ds_cmpst_b32 v1, v2, v3`, asm`ds_cmpst_rtn_b32 v0, v1, v2, v3`, 8, 7, 8, 9],
    [asm`ds_cmpst_f32 v1, v2, v3`, asm`ds_cmpst_rtn_f32 v0, v1, v2, v3`, 0x80000000, 0, 9, 9],
    [asm`ds_min_f32 v1, v2`, asm`ds_min_rtn_f32 v0, v1, v2`, f32(2), f32(-1), f32(-1)],
    [asm`ds_max_f32 v1, v2`, asm`ds_max_rtn_f32 v0, v1, v2`, f32(2), f32(NaN), f32(2)],
    [asm`ds_add_f32 v1, v2`, asm`ds_add_rtn_f32 v0, v1, v2`, f32(2), f32(0.5), f32(2.5)],
    [asm`ds_wrxchg_rtn_b32 v0, v1, v2`, undefined, 3, 4, 4],
    [asm`ds_wrap_rtn_b32 v0, v1, v2, v3`, undefined, 10, 4, 6, 100],
    [asm`ds_wrap_rtn_b32 v0, v1, v2, v3`, undefined, 3, 4, 103, 100],
  ];
  for (const [plain, returning, old, data, result, data1 = 0] of rows) {
    const v = { 0: 0x55, 1: 4, 2: data, 3: data1 };
    const first = one(plain, v, [0, old, 0]);
    assertEquals(first.lds(4), result, plain.lines[0]);
    if (returning === undefined) assertEquals(first.v(0), old, plain.lines[0]);
    else {
      assertEquals(first.v(0), 0x55, plain.lines[0]);
      const second = one(returning, v, [0, old, 0]);
      assertEquals([second.lds(4), second.v(0)], [result, old], returning.lines[0]);
    }
  }
});

Deno.test("64-bit LDS atomics", () => {
  const rows: [Program, old: bigint, data: bigint, result: bigint, data1?: bigint][] = [
    [asm`ds_add_rtn_u64 v[4:5], v1, v[2:3]`, 0xffff_ffff_ffff_ffffn, 2n, 1n],
    [asm`ds_sub_rtn_u64 v[4:5], v1, v[2:3]`, 0n, 1n, 0xffff_ffff_ffff_ffffn],
    [asm`ds_rsub_rtn_u64 v[4:5], v1, v[2:3]`, 1n, 3n, 2n],
    [asm`ds_inc_rtn_u64 v[4:5], v1, v[2:3]`, 0xffff_ffffn, 1n << 40n, 1n << 32n],
    [asm`ds_dec_rtn_u64 v[4:5], v1, v[2:3]`, 0n, 7n, 7n],
    [asm`ds_min_rtn_i64 v[4:5], v1, v[2:3]`, 1n, 0xffff_ffff_ffff_ffffn, 0xffff_ffff_ffff_ffffn],
    [asm`ds_max_rtn_u64 v[4:5], v1, v[2:3]`, 1n, 1n << 63n, 1n << 63n],
    [asm`ds_and_rtn_b64 v[4:5], v1, v[2:3]`, 0xf0f0n << 32n, 0xff00n << 32n, 0xf000n << 32n],
    [asm`ds_or_rtn_b64 v[4:5], v1, v[2:3]`, 1n, 1n << 63n, 1n << 63n | 1n],
    [asm`ds_xor_rtn_b64 v[4:5], v1, v[2:3]`, 3n, 5n, 6n],
    [asm`ds_mskor_rtn_b64 v[4:5], v1, v[2:3], v[6:7]`, 0xff_0000_0000n, 0xf_0000_0000n, 0xf5_0000_0000n, 5n << 32n],
    [asm`ds_wrxchg_rtn_b64 v[4:5], v1, v[2:3]`, 1n, 9n << 40n, 9n << 40n],
    [asm`ds_cmpst_rtn_b64 v[4:5], v1, v[2:3], v[6:7]`, 1n << 40n, 1n << 40n, 5n, 5n],
    [asm`ds_cmpst_rtn_f64 v[4:5], v1, v[2:3], v[6:7]`, 1n << 63n, 0n, 5n, 5n],
    [asm`ds_min_rtn_f64 v[4:5], v1, v[2:3]`, f64(1), f64(-3), f64(-3)],
    [asm`ds_max_rtn_f64 v[4:5], v1, v[2:3]`, f64(1), f64(-3), f64(1)],
  ];
  for (const [program, old, data, result, data1 = 0n] of rows) {
    const [o0, o1] = halves(old), [d0, d1] = halves(data), [e0, e1] = halves(data1);
    const after = one(program, { 1: 8, 2: d0, 3: d1, 6: e0, 7: e1 }, [0, 0, o0, o1]);
    const stored = BigInt(after.lds(12)) << 32n | BigInt(after.lds(8));
    assertEquals([stored, after.v64(4)], [result, old], program.lines[0]);
  }
});

Deno.test("lanes of an atomic take effect in rising order", () => {
  const after = execute(asm`ds_add_rtn_u32 v0, v1, v2`, { v: { 1: 0, 2: (lane) => lane + 1 } });
  assertEquals([after.v(0, 0), after.v(0, 1), after.v(0, 31), after.lds(0)], [0, 1, 496, 528]);
});

Deno.test("an unaligned atomic is a fault and does nothing", () => {
  const after = one(asm`ds_add_rtn_u32 v0, v1, v2`, { 0: 5, 1: 6, 2: 1 });
  assertEquals([after.v(0), after.lds(4)], [0, 0x01010101]);
  assertEquals(after.fault, { address: 6n, bytes: 4, reason: FaultReason.Unaligned, pc: 0 });
});

Deno.test("append and consume count the wave's active lanes once", () => {
  const before = { lds: [0, 10], m0: 4, exec: 0b1011n, v: { 0: 77 } };
  const appended = execute(asm`ds_append v0`, before);
  assertEquals([appended.lds(4), appended.lanes(0, 4)], [13, [10, 10, 77, 10]]);
  const consumed = execute(asm`ds_consume v0 offset:4`, { ...before, m0: 0 });
  assertEquals([consumed.lds(4), consumed.v(0)], [7, 10]);
  const wide = execute(asm64`ds_append v0`, { lds: [5], exec: 0xffff_0000_ffffn });
  assertEquals([wide.lds(0), wide.v(0, 40)], [37, 5]);
});

Deno.test("GDS: M0 holds base and size; what does not fit is out of range", () => {
  const before = { m0: 8 << 16 | 8, gds: [1, 2, 3, 4, 5], v: { 1: 4, 2: 100 }, exec: 1n };
  const added = execute(asm`ds_add_rtn_u32 v0, v1, v2 gds`, before);
  assertEquals([added.v(0), added.gds(12), added.lds(12)], [4, 104, 0]);
  const beyond = execute(asm`ds_add_rtn_u32 v0, v1, v2 offset:4 gds`, before);
  assertEquals([beyond.v(0), beyond.gds(16)], [0, 5]);
  const appended = execute(asm`ds_append v0 offset:4 gds`, before);
  assertEquals([appended.gds(12), appended.v(0)], [5, 4]);
  assertEquals(execute(asm`ds_read_b32 v0, v1 gds`, before).v(0), 4);
});

Deno.test("add-tid forms address by the lane's number", () => {
  const after = execute(
    asm`ds_write_addtid_b32 v2 offset:8
    ds_read_addtid_b32 v3 offset:12`,
    { m0: 4, v: { 2: (lane) => lane * 3 } },
  );
  assertEquals([after.lds(12), after.lds(16), after.v(3, 0), after.v(3, 30)], [0, 3, 3, 93]);
});

Deno.test("the second operand of *_src2_* lies in memory, in dwords from the first", () => {
  const after = one(
    asm`ds_add_src2_u32 v1 offset:2
    ds_write_src2_b32 v2 offset:1`,
    { 1: 4, 2: 12 },
  );
  // LDS[1] += LDS[3]; LDS[3] := LDS[4].
  assertEquals([after.lds(4), after.lds(12)], [0x04040404, 0x04040404]);
  // With bit 15 of the offset the distance is in bits 31:17 of the address.
  const negative = one(asm`ds_add_src2_u32 v1 offset:0x8000`, { 1: 8 | -1 << 17 });
  assertEquals(negative.lds(8), 0x03030303);
});

Deno.test("LDS_DIRECT reads one value for all lanes, of the type in M0", () => {
  const lds = [0, 0x80ff7f01];
  const read = (type: number, address: number) =>
    execute(asm`v_mov_b32 v0, src_lds_direct`, { lds, m0: type << 16 | address }).lanes(0, 2);
  assertEquals(read(2, 4), [0x80ff7f01, 0x80ff7f01]);
  assertEquals([read(0, 6)[0], read(4, 6)[0], read(1, 6)[0], read(5, 6)[0]], [0xff, 0xffffffff, 0x80ff, 0xffff80ff]);
});
