/** GLOBAL, FLAT and SCRATCH (AMD RDNA2 ISA, sections 9 and 12.15). */
import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { FaultReason } from "../../../src/rdna/interpreter/mod.ts";
import { asm, asm1030, asm64, execute, type Program } from "./asm.ts";
import { f32, f64, halves } from "./machine.ts";

const BASE = 0xffff_8000_0020_0000n;
const [LO, HI] = halves(BASE);

/** 64 dwords; dword n is 0x01010101 * n. */
function data(): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: 64 }, (_, n) => 0x01010101 * n);
}

/** Runs with the address of `words` in v[10:11] and s[4:5]; one lane. */
function at(program: Program, v: Readonly<Record<number, number>> = {}, words = data()) {
  const after = execute(program, {
    v: { 10: LO, 11: HI, ...v },
    s: { 4: LO, 5: HI },
    memory: new Map([[BASE, new Uint8Array(words.buffer)]]),
    exec: 1n,
  });
  return { ...after, words };
}

Deno.test("global loads of every width, by vector address or scalar base plus 32-bit offset", () => {
  const words = data();
  words.set([0x83828180, 0x87868584, 0x8b8a8988, 0x8f8e8d8c], 0);
  const v = { 0: 0xaaaa5555, 2: 1 };
  const rows: [Program, number[]][] = [
    [asm`global_load_ubyte v0, v2, s[4:5]`, [0x81]],
    [asm`global_load_sbyte v0, v2, s[4:5] offset:2`, [0xffffff83]],
    [asm`global_load_ushort v0, v2, s[4:5]`, [0x8281]],
    [asm`global_load_sshort v0, v2, s[4:5]`, [0xffff8281]],
    [asm`global_load_dword v0, v[10:11], off offset:4`, [0x87868584]],
    [asm`global_load_dword v0, v2, s[4:5]`, [0x84838281]],
    [asm`global_load_dwordx2 v[0:1], v[10:11], off`, [0x83828180, 0x87868584]],
    [asm`global_load_dwordx3 v[0:2], v[10:11], off`, [0x83828180, 0x87868584, 0x8b8a8988]],
    [asm`global_load_dwordx4 v[0:3], v[10:11], off`, [0x83828180, 0x87868584, 0x8b8a8988, 0x8f8e8d8c]],
    [asm`global_load_ubyte_d16 v0, v2, s[4:5]`, [0xaaaa0081]],
    [asm`global_load_sbyte_d16_hi v0, v2, s[4:5]`, [0xff815555]],
    [asm`global_load_short_d16 v0, v2, s[4:5]`, [0xaaaa8281]],
    [asm`global_load_short_d16_hi v0, v2, s[4:5]`, [0x82815555]],
  ];
  for (const [program, expected] of rows) {
    const after = at(program, v, words);
    assertEquals(
      expected.map((_, k) => after.v(k).toString(16)),
      expected.map((each) => each.toString(16)),
      program.lines[0],
    );
  }
  // The instruction's offset is signed; the vector offset is not.
  const negative = at(asm`global_load_dword v0, v2, s[4:5] offset:-4`, { 2: 12 });
  assertEquals(negative.v(0), 0x02020202);
});

Deno.test("global stores", () => {
  const v = { 2: 8, 3: 0x44332211, 4: 0x88776655, 5: 0xccbbaa99, 6: 0x00ffeedd };
  const rows: [Program, Readonly<Record<number, number>>][] = [
    [asm`global_store_byte v2, v3, s[4:5] offset:1`, { 2: 0x02021102 }],
    [asm`global_store_byte_d16_hi v2, v3, s[4:5]`, { 2: 0x02020233 }],
    [asm`global_store_short v2, v3, s[4:5]`, { 2: 0x02022211 }],
    [asm`global_store_short_d16_hi v2, v3, s[4:5]`, { 2: 0x02024433 }],
    [asm`global_store_dword v[10:11], v3, off offset:8`, { 2: 0x44332211 }],
    [asm`global_store_dwordx2 v2, v[3:4], s[4:5]`, { 2: 0x44332211, 3: 0x88776655 }],
    [asm`global_store_dwordx3 v2, v[3:5], s[4:5]`, { 4: 0xccbbaa99, 5: 0x05050505 }],
    [asm`global_store_dwordx4 v2, v[3:6], s[4:5]`, { 4: 0xccbbaa99, 5: 0x00ffeedd }],
  ];
  for (const [program, expected] of rows) {
    const { words } = at(program, v);
    for (const [index, value] of Object.entries(expected)) assertEquals(words[Number(index)], value, program.lines[0]);
  }
});

