import { assertEquals, assertThrows } from "@std/assert";
import { execute } from "../../support/lift_harness.ts";
import { bits32, f32, fma32 } from "../../support/ir_eval/scalar.ts";
import { ABLE_DEVICE, PLAIN_DEVICE } from "../../support/lift.ts";
import { Random } from "../../support/random.ts";
import { asm, asm1013 } from "./assembled.ts";

const SPECIAL = [
  0,
  0x80000000,
  0x3f800000,
  0xbf800000,
  0x7f800000,
  0xff800000,
  0x7fc00000,
  0x00000001,
  0x807fffff,
  0x00800000,
  0x7f7fffff,
  0x4b000001,
];

function values(seed: number): number[] {
  const random = new Random(seed);
  return Array.from(
    { length: 32 },
    () => random.chance(0.4) ? random.pick(SPECIAL) : bits32((random.u32() - 2 ** 31) * 2 ** (random.below(40) - 40)),
  );
}

const isNan = (bits: number) => (bits & 0x7fffffff) > 0x7f800000;
/** Any NaN is as good as any other. */
const canonical = (bits: number) => isNan(bits) ? 0x7fc00000 : bits;
const flush = (bits: number) => (bits & 0x7f800000) === 0 ? (bits & 0x80000000) >>> 0 : bits;

/** Runs `line` (v3 from v0, v1, v2) with denormals kept, flushed by explicit operations, and flushed on one side only. */
function each(
  line: string,
  f: (a: number, b: number, c: number, old: number) => number,
  options: { assemble?: typeof asm; flushOnly?: boolean } = {},
): void {
  Deno.test(`${line} is correctly rounded, with denormals as MODE says`, () => {
    for (
      const [floatMode, flushIn, flushOut] of [[0xf0, false, false], [0xc0, true, true], [0xd0, false, true], [
        0xe0,
        true,
        false,
      ]] as const
    ) {
      if (options.flushOnly && floatMode !== 0xc0) continue;
      for (const seed of [1, 2]) {
        const [a, b, c] = [values(seed), values(seed + 10), values(seed + 20)];
        const after = execute((options.assemble ?? asm)(line), {
          v: { 0: a, 1: b, 2: c, 3: b },
          request: { floatMode, device: PLAIN_DEVICE, target: options.assemble ? "gfx1013" : "gfx1030" },
        });
        const input = (bits: number) => f32(flushIn ? flush(bits) : bits);
        for (let i = 0; i < 32; i++) {
          const bits = bits32(f(input(a[i]), input(b[i]), input(c[i]), input(b[i])));
          const expected = flushOut ? flush(bits) : bits;
          const what = `lane ${i}, MODE ${floatMode.toString(16)}: ${[a[i], b[i], c[i]].map((x) => x.toString(16))}`;
          assertEquals(canonical(after.v(3, i)).toString(16), canonical(expected).toString(16), what);
        }
      }
    }
  });
}

function fmin(a: number, b: number): number {
  return Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.min(a, b);
}
function fmax(a: number, b: number): number {
  return Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.max(a, b);
}
function rndne(x: number): number {
  const floor = Math.floor(x), rest = x - floor;
  if (!Number.isFinite(x) || Math.abs(x) > 2 ** 30) return x;
  const result = rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
  return result === 0 ? (x < 0 || Object.is(x, -0) ? -0 : 0) : result;
}

