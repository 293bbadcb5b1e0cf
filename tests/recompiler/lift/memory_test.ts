import { assertEquals, assertThrows } from "@std/assert";
import { EvalMemory } from "../../support/ir_eval.ts";
import { type After, type Before, execute } from "../../support/lift_harness.ts";
import { FaultReason, nowhereReason } from "../../../src/recompiler/abi.ts";
import { asm } from "./assembled.ts";

const BASE = 0x2_0000_0000n;
const low = (address: bigint) => Number(address & 0xffffffffn),
  high = (address: bigint) => Number((address >> 32n) & 0xffffffffn);

/** A memory of 64 words 0x1000, 0x1001 ... at BASE, and the view of them. */
function counted(words = 64): { memory: EvalMemory; view: Uint32Array } {
  const memory = new EvalMemory();
  const view = memory.mapWords(BASE, Array.from({ length: words }, (_, i) => 0x1000 + i));
  return { memory, view };
}

function run(lines: string[], before: Before): After {
  return execute(asm(...lines), before);
}

Deno.test("s_load reads 1 to 16 dwords at base plus immediate plus register offset, ignoring address bits 1:0", () => {
  const { memory } = counted();
  const s = { 2: low(BASE) + 1, 3: high(BASE), 8: 11 };
  for (
    const [suffix, count, to] of [["", 1, "s16"], ["x2", 2, "s[16:17]"], ["x4", 4, "s[16:19]"], ["x8", 8, "s[16:23]"], [
      "x16",
      16,
      "s[16:31]",
    ]] as const
  ) {
    const after = run([`s_load_dword${suffix} ${to}, s[2:3], 0x10`], { s, memory });
    for (let k = 0; k < count; k++) assertEquals(after.s(16 + k), 0x1004 + k);
  }
  const offset = run(["s_load_dword s16, s[2:3], s8"], { s, memory });
  assertEquals(offset.s(16), 0x1002);
  const negative = run(["s_load_dword s16, s[2:3], -0x4"], { s: { 2: low(BASE + 16n), 3: high(BASE) }, memory });
  assertEquals(negative.s(16), 0x1003);
});

Deno.test("a scalar load of unmapped memory gives zeros and one fault per access", () => {
  const after = run(["s_load_dwordx2 s[16:17], s[2:3], 0x0"], { s: { 2: 0x1000, 3: 0, 16: 5, 17: 6 } });
  assertEquals([after.s(16), after.s(17)], [0, 0]);
  assertEquals(after.faults[0], { address: 0x1000n, bytes: 8, pc: 0, write: false });
});

Deno.test("s_buffer_load checks each dword: bytes without stride, records of STRIDE bytes with it", () => {
  const { memory } = counted();
  const descriptor = (stride: number, records: number) => ({
    4: low(BASE),
    5: high(BASE) | (stride << 16),
    6: records,
    7: 0x31016fac,
  });
  const load = (stride: number, records: number, offset: number) => {
    const after = run(["s_buffer_load_dwordx4 s[16:19], s[4:7], s8"], {
      s: { ...descriptor(stride, records), 8: offset },
      memory,
    });
    assertEquals(after.faults, []);
    return [16, 17, 18, 19].map((r) => after.s(r));
  };
  assertEquals(load(0, 64, 8), [0x1002, 0x1003, 0x1004, 0x1005]);
  assertEquals(load(0, 20, 8), [0x1002, 0x1003, 0x1004, 0]);
  assertEquals(load(0, 8, 8), [0, 0, 0, 0]);
  assertEquals(load(8, 2, 8), [0x1002, 0x1003, 0, 0]);
  assertEquals(load(0x3fff, 0xffffffff, 4), [0x1001, 0x1002, 0x1003, 0x1004]);
});

const RAW = 0x31016fac, STRUCTURED = 0x01016fac, BY_INDEX = 0x11016fac, UNCHECKED = 0x21016fac;

/** V# in s[4:7]. */
function buffer(word3: number, records: number, stride = 0, base = BASE): Record<number, number> {
  return { 4: low(base), 5: (high(base) & 0xffff) | (stride << 16), 6: records, 7: word3 };
}