Deno.test("failing accesses: loads give 0, stores do nothing, the first one is recorded with its pc", () => {
  const after = at(
    asm`global_load_dwordx4 v[4:7], v[10:11], off offset:244
    global_store_dword v2, v3, s[4:5]
    global_store_dword v2, v3, s[4:5] offset:2`,
    { 2: 0, 3: 99, 4: 1, 7: 1 },
  );
  assertEquals([after.v(4), after.v(7)], [0, 0]);
  assertEquals(after.fault, { address: BASE + 244n, bytes: 16, reason: FaultReason.Unmapped, pc: 0 });
  assertEquals([after.words[0], after.words[1]], [99, 0x01010101]);
  const unaligned = at(asm`global_store_dword v2, v3, s[4:5] offset:2`, { 2: 0, 3: 99 });
  assertEquals([unaligned.words[0], unaligned.fault?.reason], [0, FaultReason.Unaligned]);
  const odd = at(asm`global_store_short v2, v3, s[4:5] offset:1`, { 2: 0, 3: 99 });
  assertEquals(odd.fault?.reason, FaultReason.Unaligned);
  const garbage = at(asm`global_load_dword v0, v[2:3], off`, { 0: 1, 2: 0x12345678, 3: 0x7edcba98 });
  assertEquals([garbage.v(0), garbage.fault?.address, garbage.fault?.reason], [
    0,
    0x7edc_ba98_1234_5678n,
    FaultReason.Unmapped,
  ]);
  const wrapped = at(asm`global_load_dwordx2 v[0:1], v[2:3], off`, { 2: 0xfffffffc, 3: 0xffffffff });
  assertEquals([wrapped.fault?.address, wrapped.fault?.reason], [0xffff_ffff_ffff_fffcn, FaultReason.Overflow]);
});

Deno.test("global atomics return the old value with GLC", () => {
  const rows: [Program, old: number, data: number, result: number, compare?: number][] = [
    [asm`global_atomic_swap v0, v2, v3, s[4:5] glc`, 5, 9, 9],
    [asm`global_atomic_cmpswap v0, v2, v[3:4], s[4:5] glc`, 5, 9, 9, 5],
    [asm`global_atomic_cmpswap v0, v2, v[3:4], s[4:5] glc`, 5, 9, 5, 6],
    [asm`global_atomic_add v0, v2, v3, s[4:5] glc`, 0xffffffff, 2, 1],
    [asm`global_atomic_sub v0, v2, v3, s[4:5] glc`, 1, 2, 0xffffffff],
    [asm`global_atomic_smin v0, v2, v3, s[4:5] glc`, 1, 0xffffffff, 0xffffffff],
    [asm`global_atomic_umin v0, v2, v3, s[4:5] glc`, 1, 0xffffffff, 1],
    [asm`global_atomic_smax v0, v2, v3, s[4:5] glc`, 1, 0xffffffff, 1],
    [asm`global_atomic_umax v0, v2, v3, s[4:5] glc`, 1, 0xffffffff, 0xffffffff],
    [asm`global_atomic_and v0, v2, v3, s[4:5] glc`, 12, 10, 8],
    [asm`global_atomic_or v0, v2, v3, s[4:5] glc`, 12, 10, 14],
    [asm`global_atomic_xor v0, v2, v3, s[4:5] glc`, 12, 10, 6],
    [asm`global_atomic_inc v0, v2, v3, s[4:5] glc`, 5, 5, 0],
    [asm`global_atomic_dec v0, v2, v3, s[4:5] glc`, 0, 5, 5],
    [asm`global_atomic_fcmpswap v0, v2, v[3:4], s[4:5] glc`, 0x80000000, 9, 9, 0],
    [asm`global_atomic_fmin v0, v2, v3, s[4:5] glc`, f32(2), f32(1), f32(1)],
    [asm`global_atomic_fmax v0, v2, v3, s[4:5] glc`, f32(2), f32(NaN), f32(2)],
    [asm1030`global_atomic_csub v0, v2, v3, s[4:5] glc`, 5, 9, 0],
    [asm1030`global_atomic_csub v0, v2, v3, s[4:5] glc`, 9, 5, 4],
  ];
  for (const [program, old, value, result, compare = 0] of rows) {
    const after = at(program, { 2: 4, 3: value, 4: compare }, Uint32Array.of(0, old));
    assertEquals([after.words[1], after.v(0)], [result, old], program.lines[0]);
  }
  const silent = at(asm`global_atomic_add v2, v3, s[4:5]`, { 0: 77, 2: 4, 3: 1 });
  assertEquals([silent.words[1], silent.v(0)], [0x01010102, 77]);
});

