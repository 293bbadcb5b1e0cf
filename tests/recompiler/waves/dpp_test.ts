/** DPP: every control with masks, bound_ctrl and fetch-inactive, on the kinds of instructions that take it. */
import { assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { type Check, every, masks, test, testChecks, WAVES } from "./check.ts";
import { liftedOf } from "./frame.ts";
import type { ModelWave } from "./model.ts";

/** The lane that lane `lane` reads under a control, undefined where it lies outside of its row. */
type Source = (lane: number) => number | undefined;

const inRow = (lane: number, at: number) => at >= 0 && at < 16 ? lane - lane % 16 + at : undefined;

const CONTROLS: readonly (readonly [text: string, source: Source])[] = [
  ["quad_perm:[1,0,3,2]", (lane) => lane - lane % 4 + [1, 0, 3, 2][lane % 4]],
  ["quad_perm:[3,2,1,0]", (lane) => lane - lane % 4 + [3, 2, 1, 0][lane % 4]],
  ["quad_perm:[2,2,2,2]", (lane) => lane - lane % 4 + 2],
  ["quad_perm:[0,3,0,1]", (lane) => lane - lane % 4 + [0, 3, 0, 1][lane % 4]],
  ["quad_perm:[0,1,2,3]", (lane) => lane],
  ...[1, 5, 15].map((n) => [`row_shl:${n}`, (lane: number) => inRow(lane, lane % 16 + n)] as const),
  ...[1, 8, 15].map((n) => [`row_shr:${n}`, (lane: number) => inRow(lane, lane % 16 - n)] as const),
  ...[1, 7, 15].map((n) => [`row_ror:${n}`, (lane: number) => inRow(lane, (lane % 16 - n + 16) % 16)] as const),
  ["row_mirror", (lane) => inRow(lane, 15 - lane % 16)],
  ["row_half_mirror", (lane) => lane - lane % 8 + 7 - lane % 8],
  ...[0, 9].map((n) => [`row_share:${n}`, (lane: number) => inRow(lane, n)] as const),
  ...[0, 1, 6, 15].map((n) => [`row_xmask:${n}`, (lane: number) => inRow(lane, (lane % 16) ^ n)] as const),
];

interface Modifiers {
  rows: number;
  banks: number;
  bound: boolean;
  fetch: boolean;
}

const MODIFIERS: readonly Modifiers[] = [
  { rows: 15, banks: 15, bound: false, fetch: false },
  { rows: 15, banks: 15, bound: false, fetch: true },
  { rows: 15, banks: 15, bound: true, fetch: false },
  { rows: 15, banks: 15, bound: true, fetch: true },
  { rows: 2, banks: 13, bound: false, fetch: true },
  { rows: 9, banks: 6, bound: true, fetch: false },
];

function suffix({ rows, banks, bound, fetch }: Modifiers): string {
  return `row_mask:0x${rows.toString(16)} bank_mask:0x${banks.toString(16)}${bound ? " bound_ctrl:1" : ""}${
    fetch ? " fi:1" : ""
  }`;
}

/** Source 0 of each lane, undefined in lanes that are not written. */
function fetched(w: ModelWave, register: number, source: Source, m: Modifiers): (number | undefined)[] {
  return Array.from({ length: w.size }, (_, lane) => {
    if ((m.rows >> Math.floor(lane / 16) & 1) === 0 || (m.banks >> Math.floor(lane % 16 / 4) & 1) === 0) {
      return undefined;
    }
    const from = source(lane);
    if (from === undefined || (!m.fetch && !w.active(from))) return m.bound ? 0 : undefined;
    return w.v[register][from];
  });
}

/** A vector result of source 0 from v1 and the other source v2, into v3. */
function vector(f: (a: number, b: number, old: number) => number, source: Source, m: Modifiers) {
  return (w: ModelWave) => {
    const a = fetched(w, 1, source, m), old = w.v[3];
    w.write(3, (lane) => a[lane] === undefined ? old[lane] : f(a[lane]!, w.v[2][lane], old[lane]));
  };
}

const checks: Check[] = [];
for (const waveSize of WAVES) {
  for (const [control, source] of CONTROLS) {
    // A lane that reads itself observes no wave.
    const laneMode = /\[0,1,2,3\]|xmask:0/.test(control) ? "laneless" : "spanned";
    const check = (m: Modifiers, exec: bigint, line: string, f: (a: number, b: number) => number): Check => {
      const text = `${control} ${suffix(m)}`;
      return { name: text, waveSize, exec, laneMode, lines: [`${line} ${text}`], model: vector(f, source, m) };
    };
    for (const m of MODIFIERS) {
      for (const exec of masks(waveSize).slice(0, 2)) checks.push(check(m, exec, "v_mov_b32_dpp v3, v1", (a) => a));
    }
    const other = MODIFIERS[checks.length % MODIFIERS.length];
    checks.push(check(other, masks(waveSize)[3], "v_sub_nc_u32_dpp v3, v1, v2", (a, b) => a - b));
  }
}
testChecks("DPP16 moves and subtractions", checks, every(checks, 17, 5));

const plain = MODIFIERS[0];
const shifted: Source = (lane) => inRow(lane, lane % 16 - 1);
const halves: Check[] = WAVES.flatMap((waveSize): Check[] => {
  const exec = masks(waveSize)[1];
  const [vcc, wide] = waveSize === 32 ? ["vcc_lo", false] : ["vcc", true];
  const setVcc = wide ? "s_mov_b64 vcc, s[4:5]" : "s_mov_b32 vcc_lo, s4";
  const keep = wide ? ["s_mov_b32 s20, vcc_lo", "s_mov_b32 s21, vcc_hi"] : ["s_mov_b32 s20, vcc_lo"];
  const shape = { waveSize, exec };
  const mask = (bits: boolean[]) => bits.reduce((sum, bit, lane) => bit ? sum | 1n << BigInt(lane) : sum, 0n);
  return [
    {
      ...shape,
      name: "the condition of v_cndmask_b32 is the lane's own",
      // VCC is EXEC, so what comes from the other lane is never chosen, and not fetched either.
      laneMode: "laneless",
      lines: [setVcc, `v_cndmask_b32_dpp v3, v1, v2, ${vcc} row_shr:1 row_mask:0xf bank_mask:0xf`],
      model: (w) => vector((_, b) => b, shifted, plain)(w),
    },
    {
      ...shape,
      name: "modifiers act on what was fetched, and on the zero of bound_ctrl",
      lines: ["v_max_f32_dpp v3, -v1, |v2| row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:1"],
      input: undefined,
      model: (w) => {
        const a = fetched(w, 1, (lane) => inRow(lane, lane % 16 + 1), { ...plain, bound: true });
        const view = new DataView(new ArrayBuffer(4));
        const float = (bits: number) => (view.setUint32(0, bits >>> 0), view.getFloat32(0));
        const bits = (value: number) => (view.setFloat32(0, value), view.getUint32(0));
        w.write(3, (lane) => bits(Math.max(float(a[lane]! ^ 0x80000000), float(w.v[2][lane] & 0x7fffffff))));
      },
    },
    {
      ...shape,
      name: "the accumulator of v_fmac_f32 is the lane's own",
      lines: ["v_fmac_f32_dpp v3, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf"],
      model: (w) => {
        const a = fetched(w, 1, shifted, plain), old = w.v[3].slice();
        const view = new DataView(new ArrayBuffer(4));
        const float = (bits: number) => (view.setUint32(0, bits), view.getFloat32(0));
        const bits = (value: number) => (view.setFloat32(0, value), view.getUint32(0));
        // The inputs are small whole numbers, so nothing rounds.
        w.write(
          3,
          (lane) => a[lane] === undefined ? old[lane] : bits(float(a[lane]!) * float(w.v[2][lane]) + float(old[lane])),
        );
      },
    },
    {
      ...shape,
      name: "a comparison gives 0 in lanes without a source",
      // v_cmp_lt_u32 vcc, v1 row_shr:1, v2: LLVM has no DPP form of comparisons on gfx10, the ISA document has.
      lines: [".long 7d8204fa, ff011101", ...keep],
      model: (w) => {
        const a = fetched(w, 1, shifted, plain);
        const bits = mask(a.map((value, lane) => w.active(lane) && value !== undefined && value < w.v[2][lane]));
        w.s[20] = Number(bits & 0xffffffffn);
        if (wide) w.s[21] = Number(bits >> 32n);
      },
    },
    {
      ...shape,
      name: "a carry-out where every lane has a source",
      lines: [
        setVcc,
        `v_add_co_ci_u32_dpp v3, ${vcc}, v1, v2, ${vcc} row_ror:3 row_mask:0xf bank_mask:0xf fi:1`,
        ...keep,
      ],
      model: (w) => {
        const a = fetched(w, 1, (lane) => inRow(lane, (lane % 16 + 13) % 16), { ...plain, fetch: true });
        const carryIn = (lane: number) => w.active(lane) ? 1 : 0;
        const sums = a.map((value, lane) => value! + w.v[2][lane] + carryIn(lane));
        w.write(3, (lane) => sums[lane] % 0x1_0000_0000);
        const bits = mask(sums.map((sum, lane) => w.active(lane) && sum > 0xffffffff));
        w.s[20] = Number(bits & 0xffffffffn);
        if (wide) w.s[21] = Number(bits >> 32n);
      },
    },
  ];
});
for (const c of halves) {
  if (!/f32/.test(c.lines.join())) continue;
  // Whole floats below 256, some negative.
  const floats = new Float32Array(c.waveSize * 8).map((_, k) => (k * 37 % 256) * (k % 3 === 0 ? -1 : 1));
  c.input = new Uint32Array(floats.buffer);
}
testChecks("DPP16 with other operands of the lane's own", halves);

const SELECTS = [[7, 6, 5, 4, 3, 2, 1, 0], [5, 4, 7, 6, 1, 0, 3, 2], [0, 0, 0, 0, 0, 0, 0, 0], [
  3,
  1,
  4,
  1,
  5,
  2,
  6,
  5,
]];
const eights: Check[] = WAVES.flatMap((waveSize) =>
  SELECTS.flatMap((selects) =>
    [false, true].flatMap((fetch) =>
      masks(waveSize).slice(0, 4).map((exec): Check => ({
        waveSize,
        exec,
        name: `dpp8:[${selects}]${fetch ? " fi:1" : ""}`,
        lines: [`v_xor_b32_dpp v3, v1, v2 dpp8:[${selects}]${fetch ? " fi:1" : ""}`],
        model: (w) => {
          const { v } = w;
          w.write(3, (lane) => {
            const from = lane - lane % 8 + selects[lane % 8];
            return (fetch || w.active(from) ? v[1][from] : 0) ^ v[2][lane];
          });
        },
      }))
    )
  )
);
testChecks("DPP8", eights, every(eights, 6, 1));

test("a carry-out of a DPP instruction that may leave lanes unwritten is refused by name", () => {
  const line = "v_add_co_ci_u32_dpp v3, vcc_lo, v1, v2, vcc_lo row_shr:1 row_mask:0xf bank_mask:0xf";
  assertThrows(() => liftedOf({ waveSize: 32, lines: [line] }), RefusedError, "v_add_co_ci_u32: DPP that leaves lanes");
});
