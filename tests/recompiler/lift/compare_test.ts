import { assertEquals } from "@std/assert";
import { execute } from "../../support/lift_harness.ts";
import { bits32, f32, halfValue } from "../../support/ir_eval/scalar.ts";
import { PLAIN_DEVICE } from "../../support/lift.ts";
import { asm, asm64 } from "./assembled.ts";

/** All pairs of values, as registers of a wave each. */
function pairs(values: readonly number[]): { a: number[]; b: number[] }[] {
  const all = values.flatMap((x) => values.map((y) => [x, y]));
  const waves: { a: number[]; b: number[] }[] = [];
  for (let at = 0; at < all.length; at += 32) {
    const part = all.slice(at, at + 32);
    waves.push({ a: part.map(([x]) => x), b: part.map(([, y]) => y) });
  }
  return waves;
}

/** Runs v_cmp (to VCC and to s4) and v_cmpx on all pairs. */
function check(
  type: string,
  condition: string,
  values: readonly number[],
  test: (a: number, b: number) => boolean,
): void {
  for (const { a, b } of pairs(values)) {
    const exec = 0xfffffff7;
    const after = execute(
      asm(
        `v_cmp_${condition}_${type}_e32 vcc_lo, v0, v1`,
        `v_cmp_${condition}_${type}_e64 s4, v0, v1`,
        `v_cmpx_${condition}_${type}_e32 v0, v1`,
      ),
      { v: { 0: a, 1: b }, exec },
    );
    let expected = 0;
    for (let i = 0; i < 32; i++) if ((exec >>> i) & 1 && test(a[i] ?? 0, b[i] ?? 0)) expected |= 1 << i;
    const texts = [106, 4, 126].map((register) => after.s(register).toString(16));
    assertEquals(
      texts,
      Array(3).fill((expected >>> 0).toString(16)),
      `${condition}_${type}: a=${a.map((x) => x.toString(16))}`,
    );
  }
}

const INTEGER: Record<string, (a: number, b: number) => boolean> = {
  f: () => false,
  lt: (a, b) => a < b,
  eq: (a, b) => a === b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ne: (a, b) => a !== b,
  ge: (a, b) => a >= b,
  t: () => true,
};

Deno.test("integer comparisons write masks with zeros for inactive lanes", () => {
  const values = [0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x8000, 0xffff8000];
  for (const [condition, test] of Object.entries(INTEGER)) {
    check("u32", condition, values, test);
    check("i32", condition, values, (a, b) => test(a | 0, b | 0));
    if (condition === "f" || condition === "t") continue;
    check("u16", condition, values, (a, b) => test(a & 0xffff, b & 0xffff));
    check("i16", condition, values, (a, b) => test((a << 16) >> 16, (b << 16) >> 16));
  }
});

Deno.test("64-bit integer comparisons look at register pairs", () => {
  const list = [0n, 1n, 0xffffffffn, 0x100000000n, 0x8000000000000000n, 0xffffffffffffffffn];
  const all = list.flatMap((x) => list.map((y) => [x, y]));
  for (let at = 0; at < all.length; at += 32) {
    const part = all.slice(at, at + 32);
    const half = (k: 0 | 1, shift: bigint) => part.map((p) => Number((p[k] >> shift) & 0xffffffffn));
    const v = { 0: half(0, 0n), 1: half(0, 32n), 2: half(1, 0n), 3: half(1, 32n) };
    for (const [condition, test] of Object.entries(INTEGER)) {
      const unsigned = execute(asm(`v_cmp_${condition}_u64_e32 vcc_lo, v[0:1], v[2:3]`), { v }).s(106);
      const signed = execute(asm(`v_cmp_${condition}_i64_e32 vcc_lo, v[0:1], v[2:3]`), { v }).s(106);
      part.forEach(([x, y], i) => {
        // Numbers keep the order here: the values differ in their leading digits.
        const order = (p: bigint, q: bigint) => test(p < q ? -1 : p > q ? 1 : 0, 0);
        assertEquals((unsigned >>> i) & 1, Number(order(x, y)), `${condition}_u64 ${x} ${y}`);
        assertEquals(
          (signed >>> i) & 1,
          Number(order(BigInt.asIntN(64, x), BigInt.asIntN(64, y))),
          `${condition}_i64 ${x} ${y}`,
        );
      });
    }
  }
});

const FLOAT: Record<string, (a: number, b: number) => boolean> = {
  f: () => false,
  lt: (a, b) => a < b,
  eq: (a, b) => a === b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  lg: (a, b) => a < b || a > b,
  ge: (a, b) => a >= b,
  o: (a, b) => !Number.isNaN(a) && !Number.isNaN(b),
  u: (a, b) => Number.isNaN(a) || Number.isNaN(b),
  nge: (a, b) => !(a >= b),
  nlg: (a, b) => !(a < b || a > b),
  ngt: (a, b) => !(a > b),
  nle: (a, b) => !(a <= b),
  neq: (a, b) => !(a === b),
  nlt: (a, b) => !(a < b),
  tru: () => true,
};