Deno.test("64-bit global atomics", () => {
  const rows: [Program, old: bigint, data: bigint, result: bigint, compare?: bigint][] = [
    [asm`global_atomic_add_x2 v[0:1], v2, v[4:5], s[4:5] glc`, 0xffff_ffffn, 1n, 1n << 32n],
    [asm`global_atomic_cmpswap_x2 v[0:1], v2, v[4:7], s[4:5] glc`, 5n << 40n, 9n, 9n, 5n << 40n],
    [asm`global_atomic_smin_x2 v[0:1], v2, v[4:5], s[4:5] glc`, 1n, 1n << 63n, 1n << 63n],
    [asm`global_atomic_umax_x2 v[0:1], v2, v[4:5], s[4:5] glc`, 1n, 1n << 63n, 1n << 63n],
    [asm`global_atomic_dec_x2 v[0:1], v2, v[4:5], s[4:5] glc`, 1n << 40n, 1n << 50n, (1n << 40n) - 1n],
    [asm`global_atomic_fmax_x2 v[0:1], v2, v[4:5], s[4:5] glc`, f64(1), f64(2), f64(2)],
  ];
  for (const [program, old, value, result, compare = 0n] of rows) {
    const [d0, d1] = halves(value), [c0, c1] = halves(compare);
    const words = new Uint32Array(BigUint64Array.of(0n, old).buffer);
    const after = at(program, { 2: 8, 4: d0, 5: d1, 6: c0, 7: c1 }, words);
    assertEquals([new BigUint64Array(words.buffer)[1], after.v64(0)], [result, old], program.lines[0]);
  }
  const unaligned = at(asm`global_atomic_add_x2 v[0:1], v2, v[4:5], s[4:5] glc`, { 0: 5, 1: 5, 2: 4 });
  assertEquals([unaligned.v64(0), unaligned.fault?.reason, unaligned.fault?.bytes], [0n, FaultReason.Unaligned, 8]);
});

Deno.test("add-tid and load-to-LDS forms of global instructions", () => {
  const words = data();
  const loaded = execute(
    asm1030`global_load_dword_addtid v0, s[4:5] offset:8
    global_store_dword_addtid v0, s[4:5] offset:128`,
    {
      s: { 4: LO, 5: HI },
      memory: new Map([[BASE, new Uint8Array(words.buffer)]]),
      exec: 0xfn,
    },
  );
  assertEquals(loaded.lanes(0, 4), [2, 3, 4, 5].map((n) => 0x01010101 * n));
  assertEquals(words[34], 0x04040404);
  const toLds = execute(asm`global_load_dword v2, s[4:5] offset:4 lds`, {
    v: { 2: (lane) => lane * 8 },
    s: { 4: LO, 5: HI },
    m0: 16,
    memory: new Map([[BASE, new Uint8Array(data().buffer)]]),
    exec: 7n,
  });
  // LDS address: M0 + offset + 4 bytes a lane.
  assertEquals([toLds.lds(20), toLds.lds(24), toLds.lds(28)], [1, 3, 5].map((n) => 0x01010101 * n));
});

