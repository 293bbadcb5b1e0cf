/** Scalar memory (AMD RDNA2 ISA, section 12.6; stores and atomics: AMD RDNA1 ISA). */
import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { FaultReason } from "../../../src/rdna/interpreter/mod.ts";
import { asm, execute, type Program } from "./asm.ts";

const BASE = 0x2_0020_0000n;
const LO = Number(BASE & 0xffff_ffffn), HI = Number(BASE >> 32n);

/** 64 dwords: dword n is 0x100 + n. */
function data(): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: 64 }, (_, n) => 0x100 + n);
}

function at(program: Program, s: Readonly<Record<number, number>> = {}, words = data()) {
  const memory = new Map([[BASE, new Uint8Array(words.buffer)]]);
  const after = execute(program, { s: { 4: LO, 5: HI, ...s }, memory });
  return { ...after, words };
}

Deno.test("scalar loads of one to sixteen dwords; a register offset is added, low bits are ignored", () => {
  const after = at(
    asm`s_load_dword s20, s[4:5], 0x8
    s_load_dwordx2 s[22:23], s[4:5], s6
    s_load_dwordx4 s[24:27], s[4:5], 0x13
    s_load_dword s21, s[4:5], s6 offset:0x10
    s_load_dwordx16 s[40:55], s[4:5], 0x40
    s_load_dwordx8 s[28:35], s[4:5], -4`,
    { 4: LO + 4, 6: 5 },
  );
  assertEquals([20, 21, 22, 23, 24, 27, 40, 55, 28, 35].map((register) => after.s(register)), [
    0x103,
    0x106,
    0x102,
    0x103,
    0x105,
    0x108,
    0x111,
    0x120,
    0x100,
    0x107,
  ]);
  assertEquals(after.fault, null);
});

Deno.test("a scalar load may overwrite its own base", () => {
  const words = data();
  words.set([LO + 128, HI], 0);
  const after = at(
    asm`s_load_dwordx2 s[4:5], s[4:5], 0x0
    s_load_dword s0, s[4:5], 0x4`,
    {},
    words,
  );
  assertEquals(after.s(0), 0x121);
});

Deno.test("scalar buffer loads clamp to the buffer: bytes without a stride, records with one", () => {
  const raw = { 8: LO, 9: HI, 10: 12, 11: 0x31016fac };
  const after = at(
    asm`s_buffer_load_dwordx4 s[20:23], s[8:11], 0x4
    s_buffer_load_dword s24, s[8:11], 0xc
    s_buffer_load_dword s25, s[8:11], s6 offset:0x4`,
    { ...raw, 6: 5 },
  );
  assertEquals([20, 21, 22, 23, 24, 25].map((register) => after.s(register)), [0x101, 0x102, 0, 0, 0, 0x102]);
  const structured = at(asm`s_buffer_load_dwordx2 s[20:21], s[8:11], 0x14`, {
    8: LO,
    9: HI | 8 << 16,
    10: 3,
    11: 0x31016fac,
  });
  assertEquals([structured.s(20), structured.s(21)], [0x105, 0]);
  assertEquals(structured.fault, null);
});

Deno.test("a failing scalar load gives zeros for its piece, and is recorded once", () => {
  const after = at(
    asm`s_load_dwordx8 s[20:27], s[4:5], 0xf0
    s_load_dword s0, s[4:5], 0x400`,
    { 20: 1, 24: 1, 27: 1 },
  );
  // Pieces of four dwords: the first lies in the window, the second does not.
  assertEquals([20, 23, 24, 27].map((register) => after.s(register)), [0x13c, 0x13f, 0, 0]);
  assertEquals(after.fault, { address: BASE + 0x100n, bytes: 16, reason: FaultReason.Unmapped, pc: 0 });
});

Deno.test("scalar stores and atomics", () => {
  const after = at(
    asm`s_store_dwordx2 s[20:21], s[4:5], 0x8
    s_buffer_store_dwordx4 s[20:23], s[8:11], 0x20
    s_atomic_add s20, s[4:5], 0x0 glc
    s_atomic_umax s21, s[4:5], 0x4
    s_atomic_cmpswap s[22:23], s[4:5], 0x10 glc
    s_atomic_add_x2 s[24:25], s[4:5], 0x18 glc
    s_buffer_atomic_or s21, s[8:11], 0x28`,
    {
      8: LO,
      9: HI,
      10: 0x2c,
      11: 0x31016fac,
      20: 5,
      21: 0x1000,
      22: 77,
      23: 0x104,
      24: 1,
      25: 1,
    },
  );
  const { words } = after;
  assertEquals([words[2], words[3]], [5, 0x1000]);
  // Three dwords of the buffer are in range; s20, s21, s22 as they were.
  assertEquals([...words.subarray(8, 12)], [5, 0x1000, 77 | 0x1000, 0x10b]);
  assertEquals([words[0], after.s(20), words[1]], [0x105, 0x100, 0x1000]);
  assertEquals([words[4], after.s(22)], [77, 0x104]);
  assertEquals([words[6], words[7], after.s64(24)], [0x107, 0x108, 0x107_0000_0106n]);
});

Deno.test("an atomic beyond the buffer, or unaligned, does nothing", () => {
  const after = at(
    asm`s_buffer_atomic_add s20, s[8:11], 0x2c glc
    s_atomic_add_x2 s[24:25], s[4:5], 0x4 glc`,
    { 8: LO, 9: HI, 10: 0x2c, 11: 0x31016fac, 20: 9, 24: 9, 25: 9 },
  );
  assertEquals([after.s(20), after.s64(24)], [0, 0n]);
  assertEquals(after.words, data());
  assertEquals([after.fault?.reason, after.fault?.address], [FaultReason.Unaligned, BASE + 4n]);
});

Deno.test("the wave's number, address probes, and what is refused", () => {
  const after = at(asm`s_get_waveid_in_workgroup s0
    s_atc_probe 1, s[4:5], 0x0
    s_memrealtime s[2:3]`);
  assertEquals([after.s(0), after.s64(2)], [0, 0n]);
  assertThrows(() => at(asm`s_scratch_load_dword s0, s[4:5], 0x0`), RefusedError, "scratch");
});
