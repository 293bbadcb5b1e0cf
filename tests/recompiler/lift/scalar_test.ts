import { assertEquals } from "@std/assert";
import { type After, type Before, execute } from "../../support/lift_harness.ts";
import { Random } from "../../support/random.ts";
import { asm, asm64 } from "./assembled.ts";

const signed = (x: number) => x | 0;
const INTERESTING = [
  0,
  1,
  2,
  5,
  31,
  32,
  33,
  0x7fffffff,
  0x80000000,
  0x80000001,
  0xffffffff,
  0xfffffffe,
  0x12345678,
  0xdeadbeef,
];

/** Runs `line` (s4 = s2 op s3) on pairs of values and compares s4 and, if given, SCC. */
function binary(
  line: string,
  result: (a: number, b: number, scc: boolean) => number,
  carry?: (a: number, b: number, scc: boolean) => boolean,
): void {
  Deno.test(`${line.split(" ")[0]} computes its result${carry ? " and SCC" : ""}`, () => {
    const random = new Random(7);
    const values = [...INTERESTING, random.u32(), random.u32()];
    for (const a of values) {
      for (const b of [random.pick(values), random.pick(values), a]) {
        const scc = random.chance(0.5);
        const after = execute(asm(line), { s: { 2: a, 3: b }, scc });
        const inputs = `a=${a.toString(16)} b=${b.toString(16)} scc=${scc}`;
        assertEquals(after.s(4), result(a, b, scc) >>> 0, inputs);
        assertEquals(after.scc, carry === undefined ? scc : carry(a, b, scc), "SCC of " + inputs);
      }
    }
  });
}

const notZero = (f: (a: number, b: number) => number) => (a: number, b: number) => f(a, b) !== 0;
function logic(name: string, f: (a: number, b: number) => number): void {
  binary(`${name} s4, s2, s3`, f, notZero(f));
}

binary("s_add_u32 s4, s2, s3", (a, b) => a + b, (a, b) => a + b > 0xffffffff);
binary("s_sub_u32 s4, s2, s3", (a, b) => a - b, (a, b) => a < b);
binary("s_add_i32 s4, s2, s3", (a, b) => a + b, (a, b) => signed(a) + signed(b) !== signed(a + b));
binary("s_sub_i32 s4, s2, s3", (a, b) => a - b, (a, b) => signed(a) - signed(b) !== signed(a - b));
binary("s_addc_u32 s4, s2, s3", (a, b, c) => a + b + Number(c), (a, b, c) => a + b + Number(c) > 0xffffffff);
binary("s_subb_u32 s4, s2, s3", (a, b, c) => a - b - Number(c), (a, b, c) => a - b - Number(c) < 0);
binary("s_min_u32 s4, s2, s3", (a, b) => Math.min(a, b), (a, b) => a < b);
binary("s_max_u32 s4, s2, s3", (a, b) => Math.max(a, b), (a, b) => a >= b);
binary("s_min_i32 s4, s2, s3", (a, b) => Math.min(signed(a), signed(b)), (a, b) => signed(a) < signed(b));
binary("s_max_i32 s4, s2, s3", (a, b) => Math.max(signed(a), signed(b)), (a, b) => signed(a) >= signed(b));
binary("s_cselect_b32 s4, s2, s3", (a, b, scc) => scc ? a : b);
logic("s_and_b32", (a, b) => a & b);
logic("s_or_b32", (a, b) => a | b);
logic("s_xor_b32", (a, b) => a ^ b);
logic("s_andn2_b32", (a, b) => a & ~b);
logic("s_orn2_b32", (a, b) => a | ~b);
logic("s_nand_b32", (a, b) => ~(a & b));
logic("s_nor_b32", (a, b) => ~(a | b));
logic("s_xnor_b32", (a, b) => ~(a ^ b));
logic("s_lshl_b32", (a, b) => a << (b & 31));
logic("s_lshr_b32", (a, b) => a >>> (b & 31));
logic("s_ashr_i32", (a, b) => signed(a) >> (b & 31));
binary("s_bfm_b32 s4, s2, s3", (a, b) => ((1 << (a & 31)) - 1) << (b & 31));
binary("s_mul_i32 s4, s2, s3", Math.imul);
binary("s_mul_hi_u32 s4, s2, s3", (a, b) => Number((BigInt(a) * BigInt(b)) >> 32n));
binary("s_mul_hi_i32 s4, s2, s3", (a, b) => Number((BigInt(signed(a)) * BigInt(signed(b))) >> 32n));
binary("s_absdiff_i32 s4, s2, s3", (a, b) => Math.abs(signed(a - b)), (a, b) => a !== b);
for (const n of [1, 2, 3, 4]) {
  const wide = (a: number, b: number) => (BigInt(a) << BigInt(n)) + BigInt(b);
  binary(
    `s_lshl${n}_add_u32 s4, s2, s3`,
    (a, b) => Number(wide(a, b) & 0xffffffffn),
    (a, b) => wide(a, b) >> 32n !== 0n,
  );
}
binary("s_pack_ll_b32_b16 s4, s2, s3", (a, b) => (a & 0xffff) | (b << 16));
binary("s_pack_lh_b32_b16 s4, s2, s3", (a, b) => (a & 0xffff) | (b & 0xffff0000));
binary("s_pack_hh_b32_b16 s4, s2, s3", (a, b) => (a >>> 16) | (b & 0xffff0000));

