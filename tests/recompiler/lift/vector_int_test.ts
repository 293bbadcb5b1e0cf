import { assertEquals } from "@std/assert";
import { execute } from "../../support/lift_harness.ts";
import { Random } from "../../support/random.ts";
import { asm, asm1013, asm64 } from "./assembled.ts";

const INTERESTING = [
  0,
  1,
  2,
  31,
  32,
  0x7fffffff,
  0x80000000,
  0xffffffff,
  0xfffffffe,
  0x00ffffff,
  0x00800000,
  0xff800000,
  0x12345678,
  0x8040c0ff,
];

/** 32 triples of values, one per lane. */
function lanes(seed: number): [number[], number[], number[]] {
  const random = new Random(seed);
  const value = () => random.chance(0.6) ? random.pick(INTERESTING) : random.u32();
  return [0, 1, 2].map(() => Array.from({ length: 32 }, value)) as [number[], number[], number[]];
}

/** Runs `line` (v3 from v0, v1, v2) in all lanes. */
function each(line: string, f: (a: number, b: number, c: number, old: number) => number, assemble = asm): void {
  Deno.test(`${line} computes its result in each lane`, () => {
    for (const seed of [1, 2, 3]) {
      const [a, b, c] = lanes(seed);
      const old = Array.from({ length: 32 }, (_, i) => 0x11111111 * (i & 15));
      const exec = 0xf7ffffff;
      const target = assemble === asm1013 ? "gfx1013" : "gfx1030";
      const after = execute(assemble(line), { v: { 0: a, 1: b, 2: c, 3: old }, exec, request: { target } });
      for (let i = 0; i < 32; i++) {
        const expected = (exec >>> i) & 1 ? f(a[i], b[i], c[i], old[i]) >>> 0 : old[i];
        assertEquals(after.v(3, i), expected, `lane ${i}: ${[a[i], b[i], c[i]].map((x) => x.toString(16))}`);
      }
    }
  });
}

const s = (x: number) => x | 0;
const u24 = (x: number) => x & 0xffffff;
const i24 = (x: number) => (x << 8) >> 8;
const median = (list: number[]) => list.sort((x, y) => x - y)[1];
const clz = (x: number) => x === 0 ? -1 : Math.clz32(x);
const bits = (x: number) => x.toString(2).replaceAll("0", "").length;