Deno.test("float comparisons know NaN, signed zeros and infinities", () => {
  const values = [
    0,
    0x80000000,
    0x3f800000,
    0xbf800000,
    0x7f800000,
    0xff800000,
    0x7fc00000,
    0x7f800001,
    1,
    0x80000001,
    0x3f800001,
  ];
  const halves = [0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 1, 0x8001, 0x12343c01];
  const half = (x: number) => halfValue(x & 0xffff);
  for (const [condition, test] of Object.entries(FLOAT)) {
    check("f32", condition, values, (a, b) => test(f32(a), f32(b)));
    check("f16", condition, halves, (a, b) => test(half(a), half(b)));
  }
});

Deno.test("float comparisons apply modifiers and see flushed denormals where MODE flushes", () => {
  const run = (line: string, a: number, b: number, floatMode: number) =>
    execute(asm(line), { v: { 0: a, 1: b }, request: { floatMode, device: PLAIN_DEVICE } }).s(4) & 1;
  assertEquals(run("v_cmp_gt_f32_e64 s4, |v0|, -v1", bits32(-3), bits32(-2), 0xf0), 1);
  assertEquals(run("v_cmp_gt_f32_e64 s4, -|v0|, v1", bits32(-3), bits32(-2), 0xf0), 0);
  assertEquals(run("v_cmp_eq_f32_e64 s4, v0, v1", 1, 0x80000002, 0xf0), 0);
  assertEquals(run("v_cmp_eq_f32_e64 s4, v0, v1", 1, 0x80000002, 0xc0), 1);
  assertEquals(run("v_cmp_eq_f32_e64 s4, v0, v1", 1, 0x80000002, 0xe0), 1, "inputs flushed, results kept");
  assertEquals(run("v_cmp_eq_f32_e64 s4, v0, v1", 1, 0x80000002, 0xd0), 0, "inputs kept, results flushed");
});

const CLASSES: [number, number][] = [
  [0x7f800001, 0],
  [0xffbfffff, 0],
  [0x7fc00000, 1],
  [0xffc00001, 1],
  [0xff800000, 2],
  [0xbf800000, 3],
  [0x80800000, 3],
  [0x807fffff, 4],
  [0x80000000, 5],
  [0, 6],
  [1, 7],
  [0x00800000, 8],
  [0x7f7fffff, 8],
  [0x7f800000, 9],
];

Deno.test("v_cmp_class_f32 tells the ten classes apart, with a constant and with a variable mask", () => {
  const values = CLASSES.map(([bits]) => bits);
  const expected = (mask: number) => CLASSES.reduce((all, [, k], i) => (mask >> k) & 1 ? all | (1 << i) : all, 0) >>> 0;
  const inRange = (1 << CLASSES.length) - 1;
  for (let k = 0; k < 10; k++) {
    const after = execute(asm("v_cmp_class_f32_e64 s4, v0, v1"), { v: { 0: values, 1: 1 << k } });
    assertEquals(after.s(4) & inRange, expected(1 << k), `class ${k}`);
  }
  for (const mask of [0x001, 0x002, 0x003, 0x204, 0x108, 0x090, 0x060, 0x3ff, 0x1f8]) {
    const after = execute(asm(`s_movk_i32 s6, 0x${mask.toString(16)}`, "v_cmp_class_f32_e64 s4, v0, s6"), {
      v: { 0: values },
    });
    assertEquals(after.s(4) & inRange, expected(mask), `mask ${mask.toString(16)}`);
  }
  const negated = execute(asm("s_movk_i32 s6, 0x4", "v_cmp_class_f32_e64 s4, -v0, s6"), { v: { 0: 0x7f800000 } });
  assertEquals(negated.s(4), 0xffffffff);
});

Deno.test("in wave 64 a comparison writes both halves, and EXEC limits both", () => {
  const v = Array.from({ length: 64 }, (_, i) => i);
  const after = execute(asm64("v_cmp_lt_u32_e64 s[4:5], 29, v0", "v_cmpx_gt_u32_e32 40, v0"), {
    v: { 0: v },
    exec: 0x00ffffff_ffffff0fn,
    request: { waveSize: 64 },
  });
  assertEquals([after.s(4), after.s(5)], [0xc0000000, 0x00ffffff]);
  assertEquals([after.s(126), after.s(127)], [0xffffff0f, 0xff]);
});

Deno.test("SDWA comparisons select parts and name their destination", () => {
  const after = execute(asm("v_cmp_eq_u32_sdwa s4, v0, v1 src0_sel:BYTE_1 src1_sel:WORD_1"), {
    v: { 0: 0x00001200, 1: [0x00120000, 0x00130000] },
  });
  assertEquals(after.s(4), 1);
});