Deno.test("s_bfe_u32 and s_bfe_i32 take a field that may reach past the top", () => {
  for (const [offset, width] of [[0, 0], [0, 8], [4, 8], [28, 8], [31, 1], [0, 32], [5, 32], [8, 100], [31, 127]]) {
    for (const value of INTERESTING) {
      const control = offset | (width << 16) | 0x8000ffe0 & 0x0000ffe0;
      const bits = (BigInt(value) >> BigInt(offset)) & ((1n << BigInt(width)) - 1n);
      const unsigned = execute(asm("s_bfe_u32 s4, s2, s3"), { s: { 2: value, 3: control } });
      assertEquals(BigInt(unsigned.s(4)), bits);
      assertEquals(unsigned.scc, bits !== 0n);
      const top = Math.min(width, 32 - offset);
      const field = top === 0 ? 0 : Number(BigInt.asIntN(top, BigInt(value) >> BigInt(offset)));
      const result = execute(asm("s_bfe_i32 s4, s2, s3"), { s: { 2: value, 3: control } });
      assertEquals(result.s(4), field >>> 0, `offset ${offset} width ${width} of ${value.toString(16)}`);
      assertEquals(result.scc, field !== 0);
    }
  }
});

function pair(after: After, register: number): bigint {
  return BigInt(after.s(register)) | (BigInt(after.s(register + 1)) << 32n);
}

function withPair(values: Record<number, bigint>, more: Before = {}): Before {
  const s: Record<number, number> = { ...more.s };
  for (const [register, value] of Object.entries(values)) {
    s[Number(register)] = Number(value & 0xffffffffn);
    s[Number(register) + 1] = Number((value >> 32n) & 0xffffffffn);
  }
  return { ...more, s };
}

const WIDE = [
  0n,
  1n,
  0xffffffffn,
  0x100000000n,
  0x8000000000000000n,
  0x7fffffffffffffffn,
  0xffffffffffffffffn,
  0x123456789abcdef0n,
];
const u64 = (x: bigint) => BigInt.asUintN(64, x);
const i64 = (x: bigint) => BigInt.asIntN(64, x);

