/** Workgroups of several waves whose waves go apart where they exchange, and workgroups of one thread. */
import { type Check, testChecks, WAVES } from "./check.ts";
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

/** Each lane goes around v1 & 7 times and adds what its neighbour has left in LDS in the same trip, without a barrier. */
function neighbours(waveSize: 32 | 64): string[] {
  const { b, exec, vcc, pair } = names(waveSize);
  return [
    "v_xor_b32_e32 v45, 16, v44",
    "v_and_b32_e32 v3, 7, v1",
    `s_mov_${b} ${pair(24)}, ${exec}`,
    "loop:",
    `v_cmp_ne_u32_e32 ${vcc}, 0, v3`,
    `s_and_${b} ${exec}, ${exec}, ${vcc}`,
    "s_cbranch_execz done",
    "ds_write_b32 v44, v2 offset:8",
    "ds_read_b32 v5, v45 offset:8",
    "s_waitcnt lgkmcnt(0)",
    "v_add_nc_u32_e32 v2, v2, v5",
    "v_add_nc_u32_e32 v3, -1, v3",
    "s_branch loop",
    "done:",
    `s_mov_${b} ${exec}, ${pair(24)}`,
    "s_cmp_lg_u32 s6, s6",
  ];
}

function neighboursModel(w: ModelWave): void {
  const place = (lane: number) => (groupLane(w) + lane) * 4 + 2;
  const all = w.exec;
  w.write(3, (lane) => w.v[1][lane] & 7);
  for (;;) {
    w.exec = w.ballot((lane) => w.v[3][lane] !== 0);
    if (w.exec === 0n) break;
    for (let lane = 0; lane < w.size; lane++) if (w.active(lane)) w.lds[place(lane)] = w.v[2][lane];
    w.write(5, (lane) => w.lds[place(lane ^ 1)]);
    w.write(2, (lane) => w.v[2][lane] + w.v[5][lane]);
    w.write(3, (lane) => w.v[3][lane] - 1);
  }
  w.exec = all;
}

/** Number of the wave's first lane in its workgroup. */
function groupLane(w: ModelWave): number {
  return w.first % (w.lds.length / 4);
}

/**
 * Waves count lanes, tell each other through LDS, and go around until the sum of all counts is large enough: the decision is each wave's, and all decide
 * the same.
 */
function counting(waveSize: 32 | 64): string[] {
  const { b, exec, vcc } = names(waveSize);
  return [
    `s_mov_b${waveSize} ${exec}, -1`, // that some lane is active is known
    "v_mov_b32_e32 v46, 0",
    "s_mov_b32 s20, 0",
    "v_and_b32_e32 v3, 3, v5",
    "loop:",
    "s_and_b32 s21, s20, 3",
    `v_cmp_eq_u32_e32 ${vcc}, s21, v3`,
    `s_bcnt1_i32_${b} s21, ${vcc}`,
    "v_mov_b32_e32 v6, s21",
    "s_barrier",
    "ds_write_b32 v44, v6 offset:8",
    "s_waitcnt lgkmcnt(0)",
    "s_barrier",
    "ds_read_b32 v4, v46 offset:8",
    `ds_read_b32 v7, v46 offset:${16 * waveSize + 8}`,
    "s_waitcnt lgkmcnt(0)",
    "v_readfirstlane_b32 s22, v4",
    "s_add_u32 s20, s20, s22",
    "v_readfirstlane_b32 s22, v7",
    "s_add_u32 s20, s20, s22",
    "s_add_u32 s20, s20, 1",
    "s_cmp_lt_u32 s20, s6",
    "s_cbranch_scc1 loop",
  ];
}

function countingModel(w: ModelWave): void {
  const threads = w.lds.length / 4;
  // Word 1 of a thread's LDS is its v5.
  const count = (first: number, value: number) =>
    [...Array(w.size).keys()].filter((lane) => (w.lds[(first + lane) * 4 + 1] & 3) === value).length;
  w.write(3, (lane) => w.v[5][lane] & 3);
  let sum = 0;
  do {
    const value = sum & 3;
    const counts = [0, w.size].map((first) => count(first, value));
    w.s[21] = count(groupLane(w), value);
    w.write(6, () => w.s[21]);
    w.write(4, () => counts[0]);
    w.write(7, () => counts[1]);
    w.s[22] = counts[1];
    sum += counts[0] + counts[1] + 1;
  } while (sum < w.argument);
  for (let lane = 0; lane < w.size; lane++) w.lds[(groupLane(w) + lane) * 4 + 2] = w.s[21];
  w.s[20] = sum;
  if (threads !== 2 * w.size) throw new Error("two waves are expected");
}

const several = WAVES.flatMap((waveSize): Check[] => [
  {
    name: "waves leave a loop apart in which their lanes exchange through LDS",
    waveSize,
    threads: 2 * waveSize,
    groups: 2,
    lds: true,
    lines: neighbours(waveSize),
    model: neighboursModel,
  },
  {
    name: "some lanes only, in four waves",
    waveSize,
    threads: 4 * waveSize,
    exec: 0xf0f0_a5a5n,
    lds: true,
    lines: neighbours(waveSize),
    model: neighboursModel,
  },
  {
    name: "waves decide by what they tell each other between barriers",
    waveSize,
    threads: 2 * waveSize,
    groups: 2,
    argument: 150,
    lds: true,
    lines: counting(waveSize),
    model: countingModel,
  },
]);
testChecks("Waves of a workgroup that go apart", several);

/** Votes, a region and a count of lanes. */
function alone(waveSize: 32 | 64): string[] {
  const { b, exec, vcc, pair } = names(waveSize);
  return [
    "v_readfirstlane_b32 s20, v1",
    `v_cmp_lt_u32_e32 ${vcc}, v1, v2`,
    `s_bcnt1_i32_${b} s21, ${vcc}`,
    `s_and_saveexec_${b} ${pair(24)}, ${vcc}`,
    "s_cbranch_execz skip",
    "v_add_nc_u32_e32 v2, v2, v5",
    "v_readfirstlane_b32 s22, v2",
    "skip:",
    `s_mov_${b} ${exec}, ${pair(24)}`,
    "s_cmp_lg_u32 s6, s6",
  ];
}

function aloneModel(w: ModelWave): void {
  w.s[20] = w.v[1][0];
  const all = w.exec, less = w.ballot((lane) => w.v[1][lane] < w.v[2][lane]);
  w.s[21] = less === 0n ? 0 : 1;
  w.exec = less;
  w.write(2, (lane) => w.v[2][lane] + w.v[5][lane]);
  if (less !== 0n) w.s[22] = w.v[2][0];
  w.exec = all;
}

const single = WAVES.map((waveSize): Check => ({
  name: "a workgroup of one thread observes no wave",
  waveSize,
  threads: 1,
  groups: 9,
  laneMode: "laneless",
  lines: alone(waveSize),
  model: aloneModel,
}));
testChecks("Workgroups of one thread", single);
