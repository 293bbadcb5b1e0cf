/** MUBUF and MTBUF (AMD RDNA2 ISA, sections 8.1, 12.13 and 12.14): addresses, ranges, widths, atomics, loads to LDS. */
import { assertEquals } from "@std/assert";
import { FaultReason } from "../../../src/rdna/interpreter/mod.ts";
import { asm, asm1030, asm64, execute, type Program } from "./asm.ts";
import { type Before, f32, f64, halves } from "./machine.ts";

const BASE = 0x12_3456_7000n;

/** Word 3 of descriptors as compilers make them, by OOB_SELECT; the format is 32_FLOAT. */
const RAW = 0x31016fac, STRUCTURED = 0x01016fac, INDEX = 0x11016fac, NEVER = 0x21016fac;

/** Four words of a descriptor in s[4:7]. */
function descriptor(records: number, { stride = 0, word3 = RAW, swizzle = false } = {}): Record<number, number> {
  const [lo, hi] = halves(BASE);
  return { 4: lo, 5: hi | stride << 16 | (swizzle ? 0x8000_0000 : 0), 6: records, 7: word3 };
}

/** Dword n is 0x01010101 * n. */
function data(count = 64): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: count }, (_, n) => 0x01010101 * n);
}

/** Runs with `words` at the descriptor's base; lane n has n in v1 and 4n in v2; four lanes. */
function at(program: Program, s: Readonly<Record<number, number>>, before: Before & { words?: Uint32Array } = {}) {
  const words = before.words ?? data();
  const after = execute(program, {
    exec: 0xfn,
    ...before,
    s: { ...s, ...before.s },
    v: { 1: (lane) => lane, 2: (lane) => lane * 4, ...before.v },
    memory: new Map([[BASE, new Uint8Array(words.buffer as ArrayBuffer)]]),
  });
  return { ...after, words };
}

const hex = (values: number[]) => values.map((value) => value.toString(16).padStart(8, "0"));

Deno.test("buffer loads of every width", () => {
  const words = data();
  words.set([0x83828180, 0x87868584, 0x8b8a8988, 0x8f8e8d8c], 0);
  const rows: [Program, number[]][] = [
    [asm`buffer_load_ubyte v0, off, s[4:7], 0 offset:1`, [0x81]],
    [asm`buffer_load_sbyte v0, off, s[4:7], 0 offset:2`, [0xffffff82]],
    [asm`buffer_load_ushort v0, off, s[4:7], 0 offset:2`, [0x8382]],
    [asm`buffer_load_sshort v0, off, s[4:7], 0 offset:2`, [0xffff8382]],
    [asm`buffer_load_dword v0, off, s[4:7], 0 offset:4`, [0x87868584]],
    [asm`buffer_load_dwordx2 v[0:1], off, s[4:7], 0 offset:4`, [0x87868584, 0x8b8a8988]],
    [asm`buffer_load_dwordx3 v[0:2], off, s[4:7], 0`, [0x83828180, 0x87868584, 0x8b8a8988]],
    [asm`buffer_load_dwordx4 v[0:3], off, s[4:7], 0`, [0x83828180, 0x87868584, 0x8b8a8988, 0x8f8e8d8c]],
    [asm`buffer_load_ubyte_d16 v0, off, s[4:7], 0`, [0xaaaa0080]],
    [asm`buffer_load_ubyte_d16_hi v0, off, s[4:7], 0`, [0x00805555]],
    [asm`buffer_load_sbyte_d16 v0, off, s[4:7], 0`, [0xaaaaff80]],
    [asm`buffer_load_sbyte_d16_hi v0, off, s[4:7], 0`, [0xff805555]],
    [asm`buffer_load_short_d16 v0, off, s[4:7], 0`, [0xaaaa8180]],
    [asm`buffer_load_short_d16_hi v0, off, s[4:7], 0`, [0x81805555]],
  ];
  for (const [program, expected] of rows) {
    const after = at(program, descriptor(256), { words, v: { 0: 0xaaaa5555 }, exec: 1n });
    assertEquals(hex(expected.map((_, k) => after.v(k))), hex(expected), program.lines[0]);
  }
});