Deno.test("64-bit shifts use six bits of the amount and set SCC", () => {
  for (const value of WIDE) {
    for (const amount of [0, 1, 31, 32, 33, 63, 64, 100]) {
      const n = BigInt(amount & 63);
      const run = (line: string) => execute(asm(line), withPair({ 2: value }, { s: { 8: amount } }));
      for (
        const [line, expected] of [
          ["s_lshl_b64 s[4:5], s[2:3], s8", u64(value << n)],
          ["s_lshr_b64 s[4:5], s[2:3], s8", value >> n],
          ["s_ashr_i64 s[4:5], s[2:3], s8", u64(i64(value) >> n)],
        ] as const
      ) {
        const after = run(line);
        assertEquals(pair(after, 4), expected, `${line} of ${value.toString(16)} by ${amount}`);
        assertEquals(after.scc, expected !== 0n);
      }
    }
  }
});

Deno.test("s_bfe_u64 and s_bfe_i64 take fields of 0 to 64 bits", () => {
  for (const value of WIDE) {
    for (const [offset, width] of [[0, 0], [0, 1], [3, 17], [32, 32], [60, 8], [0, 64], [1, 64], [63, 1]]) {
      const before = withPair({ 2: value }, { s: { 8: offset | (width << 16) } });
      const unsigned = (value >> BigInt(offset)) & ((1n << BigInt(width)) - 1n);
      assertEquals(
        pair(execute(asm("s_bfe_u64 s[4:5], s[2:3], s8"), before), 4),
        unsigned,
        `u ${value.toString(16)} ${offset} ${width}`,
      );
      const field = width === 0 ? 0n : u64(BigInt.asIntN(width, i64(value) >> BigInt(offset)));
      assertEquals(
        pair(execute(asm("s_bfe_i64 s[4:5], s[2:3], s8"), before), 4),
        field,
        `i ${value.toString(16)} ${offset} ${width}`,
      );
    }
  }
});

Deno.test("s_bfm_b64 makes a mask of up to 63 bits", () => {
  for (const [width, offset] of [[0, 0], [8, 4], [63, 0], [40, 30], [64, 3]]) {
    const expected = u64(((1n << BigInt(width & 63)) - 1n) << BigInt(offset & 63));
    assertEquals(pair(execute(asm("s_bfm_b64 s[4:5], s2, s3"), { s: { 2: width, 3: offset } }), 4), expected);
  }
});

const clz = (x: number) => x === 0 ? -1 : Math.clz32(x);
const UNARY: [string, (a: number) => number, ((a: number) => boolean)?][] = [
  ["s_mov_b32 s4, s2", (a) => a],
  ["s_not_b32 s4, s2", (a) => ~a, (a) => ~a !== 0],
  ["s_brev_b32 s4, s2", (a) => parseInt([...a.toString(2).padStart(32, "0")].reverse().join(""), 2)],
  [
    "s_bcnt0_i32_b32 s4, s2",
    (a) => a.toString(2).padStart(32, "0").replaceAll("1", "").length,
    (a) => a !== 0xffffffff,
  ],
  ["s_bcnt1_i32_b32 s4, s2", (a) => a.toString(2).replaceAll("0", "").length, (a) => a !== 0],
  ["s_ff0_i32_b32 s4, s2", (a) => [...a.toString(2).padStart(32, "0")].reverse().indexOf("0")],
  ["s_ff1_i32_b32 s4, s2", (a) => [...a.toString(2).padStart(32, "0")].reverse().indexOf("1")],
  ["s_flbit_i32_b32 s4, s2", clz],
  ["s_flbit_i32 s4, s2", (a) => clz((a | 0) < 0 ? ~a >>> 0 : a)],
  ["s_sext_i32_i8 s4, s2", (a) => (a << 24) >> 24],
  ["s_sext_i32_i16 s4, s2", (a) => (a << 16) >> 16],
  ["s_abs_i32 s4, s2", (a) => Math.abs(a | 0), (a) => a !== 0],
];
for (const [line, f, scc] of UNARY) {
  Deno.test(`${line.split(" ")[0]} computes its result${scc ? " and SCC" : ""}`, () => {
    for (const a of INTERESTING) {
      const after = execute(asm(line), { s: { 2: a }, scc: true });
      assertEquals(after.s(4), f(a) >>> 0, a.toString(16));
      assertEquals(after.scc, scc === undefined ? true : scc(a));
    }
  });
}