each("v_mov_b32_e32 v3, v0", (a) => a);
each("v_not_b32_e32 v3, v0", (a) => ~a);
each("v_bfrev_b32_e32 v3, v0", (a) => parseInt([...a.toString(2).padStart(32, "0")].reverse().join(""), 2));
each("v_ffbh_u32_e32 v3, v0", clz);
each("v_ffbh_i32_e32 v3, v0", (a) => clz(s(a) < 0 ? ~a >>> 0 : a));
each("v_ffbl_b32_e32 v3, v0", (a) => [...a.toString(2).padStart(32, "0")].reverse().indexOf("1"));
each("v_and_b32_e32 v3, v0, v1", (a, b) => a & b);
each("v_or_b32_e32 v3, v0, v1", (a, b) => a | b);
each("v_xor_b32_e32 v3, v0, v1", (a, b) => a ^ b);
each("v_xnor_b32_e32 v3, v0, v1", (a, b) => ~(a ^ b));
each("v_add_nc_u32_e32 v3, v0, v1", (a, b) => a + b);
each("v_sub_nc_u32_e32 v3, v0, v1", (a, b) => a - b);
each("v_subrev_nc_u32_e32 v3, v0, v1", (a, b) => b - a);
each("v_add_nc_u32_e64 v3, v0, v1 clamp", (a, b) => Math.min(a + b, 0xffffffff));
each("v_sub_nc_u32_e64 v3, v0, v1 clamp", (a, b) => Math.max(a - b, 0));
each("v_add_nc_i32 v3, v0, v1 clamp", (a, b) => Math.max(-0x80000000, Math.min(0x7fffffff, s(a) + s(b))));
each("v_sub_nc_i32 v3, v0, v1 clamp", (a, b) => Math.max(-0x80000000, Math.min(0x7fffffff, s(a) - s(b))));
each("v_add_nc_i32 v3, v0, v1", (a, b) => a + b);
each("v_mul_u32_u24_e32 v3, v0, v1", (a, b) => Number((BigInt(u24(a)) * BigInt(u24(b))) & 0xffffffffn));
each("v_mul_i32_i24_e32 v3, v0, v1", (a, b) => Number(BigInt.asUintN(32, BigInt(i24(a)) * BigInt(i24(b)))));
each("v_mul_hi_u32_u24_e32 v3, v0, v1", (a, b) => Number((BigInt(u24(a)) * BigInt(u24(b))) >> 32n));
each("v_mul_hi_i32_i24_e32 v3, v0, v1", (a, b) => Number((BigInt(i24(a)) * BigInt(i24(b))) >> 32n));
each(
  "v_mad_u32_u24 v3, v0, v1, v2",
  (a, b, c) => Number(BigInt.asUintN(32, BigInt(u24(a)) * BigInt(u24(b)) + BigInt(c))),
);
each(
  "v_mad_i32_i24 v3, v0, v1, v2",
  (a, b, c) => Number(BigInt.asUintN(32, BigInt(i24(a)) * BigInt(i24(b)) + BigInt(c))),
);
each("v_mad_u32_u16 v3, v0, v1, v2", (a, b, c) => Math.imul(a & 0xffff, b & 0xffff) + c);
each("v_mad_i32_i16 v3, v0, v1, v2", (a, b, c) => Math.imul((a << 16) >> 16, (b << 16) >> 16) + c);
each("v_mul_lo_u32 v3, v0, v1", Math.imul);
each("v_mul_hi_u32 v3, v0, v1", (a, b) => Number((BigInt(a) * BigInt(b)) >> 32n));
each("v_mul_hi_i32 v3, v0, v1", (a, b) => Number((BigInt(s(a)) * BigInt(s(b))) >> 32n));
each("v_mul_lo_i32 v3, v0, v1", Math.imul, asm1013);
each("v_lshlrev_b32_e32 v3, v0, v1", (a, b) => b << (a & 31));
each("v_lshrrev_b32_e32 v3, v0, v1", (a, b) => b >>> (a & 31));
each("v_ashrrev_i32_e32 v3, v0, v1", (a, b) => s(b) >> (a & 31));
each("v_lshl_add_u32 v3, v0, v1, v2", (a, b, c) => (a << (b & 31)) + c);
each("v_add_lshl_u32 v3, v0, v1, v2", (a, b, c) => (a + b) << (c & 31));
each("v_lshl_or_b32 v3, v0, v1, v2", (a, b, c) => (a << (b & 31)) | c);
each("v_and_or_b32 v3, v0, v1, v2", (a, b, c) => (a & b) | c);
each("v_or3_b32 v3, v0, v1, v2", (a, b, c) => a | b | c);
each("v_xor3_b32 v3, v0, v1, v2", (a, b, c) => a ^ b ^ c);
each("v_add3_u32 v3, v0, v1, v2", (a, b, c) => a + b + c);
each("v_xad_u32 v3, v0, v1, v2", (a, b, c) => ((a ^ b) >>> 0) + c);
each("v_bfi_b32 v3, v0, v1, v2", (a, b, c) => (a & b) | (~a & c));
each("v_bfm_b32 v3, v0, v1", (a, b) => ((1 << (a & 31)) - 1) << (b & 31));
each("v_bfe_u32 v3, v0, v1, v2", (a, b, c) => (a >>> (b & 31)) & ((1 << (c & 31)) - 1));
each("v_bfe_i32 v3, v0, v1, v2", (a, b, c) => {
  const offset = b & 31, width = Math.min(c & 31, 32 - offset);
  return width === 0 ? 0 : Number(BigInt.asIntN(width, BigInt(a) >> BigInt(offset)));
});
each(
  "v_alignbit_b32 v3, v0, v1, v2",
  (a, b, c) => Number((((BigInt(a) << 32n) | BigInt(b)) >> BigInt(c & 31)) & 0xffffffffn),
);
each(
  "v_alignbyte_b32 v3, v0, v1, v2",
  (a, b, c) => Number((((BigInt(a) << 32n) | BigInt(b)) >> BigInt((c & 3) * 8)) & 0xffffffffn),
);
each("v_bcnt_u32_b32 v3, v0, v1", (a, b) => bits(a) + b);
each("v_min_u32_e32 v3, v0, v1", (a, b) => Math.min(a, b));
each("v_max_u32_e32 v3, v0, v1", (a, b) => Math.max(a, b));
each("v_min_i32_e32 v3, v0, v1", (a, b) => Math.min(s(a), s(b)));
each("v_max_i32_e32 v3, v0, v1", (a, b) => Math.max(s(a), s(b)));
each("v_min3_u32 v3, v0, v1, v2", (a, b, c) => Math.min(a, b, c));
each("v_max3_u32 v3, v0, v1, v2", (a, b, c) => Math.max(a, b, c));
each("v_med3_u32 v3, v0, v1, v2", (a, b, c) => median([a, b, c]));
each("v_min3_i32 v3, v0, v1, v2", (a, b, c) => Math.min(s(a), s(b), s(c)));
each("v_max3_i32 v3, v0, v1, v2", (a, b, c) => Math.max(s(a), s(b), s(c)));
each("v_med3_i32 v3, v0, v1, v2", (a, b, c) => median([s(a), s(b), s(c)]));
const clampTo = (x: number, low: number, high: number) => Math.max(low, Math.min(high, x));
each("v_cvt_pk_u16_u32 v3, v0, v1", (a, b) => clampTo(a, 0, 0xffff) | (clampTo(b, 0, 0xffff) << 16));
each(
  "v_cvt_pk_i16_i32 v3, v0, v1",
  (a, b) => (clampTo(s(a), -0x8000, 0x7fff) & 0xffff) | (clampTo(s(b), -0x8000, 0x7fff) << 16),
);

