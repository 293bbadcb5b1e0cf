/** Exchanges in control flow: loops, branches on masks and on scalars, in workgroups of one and of several waves. */
import { type Check, masks, testChecks, WAVES } from "./check.ts";
import { randomInput } from "./frame.ts";
import type { ModelWave } from "./model.ts";

/** Mnemonics that differ between wave sizes. */
function names(waveSize: 32 | 64) {
  const wide = waveSize === 64;
  return {
    b: wide ? "b64" : "b32",
    exec: wide ? "exec" : "exec_lo",
    vcc: wide ? "vcc" : "vcc_lo",
    pair: (first: number) => wide ? `s[${first}:${first + 1}]` : `s${first}`,
  };
}

const lanesOf = (w: ModelWave, bits: bigint) =>
  [...Array(w.size).keys()].filter((k) => (bits >> BigInt(k) & 1n) === 1n);

/** One trip for each different value of v3 among the active lanes; v4 gets the trip's number. */
function waterfall(waveSize: 32 | 64): string[] {
  const { b, exec, vcc, pair } = names(waveSize);
  return [
    "v_and_b32_e32 v3, 7, v1",
    "s_mov_b32 s20, 0",
    "loop:",
    "v_readfirstlane_b32 s21, v3",
    `v_cmp_eq_u32_e32 ${vcc}, s21, v3`,
    `s_and_saveexec_${b} ${pair(24)}, ${vcc}`,
    "v_mov_b32_e32 v4, s20",
    "s_add_u32 s20, s20, 1",
    `s_xor_${b} ${exec}, ${exec}, ${pair(24)}`,
    "s_cbranch_execnz loop",
  ];
}

function waterfallModel(w: ModelWave): void {
  w.write(3, (lane) => w.v[1][lane] & 7);
  let rest = w.exec, trips = 0;
  do {
    const first = lanesOf(w, rest)[0] ?? 0, value = w.v[3][first];
    w.s[21] = value;
    const here = rest === 0n ? [] : lanesOf(w, rest).filter((lane) => w.v[3][lane] === value);
    for (const lane of here) {
      w.v[4][lane] = trips;
      rest &= ~(1n << BigInt(lane));
    }
    trips++;
  } while (rest !== 0n);
  w.s[20] = trips;
  w.scc = 0;
}

const waterfalls = WAVES.flatMap((waveSize) =>
  masks(waveSize).map((exec): Check => ({
    name: "a loop that takes one value after the other",
    waveSize,
    exec,
    groups: 3,
    lines: waterfall(waveSize),
    model: waterfallModel,
  }))
);
testChecks("Waterfall loops", waterfalls);

/** A region for the lanes with v1 < v2, which counts them, and in which they exchange values. */
function region(waveSize: 32 | 64, counts: boolean): string[] {
  const { b, exec, vcc, pair } = names(waveSize);
  return [
    "s_mov_b32 s20, 99",
    `v_cmp_lt_u32_e32 ${vcc}, v1, v2`,
    `s_and_saveexec_${b} ${pair(24)}, ${vcc}`,
    "s_cbranch_execz skip",
    "v_mov_b32_dpp v3, v1 row_ror:1 row_mask:0xf bank_mask:0xf bound_ctrl:1",
    "v_xor_b32_e32 v4, v3, v2",
    ...(counts ? [`s_bcnt1_i32_${b} s20, ${exec}`] : []),
    "skip:",
    `s_mov_${b} ${exec}, ${pair(24)}`,
    "s_cmp_lg_u32 s6, s6",
  ];
}

function regionModel(counts: boolean) {
  return (w: ModelWave) => {
    const bits = w.ballot((lane) => w.v[1][lane] < w.v[2][lane]);
    const outer = w.exec;
    w.exec = bits;
    w.s[20] = 99;
    if (bits !== 0n) {
      w.write(3, (lane) => {
        const from = lane - lane % 16 + (lane % 16 + 15) % 16;
        return w.active(from) ? w.v[1][from] : 0;
      });
      w.write(4, (lane) => w.v[3][lane] ^ w.v[2][lane]);
      if (counts) w.s[20] = lanesOf(w, bits).length;
    }
    w.exec = outer;
    w.scc = 0;
  };
}

/** In some waves no lane goes into the region. */
function inputWithIdleWaves(c: { waveSize: 32 | 64; threads: number; groups: number }): Uint32Array<ArrayBuffer> {
  const input = randomInput({ ...c, lines: [] }, 77);
  for (let lane = 0; lane < c.threads * c.groups; lane++) {
    if (Math.floor(lane / c.waveSize) % 3 === 1) input[lane * 8 + 2] = 0;
  }
  return input;
}

const regions = WAVES.flatMap((waveSize) =>
  masks(waveSize).slice(0, 3).flatMap((exec): Check[] => {
    const one = { waveSize, threads: waveSize, groups: 4 }, three = { waveSize, threads: waveSize * 3, groups: 2 };
    return [
      {
        ...one,
        name: "a branch on a mask around an exchange, one wave, with a scalar that lives on",
        exec,
        input: inputWithIdleWaves(one),
        lines: region(waveSize, true),
        model: regionModel(true),
      },
      {
        ...three,
        name: "a branch on a mask around an exchange, three waves",
        exec,
        input: inputWithIdleWaves(three),
        lines: region(waveSize, false),
        model: regionModel(false),
      },
    ];
  })
);
testChecks("Branches on masks around exchanges", regions);