Deno.test("64-bit bit counts and searches look at both halves", () => {
  const bits = (x: bigint) => x.toString(2).padStart(64, "0");
  for (const value of [...WIDE, 0xffffffff00000000n, 0x0000000100000000n, 0xfffffffeffffffffn]) {
    const text = bits(value);
    const inverted = text.replaceAll("0", "x").replaceAll("1", "0").replaceAll("x", "1");
    const expected: Record<string, number> = {
      s_bcnt1_i32_b64: text.replaceAll("0", "").length,
      s_bcnt0_i32_b64: inverted.replaceAll("0", "").length,
      s_ff1_i32_b64: [...text].reverse().indexOf("1"),
      s_ff0_i32_b64: [...text].reverse().indexOf("0"),
      s_flbit_i32_b64: text.indexOf("1"),
      s_flbit_i32_i64: text[0] === "1" ? text.indexOf("0") : text.indexOf("1"),
    };
    for (const [name, result] of Object.entries(expected)) {
      assertEquals(
        execute(asm(`${name} s4, s[2:3]`), withPair({ 2: value })).s(4),
        result >>> 0,
        `${name} ${value.toString(16)}`,
      );
    }
    const reversed = BigInt("0b" + [...text].reverse().join(""));
    assertEquals(pair(execute(asm("s_brev_b64 s[4:5], s[2:3]"), withPair({ 2: value })), 4), reversed);
  }
});

Deno.test("s_bitset changes one bit of the destination", () => {
  const run = (line: string, amount: number, old: bigint) =>
    execute(asm(line), withPair({ 4: old }, { s: { 2: amount } }));
  assertEquals(run("s_bitset0_b32 s4, s2", 35, 0xffn).s(4), 0xf7);
  assertEquals(run("s_bitset1_b32 s4, s2", 31, 1n).s(4), 0x80000001);
  assertEquals(pair(run("s_bitset0_b64 s[4:5], s2", 40, 0xffffffffffffffffn), 4), 0xfffffeffffffffffn);
  assertEquals(pair(run("s_bitset1_b64 s[4:5], s2", 63, 1n), 4), 0x8000000000000001n);
});

Deno.test("scalar comparisons set SCC and nothing else", () => {
  const COMPARE: Record<string, (a: number, b: number) => boolean> = {
    eq: (a, b) => a === b,
    lg: (a, b) => a !== b,
    gt: (a, b) => a > b,
    ge: (a, b) => a >= b,
    lt: (a, b) => a < b,
    le: (a, b) => a <= b,
  };
  for (const [name, test] of Object.entries(COMPARE)) {
    for (const a of [0, 1, 0x7fffffff, 0x80000000, 0xffffffff]) {
      for (const b of [0, 1, 0x80000000, 0xffffffff]) {
        assertEquals(execute(asm(`s_cmp_${name}_u32 s2, s3`), { s: { 2: a, 3: b } }).scc, test(a, b));
        assertEquals(execute(asm(`s_cmp_${name}_i32 s2, s3`), { s: { 2: a, 3: b } }).scc, test(signed(a), signed(b)));
      }
      assertEquals(
        execute(asm(`s_cmpk_${name}_u32 s2, 0xffff`), { s: { 2: a } }).scc,
        test(a, 0xffff),
        `cmpk ${name} u32`,
      );
      assertEquals(
        execute(asm(`s_cmpk_${name}_i32 s2, 0xffff`), { s: { 2: a } }).scc,
        test(signed(a), -1),
        `cmpk ${name} i32`,
      );
    }
  }
  const wide = withPair({ 2: 0x100000001n, 4: 0x200000001n });
  assertEquals(execute(asm("s_cmp_eq_u64 s[2:3], s[4:5]"), wide).scc, false);
  assertEquals(execute(asm("s_cmp_lg_u64 s[2:3], s[4:5]"), wide).scc, true);
  assertEquals(execute(asm("s_bitcmp1_b32 s2, s3"), { s: { 2: 8, 3: 35 } }).scc, true);
  assertEquals(execute(asm("s_bitcmp0_b32 s2, s3"), { s: { 2: 8, 3: 3 } }).scc, false);
  assertEquals(execute(asm("s_bitcmp1_b64 s[2:3], s8"), withPair({ 2: 1n << 40n }, { s: { 8: 40 } })).scc, true);
  assertEquals(execute(asm("s_bitcmp0_b64 s[2:3], s8"), withPair({ 2: 1n << 40n }, { s: { 8: 41 } })).scc, true);
});