Deno.test("buffer stores of every width", () => {
  const v = { 3: 0x44332211, 4: 0x88776655, 5: 0xccbbaa99, 6: 0x00ffeedd };
  const rows: [Program, Readonly<Record<number, number>>][] = [
    [asm`buffer_store_byte v3, off, s[4:7], 0 offset:9`, { 2: 0x02021102 }],
    [asm`buffer_store_byte_d16_hi v3, off, s[4:7], 0 offset:8`, { 2: 0x02020233 }],
    [asm`buffer_store_short v3, off, s[4:7], 0 offset:10`, { 2: 0x22110202 }],
    [asm`buffer_store_short_d16_hi v3, off, s[4:7], 0 offset:8`, { 2: 0x02024433 }],
    [asm`buffer_store_dword v3, off, s[4:7], 0 offset:8`, { 1: 0x01010101, 2: 0x44332211 }],
    [asm`buffer_store_dwordx2 v[3:4], off, s[4:7], 0 offset:8`, { 2: 0x44332211, 3: 0x88776655 }],
    [asm`buffer_store_dwordx3 v[3:5], off, s[4:7], 0 offset:8`, { 4: 0xccbbaa99, 5: 0x05050505 }],
    [asm`buffer_store_dwordx4 v[3:6], off, s[4:7], 0 offset:8`, { 4: 0xccbbaa99, 5: 0x00ffeedd }],
  ];
  for (const [program, expected] of rows) {
    const { words } = at(program, descriptor(256), { v, exec: 1n });
    for (const [index, value] of Object.entries(expected)) assertEquals(words[Number(index)], value, program.lines[0]);
  }
});

Deno.test("the address is base + SOFFSET + index * stride + vector offset + instruction offset", () => {
  const s = descriptor(64, { stride: 8, word3: INDEX });
  const value = (program: Program, before: Before = {}) => at(program, { ...s, 9: 16 }, before).lanes(0, 4);
  assertEquals(value(asm`buffer_load_ubyte v0, v1, s[4:7], 0 idxen`), [0, 2, 4, 6]);
  assertEquals(value(asm`buffer_load_ubyte v0, v2, s[4:7], 0 offen`), [0, 1, 2, 3]);
  assertEquals(value(asm`buffer_load_ubyte v0, v[1:2], s[4:7], 0 idxen offen`), [0, 3, 6, 9]);
  assertEquals(value(asm`buffer_load_ubyte v0, v[1:2], s[4:7], s9 idxen offen offset:4`), [5, 8, 11, 14]);
  assertEquals(value(asm`buffer_load_ubyte v0, off, s[4:7], 4 offset:4`), [2, 2, 2, 2]);
  assertEquals(value(asm`buffer_load_ubyte v0, off, s[4:7], m0`, { m0: 20 }), [5, 5, 5, 5]);
});

Deno.test("ADD_TID_ENABLE adds the lane to the index", () => {
  // The data format's bits would be the upper bits of the stride on older chips; here the stride is its field alone.
  const s = descriptor(64, { stride: 4, word3: INDEX | 1 << 23 });
  assertEquals(at(asm`buffer_load_ubyte v0, off, s[4:7], 0 offset:8`, s).lanes(0, 4), [2, 3, 4, 5]);
  assertEquals(at(asm`buffer_load_ubyte v0, v1, s[4:7], 0 idxen`, s).lanes(0, 4), [0, 2, 4, 6]);
  const wide = at(asm64`buffer_load_ubyte v0, off, s[4:7], 0`, s, { exec: 1n << 40n | 1n });
  assertEquals([wide.v(0, 0), wide.v(0, 40), wide.fault], [0, 40, null]);
});