Deno.test("flat addresses go to guest memory, to LDS, or to the lane's scratch memory, by their aperture", () => {
  const words = data(), scratch = new Uint32Array(32 * 16);
  const scratchBase = 0x2_0030_0000n;
  const memory = new Map([[BASE, new Uint8Array(words.buffer)], [scratchBase, new Uint8Array(scratch.buffer)]]);
  const before = { memory, lds: [10, 20, 30], flatScratch: scratchBase, exec: 0b11n };
  const guest = execute(asm`flat_load_dword v0, v[10:11]`, { ...before, v: { 10: LO + 8, 11: HI } });
  assertEquals(guest.v(0), 0x02020202);
  const local = execute(
    asm`flat_load_dword v0, v[10:11]
    flat_atomic_add v1, v[10:11], v2 glc
    flat_store_short v[10:11], v2 offset:4`,
    { ...before, v: { 2: 5, 10: 4, 11: 0x10000 } },
  );
  assertEquals([local.v(0, 1), local.v(1, 0), local.v(1, 1), local.lds(4), local.lds(8)], [20, 20, 25, 30, 5]);
  const stored = execute(
    asm`flat_store_dwordx2 v[10:11], v[2:3]
    flat_load_dword v0, v[10:11] offset:4`,
    { ...before, v: { 2: (lane) => 100 + lane, 3: (lane) => 200 + lane, 10: 8, 11: 0x20000 } },
  );
  // Dword 2 and 3 of lanes 0 and 1, interleaved by 32 lanes.
  assertEquals([scratch[64], scratch[65], scratch[96], scratch[97]], [100, 101, 200, 201]);
  assertEquals(stored.lanes(0, 2), [200, 201]);
  assertThrows(
    () => execute(asm`flat_atomic_add v[10:11], v2`, { ...before, v: { 10: 4, 11: 0x20000 } }),
    RefusedError,
    "scratch",
  );
});

Deno.test("scratch instructions interleave dwords by the lanes of the wave", () => {
  const scratchBase = 0x2_0030_0000n;
  const scratch = new Uint32Array(64 * 16);
  const memory = new Map([[scratchBase, new Uint8Array(scratch.buffer)]]);
  const before = { memory, flatScratch: scratchBase };
  const after = execute(
    asm64`scratch_store_dwordx2 v1, v[2:3], off offset:4
    scratch_load_dword v4, v1, off offset:8
    scratch_store_byte off, v2, s4 offset:1
    scratch_load_ubyte v5, off, s4 offset:1
    scratch_load_sbyte_d16_hi v6, off, s4 offset:1`,
    {
      ...before,
      v: { 1: 8, 2: (lane) => 0x80 + lane, 3: (lane) => 0x300 + lane, 6: 0x1111 },
      s: { 4: 40 },
    },
  );
  assertEquals([scratch[3 * 64], scratch[3 * 64 + 63], scratch[4 * 64 + 5]], [0x80, 0xbf, 0x305]);
  // The load reads 8 + 8 = dword 4.
  assertEquals([after.v(4, 0), after.v(4, 63)], [0x300, 0x33f]);
  assertEquals([scratch[10 * 64 + 7] >>> 8 & 0xff, after.v(5, 7), after.v(6, 7)], [0x87, 0x87, 0xff871111]);
  const narrow = execute(asm`scratch_store_dword off, v2, s4`, { ...before, v: { 2: 9 }, s: { 4: 4 }, exec: 2n });
  assertEquals([scratch[33], narrow.fault], [9, null]);
  const beyond = execute(asm`scratch_load_dword v0, off, s4`, { ...before, s: { 4: 0x10000 }, v: { 0: 1 }, exec: 1n });
  assertEquals([beyond.v(0), beyond.fault?.address], [0, scratchBase + 0x10000n * 32n]);
  assertThrows(
    () => execute(asm`scratch_load_dword v0, off, s4`, { ...before, s: { 4: 2 } }),
    RefusedError,
    "crosses a dword",
  );
});