each("v_add_f32_e32 v3, v0, v1", (a, b) => a + b);
each("v_sub_f32_e32 v3, v0, v1", (a, b) => a - b);
each("v_subrev_f32_e32 v3, v0, v1", (a, b) => b - a);
each("v_mul_f32_e32 v3, v0, v1", (a, b) => a * b);
each("v_mul_legacy_f32_e32 v3, v0, v1", (a, b) => a === 0 || b === 0 ? 0 : a * b);
each("v_add_f32_e64 v3, -|v0|, -v1", (a, b) => -Math.abs(a) - b);
each("v_fma_f32 v3, v0, v1, v2", fma32);
each("v_fma_f32 v3, -v0, |v1|, v2", (a, b, c) => fma32(-a, Math.abs(b), c));
each("v_fmac_f32_e32 v3, v0, v1", (a, b, _c, old) => fma32(a, b, old));
each("v_fmamk_f32 v3, v0, 0x40490fdb, v1", (a, b) => fma32(a, f32(0x40490fdb), b));
each("v_fmaak_f32 v3, v0, v1, 0x40490fdb", (a, b) => fma32(a, b, f32(0x40490fdb)));
each("v_fma_legacy_f32 v3, v0, v1, v2", (a, b, c) => a === 0 || b === 0 ? 0 + c : fma32(a, b, c));
each("v_min_f32_e32 v3, v0, v1", fmin);
each("v_max_f32_e32 v3, v0, v1", fmax);
each("v_min3_f32 v3, v0, v1, v2", (a, b, c) => fmin(fmin(a, b), c));
each("v_max3_f32 v3, v0, v1, v2", (a, b, c) => fmax(fmax(a, b), c));
each("v_med3_f32 v3, v0, v1, v2", (a, b, c) => {
  if ([a, b, c].some(Number.isNaN)) return fmin(fmin(a, b), c);
  return fmax(fmin(a, b), fmin(fmax(a, b), c));
});
each("v_floor_f32_e32 v3, v0", Math.floor);
each("v_ceil_f32_e32 v3, v0", Math.ceil);
each("v_trunc_f32_e32 v3, v0", Math.trunc);
each("v_rndne_f32_e32 v3, v0", rndne);
each("v_fract_f32_e32 v3, v0", (a) => Math.min(a - Math.floor(a), 1 - 2 ** -24));
const unfused = (a: number, b: number, c: number) => f32(flush(bits32(a * b))) + c;
each("v_mad_f32 v3, v0, v1, v2", unfused, { assemble: asm1013, flushOnly: true });
each("v_mac_f32_e32 v3, v0, v1", (a, b, _c, old) => unfused(a, b, old), { assemble: asm1013, flushOnly: true });
each("v_madmk_f32 v3, v0, 0x40490fdb, v1", (a, b) => unfused(a, f32(0x40490fdb), b), {
  assemble: asm1013,
  flushOnly: true,
});
each("v_madak_f32 v3, v0, v1, 0x40490fdb", (a, b) => unfused(a, b, f32(0x40490fdb)), {
  assemble: asm1013,
  flushOnly: true,
});

Deno.test("a product that is 2^-24 off shows the difference between fused and unfused", () => {
  const a = bits32(1 + 2 ** -12), c = bits32(-(1 + 2 ** -11));
  const v = { 0: a, 1: a, 2: c };
  assertEquals(f32(execute(asm("v_fma_f32 v3, v0, v1, v2"), { v }).v(3)), 2 ** -24);
  assertEquals(
    execute(asm1013("v_mad_f32 v3, v0, v1, v2"), { v, request: { target: "gfx1013", floatMode: 0xc0 } }).v(3),
    0,
  );
});

Deno.test("v_ldexp_f32 scales with one rounding over the whole range of exponents", () => {
  const random = new Random(5);
  for (let round = 0; round < 8; round++) {
    const a = values(100 + round);
    const n = Array.from(
      { length: 32 },
      () =>
        random.pick([
          0,
          1,
          -1,
          126,
          -126,
          127,
          -140,
          -149,
          200,
          -200,
          278,
          -278,
          1000,
          -1000,
          0x7fffffff,
          -0x80000000,
          random.below(300) - 150,
        ]),
    );
    const after = execute(asm("v_ldexp_f32 v3, v0, v1"), { v: { 0: a, 1: n.map((x) => x >>> 0) } });
    for (let i = 0; i < 32; i++) {
      // A double holds every intermediate of two steps exactly.
      const steps = Math.max(-600, Math.min(600, n[i]));
      const expected = bits32(f32(a[i]) * 2 ** Math.trunc(steps / 2) * 2 ** (steps - Math.trunc(steps / 2)));
      assertEquals(
        canonical(after.v(3, i)).toString(16),
        canonical(expected).toString(16),
        `${a[i].toString(16)} * 2^${n[i]}`,
      );
    }
  }
});

Deno.test("clamp goes to 0..1, NaN to 0 with DX10_CLAMP and to NaN without", () => {
  const inputs = [-1, 0.25, 1, 7, NaN, Infinity, -Infinity].map(bits32);
  for (const dx10Clamp of [true, false]) {
    const after = execute(asm("v_add_f32_e64 v3, v0, 0 clamp"), { v: { 0: inputs }, request: { dx10Clamp } });
    const expected = [0, 0.25, 1, 1, dx10Clamp ? 0 : NaN, 1, 0].map(bits32);
    assertEquals(inputs.map((_, i) => canonical(after.v(3, i))), expected);
  }
});