Deno.test("raw buffers: offen, immediate and scalar offset; the scalar offset is not range-checked", () => {
  const { memory } = counted();
  const offsets = [0, 4, 16, 20, 24, 0xfffffffc];
  const after = run(["buffer_load_dword v3, v0, s[4:7], s8 offen offset:4"], {
    s: { ...buffer(RAW, 28), 8: 64 },
    v: { 0: offsets, 3: 9 },
    exec: 0x3f,
    memory,
  });
  // In range: offset + 4 < 28. The last offset wraps to 0.
  assertEquals([0, 1, 2, 3, 4, 5, 6].map((i) => after.v(3, i)), [0x1011, 0x1012, 0x1015, 0x1016, 0, 0x1010, 9]);
  assertEquals(after.faults, []);
  const plain = run(["buffer_load_dword v3, off, s[4:7], 0 offset:8"], { s: buffer(RAW, 28), memory });
  assertEquals(plain.v(3), 0x1002);
});

Deno.test("raw buffers: wide loads check every dword, wide stores write those in range", () => {
  const { memory, view } = counted();
  const load = run(["buffer_load_dwordx4 v[4:7], v0, s[4:7], 0 offen"], {
    s: buffer(RAW, 24),
    v: { 0: [0, 12, 20, 24] },
    exec: 15,
    memory,
  });
  const lane = (i: number) => [4, 5, 6, 7].map((r) => load.v(r, i));
  assertEquals(lane(0), [0x1000, 0x1001, 0x1002, 0x1003]);
  assertEquals(lane(1), [0x1003, 0x1004, 0x1005, 0]);
  assertEquals(lane(2), [0x1005, 0, 0, 0]);
  assertEquals(lane(3), [0, 0, 0, 0]);
  run(["buffer_store_dwordx3 v[4:6], v0, s[4:7], 0 offen"], {
    s: buffer(RAW, 24),
    v: { 0: [16], 4: 7, 5: 8, 6: 9 },
    exec: 1,
    memory,
  });
  assertEquals([...view.subarray(3, 8)], [0x1003, 7, 8, 0x1006, 0x1007]);
});

Deno.test("narrow buffer accesses extend, and touch only their bytes", () => {
  const memory = new EvalMemory();
  const view = memory.mapWords(BASE, [0x80ff7f01, 0xffffffff]);
  const before = { s: buffer(RAW, 8), v: { 0: [0, 1, 2, 3], 3: 0xaaaabbbb, 4: 0x11223344 }, exec: 15, memory };
  const each = (line: string) => {
    const after = run([line], before);
    return [0, 1, 2, 3].map((i) => after.v(3, i));
  };
  assertEquals(each("buffer_load_ubyte v3, v0, s[4:7], 0 offen"), [1, 0x7f, 0xff, 0x80]);
  assertEquals(each("buffer_load_sbyte v3, v0, s[4:7], 0 offen"), [1, 0x7f, 0xffffffff, 0xffffff80]);
  assertEquals(each("buffer_load_ushort v3, v0, s[4:7], 0 offen")[2], 0x80ff);
  assertEquals(each("buffer_load_sshort v3, v0, s[4:7], 0 offen")[2], 0xffff80ff);
  assertEquals(each("buffer_load_ubyte_d16 v3, v0, s[4:7], 0 offen")[3], 0xaaaa0080);
  assertEquals(each("buffer_load_sbyte_d16_hi v3, v0, s[4:7], 0 offen")[3], 0xff80bbbb);
  assertEquals(each("buffer_load_short_d16_hi v3, v0, s[4:7], 0 offen")[0], 0x7f01bbbb);
  run(["buffer_store_byte v4, v0, s[4:7], 0 offen offset:4"], { ...before, exec: 1 });
  run(["buffer_store_short_d16_hi v4, v0, s[4:7], 0 offen offset:6"], { ...before, exec: 1 });
  assertEquals([...view], [0x80ff7f01, 0x1122ff44]);
});

