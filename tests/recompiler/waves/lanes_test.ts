/** Vector instructions that look at other lanes, and lane masks as numbers. */
import { type Check, every, masks, testChecks, WAVES } from "./check.ts";
import type { ModelWave } from "./model.ts";

const popcount = (bits: bigint) => bits.toString(2).replaceAll("0", "").length;
const lowest = (bits: bigint) => {
  for (let k = 0; k < 64; k++) if ((bits >> BigInt(k) & 1n) === 1n) return k;
  return -1;
};
const firstLane = (w: ModelWave) => Math.max(lowest(w.exec), 0);

/** Checks for each EXEC mask of each wave size. */
function forMasks(make: (waveSize: 32 | 64) => Omit<Check, "waveSize" | "exec">[], only = 5): Check[] {
  return WAVES.flatMap((waveSize) =>
    masks(waveSize).slice(0, only).flatMap((exec) => make(waveSize).map((c): Check => ({ waveSize, exec, ...c })))
  );
}

const broadcasts = forMasks((waveSize) => [
  ...[0, 1, 31, waveSize - 1, Math.min(waveSize + 3, 64)].map((lane) => ({
    name: `v_readlane_b32 of lane ${lane}`,
    lines: [`v_readlane_b32 s20, v1, ${lane}`],
    model: (w: ModelWave) => void (w.s[20] = w.v[1][lane % waveSize]),
  })),
  {
    name: "v_readlane_b32 of a lane that a register names",
    lines: ["v_readlane_b32 s20, v1, s6", "s_mov_b32 m0, s6", "v_readlane_b32 s21, v2, m0"],
    argument: 0x1234_5672 + 7 * waveSize,
    model: (w: ModelWave) => {
      w.s[20] = w.v[1][w.argument % waveSize];
      w.s[21] = w.v[2][w.argument % waveSize];
    },
  },
  {
    name: "v_readfirstlane_b32, lane 0 without active lanes",
    lines: ["v_readfirstlane_b32 s20, v1", "v_readfirstlane_b32 s21, v0"],
    model: (w: ModelWave) => {
      w.s[20] = w.v[1][firstLane(w)];
      w.s[21] = w.v[0][firstLane(w)];
    },
  },
  {
    name: "v_writelane_b32 ignores EXEC",
    laneMode: "laneless" as const,
    lines: [
      "v_writelane_b32 v3, s6, 5",
      `v_writelane_b32 v3, s7, ${waveSize - 2}`,
      "s_mov_b32 s22, 0x11",
      "v_writelane_b32 v4, 17, s22",
    ],
    argument: 0xdead_beef,
    model: (w: ModelWave) => {
      w.v[3][5] = w.argument;
      w.v[3][waveSize - 2] = waveSize;
      w.s[22] = 0x11;
      w.v[4][0x11] = 17;
    },
  },
  {
    name: "v_mbcnt counts the set bits below the lane",
    laneMode: "laneless" as const,
    lines: [
      "v_mbcnt_lo_u32_b32 v3, s6, v2",
      "v_mbcnt_hi_u32_b32 v3, s6, v3",
      "v_mbcnt_lo_u32_b32 v4, v1, 5",
      "v_mbcnt_hi_u32_b32 v5, -1, 0",
    ],
    argument: 0xf0c3_9a55,
    model: (w: ModelWave) => {
      const below = (lane: number, first: number) => {
        const count = Math.min(Math.max(lane - first, 0), 32);
        return (1n << BigInt(count)) - 1n;
      };
      const count = (bits: number, lane: number, first: number) => popcount(BigInt(bits) & below(lane, first));
      const b = w.v[2].slice();
      w.write(3, (lane) => b[lane] + count(w.argument, lane, 0) + count(w.argument, lane, 32));
      w.write(4, (lane) => count(w.v[1][lane], lane, 0) + 5);
      w.write(5, (lane) => count(0xffffffff, lane, 32));
    },
  },
]);
testChecks("Readlane, writelane, readfirstlane, mbcnt", broadcasts, every(broadcasts, 3, 1));