Deno.test("output modifiers scale only where MODE flushes f32 results and IEEE is off", () => {
  const run = (line: string, floatMode: number, ieee: boolean, a: number) =>
    f32(execute(asm(line), { v: { 0: bits32(a), 1: bits32(0.5) }, request: { floatMode, ieee } }).v(3));
  assertEquals(run("v_add_f32_e64 v3, v0, v1 mul:2", 0xc0, false, 1), 3);
  assertEquals(run("v_add_f32_e64 v3, v0, v1 mul:4", 0xc0, false, 1), 6);
  assertEquals(run("v_add_f32_e64 v3, v0, v1 div:2", 0xc0, false, 1), 0.75);
  assertEquals(run("v_add_f32_e64 v3, v0, v1 clamp mul:4", 0xc0, false, -0.375), 0.5);
  assertEquals(run("v_add_f32_e64 v3, v0, v1 mul:2", 0xf0, false, 1), 1.5);
  assertEquals(run("v_add_f32_e64 v3, v0, v1 mul:2", 0xc0, true, 1), 1.5);
});

Deno.test("in IEEE mode min and max give a signalling NaN back, made quiet", () => {
  const signalling = 0x7f800001, quiet = 0x7fc00007, one = 0x3f800000;
  const a = [signalling, one, quiet, one, signalling], b = [one, signalling, one, quiet, quiet];
  const run = (line: string, ieee: boolean) => {
    const after = execute(asm(line), { v: { 0: a, 1: b }, request: { ieee } });
    return a.map((_, i) => after.v(3, i));
  };
  assertEquals(run("v_min_f32_e32 v3, v0, v1", true).map(isNan), [true, true, false, false, true]);
  assertEquals(run("v_max_f32_e32 v3, v0, v1", true).slice(0, 2), [0x7fc00001, 0x7fc00001]);
  assertEquals(run("v_max_f32_e32 v3, v0, v1", false).slice(0, 4), [one, one, one, one]);
});

Deno.test("moves and selections leave denormals and NaN payloads alone in every mode", () => {
  const after = execute(asm("v_mov_b32_e32 v3, v0", "v_cndmask_b32_e64 v4, -v0, v1, vcc_lo"), {
    v: { 0: 0x00000003, 1: 0x7f812345 },
    vcc: 1,
    request: { floatMode: 0, device: PLAIN_DEVICE },
  });
  assertEquals([after.v(3), after.v(4, 0), after.v(4, 1)], [3, 0x7f812345, 0x80000003]);
});

Deno.test("transcendental operations are within a few ULP of the true value", () => {
  const cases: [string, (x: number) => number][] = [
    ["v_rcp_f32_e32 v3, v0", (x) => 1 / x],
    ["v_rsq_f32_e32 v3, v0", (x) => 1 / Math.sqrt(x)],
    ["v_sqrt_f32_e32 v3, v0", Math.sqrt],
    ["v_exp_f32_e32 v3, v0", (x) => 2 ** x],
    ["v_log_f32_e32 v3, v0", Math.log2],
    ["v_sin_f32_e32 v3, v0", (x) => Math.sin(2 * Math.PI * x)],
    ["v_cos_f32_e32 v3, v0", (x) => Math.cos(2 * Math.PI * x)],
  ];
  const inputs = [0.125, 0.3, 1.75, 12.5].map(bits32);
  for (const [line, f] of cases) {
    const after = execute(asm(line), { v: { 0: inputs } });
    inputs.forEach((bits, i) => {
      const expected = f(f32(bits));
      const error = Math.abs(f32(after.v(3, i)) - expected) / Math.max(Math.abs(expected), 2 ** -10);
      assertEquals(error < 2 ** -21, true, `${line} of ${f32(bits)}`);
    });
  }
});

Deno.test("modes that are not implemented are refused by name", () => {
  const add = asm("v_add_f32_e32 v3, v0, v1"), fma = asm("v_fma_f32 v3, v0, v1, v2");
  assertThrows(() => execute(add, { request: { floatMode: 0xf3 } }), Error, "rounds f32 toward zero");
  // What the device does not fuse, the emitter writes out.
  assertEquals(execute(fma, { request: { device: { ...ABLE_DEVICE, fusesFma32: false } } }).v(3), 0);
  // Nor what it cannot keep.
  const flushing = { ...PLAIN_DEVICE, keepsDenormals32: false };
  assertEquals(execute(add, { v: { 0: 1 }, request: { device: flushing } }).v(3), 1);
  assertEquals(execute(add, { v: { 0: 1 }, request: { floatMode: 0xc0, device: flushing } }).v(3), 0);
  // This one flushes although MODE keeps denormals.
  const mad = asm1013("v_mad_f32 v3, v0, v1, v2");
  assertEquals(execute(mad, { v: { 0: 1, 1: 0x3f800000, 2: 2 }, request: { target: "gfx1013" } }).v(3), 0);
  // Integer programs do not care.
  assertEquals(
    execute(asm("v_mov_b32_e32 v3, 1.0"), { request: { floatMode: 0xff, device: flushing } }).v(3),
    0x3f800000,
  );
});