Deno.test("structured buffers: index times stride; range by index, by index and offset, or not at all", () => {
  const { memory } = counted();
  const load = (word3: number, records: number, index: number[], offset: number) => {
    const after = run(["buffer_load_dword v3, v[0:1], s[4:7], 0 idxen offen"], {
      s: buffer(word3, records, 12),
      v: { 0: index, 1: offset },
      exec: 2 ** index.length - 1,
      memory,
    });
    assertEquals(after.faults, []);
    return index.map((_, i) => after.v(3, i));
  };
  assertEquals(load(STRUCTURED, 3, [0, 1, 2, 3], 4), [0x1001, 0x1004, 0x1007, 0]);
  assertEquals(load(STRUCTURED, 3, [0, 1], 12), [0, 0]);
  assertEquals(load(BY_INDEX, 2, [0, 1, 2], 12), [0x1003, 0x1006, 0]);
  assertEquals(load(UNCHECKED, 1, [0, 5], 0), [0x1000, 0x100f]);
  assertEquals(load(UNCHECKED, 0, [0, 5], 0), [0, 0]);
  assertEquals(load(RAW, 8, [4], 4), [0x100d], "raw: only the offset is checked");
  const noIndex = run(["buffer_load_dword v3, v1, s[4:7], 0 offen"], {
    s: buffer(STRUCTURED, 1, 12),
    v: { 1: [8, 12] },
    exec: 3,
    memory,
  });
  assertEquals([noIndex.v(3, 0), noIndex.v(3, 1)], [0x1002, 0]);
});

Deno.test("a null descriptor reads zeros and drops writes without a fault", () => {
  for (const word3 of [0, RAW, STRUCTURED, BY_INDEX, UNCHECKED]) {
    const s = { 4: 0, 5: 0, 6: 0, 7: word3 };
    const load = run(["buffer_load_dword v3, v0, s[4:7], 0 offen"], { s, v: { 0: 4, 3: 9 } });
    assertEquals([load.v(3), load.faults.length], [0, 0]);
    const store = run(["buffer_store_dword v3, v0, s[4:7], 0 idxen"], { s, v: { 0: 4, 3: 9 } });
    assertEquals(store.faults, []);
  }
});

Deno.test("constant descriptors are swizzled; descriptors from memory that ask for it fault instead of going astray", () => {
  const { memory } = counted(1024);
  // Stride 16, groups of 8 records, elements of 4 bytes: element e of record r is at group * 128 + e * 32 + (r % 8) * 4.
  const constant = [
    `s_mov_b32 s4, 0x${low(BASE).toString(16)}`,
    `s_mov_b32 s5, 0x${((0x80100000 | high(BASE)) >>> 0).toString(16)}`,
    "s_movk_i32 s6, 0x1000",
    "s_mov_b32 s7, 0x1016fac",
  ];
  const index = Array.from({ length: 32 }, (_, i) => i);
  const after = run([...constant, "buffer_load_dword v3, v[0:1], s[4:7], 0 idxen offen"], {
    v: { 0: index, 1: 8 },
    memory,
  });
  for (const i of index) assertEquals(after.v(3, i), 0x1000 + Math.floor(i / 8) * 32 + 2 * 8 + (i % 8), `record ${i}`);
  const dynamic = run(["buffer_load_dword v3, v0, s[4:7], 0 idxen"], {
    s: buffer(STRUCTURED, 64, 0x8010),
    v: { 0: 1 },
    exec: 1,
    memory,
  });
  assertEquals(dynamic.v(3), 0);
  assertEquals(dynamic.faults.map((f) => nowhereReason(f.address)), [FaultReason.BufferDescriptor]);
  const addTid = run(["buffer_load_dword v3, off, s[4:7], 0"], { s: buffer(RAW | (1 << 23), 64), exec: 1, memory });
  assertEquals(addTid.faults.map((f) => nowhereReason(f.address)), [FaultReason.BufferDescriptor]);
});

Deno.test("ADD_TID_ENABLE of a constant descriptor adds the lane to the index", () => {
  const { memory } = counted();
  const after = run(
    [
      `s_mov_b32 s4, 0x${low(BASE).toString(16)}`,
      `s_mov_b32 s5, 0x${((0x00040000 | high(BASE)) >>> 0).toString(16)}`,
      "s_movk_i32 s6, 0x1000",
      `s_mov_b32 s7, 0x${(RAW | (1 << 23)).toString(16)}`,
      "buffer_load_dword v3, off, s[4:7], 0",
    ],
    { memory },
  );
  for (let i = 0; i < 32; i++) assertEquals(after.v(3, i), 0x1000 + i);
});

