/**
 * Lanes of a wave that pass data through guest memory without s_barrier: the lanes of a wave execute an instruction together, so that what one has stored
 * the others find. LLVM counts on it where a workgroup is one wave (clang -mcpu=gfx1030 makes the fences of `barrier(CLK_GLOBAL_MEM_FENCE)` there, and
 * with -mcumode not even those).
 */
import { type Check, every, masks, testChecks, WAVES } from "./check.ts";
import type { ModelWave } from "./model.ts";

const laneMode = "laneless" as const, memory = true;

/** Mnemonics that differ between wave sizes. */
function names(waveSize: 32 | 64) {
  const wide = waveSize === 64;
  return {
    b: wide ? "b64" : "b32",
    exec: wide ? "exec" : "exec_lo",
    vcc: wide ? "vcc" : "vcc_lo",
    pair: (first: number) => wide ? `s[${first}:${first + 1}]` : `s${first}`,
    /** The other lane of each pair, in the other half of the wave: lane ^ other. */
    other: waveSize / 2 + 1,
    /** v45: the address of the other lane's input words. */
    neighbour: `v_xor_b32_e32 v45, 0x${(32 * (waveSize / 2 + 1)).toString(16)}, v42`,
    /** v46: the address of the wave's first lane's. */
    first: `v_and_b32_e32 v46, 0x${(0x1_0000_0000 - 32 * waveSize).toString(16)}, v42`,
  };
}

const FENCE = ["s_waitcnt vmcnt(0) lgkmcnt(0)", "s_waitcnt_vscnt null, 0x0", "buffer_gl0_inv"];
const FENCES: readonly (readonly [string, readonly string[]])[] = [
  ["behind a fence", FENCE],
  ["behind a wait for stores", ["s_waitcnt_vscnt null, 0x0"]],
  ["at once", []],
];

/** What a lane's input word 4 holds after v1 was stored there. */
function stored(w: ModelWave): number[] {
  return Array.from({ length: w.size }, (_, lane) => w.active(lane) ? w.v[1][lane] : w.v[4][lane]);
}

const single = WAVES.flatMap((waveSize): Check[] => {
  const { neighbour, first, other } = names(waveSize);
  return FENCES.flatMap(([when, fence]) =>
    masks(waveSize).slice(0, 3).flatMap((exec): Check[] => {
      const shape = { waveSize, groups: 2, exec, laneMode, memory };
      return [
        {
          ...shape,
          name: `a load of what another lane has stored, ${when}`,
          lines: [
            neighbour,
            "global_store_dword v42, v1, s[0:1] offset:16",
            ...fence,
            "global_load_dword v3, v45, s[0:1] offset:16",
            "s_waitcnt vmcnt(0)",
          ],
          model: (w) => {
            const words = stored(w);
            w.write(3, (lane) => words[lane ^ other]);
          },
        },
        {
          ...shape,
          name: `a store to where another lane has loaded, ${when}`,
          lines: [
            neighbour,
            "global_load_dword v3, v45, s[0:1] offset:16",
            ...fence,
            "s_waitcnt vmcnt(0)",
            "global_store_dword v42, v1, s[0:1] offset:16",
            "global_load_dword v4, v42, s[0:1] offset:16",
            "s_waitcnt vmcnt(0)",
          ],
          model: (w) => {
            const before = w.v[4].slice();
            w.write(3, (lane) => before[lane ^ other]);
            w.write(4, (lane) => w.v[1][lane]);
          },
        },
        {
          ...shape,
          name: `a load of what all lanes have added, ${when}`,
          lines: [
            first,
            "global_atomic_add v46, v1, s[0:1] offset:16",
            ...fence,
            "global_load_dword v3, v46, s[0:1] offset:16",
            "s_waitcnt vmcnt(0)",
          ],
          model: (w) => {
            const added = w.v[1].filter((_, lane) => w.active(lane)).reduce((a, b) => a + b, 0);
            const sum = w.v[4][0] + added;
            w.write(3, () => sum);
          },
        },
        {
          ...shape,
          name: `an atomic operation with a result, and a load of what all have left, ${when}`,
          lines: [
            first,
            "global_atomic_umax v3, v46, v1, s[0:1] offset:16 glc",
            "s_waitcnt vmcnt(0)",
            ...fence,
            "global_load_dword v3, v46, s[0:1] offset:16",
            "s_waitcnt vmcnt(0)",
          ],
          model: (w) => {
            const most = Math.max(w.v[4][0], ...w.v[1].filter((_, lane) => w.active(lane)));
            w.write(3, () => most);
          },
        },
        {
          ...shape,
          name: `buffer instructions, ${when}`,
          lines: [
            neighbour,
            "s_mov_b32 s24, s0",
            "s_mov_b32 s25, s1",
            "s_mov_b32 s26, -1",
            "s_mov_b32 s27, 0x31014fac",
            "buffer_store_dword v1, v42, s[24:27], 0 offen offset:16",
            ...fence,
            "buffer_load_dword v3, v45, s[24:27], 0 offen offset:16",
            "s_waitcnt vmcnt(0)",
          ],
          model: (w) => {
            const words = stored(w);
            w.write(3, (lane) => words[lane ^ other]);
          },
        },
      ];
    })
  );
});
testChecks("Guest memory between lanes of a wave", single, every(single, 5, 1).concat(every(single, 7, 2)));