Deno.test("raw buffers: each dword at or behind NUM_RECORDS reads 0 and is not written", () => {
  const s = descriptor(12);
  assertEquals(hex(at(asm`buffer_load_dword v0, v2, s[4:7], 0 offen`, s).lanes(0, 4)), [
    "00000000",
    "01010101",
    "02020202",
    "00000000",
  ]);
  const wide = at(asm`buffer_load_dwordx4 v[4:7], off, s[4:7], 0 offset:4`, s, { exec: 1n, v: { 7: 9 } });
  assertEquals(hex([4, 5, 6, 7].map((k) => wide.v(k))), ["01010101", "02020202", "00000000", "00000000"]);
  assertEquals(wide.fault, null);
  const stored = at(asm`buffer_store_dwordx4 v[4:7], off, s[4:7], 0 offset:4`, s, { v: { 4: 1, 5: 2, 6: 3, 7: 4 } });
  assertEquals([...stored.words.subarray(0, 5)], [0, 1, 2, 0x03030303, 0x04040404]);
  // SOFFSET moves the access but is not compared with the range.
  assertEquals(at(asm`buffer_load_ubyte v0, off, s[4:7], s9 offset:8`, { ...s, 9: 20 }).v(0), 7);
});

Deno.test("structured buffers: index at or behind NUM_RECORDS, or offset at or behind the stride, is out of range", () => {
  const s = descriptor(3, { stride: 8, word3: STRUCTURED });
  assertEquals(at(asm`buffer_load_ubyte v0, v1, s[4:7], 0 idxen offset:4`, s).lanes(0, 4), [1, 3, 5, 0]);
  assertEquals(at(asm`buffer_load_ubyte v0, v[1:2], s[4:7], 0 idxen offen`, s).lanes(0, 4), [0, 3, 0, 0]);
  const stored = at(asm`buffer_store_dwordx2 v[4:5], v1, s[4:7], 0 idxen offset:4`, s, { v: { 4: 10, 5: 11 } });
  assertEquals([...stored.words.subarray(0, 8)], [
    0,
    10,
    0x02020202,
    10,
    0x04040404,
    10,
    0x06060606,
    0x07070707,
  ]);
});

Deno.test("index-checked buffers do not look at the offset, unchecked ones only at whether there are records", () => {
  const index = descriptor(3, { stride: 8, word3: INDEX });
  assertEquals(at(asm`buffer_load_ubyte v0, v1, s[4:7], 0 idxen offset:20`, index).lanes(0, 4), [5, 7, 9, 0]);
  const never = descriptor(1, { stride: 8, word3: NEVER });
  assertEquals(at(asm`buffer_load_ubyte v0, v1, s[4:7], 0 idxen offset:20`, never).lanes(0, 4), [5, 7, 9, 11]);
  assertEquals(at(asm`buffer_load_dword v0, v1, s[4:7], 0 idxen`, descriptor(0, { word3: NEVER })).v(0, 3), 0);
});

Deno.test("a null descriptor reads zeros and drops stores without a fault", () => {
  const null4 = { 4: 0, 5: 0, 6: 0, 7: 0 };
  const after = at(
    asm`buffer_store_dword v1, v2, s[4:7], 0 offen
    buffer_load_dword v0, v2, s[4:7], 0 offen`,
    null4,
    { v: { 0: 7 } },
  );
  assertEquals([after.v(0, 3), after.fault], [0, null]);
});