Deno.test("buffer bases are sign-extended from 48 bits", () => {
  const memory = new EvalMemory();
  memory.mapWords(0xffff8000_00001000n, [77]);
  const after = run(["buffer_load_dword v3, off, s[4:7], 0"], { s: buffer(RAW, 4, 0, 0x8000_00001000n), memory });
  assertEquals(after.v(3), 77);
});

Deno.test("global accesses: vector address, scalar base with vector offset, signed immediate, EXEC", () => {
  const { memory, view } = counted();
  const address = (i: number) => BASE + BigInt(i * 4);
  const v = { 0: [0, 1, 2].map((i) => low(address(i))), 1: high(BASE), 2: [8, 12, 16], 4: [100, 101, 102], 5: 200 };
  const s = { 2: low(BASE), 3: high(BASE) };
  const load = run(["global_load_dword v3, v[0:1], off offset:8", "global_load_dwordx2 v[6:7], v2, s[2:3] offset:-8"], {
    v,
    s,
    exec: 7,
    memory,
  });
  assertEquals([0, 1, 2, 3].map((i) => load.v(3, i)), [0x1002, 0x1003, 0x1004, 0]);
  assertEquals([load.v(6, 1), load.v(7, 1)], [0x1001, 0x1002]);
  run(["global_store_dwordx2 v[0:1], v[4:5], off offset:16"], { v, s, exec: 5, memory });
  assertEquals([...view.subarray(4, 9)], [100, 200, 102, 200, 0x1008]);
  const narrow = run(["global_load_ubyte v3, v[0:1], off offset:1", "global_load_short_d16_hi v4, v[0:1], off"], {
    v,
    exec: 7,
    memory,
  });
  assertEquals([narrow.v(3, 1), narrow.v(4, 1)], [0x10, 0x10010000 | 101]);
});

Deno.test("guest atomics return the old value and compare-swap takes data before compare", () => {
  const { memory, view } = counted();
  const v = { 0: low(BASE), 1: high(BASE), 4: 5, 5: 0x1001 };
  const add = run(["global_atomic_add v3, v[0:1], v4, off glc"], { v, exec: 7, memory });
  assertEquals([0, 1, 2].map((i) => add.v(3, i)), [0x1000, 0x1005, 0x100a]);
  run(["global_atomic_cmpswap v[0:1], v[4:5], off offset:4"], { v, exec: 1, memory });
  run(["buffer_atomic_umax v4, off, s[4:7], 0 offset:8"], { v: { 4: 0x2000 }, s: buffer(RAW, 64), exec: 1, memory });
  run(["buffer_atomic_or v4, off, s[4:7], 0 offset:64"], { v: { 4: 0x2000 }, s: buffer(RAW, 64), exec: 1, memory });
  assertEquals([view[0], view[1], view[2], view[16]], [0x100f, 5, 0x2000, 0x1010]);
  const wide = run(["global_atomic_swap_x2 v[6:7], v[0:1], v[4:5], off offset:16 glc"], { v, exec: 1, memory });
  assertEquals([wide.v(6), wide.v(7), view[4], view[5]], [0x1004, 0x1005, 5, 0x1001]);
  run(["global_atomic_cmpswap_x2 v[0:1], v[4:7], off offset:24"], {
    v: { ...v, 4: 1, 5: 2, 6: 0x1006, 7: 0x1007 },
    exec: 1,
    memory,
  });
  assertEquals([view[6], view[7]], [1, 2]);
});

const LDS = { ldsBytes: 4096 };

Deno.test("LDS reads and writes of every width, with offsets, and nothing beyond the end", () => {
  const address = Array.from({ length: 32 }, (_, i) => i * 32);
  const v = { 0: address, 1: 0x11111111, 2: 0x22222222, 3: 0x33333333, 4: 0x44444444, 20: 5000 };
  const after = run(
    [
      "ds_write_b128 v0, v[1:4]",
      "ds_write_b64 v0, v[3:4] offset:16",
      "ds_write_b8 v0, v1 offset:24",
      "ds_write_b16 v0, v2 offset:26",
      "ds_write_b16_d16_hi v0, v3 offset:28",
      "ds_write_b32 v20, v1",
      "ds_read_b96 v[5:7], v0 offset:4",
      "ds_read_b64 v[8:9], v0 offset:16",
      "ds_read_u8 v10, v0 offset:24",
      "ds_read_i16 v11, v0 offset:26",
      "ds_read_u16_d16_hi v11, v0 offset:28",
      "ds_read_b32 v12, v20",
      "ds_read_b32 v13, v0 offset:24",
    ],
    { v, request: LDS },
  );
  for (const lane of [0, 31]) {
    const row = [5, 6, 7, 8, 9, 10, 11, 12, 13].map((r) => after.v(r, lane).toString(16));
    assertEquals(row, ["22222222", "33333333", "44444444", "33333333", "44444444", "11", "33332222", "0", "22220011"]);
  }
});