Deno.test("SOPK operations use the sign-extended immediate", () => {
  assertEquals(execute(asm("s_movk_i32 s4, 0x8000")).s(4), 0xffff8000);
  const add = execute(asm("s_addk_i32 s4, 0x8000"), { s: { 4: 0x80000000 } });
  assertEquals([add.s(4), add.scc], [0x7fff8000, true]);
  assertEquals(execute(asm("s_mulk_i32 s4, 0xfffd"), { s: { 4: 7 } }).s(4), -21 >>> 0);
  for (const scc of [false, true]) {
    assertEquals(execute(asm("s_cmovk_i32 s4, 0xfffe"), { s: { 4: 9 }, scc }).s(4), scc ? 0xfffffffe : 9);
    assertEquals(execute(asm("s_cmov_b32 s4, s2"), { s: { 2: 5, 4: 9 }, scc }).s(4), scc ? 5 : 9);
    assertEquals(
      pair(execute(asm("s_cmov_b64 s[4:5], s[2:3]"), withPair({ 2: 5n << 32n, 4: 9n }, { scc })), 4),
      scc ? 5n << 32n : 9n,
    );
    assertEquals(
      pair(execute(asm("s_cselect_b64 s[4:5], s[2:3], -1"), withPair({ 2: 5n << 32n }, { scc })), 4),
      scc ? 5n << 32n : u64(-1n),
    );
  }
});

Deno.test("operands: inline integers and floats, literals, SCC, NULL, 64-bit constants", () => {
  assertEquals(execute(asm("s_mov_b32 s4, -16")).s(4), 0xfffffff0);
  assertEquals(execute(asm("s_mov_b32 s4, 64")).s(4), 64);
  assertEquals(execute(asm("s_mov_b32 s4, -4.0")).s(4), 0xc0800000);
  assertEquals(execute(asm("s_mov_b32 s4, 0.15915494")).s(4), 0x3e22f983);
  assertEquals(execute(asm("s_mov_b32 s4, 0x12345678")).s(4), 0x12345678);
  assertEquals(execute(asm("s_mov_b32 s4, src_scc"), { scc: true }).s(4), 1);
  assertEquals(execute(asm("s_mov_b32 s4, null"), { s: { 4: 3 } }).s(4), 0);
  assertEquals(execute(asm("s_mov_b32 s4, src_execz"), { exec: 0 }).s(4), 1);
  assertEquals(execute(asm("s_mov_b32 s4, src_vccz"), { vcc: 4 }).s(4), 0);
  assertEquals(pair(execute(asm("s_mov_b64 s[4:5], -1")), 4), u64(-1n));
  assertEquals(pair(execute(asm("s_mov_b64 s[4:5], 1.0")), 4), 0x3ff0000000000000n);
  assertEquals(pair(execute(asm("s_mov_b64 s[4:5], 0.15915494309189532")), 4), 0x3fc45f306dc9c882n);
  assertEquals(execute(asm("s_mov_b32 m0, s2", "s_add_u32 s4, m0, 1"), { s: { 2: 41 } }).s(4), 42);
});

Deno.test("s_getpc_b64 gives the sign-extended address of the next instruction", () => {
  for (const codeAddress of [0x2_0000_1000n, 0xffff8000_00100000n]) {
    const after = execute(asm("s_nop 0", "s_getpc_b64 s[4:5]"), { request: { codeAddress } });
    assertEquals(pair(after, 4), codeAddress + 8n);
  }
});