const scalar = WAVES.flatMap((waveSize): Check[] =>
  masks(waveSize).slice(0, 3).map((exec): Check => ({
    name: "a scalar load of what the last lane has stored",
    waveSize,
    groups: 2,
    exec,
    memory,
    lines: [
      `s_mul_i32 s26, s8, 0x${(32 * waveSize).toString(16)}`,
      `s_add_u32 s26, s26, 0x${(32 * (waveSize - 1) + 16).toString(16)}`,
      "s_cmp_lg_u32 s6, s6",
      "global_store_dword v42, v1, s[0:1] offset:16",
      "s_waitcnt_vscnt null, 0x0",
      "s_dcache_inv",
      "s_load_dword s20, s[0:1], s26",
      "s_waitcnt lgkmcnt(0)",
    ],
    model: (w) => void (w.s[20] = stored(w)[w.size - 1]),
  }))
);
testChecks("Scalar loads of what lanes have stored", scalar, every(scalar, 2, 1));

const pointers = WAVES.flatMap((waveSize): Check[] => {
  const { neighbour, first, other } = names(waveSize);
  return FENCES.slice(0, 2).map(([when, fence]): Check => ({
    name: `a load through another pointer of what another lane has stored, ${when}`,
    waveSize,
    groups: 2,
    memory,
    lines: [
      neighbour,
      first,
      `s_mul_i32 s26, s8, 0x${(32 * waveSize).toString(16)}`,
      "s_add_u32 s26, s26, 0x10",
      "v_mov_b32_e32 v48, s0",
      "v_mov_b32_e32 v49, s1",
      "global_store_dwordx2 v46, v[48:49], s[0:1] offset:16",
      "s_waitcnt_vscnt null, 0x0",
      "s_dcache_inv",
      "s_load_dwordx2 s[24:25], s[0:1], s26",
      "s_waitcnt lgkmcnt(0)",
      "global_store_dword v42, v1, s[0:1] offset:24",
      ...fence,
      "global_load_dword v3, v45, s[24:25] offset:24",
      "s_waitcnt vmcnt(0)",
      "s_cmp_lg_u32 s6, s6",
    ],
    model: (w) => w.write(3, (lane) => w.v[1][lane ^ other]),
  }));
});
testChecks("Guest memory between lanes, by two pointers", pointers);

/** As LLVM compiles a sum of a workgroup in global memory: half of the lanes adds the other half's words, trip by trip. */
function sum(waveSize: 32 | 64, fence: readonly string[]): Pick<Check, "lines" | "model"> {
  const { b, exec, vcc, pair, first } = names(waveSize);
  return {
    lines: [
      first,
      `s_mov_${b} ${pair(24)}, ${exec}`,
      `s_mov_b32 s20, ${waveSize / 2}`,
      "v_and_b32_e32 v47, 63, v41",
      "loop:",
      "s_lshl_b32 s21, s20, 5",
      `v_cmp_gt_u32_e32 ${vcc}, s20, v47`,
      `s_and_saveexec_${b} ${pair(28)}, ${vcc}`,
      "s_cbranch_execz skip",
      "v_add_nc_u32_e32 v48, s21, v42",
      "global_load_dword v5, v48, s[0:1] offset:16",
      "global_load_dword v6, v42, s[0:1] offset:16",
      "s_waitcnt vmcnt(0)",
      "v_add_nc_u32_e32 v6, v6, v5",
      "global_store_dword v42, v6, s[0:1] offset:16",
      "skip:",
      `s_mov_${b} ${exec}, ${pair(24)}`,
      ...fence,
      "s_lshr_b32 s20, s20, 1",
      "s_cmp_lg_u32 s20, 0",
      "s_cbranch_scc1 loop",
      "global_load_dword v4, v46, s[0:1] offset:16",
      "s_mov_b32 s21, 0",
      "s_waitcnt vmcnt(0)",
      "s_cmp_lg_u32 s6, s6",
    ],
    model: (w) => {
      const words = w.v[4].slice(), lane0 = w.first % 64;
      for (let step = w.size / 2; step > 0; step >>= 1) {
        const before = words.slice();
        for (let lane = 0; lane < w.size; lane++) {
          if ((lane0 + lane) % 64 >= step) continue;
          w.v[5][lane] = before[lane + step];
          w.v[6][lane] = words[lane] = before[lane] + before[lane + step];
        }
      }
      w.write(4, () => words[0]);
    },
  };
}

