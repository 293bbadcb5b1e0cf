/** Workgroups whose last wave has fewer threads than lanes: the other lanes are there, switched off, and a program may switch them on. */
import { type Check, masks, testChecks, WAVES } from "./check.ts";
import type { ModelWave } from "./model.ts";

const lanesOf = (w: ModelWave, bits: bigint) =>
  [...Array(w.size).keys()].filter((k) => (bits >> BigInt(k) & 1n) === 1n);

/** Threads of workgroups: less than a row, a row and a half, a wave and a bit. */
const sizes = (waveSize: 32 | 64) => [1, 5, waveSize - 8, waveSize + 3, 2 * waveSize + 20];

/** As compilers reduce: lanes without a value get the neutral one, all lanes are switched on, and the last lane has the result. */
function minimum(waveSize: 32 | 64): Omit<Check, "waveSize"> {
  const wide = waveSize === 64;
  const [b, exec, s24] = wide ? ["b64", "exec", "s[24:25]"] : ["b32", "exec_lo", "s24"];
  const step = (control: string) => `v_min_u32_dpp v3, v3, v3 ${control} row_mask:0xf bank_mask:0xf fi:1`;
  return {
    name: "a minimum over the wave",
    lines: [
      `s_or_saveexec_${b} ${s24}, -1`,
      `v_cndmask_b32_e64 v3, -1, v1, ${s24}`,
      step("quad_perm:[1,0,3,2]"),
      step("quad_perm:[2,3,0,1]"),
      step("row_half_mirror"),
      step("row_mirror"),
      "v_permlanex16_b32 v4, v3, 0, 0",
      "v_min_u32_e32 v3, v3, v4",
      ...(wide ? ["v_readlane_b32 s20, v3, 0", "v_min_u32_e32 v3, s20, v3"] : []),
      `s_mov_${b} ${exec}, ${s24}`,
      `v_readlane_b32 s21, v3, ${waveSize - 1}`,
      "s_cmp_lg_u32 s6, s6",
    ],
    model: (w) => {
      const values = Array.from({ length: w.size }, (_, lane) => w.active(lane) ? w.v[1][lane] : 0xffffffff);
      const half = (first: number) => Math.min(...values.slice(first, first + 32));
      if (wide) w.s[20] = half(0);
      w.s[21] = wide ? Math.min(half(0), half(32)) : half(0);
      for (let lane = 0; lane < w.size; lane++) {
        w.v[3][lane] = wide ? Math.min(w.s[20], half(lane & 32)) : half(0);
        const other = lane - lane % 16 ^ 16;
        w.v[4][lane] = Math.min(...values.slice(other, other + 16));
      }
    },
  };
}

const reductions = WAVES.flatMap((waveSize) =>
  sizes(waveSize).flatMap((threads) =>
    masks(waveSize).slice(0, 2).map((exec): Check => ({ ...minimum(waveSize), waveSize, threads, groups: 2, exec }))
  )
);
testChecks("Reductions in partial waves", reductions, reductions.filter((_, k) => k % 2 === 0));

const others = WAVES.flatMap((waveSize): Check[] => {
  const wide = waveSize === 64;
  const b = wide ? "b64" : "b32", exec = wide ? "exec" : "exec_lo", s20 = wide ? "s[20:21]" : "s20";
  return sizes(waveSize).flatMap((threads): Check[] => {
    const shape = { waveSize, threads, groups: 2, exec: masks(waveSize)[0] };
    // One thread has nobody to exchange with.
    const laneMode = threads === 1 ? "laneless" : "spanned";
    return [
      {
        ...shape,
        name: "EXEC as a number, and counted",
        laneMode,
        lines: [`s_mov_${b} ${s20}, ${exec}`, `s_bcnt1_i32_${b} s22, ${exec}`],
        model: (w) => {
          w.setMask(20, w.exec);
          w.s[22] = lanesOf(w, w.exec).length;
          w.scc = 1;
        },
      },
      {
        ...shape,
        name: "inverted masks have the bits of lanes without threads",
        lines: [
          `v_cmp_gt_u32_e64 ${s20}, 8, v1`,
          `s_not_${b} ${s20}, ${s20}`,
          "s_cselect_b32 s22, 1, 0",
        ],
        model: (w) => {
          const bits = (1n << BigInt(w.size)) - 1n ^ w.ballot((lane) => w.v[1][lane] < 8);
          w.setMask(20, bits);
          w.s[22] = w.scc = bits === 0n ? 0 : 1;
        },
      },
      {
        ...shape,
        name: "a rotation that reads lanes without threads: inactive, they give 0",
        lines: [
          "v_mov_b32_dpp v3, v1 row_ror:3 row_mask:0xf bank_mask:0xf bound_ctrl:1",
          "ds_swizzle_b32 v4, v1 offset:0x401f",
          "s_waitcnt lgkmcnt(0)",
          "v_readfirstlane_b32 s20, v1",
        ],
        model: (w) => {
          const from = (lane: number) => lane - lane % 16 + (lane % 16 + 13) % 16;
          w.write(3, (lane) => w.active(from(lane)) ? w.v[1][from(lane)] : 0);
          w.write(4, (lane) => w.active(lane ^ 16) ? w.v[1][lane ^ 16] : 0);
          w.s[20] = w.v[1][0];
        },
      },
      {
        ...shape,
        name: "without exchanges there are no lanes without threads",
        laneMode: "laneless",
        lines: ["v_add_nc_u32_e32 v3, v1, v2", "v_xor_b32_e32 v4, v3, v1"],
        model: (w) => {
          w.write(3, (lane) => w.v[1][lane] + w.v[2][lane]);
          w.write(4, (lane) => w.v[3][lane] ^ w.v[1][lane]);
        },
      },
    ];
  });
});
testChecks("Masks and exchanges of partial waves", others, others.filter((_, k) => k % 3 !== 1));

const memory = WAVES.flatMap((waveSize) =>
  sizes(waveSize).map((threads): Check => ({
    name: "LDS, and a barrier, in workgroups of partial waves",
    laneMode: threads === 1 ? "laneless" : "spanned",
    waveSize,
    threads,
    groups: 2,
    lds: true,
    lines: [
      "v_lshlrev_b32_e32 v45, 4, v0",
      "ds_add_u32 v44, v1 offset:4",
      "s_waitcnt lgkmcnt(0)",
      "s_barrier",
      "ds_read_b32 v3, v44 offset:4",
      "s_waitcnt lgkmcnt(0)",
      "v_readlane_b32 s20, v3, 0",
    ],
    model: (w) => {
      for (let lane = 0; lane < w.lanes; lane++) {
        const at = ((w.first % (w.lds.length / 4)) + lane) * 4 + 1;
        w.lds[at] += w.v[1][lane];
      }
      w.write(3, (lane) => w.lds[((w.first % (w.lds.length / 4)) + lane) * 4 + 1]);
      w.s[20] = w.v[3][0];
    },
  }))
);
testChecks("LDS of partial waves", memory, memory.filter((_, k) => k % 2 === 1));