Deno.test("swizzled buffers interleave dwords of INDEX_STRIDE records", () => {
  // Elements of 8 bytes, 8 records interleaved: record r's dword d is at r / 8 * 64 + d * 32 + r % 8 * 4.
  const s = descriptor(16, { stride: 8, word3: INDEX, swizzle: true });
  const load = asm`buffer_load_dwordx2 v[4:5], v3, s[4:7], 0 idxen`;
  const after = at(load, s, { v: { 3: [0, 1, 7, 9] } });
  assertEquals(after.lanes(4, 4), [0, 1, 7, 17].map((n) => n * 0x01010101));
  assertEquals(after.lanes(5, 4), [8, 9, 15, 25].map((n) => n * 0x01010101));
  // Bytes inside a dword stay together.
  assertEquals(at(asm`buffer_load_ubyte v0, v1, s[4:7], 0 idxen offset:5`, s).lanes(0, 4), [8, 9, 10, 11]);
  // INDEX_STRIDE 1 means 16 records.
  const wide = { ...s, 7: INDEX | 1 << 21 };
  assertEquals(at(asm`buffer_load_ubyte v0, v1, s[4:7], 0 idxen offset:4`, wide).lanes(0, 4), [16, 17, 18, 19]);
  // Scratch-like: the lane is the index.
  const scratch = { ...s, 7: INDEX | 1 << 23 };
  assertEquals(at(asm`buffer_load_ubyte v0, off, s[4:7], 0 offset:4`, scratch).lanes(0, 4), [8, 9, 10, 11]);
  const stored = at(asm`buffer_store_dwordx2 v[4:5], v1, s[4:7], 0 idxen`, s, { v: { 4: 1, 5: 2 }, exec: 2n });
  assertEquals([stored.words[1], stored.words[2], stored.words[9]], [1, 0x02020202, 2]);
});

Deno.test("buffer atomics: 32 and 64 bits, with and without a result", () => {
  const add = at(asm`buffer_atomic_add v1, v2, s[4:7], 0 offen`, descriptor(256));
  assertEquals([...add.words.subarray(0, 5)], [0, 0x01010102, 0x02020204, 0x03030306, 0x04040404]);
  assertEquals(add.lanes(1, 4), [0, 1, 2, 3]);
  const old = at(asm`buffer_atomic_add v1, off, s[4:7], 0 offset:4 glc`, descriptor(256));
  assertEquals([old.words[1], ...old.lanes(1, 4)], [0x01010107, 0x01010101, 0x01010101, 0x01010102, 0x01010104]);
  // v3 is the new value, v4 the comparand.
  const swap = asm`buffer_atomic_cmpswap v[3:4], v2, s[4:7], 0 offen glc`;
  const swapped = at(swap, descriptor(256), { v: { 3: 77, 4: 0x02020202 } });
  assertEquals([...swapped.words.subarray(0, 4)], [0, 0x01010101, 77, 0x03030303]);
  assertEquals(swapped.lanes(3, 4), [0, 0x01010101, 0x02020202, 0x03030303]);
  const rows: [Program, number, number][] = [
    [asm`buffer_atomic_swap v3, off, s[4:7], 0`, 0xfffffff0, 0xfffffff0],
    [asm`buffer_atomic_sub v3, off, s[4:7], 0`, 1, 0xffffffff],
    [asm`buffer_atomic_smin v3, off, s[4:7], 0`, 0xfffffff0, 0xfffffff0],
    [asm`buffer_atomic_umin v3, off, s[4:7], 0`, 0xfffffff0, 0],
    [asm`buffer_atomic_smax v3, off, s[4:7], 0`, 0xfffffff0, 0],
    [asm`buffer_atomic_umax v3, off, s[4:7], 0`, 0xfffffff0, 0xfffffff0],
    [asm`buffer_atomic_and v3, off, s[4:7], 0`, 0xfffffff0, 0],
    [asm`buffer_atomic_or v3, off, s[4:7], 0`, 0xf0, 0xf0],
    [asm`buffer_atomic_xor v3, off, s[4:7], 0`, 0xf0, 0xf0],
    [asm`buffer_atomic_inc v3, off, s[4:7], 0`, 0, 0],
    [asm`buffer_atomic_dec v3, off, s[4:7], 0`, 9, 9],
    [asm`buffer_atomic_fmin v3, off, s[4:7], 0`, f32(-2), f32(-2)],
    [asm`buffer_atomic_fmax v3, off, s[4:7], 0`, f32(3), f32(3)],
    [asm1030`buffer_atomic_csub v3, off, s[4:7], 0 glc`, 5, 0],
  ];
  for (const [program, operand, expected] of rows) {
    const after = at(program, descriptor(256), { v: { 3: operand }, exec: 1n });
    assertEquals(after.words[0], expected, program.lines[0]);
  }
  const [lo, hi] = halves(f64(1.5));
  const max = at(asm`buffer_atomic_fmax_x2 v[3:4], off, s[4:7], 0 glc`, descriptor(256), {
    v: { 3: lo, 4: hi },
    words: Uint32Array.of(0, 0x3ff00000),
    exec: 1n,
  });
  assertEquals([max.words[0], max.words[1], max.v(3), max.v(4)], [lo, hi, 0, 0x3ff00000]);
  const add64 = at(asm`buffer_atomic_add_x2 v[3:4], off, s[4:7], 0 glc`, descriptor(256), {
    v: { 3: 1, 4: 0 },
    words: Uint32Array.of(0xffffffff, 6),
    exec: 3n,
  });
  assertEquals([add64.words[0], add64.words[1], add64.v64(3, 0), add64.v64(3, 1)], [
    1,
    7,
    0x6_ffff_ffffn,
    0x7_0000_0000n,
  ]);
});