const byte = (x: number, k: number) => (x >>> (k * 8)) & 255;
const four = (f: (k: number) => number) => [0, 1, 2, 3].map(f);
const total = (list: number[]) => list.reduce((x, y) => x + y);
each("v_sad_u8 v3, v0, v1, v2", (a, b, c) => total(four((k) => Math.abs(byte(a, k) - byte(b, k)))) + c);
each("v_sad_hi_u8 v3, v0, v1, v2", (a, b, c) => total(four((k) => Math.abs(byte(a, k) - byte(b, k)))) * 65536 + c);
each(
  "v_msad_u8 v3, v0, v1, v2",
  (a, b, c) => total(four((k) => byte(b, k) === 0 ? 0 : Math.abs(byte(a, k) - byte(b, k)))) + c,
);
each(
  "v_sad_u16 v3, v0, v1, v2",
  (a, b, c) => Math.abs((a & 0xffff) - (b & 0xffff)) + Math.abs((a >>> 16) - (b >>> 16)) + c,
);
each("v_sad_u32 v3, v0, v1, v2", (a, b, c) => Math.abs(a - b) + c);
each(
  "v_lerp_u8 v3, v0, v1, v2",
  (a, b, c) => total(four((k) => ((byte(a, k) + byte(b, k) + (byte(c, k) & 1)) >> 1) * 2 ** (k * 8))),
);
each("v_perm_b32 v3, v0, v1, v2", (a, b, c) => {
  const all = [...four((k) => byte(b, k)), ...four((k) => byte(a, k))];
  const sign = [b >> 15, b >> 31, a >> 15, a >> 31].map((x) => x & 1 ? 255 : 0);
  return total(four((k) => {
    const selector = byte(c, k);
    const value = selector > 12 ? 255 : selector === 12 ? 0 : selector > 7 ? sign[selector - 8] : all[selector];
    return value * 2 ** (k * 8);
  }));
});

Deno.test("v_perm_b32 knows all its selectors", () => {
  const selectors = Array.from({ length: 32 }, (_, i) => i * 0x01010101 & 0x0f0f0f0f | (i > 15 ? 0x80 : 0));
  const [a, b] = [0x80112233, 0x4455f677];
  const after = execute(asm("v_perm_b32 v3, v0, v1, v2"), { v: { 0: a, 1: b, 2: selectors } });
  for (let i = 0; i < 16; i++) {
    const expected = i > 12 ? 255 : i === 12 ? 0 : [0x77, 0xf6, 0x55, 0x44, 0x33, 0x22, 0x11, 0x80, 255, 0, 0, 255][i];
    assertEquals(after.v(3, i), (expected * 0x01010101) >>> 0, `selector ${i}`);
  }
});