Deno.test("ds_read2, ds_write2 and their st64 forms move two elements with their own offsets", () => {
  const v = { 0: Array.from({ length: 32 }, (_, i) => i * 16), 1: 1, 2: 2, 3: 3, 4: 4 };
  const after = run(
    [
      "ds_write2_b32 v0, v1, v2 offset0:1 offset1:3",
      "ds_write2st64_b32 v0, v3, v4 offset0:4 offset1:8",
      "ds_read2_b32 v[5:6], v0 offset0:3 offset1:1",
      "ds_read2st64_b32 v[7:8], v0 offset0:8 offset1:4",
      "ds_write2_b64 v0, v[1:2], v[3:4] offset0:128 offset1:129",
      "ds_read2_b64 v[10:13], v0 offset0:129 offset1:128",
    ],
    { v, request: LDS, exec: 1 },
  );
  assertEquals([5, 6, 7, 8].map((r) => after.v(r)), [2, 1, 4, 3]);
  assertEquals([10, 11, 12, 13].map((r) => after.v(r)), [3, 4, 1, 2]);
});

Deno.test("LDS atomics, with and without return; ds_cmpst compares with data0", () => {
  const v = { 0: 8, 1: 3, 2: 100, 3: 0 };
  const after = run(
    [
      "ds_write_b32 v0, v2",
      "ds_add_u32 v0, v1",
      "ds_sub_rtn_u32 v3, v0, v1",
      "ds_read_b32 v4, v0",
    ],
    { v, request: LDS, exec: 3 },
  );
  assertEquals([after.v(3, 0), after.v(3, 1), after.v(4, 0)], [106, 103, 100]);
  const swap = run([
    "ds_write_b32 v0, v2",
    "ds_cmpst_rtn_b32 v3, v0, v2, v1",
    "ds_cmpst_b32 v0, v2, v0",
    "ds_read_b32 v4, v0",
  ], { v, request: LDS, exec: 1 });
  assertEquals([swap.v(3), swap.v(4)], [100, 3]);
  const minmax = run([
    "ds_min_i32 v0, v1",
    "ds_max_u32 v0, v2",
    "ds_inc_u32 v0, v2",
    "ds_dec_rtn_u32 v5, v0, v2",
    "ds_read_b32 v4, v0",
  ], {
    v: { ...v, 1: 0xffffffff },
    request: LDS,
    exec: 1,
  });
  assertEquals([minmax.v(5), minmax.v(4)], [0, 100]);
  const wide = run(["ds_write_b64 v0, v[1:2]", "ds_or_b64 v0, v[4:5]", "ds_wrxchg_rtn_b64 v[6:7], v0, v[4:5]"], {
    v: { ...v, 4: 0x80000000, 5: 0x70000000 },
    request: LDS,
    exec: 1,
  });
  assertEquals([wide.v(6), wide.v(7)], [0x80000003, 0x70000064]);
});

Deno.test("a buffer load with a status writes 0 behind its data", () => {
  const memory = new EvalMemory();
  memory.mapWords(0x1_0000_0000n, [7, 8, 9]);
  const after = execute(asm("buffer_load_dword v[3:4], off, s[4:7], 0 tfe"), {
    s: { 4: 0, 5: 1, 6: 12, 7: 0x31016fac },
    v: { 3: 1, 4: 2 },
    memory,
  });
  assertEquals([after.v(3), after.v(4), after.faults.length], [7, 0, 0]);
});

Deno.test("forms that no handler implements are refused by name", () => {
  assertThrows(() => execute(asm("ds_wrxchg2_rtn_b32 v[3:4], v0, v1, v2 gds")), Error, "GDS");
});
