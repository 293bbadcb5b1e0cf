/** Registers that M0 names. */
import { type Check, masks, testChecks, WAVES } from "./check.ts";
import type { ModelWave } from "./model.ts";

const laneMode = "laneless" as const;

/** M0 as a constant of the program, and as a value that only the run knows. */
function bothWays(m0: number, c: Omit<Check, "waveSize" | "exec">): Check[] {
  return WAVES.flatMap((waveSize) =>
    [`0x${m0.toString(16)}`, "s6"].map((value): Check => ({
      ...c,
      name: `${c.name}, M0 from ${value}`,
      waveSize,
      exec: masks(waveSize)[1],
      argument: m0,
      lines: [`s_mov_b32 m0, ${value}`, ...c.lines],
    }))
  );
}

const vectors: Check[] = [
  ...[0, 3, 7].flatMap((m0) =>
    bothWays(m0, {
      name: "v_movrels_b32",
      laneMode,
      lines: ["v_movrels_b32_e32 v3, v0"],
      model: (w) => {
        const values = w.v[m0].slice();
        w.write(3, (lane) => values[lane]);
      },
    })
  ),
  ...[0, 2, 5].flatMap((m0) =>
    bothWays(m0, {
      name: "v_movreld_b32",
      laneMode,
      lines: ["v_movreld_b32_e32 v1, v7", "v_movreld_b32_e32 v2, s7"],
      model: (w) => {
        w.write(1 + m0, (lane) => w.v[7][lane]);
        w.write(2 + m0, () => w.size);
      },
    })
  ),
  ...bothWays(2, {
    name: "v_movrelsd_b32",
    laneMode,
    lines: ["v_movrelsd_b32_e32 v0, v4"],
    model: (w) => w.write(2, (lane) => w.v[6][lane]),
  }),
  ...bothWays(0x0003_0002, {
    name: "v_movrelsd_2_b32",
    laneMode,
    lines: ["v_movrelsd_2_b32_e32 v1, v5"],
    model: (w) => w.write(4, (lane) => w.v[7][lane]),
  }),
  ...bothWays(0x0001_0003, {
    name: "v_swaprel_b32",
    laneMode,
    lines: ["v_swaprel_b32 v2, v4"],
    model: (w) => {
      const [a, b] = [w.v[3].slice(), w.v[7].slice()];
      w.write(3, (lane) => b[lane]);
      w.write(7, (lane) => a[lane]);
    },
  }),
];
testChecks("Vector registers that M0 names", vectors, vectors.filter((_, k) => k % 5 === 1));

const scalars: Check[] = [
  ...bothWays(3, {
    name: "s_movrels_b32 and s_movreld_b32",
    laneMode,
    lines: ["s_mov_b32 s20, 5", "s_movreld_b32 s18, s7", "s_movrels_b32 s20, s4", "s_movreld_b32 s19, s20"],
    model: (w: ModelWave) => {
      w.s[20] = w.size; // s7
      w.s[21] = w.size; // s[18 + 3] = s7
      w.s[22] = w.size; // s[19 + 3] = s20
    },
  }),
  ...bothWays(2, {
    name: "s_movrels_b64 and s_movreld_b64",
    laneMode,
    lines: ["s_movrels_b64 s[20:21], s[4:5]", "s_movreld_b64 s[18:19], s[6:7]", "s_mov_b32 s22, s21"],
    model: (w: ModelWave) => {
      w.s[20] = w.argument;
      w.s[21] = w.size;
      w.s[22] = w.size;
    },
  }),
  ...bothWays(0x0002_0001, {
    name: "s_movrelsd_2_b32",
    laneMode,
    lines: ["s_movrelsd_2_b32 s18, s5"],
    model: (w: ModelWave) => void (w.s[20] = w.argument),
  }),
  ...WAVES.map((waveSize): Check => ({
    name: "an array of registers that a loop fills",
    waveSize,
    argument: 5,
    laneMode,
    lines: [
      "s_mov_b32 s20, 0",
      "loop:",
      "s_mov_b32 m0, s20",
      "v_movreld_b32_e32 v1, s20",
      "s_add_u32 s20, s20, 1",
      "s_cmp_lt_u32 s20, s6",
      "s_cbranch_scc1 loop",
    ],
    model: (w) => {
      for (let k = 0; k < 5; k++) w.write(1 + k, () => k);
      w.s[20] = 5;
    },
  })),
];
testChecks("Scalar registers that M0 names", scalars, scalars.filter((_, k) => k % 3 === 1));