Deno.test("64-bit vector shifts use six bits of the amount", () => {
  const amounts = Array.from({ length: 32 }, (_, i) => i * 5);
  const before = { v: { 0: amounts, 2: 0x9abcdef0, 3: 0x82345678 } };
  const value = 0x82345678_9abcdef0n;
  for (
    const [line, f] of [
      ["v_lshlrev_b64 v[4:5], v0, v[2:3]", (n: bigint) => value << n],
      ["v_lshrrev_b64 v[4:5], v0, v[2:3]", (n: bigint) => value >> n],
      ["v_ashrrev_i64 v[4:5], v0, v[2:3]", (n: bigint) => BigInt.asIntN(64, value) >> n],
    ] as const
  ) {
    const after = execute(asm(line), before);
    amounts.forEach((amount, i) => {
      const got = BigInt(after.v(4, i)) | (BigInt(after.v(5, i)) << 32n);
      assertEquals(got, BigInt.asUintN(64, f(BigInt(amount & 63))), `${line} by ${amount}`);
    });
  }
});

Deno.test("v_cndmask_b32 chooses by a mask, with sign and magnitude modifiers on bits", () => {
  const after = execute(
    asm(
      "v_cndmask_b32_e32 v3, v0, v1, vcc_lo",
      "v_cndmask_b32_e64 v4, -v0, |v1|, s2",
      "v_cndmask_b32_e64 v5, 0, -1, s2",
    ),
    { v: { 0: 0x00000001, 1: 0x80000005 }, vcc: 0xaaaaaaaa, s: { 2: 0x0000ffff } },
  );
  for (let i = 0; i < 32; i++) {
    assertEquals(after.v(3, i), i & 1 ? 0x80000005 : 1);
    assertEquals(after.v(4, i), i < 16 ? 5 : 0x80000001);
    assertEquals(after.v(5, i), i < 16 ? 0xffffffff : 0);
  }
});

Deno.test("in wave 64 a mask operand is a pair, made of halves that need not come from one place", () => {
  const after = execute(
    asm64("s_mov_b32 s4, s2", "s_mov_b32 s5, vcc_lo", "v_cndmask_b32_e64 v3, v0, v1, s[4:5]"),
    { v: { 0: 7, 1: 9 }, vcc: 0x00000000_0000000fn, s: { 2: 0x80000001 }, request: { waveSize: 64 } },
  );
  for (let i = 0; i < 64; i++) {
    assertEquals(after.v(3, i), i === 0 || i === 31 || (i >= 32 && i < 36) ? 9 : 7, `lane ${i}`);
  }
});

Deno.test("additions and subtractions with carry masks chain to 64 bits", () => {
  const random = new Random(11);
  const wide = () =>
    Array.from(
      { length: 32 },
      () => BigInt(random.u32()) << 32n | BigInt(random.pick([0, 1, 0xffffffff, random.u32()])),
    );
  const a = wide(), b = wide();
  const low = (list: bigint[]) => list.map((x) => Number(x & 0xffffffffn)),
    high = (list: bigint[]) => list.map((x) => Number(x >> 32n));
  const v = { 0: low(a), 1: high(a), 2: low(b), 3: high(b) };
  const exec = 0xfffffffe;
  const sum = execute(
    asm("v_add_co_u32 v4, vcc_lo, v0, v2", "v_add_co_ci_u32_e32 v5, vcc_lo, v1, v3, vcc_lo"),
    { v, exec },
  );
  const difference = execute(
    asm("v_sub_co_u32 v4, s4, v0, v2", "v_sub_co_ci_u32_e64 v5, s6, v1, v3, s4"),
    { v, exec },
  );
  const reverse = execute(
    asm("v_subrev_co_u32 v4, s4, v0, v2", "v_subrev_co_ci_u32_e64 v5, s6, v1, v3, s4"),
    { v, exec },
  );
  let carries = 0, borrows = 0;
  for (let i = 1; i < 32; i++) {
    const result = (after: typeof sum) => BigInt(after.v(4, i)) | (BigInt(after.v(5, i)) << 32n);
    assertEquals(result(sum), BigInt.asUintN(64, a[i] + b[i]));
    assertEquals(result(difference), BigInt.asUintN(64, a[i] - b[i]));
    assertEquals(result(reverse), BigInt.asUintN(64, b[i] - a[i]));
    if (a[i] + b[i] >> 64n) carries |= 1 << i;
    if (a[i] < b[i]) borrows |= 1 << i;
  }
  assertEquals([sum.s(106), difference.s(6)], [carries >>> 0, borrows >>> 0]);
  assertEquals([sum.v(4, 0), sum.v(5, 0)], [0, 0]);
});