const MASK_OPERATIONS: Record<string, (a: bigint, exec: bigint) => bigint> = {
  and: (a, e) => a & e,
  or: (a, e) => a | e,
  xor: (a, e) => a ^ e,
  andn2: (a, e) => a & ~e,
  orn2: (a, e) => a | ~e,
  nand: (a, e) => ~(a & e),
  nor: (a, e) => ~(a | e),
  xnor: (a, e) => ~(a ^ e),
  andn1: (a, e) => ~a & e,
  orn1: (a, e) => ~a | e,
};

Deno.test("the saveexec family saves EXEC, combines, and sets SCC, in both wave sizes", () => {
  const a = 0xf0f0_1234_00ff_8001n;
  for (const exec of [0xffff_0000_ff00_0fffn, 0n]) {
    for (const [name, f] of Object.entries(MASK_OPERATIONS)) {
      const narrow = execute(
        asm(`s_${name}_saveexec_b32 s4, s2`),
        withPair({ 2: a }, { exec: Number(exec & 0xffffffffn) }),
      );
      const low = BigInt.asUintN(32, f(a, exec));
      assertEquals([narrow.s(4), narrow.s(126)], [Number(exec & 0xffffffffn), Number(low)], name);
      assertEquals(narrow.scc, low !== 0n);
      const wide = execute(
        asm64(`s_${name}_saveexec_b64 s[4:5], s[2:3]`),
        withPair({ 2: a }, { exec, request: { waveSize: 64 } }),
      );
      assertEquals([pair(wide, 4), pair(wide, 126)], [exec, u64(f(a, exec))], name);
      assertEquals(wide.scc, u64(f(a, exec)) !== 0n);
    }
    for (const name of ["andn1", "andn2"]) {
      const after = execute(
        asm(`s_${name}_wrexec_b32 s4, s2`),
        withPair({ 2: a }, { exec: Number(exec & 0xffffffffn) }),
      );
      const result = BigInt.asUintN(32, MASK_OPERATIONS[name](a, exec));
      assertEquals([after.s(4), after.s(126), after.scc], [Number(result), Number(result), result !== 0n]);
    }
  }
});

Deno.test("bitwise operations on masks keep numbers and per-lane Bools together", () => {
  // Masks from comparisons, combined in every way; the harness compares each lane's Bool with its bit.
  const v = Array.from({ length: 64 }, (_, i) => i * 37 % 64);
  for (const wave of [32, 64] as const) {
    const assemble = wave === 32 ? asm : asm64;
    const [vcc, exec, s4, s6, s8] = wave === 32
      ? ["vcc_lo", "exec_lo", "s4", "s6", "s8"]
      : ["vcc", "exec", "s[4:5]", "s[6:7]", "s[8:9]"];
    const b = wave === 32 ? "b32" : "b64";
    const after = execute(
      assemble(
        `v_cmp_gt_u32_e32 ${vcc}, 40, v0`,
        `v_cmp_lt_u32_e64 ${s4}, 20, v0`,
        `s_and_${b} ${s6}, ${vcc}, ${s4}`,
        `s_xor_${b} ${s8}, ${exec}, ${s6}`,
        `s_andn2_${b} ${exec}, ${exec}, ${s6}`,
        `s_not_${b} ${vcc}, ${s8}`,
      ),
      { v: { 0: v }, request: { waveSize: wave } },
    );
    const inside = v.slice(0, wave).map((x) => x < 40 && x > 20);
    const bits = (test: (x: boolean) => boolean) =>
      inside.reduce((mask, x, i) => test(x) ? mask | (1n << BigInt(i)) : mask, 0n);
    const read = (register: number) => wave === 32 ? BigInt(after.s(register)) : pair(after, register);
    assertEquals(read(6), bits((x) => x));
    assertEquals(read(8), bits((x) => !x));
    assertEquals(read(126), bits((x) => !x));
    assertEquals(read(106), bits((x) => x));
    assertEquals(after.scc, true);
  }
});