const loops = WAVES.flatMap((waveSize): Check[] =>
  FENCES.map(([when, fence]): Check => ({
    name: `a sum in memory, ${when}`,
    waveSize,
    groups: waveSize === 64 ? 3 : 1,
    laneMode,
    memory,
    ...sum(waveSize, fence),
  }))
);
testChecks("Sums in guest memory", loops);

/** Each lane goes around v1 & 7 times and adds what its neighbour has left in memory in the same trip. */
function trips(waveSize: 32 | 64, fence: readonly string[]): Pick<Check, "lines" | "model"> {
  const { b, exec, vcc, pair, neighbour, other } = names(waveSize);
  return {
    lines: [
      neighbour,
      "v_and_b32_e32 v3, 7, v1",
      `s_mov_${b} ${pair(24)}, ${exec}`,
      "loop:",
      `v_cmp_ne_u32_e32 ${vcc}, 0, v3`,
      `s_and_${b} ${exec}, ${exec}, ${vcc}`,
      "s_cbranch_execz done",
      "global_store_dword v42, v2, s[0:1] offset:16",
      ...fence,
      "global_load_dword v5, v45, s[0:1] offset:16",
      "s_waitcnt vmcnt(0)",
      "v_add_nc_u32_e32 v2, v2, v5",
      "v_add_nc_u32_e32 v3, -1, v3",
      "s_branch loop",
      "done:",
      `s_mov_${b} ${exec}, ${pair(24)}`,
      "s_cmp_lg_u32 s6, s6",
    ],
    model: (w) => {
      const words = w.v[4].slice(), all = w.exec;
      w.write(3, (lane) => w.v[1][lane] & 7);
      for (;;) {
        w.exec = w.ballot((lane) => w.v[3][lane] !== 0);
        if (w.exec === 0n) break;
        for (let lane = 0; lane < w.size; lane++) if (w.active(lane)) words[lane] = w.v[2][lane];
        w.write(5, (lane) => words[lane ^ other]);
        w.write(2, (lane) => w.v[2][lane] + w.v[5][lane]);
        w.write(3, (lane) => w.v[3][lane] - 1);
      }
      w.exec = all;
    },
  };
}

const several = WAVES.flatMap((waveSize): Check[] =>
  FENCES.flatMap(([when, fence], k): Check[] => {
    const { neighbour, other } = names(waveSize);
    return [
      {
        name: `waves leave a loop apart in which their lanes exchange through memory, ${when}`,
        waveSize,
        threads: (k + 1) * waveSize,
        groups: 2,
        memory,
        ...trips(waveSize, fence),
      },
      {
        name: `only one wave comes to the exchange, ${when}`,
        waveSize,
        threads: 2 * waveSize,
        groups: 2,
        laneMode: "spanned",
        memory,
        lines: [
          neighbour,
          "v_readfirstlane_b32 s20, v41",
          `s_and_b32 s20, s20, 0x${(2 * waveSize - 1).toString(16)}`,
          "s_cmp_eq_u32 s20, 0",
          "s_cbranch_scc1 skip",
          "global_store_dword v42, v1, s[0:1] offset:16",
          ...fence,
          "global_load_dword v3, v45, s[0:1] offset:16",
          "s_waitcnt vmcnt(0)",
          "skip:",
          "s_cmp_lg_u32 s6, s6",
        ],
        model: (w) => {
          w.s[20] = w.first % (2 * w.size);
          if (w.s[20] === 0) return;
          const words = stored(w);
          w.write(3, (lane) => words[lane ^ other]);
        },
      },
    ];
  })
);
testChecks("Guest memory between lanes of waves that go apart", several);