Deno.test("v_mad_u64_u32 and v_mad_i64_i32 add in 64 bits and give the carry", () => {
  const a = [0xffffffff, 0xffffffff, 3, 0x80000000], b = [0xffffffff, 1, 5, 0x80000000];
  const c = [0x1ffffffffn, 0xffffffff_00000001n, 7n, 0x7fffffff_ffffffffn];
  const v = { 0: a, 1: b, 2: c.map((x) => Number(x & 0xffffffffn)), 3: c.map((x) => Number(x >> 32n)) };
  const unsigned = execute(asm("v_mad_u64_u32 v[4:5], s4, v0, v1, v[2:3]"), { v });
  const signed = execute(asm("v_mad_i64_i32 v[4:5], s4, v0, v1, v[2:3]"), { v });
  for (let i = 0; i < 4; i++) {
    const got = (after: typeof signed) => BigInt(after.v(4, i)) | (BigInt(after.v(5, i)) << 32n);
    const full = BigInt(a[i]) * BigInt(b[i]) + c[i];
    assertEquals(got(unsigned), BigInt.asUintN(64, full));
    assertEquals((unsigned.s(4) >>> i) & 1, full >> 64n ? 1 : 0);
    const exact = BigInt(s(a[i])) * BigInt(s(b[i])) + BigInt.asIntN(64, c[i]);
    assertEquals(got(signed), BigInt.asUintN(64, exact));
    assertEquals((signed.s(4) >>> i) & 1, exact === BigInt.asIntN(64, exact) ? 0 : 1, `overflow in lane ${i}`);
  }
  assertEquals(execute(asm("v_mad_u64_u32 v[4:5], null, v0, 3, 1"), { v: { 0: 5 } }).v(4), 16);
});

Deno.test("v_swap_b32 exchanges two registers in the active lanes", () => {
  const after = execute(asm("v_swap_b32 v1, v0"), { v: { 0: 7, 1: 9 }, exec: 1 });
  assertEquals([after.v(0, 0), after.v(1, 0), after.v(0, 1), after.v(1, 1)], [9, 7, 7, 9]);
});

Deno.test("lanes: readlane, readfirstlane, writelane, mbcnt in both wave sizes", () => {
  for (const wave of [32, 64] as const) {
    const assemble = wave === 32 ? asm : asm64;
    const v = Array.from({ length: wave }, (_, i) => 100 + i);
    const request = { waveSize: wave };
    const exec = wave === 32 ? 0xfffffff0 : 0xffffffff_00000000n;
    const first = wave === 32 ? 4 : 32;
    const after = execute(
      assemble(
        "v_readlane_b32 s4, v0, s2",
        "v_readfirstlane_b32 s5, v0",
        "v_writelane_b32 v1, s2, 3",
        "v_mbcnt_lo_u32_b32 v2, -1, 5",
        "v_mbcnt_hi_u32_b32 v2, s3, v2",
      ),
      { v: { 0: v, 1: 1, 2: 77 }, s: { 2: wave + 9, 3: 0xffff0000 }, exec, request },
    );
    assertEquals([after.s(4), after.s(5)], [109, 100 + first]);
    assertEquals([after.v(1, 2), after.v(1, 3)], [1, wave + 9]);
    for (let i = 0; i < wave; i++) {
      const active = (BigInt(exec) >> BigInt(i)) & 1n;
      const low = Math.min(i, 32), high = i < 32 ? 0 : Math.max(0, i - 48);
      assertEquals(after.v(2, i), active ? low + 5 + high : 77, `lane ${i}`);
    }
  }
});

Deno.test("SDWA selects parts of sources and places parts of results", () => {
  const run = (line: string) => execute(asm(line), { v: { 0: 0x80c2f304, 1: 0x01020304, 3: 0xaabbccdd } }).v(3);
  assertEquals(run("v_mov_b32_sdwa v3, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1"), 0xf3);
  assertEquals(run("v_mov_b32_sdwa v3, sext(v0) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3"), 0xffffff80);
  assertEquals(run("v_mov_b32_sdwa v3, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0"), 0xf304ccdd);
  assertEquals(run("v_mov_b32_sdwa v3, v0 dst_sel:BYTE_2 dst_unused:UNUSED_PAD src0_sel:BYTE_0"), 0x00040000);
  assertEquals(run("v_mov_b32_sdwa v3, v0 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3"), 0xffff8000);
  assertEquals(
    run("v_add_nc_u32_sdwa v3, v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_2"),
    0x80c2 + 2,
  );
  assertEquals(
    run("v_add_nc_u32_sdwa v3, sext(v0), v1 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD"),
    0xaabb83c6,
  );
});