const ballots = forMasks((waveSize) => {
  const wide = waveSize === 64;
  const b = wide ? "b64" : "b32", vcc = wide ? "vcc" : "vcc_lo", s20 = wide ? "s[20:21]" : "s20";
  const s24 = wide ? "s[24:25]" : "s24";
  const odd = (w: ModelWave) => w.ballot((lane) => (w.v[1][lane] & 1) === 1);
  return [
    {
      name: "a comparison's mask as a number",
      lines: ["v_and_b32_e32 v3, 1, v1", `v_cmp_eq_u32_e32 ${vcc}, 1, v3`, `s_mov_${b} ${s20}, ${vcc}`],
      model: (w: ModelWave) => {
        w.write(3, (lane) => w.v[1][lane] & 1);
        w.setMask(20, odd(w));
      },
    },
    {
      name: "two masks, in one another's order",
      lines: [
        `v_cmp_lt_u32_e64 ${s20}, v1, v2`,
        `v_cmp_gt_u32_e64 ${s24}, v3, v4`,
        `s_xor_${b} ${s20}, ${s20}, ${s24}`,
        `s_cselect_b32 s22, 7, 9`,
      ],
      model: (w: ModelWave) => {
        const bits = w.ballot((lane) => w.v[1][lane] < w.v[2][lane]) ^ w.ballot((lane) => w.v[3][lane] > w.v[4][lane]);
        w.setMask(20, bits);
        w.scc = bits !== 0n ? 1 : 0;
        w.s[22] = w.scc ? 7 : 9;
      },
    },
    {
      name: "counting and searching in a mask",
      lines: [
        "v_and_b32_e32 v3, 1, v1",
        `v_cmp_ne_u32_e32 ${vcc}, 0, v3`,
        `s_bcnt1_i32_${b} s20, ${vcc}`,
        `s_ff1_i32_${b} s21, ${vcc}`,
        `s_flbit_i32_${b} s22, ${vcc}`,
      ],
      model: (w: ModelWave) => {
        w.write(3, (lane) => w.v[1][lane] & 1);
        const bits = odd(w);
        w.s[20] = popcount(bits);
        w.scc = bits !== 0n ? 1 : 0;
        w.s[21] = lowest(bits);
        w.s[22] = bits === 0n ? -1 : waveSize - bits.toString(2).length;
      },
    },
    {
      name: "bit 5 of EXEC and of the mask of the odd numbers, tested as bits",
      lines: [
        "v_and_b32_e32 v3, 1, v1",
        `v_cmp_ne_u32_e32 ${vcc}, 0, v3`,
        "s_bitcmp1_b32 exec_lo, 5",
        "s_cselect_b32 s20, 1, 0",
        "s_bitcmp1_b32 vcc_lo, 5",
        "s_cselect_b32 s21, 1, 0",
      ],
      model: (w: ModelWave) => {
        w.write(3, (lane) => w.v[1][lane] & 1);
        w.s[20] = w.active(5) ? 1 : 0;
        w.s[21] = w.scc = Number(odd(w) >> 5n & 1n);
      },
    },
    {
      name: "masks of whole quads",
      lines: [
        "v_and_b32_e32 v3, 7, v1",
        `v_cmp_eq_u32_e32 ${vcc}, 0, v3`,
        `s_wqm_${b} ${s20}, ${vcc}`,
        `s_quadmask_${b} ${s24}, ${vcc}`,
        "s_mov_b32 s22, s24",
      ],
      model: (w: ModelWave) => {
        w.write(3, (lane) => w.v[1][lane] & 7);
        const bits = w.ballot((lane) => (w.v[1][lane] & 7) === 0);
        let whole = 0n, quads = 0n;
        for (let k = 0n; k < BigInt(waveSize); k += 4n) {
          if ((bits >> k & 15n) === 0n) continue;
          whole |= 15n << k;
          quads |= 1n << (k / 4n);
        }
        w.setMask(20, whole);
        w.s[22] = Number(quads);
        w.scc = bits !== 0n ? 1 : 0;
      },
    },
    {
      name: "s_bitreplicate_b64_b32 doubles bits",
      laneMode: "laneless" as const,
      lines: ["s_bitreplicate_b64_b32 s[20:21], s6"],
      argument: 0x9c31_02f7,
      model: (w: ModelWave) => {
        let bits = 0n;
        for (let k = 0; k < 32; k++) if (w.argument >>> k & 1) bits |= 3n << BigInt(2 * k);
        w.s[20] = Number(bits & 0xffffffffn);
        w.s[21] = Number(bits >> 32n);
      },
    },
    {
      name: "EXEC made from a number acts on lanes",
      laneMode: "laneless" as const,
      lines: [
        ...(wide ? ["s_mov_b32 exec_hi, s6"] : []),
        "s_mov_b32 exec_lo, s6",
        "v_mov_b32_e32 v3, 77",
        `s_bcnt1_i32_${b} s20, ${wide ? "exec" : "exec_lo"}`,
      ],
      argument: 0x8003_0f01,
      model: (w: ModelWave) => {
        w.exec = BigInt(w.argument) | (wide ? BigInt(w.argument) << 32n : 0n);
        w.write(3, () => 77);
        w.s[20] = popcount(w.exec);
        w.scc = 1;
      },
    },
  ];
});
testChecks("Lane masks as numbers", ballots, every(ballots, 4, 2));