/** Exchanges under conditions and in loops that the whole workgroup shares. */
const shared = WAVES.flatMap((waveSize): Check[] => {
  const three = { waveSize, threads: waveSize * 3, groups: 3, exec: masks(waveSize)[1] };
  const rotate = (w: ModelWave, n: number) => {
    const old = w.v[1].slice();
    w.write(1, (lane) => old[lane - lane % 16 + (lane % 16 + 16 - n) % 16]);
  };
  return [
    ...[0, 3].map((argument): Check => ({
      ...three,
      name: "a branch on a user register",
      argument,
      lines: [
        "s_cmp_eq_u32 s6, 0",
        "s_cbranch_scc1 skip",
        "v_mov_b32_dpp v1, v1 row_ror:1 row_mask:0xf bank_mask:0xf fi:1",
        "v_readfirstlane_b32 s20, v1",
        "skip:",
        "s_cmp_lg_u32 s6, s6",
      ],
      model: (w) => {
        if (argument === 0) return;
        rotate(w, 1);
        w.s[20] = w.v[1][Math.max(lanesOf(w, w.exec)[0] ?? 0, 0)];
      },
    })),
    ...[1, 6].map((argument): Check => ({
      ...three,
      name: "a loop with a user register's number of trips",
      argument,
      lines: [
        "s_mov_b32 s20, 0",
        "loop:",
        "v_mov_b32_dpp v1, v1 row_ror:3 row_mask:0xf bank_mask:0xf fi:1",
        "v_readlane_b32 s21, v1, 2",
        "s_add_u32 s20, s20, 1",
        "s_cmp_lt_u32 s20, s6",
        "s_cbranch_scc1 loop",
      ],
      model: (w) => {
        for (let k = 0; k < argument; k++) rotate(w, 3);
        w.s[20] = argument;
        w.s[21] = w.v[1][2];
      },
    })),
    {
      ...three,
      // The program writes memory, so that the load might give each lane something else on a host: the lanes have to agree.
      name: "a branch on a scalar that was loaded",
      lines: [
        "s_load_dword s20, s[0:1], 0x1c",
        "s_waitcnt lgkmcnt(0)",
        "s_bitcmp1_b32 s20, 0",
        "s_cbranch_scc0 skip",
        "v_mov_b32_dpp v1, v1 row_ror:5 row_mask:0xf bank_mask:0xf fi:1",
        "skip:",
        "s_cmp_lg_u32 s6, s6",
      ],
      input: randomInput({ ...three, lines: [] }, waveSize).fill(waveSize === 32 ? 0x1357 : 0x2468, 7, 8),
      model: (w) => {
        w.s[20] = waveSize === 32 ? 0x1357 : 0x2468;
        if (w.s[20] & 1) rotate(w, 5);
      },
    },
  ];
});
testChecks("Exchanges in control flow that the workgroup shares", shared);

/** What each wave of three decides for itself: the others go along (passes/together.ts). */
const single = WAVES.flatMap((waveSize): Check[] => {
  const three = { waveSize, threads: waveSize * 3, groups: 2 };
  return [
    { ...three, name: "a waterfall", lines: waterfall(waveSize), model: waterfallModel },
    {
      ...three,
      name: "a branch on a mask around an exchange, with a scalar that lives on",
      input: inputWithIdleWaves(three),
      lines: region(waveSize, true),
      model: regionModel(true),
    },
  ];
});
testChecks("Exchanges in control flow of single waves of a workgroup", single);

/**
 * Lanes put their bit into the 64-bit slot of their key, one key after the other, in a loop that each lane leaves on its own; the atomic is masked. On a host
 * whose subgroups are not the guest's waves, whole subgroups have no active lane at it.
 */
const slots: Check[] = WAVES.flatMap((waveSize) =>
  masks(waveSize).slice(0, 4).flatMap((exec) =>
    [false, true].map((counts): Check => {
      const { b, exec: execName, vcc, pair } = names(waveSize);
      return {
        name: `a bitmask in LDS that a divergent loop fills with ds_or_b64${counts ? ", and the mask of keys" : ""}`,
        waveSize,
        exec,
        lds: true,
        groups: 2,
        laneMode: counts ? "spanned" : "laneless",
        lines: [
          "v_and_b32_e32 v3, 3, v1",
          ...(counts ? [`v_cmp_ne_u32_e32 ${vcc}, 0, v3`, `s_mov_${b} ${pair(20)}, ${vcc}`] : []),
          "v_mbcnt_lo_u32_b32 v2, -1, 0",
          "v_mbcnt_hi_u32_b32 v2, -1, v2",
          "v_mov_b32_e32 v45, 1",
          "v_mov_b32_e32 v46, 0",
          "v_lshlrev_b64 v[45:46], v2, v[45:46]",
          `s_mov_${b} ${pair(24)}, ${execName}`,
          "loop:",
          "v_lshlrev_b32_e32 v47, 4, v3",
          "ds_or_b64 v47, v[45:46] offset:8",
          `v_cmp_ne_u32_e32 ${vcc}, 0, v3`,
          `s_and_${b} ${execName}, ${execName}, ${vcc}`,
          "v_subrev_nc_u32_e32 v3, 1, v3",
          "s_cbranch_execnz loop",
          `s_mov_${b} ${execName}, ${pair(24)}`,
          "s_cmp_lg_u32 s6, s6",
        ],
        model: (w) => {
          const data = new DataView(w.lds.buffer);
          if (counts) w.setMask(20, w.ballot((lane) => (w.v[1][lane] & 3) !== 0));
          w.write(2, (lane) => lane);
          for (const lane of lanesOf(w, w.exec)) {
            for (let key = w.v[1][lane] & 3; key >= 0; key--) {
              const at = key * 16 + 8;
              data.setBigUint64(at, data.getBigUint64(at, true) | 1n << BigInt(lane), true);
            }
          }
          w.write(3, () => 0);
        },
      };
    })
  )
);
testChecks("Masked 64-bit LDS atomics", slots);