Deno.test("buffer atomics are wholly in range or not done; the result is then 0", () => {
  const after = at(asm`buffer_atomic_add_x2 v[3:4], off, s[4:7], 0 offset:8 glc`, descriptor(12), {
    v: { 3: 1, 4: 1 },
    exec: 1n,
  });
  assertEquals([after.words[2], after.words[3], after.v64(3)], [0x02020202, 0x03030303, 0n]);
});

Deno.test("faults of buffers: the first one is recorded, loads give 0", () => {
  const after = at(
    asm`buffer_load_dwordx2 v[4:5], off, s[4:7], s9 offset:4
    buffer_store_dword v1, off, s[4:7], s8`,
    { ...descriptor(0x10000), 8: 0x1000, 9: 248 },
    { v: { 4: 1, 5: 1 }, exec: 1n },
  );
  // 8 bytes at the last dword of the memory.
  assertEquals(after.fault?.address, BASE + 252n);
  assertEquals(after.fault?.bytes, 8);
  assertEquals(after.fault?.reason, FaultReason.Unmapped);
  assertEquals(after.v64(4), 0n);
});

Deno.test("TFE writes a status behind the data: 1 for an access that failed", () => {
  const good = at(asm`buffer_load_dword v[4:5], off, s[4:7], 0 tfe`, descriptor(256), { v: { 5: 9 }, exec: 1n });
  assertEquals([good.v(4), good.v(5)], [0, 0]);
  const bad = at(asm`buffer_load_dwordx2 v[4:6], off, s[4:7], s9 tfe`, { ...descriptor(0x10000), 9: 0x1000 }, {
    exec: 1n,
  });
  assertEquals([bad.v(4), bad.v(5), bad.v(6)], [0, 0, 1]);
});

Deno.test("the LDS bit loads into M0[15:0] + offset + 4 * lane instead of a register", () => {
  const after = at(asm`buffer_load_dword v2, s[4:7], 0 offen offset:4 lds`, descriptor(256), { m0: 16 });
  assertEquals([16, 20, 24, 28, 32, 36].map((address) => after.lds(address) >>> 24), [0, 1, 2, 3, 4, 0]);
  const bytes = at(asm`buffer_load_sbyte v2, s[4:7], 0 offen lds`, descriptor(256), {
    words: Uint32Array.of(0x80, 1, 2, 3),
    exec: 0b1001n,
  });
  assertEquals([0, 4, 8, 12].map((address) => bytes.lds(address)), [0xffffff80, 0, 0, 3]);
});

Deno.test("inactive lanes do nothing, GLC, SLC and DLC change nothing, cache instructions are hints", () => {
  const after = at(
    asm`buffer_load_dword v0, v2, s[4:7], 0 offen glc slc dlc
    buffer_gl0_inv
    buffer_gl1_inv`,
    descriptor(256),
    { exec: 0b1010n, v: { 0: 7 } },
  );
  assertEquals(after.lanes(0, 4), [7, 0x01010101, 7, 0x03030303]);
});