/** 4-bit selects of lanes 0..15 as the two words of v_permlane16_b32. */
function selectWords(selects: readonly number[]): [number, number] {
  const word = (from: number) => selects.slice(from, from + 8).reduce((bits, s, k) => (bits | s << 4 * k) >>> 0, 0);
  return [word(0), word(8)];
}

const PERMUTATIONS = [
  [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  [15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15],
  [3, 14, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2],
  [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
];

const permutes = WAVES.flatMap((waveSize) =>
  PERMUTATIONS.flatMap((selects) =>
    [0, 16].flatMap((flip) =>
      ["", " op_sel:[1,0]", " op_sel:[0,1]", " op_sel:[1,1]"].flatMap((opSel, mode) =>
        masks(waveSize).slice(0, 4).map((exec): Check => {
          const [low, high] = selectWords(selects);
          const name = `v_permlane${flip === 16 ? "x" : ""}16_b32 ${selects}${opSel}`;
          const constant = (n: number) => n === 0 ? "0" : n === 0xffffffff ? "-1" : "";
          const words = constant(low) !== "" ? [constant(low), constant(high)] : ["s20", "s21"];
          const set = constant(low) !== ""
            ? []
            : [`s_mov_b32 s20, 0x${low.toString(16)}`, `s_mov_b32 s21, 0x${high.toString(16)}`];
          return {
            name,
            waveSize,
            exec,
            lines: [...set, `v_permlane${flip === 16 ? "x" : ""}16_b32 v3, v1, ${words.join(", ")}${opSel}`],
            model: (w) => {
              if (set.length > 0) w.s.set([low, high], 20);
              const fetch = mode === 1 || mode === 3, bound = mode >= 2;
              w.write(3, (lane) => {
                const from = (lane - lane % 16 ^ flip) + selects[lane % 16];
                if (fetch || w.active(from)) return w.v[1][from];
                return bound ? 0 : w.v[3][lane];
              });
            },
          };
        })
      )
    )
  )
);
testChecks("Permutations of rows", permutes, every(permutes, 13, 3));

/** One check per wave size and mask with several waves in a workgroup and several workgroups, and the largest workgroup. */
const several = WAVES.flatMap((waveSize): Check[] =>
  [...masks(waveSize).slice(0, 3), undefined].flatMap((exec) => [
    {
      name: `exchanges of ${exec === undefined ? 1024 / waveSize : 3} waves of a workgroup stay apart`,
      waveSize,
      threads: exec === undefined ? 1024 : waveSize * 3,
      groups: exec === undefined ? 1 : 2,
      exec,
      lines: [
        "v_readfirstlane_b32 s20, v1",
        `v_cmp_lt_u32_e64 ${waveSize === 64 ? "s[24:25]" : "s24"}, v1, v2`,
        `s_bcnt1_i32_${waveSize === 64 ? "b64 s21, s[24:25]" : "b32 s21, s24"}`,
        "v_mov_b32_dpp v3, v1 row_ror:5 row_mask:0xf bank_mask:0xf fi:1",
        "v_mov_b32_dpp v4, v3 row_ror:11 row_mask:0xf bank_mask:0xf fi:1",
        "v_readlane_b32 s22, v2, 7",
      ],
      model: (w) => {
        w.s[20] = w.v[1][firstLane(w)];
        const bits = w.ballot((lane) => w.v[1][lane] < w.v[2][lane]);
        w.s[21] = popcount(bits);
        w.scc = bits !== 0n ? 1 : 0;
        const rotated = (register: number, n: number) => {
          const old = w.v[register].slice();
          return (lane: number) => old[lane - lane % 16 + (lane % 16 + 16 - n) % 16];
        };
        w.write(3, rotated(1, 5));
        w.write(4, rotated(3, 11));
        w.s[22] = w.v[2][7];
      },
    },
  ])
);
testChecks("Exchanges of several waves", several);
