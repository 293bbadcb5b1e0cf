/**
 * Guest programs whose workgroups tell each other something through memory, written as compilers and people write them: with the waits and invalidations that
 * the ISA asks for (LLVM, AMDGPUUsage, "Memory Model GFX10-GFX11"). What they leave does not depend on who comes when: on the console no value is ever
 * missed. A wait for another workgroup has an end, since a host owes no workgroup that another one runs beside it.
 *
 * Registers at the start: s[0:1] words that all share, zeros at first; s[2:3] results; s4 workgroups; s5 rounds; s8 the workgroup; v0 the thread. Waves of 32.
 */

/** A litmus program. */
export interface Litmus {
  readonly name: string;
  /** Threads of a workgroup. */
  readonly threads: 32 | 64;
  readonly lines: readonly string[];
  /** Words of s[0:1], of so many workgroups. */
  sharedWords(groups: number): number;
  /** Words of the results. */
  resultWords(groups: number): number;
  /** The values that are not what the console leaves. @returns how many of how many */
  mismatches(
    shared: Uint32Array,
    results: Uint32Array,
    groups: number,
    rounds: number,
  ): readonly [wrong: number, of: number];
  /** LDS bytes. */
  readonly ldsBytes?: number;
}

/** The waits and invalidations of the programs; without them, they may leave anything. */
const WAIT_FOR_STORES = "s_waitcnt_vscnt null, 0x0", ANEW = ["buffer_gl1_inv", "buffer_gl0_inv"];

/** The same program without what orders it; waits for values that it needs remain. */
export function withoutFences({ lines, name, ...rest }: Litmus): Litmus {
  return {
    ...rest,
    name: `${name}, without fences`,
    lines: lines.filter((line) => line !== WAIT_FOR_STORES && !ANEW.includes(line)),
  };
}

const zeros = (words: Uint32Array) => [words.filter((word) => word !== 0).length, words.length] as const;

/** Every even workgroup sends numbers, 32 words and then a flag, to the odd one behind it, which counts words that are older than the flag. */
function messages(name: string, send: readonly string[], receive: readonly string[], threads: 32 | 64): Litmus {
  return {
    name,
    threads,
    ldsBytes: 512,
    lines: [
      "s_lshr_b32 s10, s8, 1",
      "s_lshl_b32 s10, s10, 10",
      "s_add_u32 s14, s0, s10",
      "s_addc_u32 s15, s1, 0",
      "v_lshlrev_b32_e32 v4, 2, v0",
      "v_xor_b32_e32 v5, 4, v4",
      "v_mov_b32_e32 v1, 0",
      "v_mov_b32_e32 v9, 0",
      "s_mov_b32 s12, exec_lo",
      "s_mov_b32 s11, 0",
      "s_bitcmp1_b32 s8, 0",
      "s_cbranch_scc1 receive",
      "send:",
      "s_add_i32 s11, s11, 1",
      "v_mov_b32_e32 v2, s11",
      "global_store_dword v4, v2, s[14:15]",
      ...send,
      "s_cmp_lt_u32 s11, s5",
      "s_cbranch_scc1 send",
      "s_endpgm",
      "receive:",
      "s_add_i32 s11, s11, 1",
      ...receive,
      "s_waitcnt vmcnt(0)",
      "v_cmp_lt_u32_e32 vcc_lo, v6, v3",
      "v_add_co_ci_u32_e64 v9, vcc_lo, 0, v9, vcc_lo",
      "s_cmp_lt_u32 s11, s5",
      "s_cbranch_scc1 receive",
      `v_lshl_add_u32 v4, s8, ${threads === 64 ? 6 : 5}, v0`,
      "v_lshlrev_b32_e32 v4, 2, v4",
      "global_store_dword v4, v9, s[2:3]",
      "s_endpgm",
    ],
    sharedWords: (groups) => 256 * groups,
    resultWords: (groups) => threads * groups,
    mismatches: (_, results) => zeros(results),
  };
}

const FLAG = 0x200;

const MESSAGES: readonly Litmus[] = [
  messages(
    "message passing in waves",
    [
      WAIT_FOR_STORES,
      "s_mov_b32 exec_lo, 1",
      `global_store_dword v1, v2, s[14:15] offset:${FLAG}`,
      "s_mov_b32 exec_lo, s12",
    ],
    [
      `global_load_dword v3, v1, s[14:15] offset:${FLAG} glc dlc`,
      "s_waitcnt vmcnt(0)",
      ...ANEW,
      "global_load_dword v6, v5, s[14:15]",
    ],
    32,
  ),
  messages(
    "message passing with coherent loads and waits",
    [
      WAIT_FOR_STORES,
      "s_mov_b32 exec_lo, 1",
      `global_atomic_umax v1, v2, s[14:15] offset:${FLAG}`,
      "s_mov_b32 exec_lo, s12",
    ],
    [
      `global_load_dword v3, v1, s[14:15] offset:${FLAG} glc dlc`,
      "s_waitcnt vmcnt(0)",
      "global_load_dword v6, v5, s[14:15] glc dlc",
    ],
    32,
  ),
  messages(
    "message passing through s_barrier",
    [
      WAIT_FOR_STORES,
      "s_barrier",
      "v_cmp_eq_u32_e32 vcc_lo, 63, v0",
      "s_and_b32 exec_lo, exec_lo, vcc_lo",
      `global_store_dword v1, v2, s[14:15] offset:${FLAG}`,
      "s_mov_b32 exec_lo, s12",
      "s_barrier",
    ],
    [
      "v_cmp_eq_u32_e32 vcc_lo, 63, v0",
      "s_and_b32 exec_lo, exec_lo, vcc_lo",
      `global_load_dword v3, v1, s[14:15] offset:${FLAG} glc dlc`,
      "s_waitcnt vmcnt(0)",
      ...ANEW,
      "ds_write_b32 v1, v3",
      "s_mov_b32 exec_lo, s12",
      "s_waitcnt lgkmcnt(0)",
      "s_barrier",
      "ds_read_b32 v3, v1",
      "s_waitcnt lgkmcnt(0)",
      "s_barrier",
      "global_load_dword v6, v5, s[14:15]",
    ],
    64,
  ),
  messages(
    "message passing to scalar loads",
    [
      WAIT_FOR_STORES,
      "s_mov_b32 exec_lo, 1",
      `global_store_dword v1, v2, s[14:15] offset:${FLAG}`,
      "s_mov_b32 exec_lo, s12",
    ],
    [
      `s_load_dword s16, s[14:15], 0x${FLAG.toString(16)} glc`,
      "s_waitcnt lgkmcnt(0)",
      "s_dcache_inv",
      "s_load_dword s17, s[14:15], 0x3c",
      "s_waitcnt lgkmcnt(0)",
      "v_mov_b32_e32 v3, s16",
      "v_mov_b32_e32 v6, s17",
    ],
    32,
  ),
];

/** All workgroups store, and the one that comes last adds up what all have stored, each thread that of one of another wave. */
const LAST_BLOCK: Litmus = {
  name: "the last block adds up",
  threads: 64,
  ldsBytes: 512,
  lines: [
    "v_lshl_add_u32 v1, s8, 6, v0",
    "v_lshlrev_b32_e32 v2, 2, v1",
    "v_add_nc_u32_e32 v3, 1, v1",
    "v_xor_b32_e32 v9, 33, v0",
    "v_lshlrev_b32_e32 v9, 2, v9",
    // What a cache holds from now on is old.
    "global_load_dword v10, v9, s[0:1] offset:1024",
    "s_waitcnt vmcnt(0)",
    "global_store_dword v2, v3, s[0:1] offset:1024",
    WAIT_FOR_STORES,
    "s_barrier",
    "v_mov_b32_e32 v4, 0",
    "v_mov_b32_e32 v5, 1",
    "v_cmp_eq_u32_e32 vcc_lo, 63, v0",
    "s_and_saveexec_b32 s10, vcc_lo",
    "s_cbranch_execz told",
    "global_atomic_add v6, v4, v5, s[0:1] glc",
    "s_waitcnt vmcnt(0)",
    "ds_write_b32 v4, v6",
    "told:",
    "s_mov_b32 exec_lo, s10",
    "s_waitcnt lgkmcnt(0)",
    "s_barrier",
    "ds_read_b32 v6, v4",
    "s_waitcnt lgkmcnt(0)",
    "v_readfirstlane_b32 s11, v6",
    "s_add_i32 s12, s4, -1",
    "s_cmp_lg_u32 s11, s12",
    "s_cbranch_scc1 end",
    ...ANEW,
    "v_lshrrev_b32_e32 v7, 31, v10",
    "s_mov_b32 s13, 0",
    "add:",
    "global_load_dword v8, v9, s[0:1] offset:1024",
    "s_waitcnt vmcnt(0)",
    "v_add_nc_u32_e32 v7, v7, v8",
    "v_add_nc_u32_e32 v9, 0x100, v9",
    "s_add_i32 s13, s13, 1",
    "s_cmp_lt_u32 s13, s4",
    "s_cbranch_scc1 add",
    "v_lshlrev_b32_e32 v2, 2, v0",
    "global_store_dword v2, v7, s[2:3]",
    "end:",
    "s_endpgm",
  ],
  sharedWords: (groups) => 256 + 64 * groups,
  resultWords: () => 64,
  mismatches(_, results, groups) {
    const expected = (thread: number) => 32 * groups * (groups - 1) + ((thread ^ 33) + 1) * groups;
    return [results.filter((sum, thread) => sum !== expected(thread) >>> 0).length, results.length];
  },
};

/** One lane of each workgroup takes a lock, adds 1 to a word, and gives the lock back, round after round. Rounds in which it does not get the lock are counted. */
function lock(name: string, load: string, anew: readonly string[], free: string): Litmus {
  return {
    name,
    threads: 32,
    lines: [
      "v_mov_b32_e32 v1, 0",
      "v_mov_b32_e32 v4, 1",
      "v_mov_b32_e32 v5, 0",
      "v_mov_b32_e32 v9, 0",
      "s_mov_b32 s11, 0",
      "s_mov_b32 exec_lo, 1",
      "round:",
      "s_mov_b32 s16, 0",
      "spin:",
      "global_atomic_cmpswap v6, v1, v[4:5], s[0:1] glc",
      "s_waitcnt vmcnt(0)",
      "v_readfirstlane_b32 s17, v6",
      "s_cmp_eq_u32 s17, 0",
      "s_cbranch_scc1 locked",
      "s_add_i32 s16, s16, 1",
      "s_cmp_lt_u32 s16, 0x100",
      "s_cbranch_scc1 spin",
      "v_add_nc_u32_e32 v9, 1, v9",
      "s_branch next",
      "locked:",
      ...anew,
      load,
      "s_waitcnt vmcnt(0)",
      "v_add_nc_u32_e32 v7, 1, v7",
      "global_store_dword v1, v7, s[0:1] offset:256",
      WAIT_FOR_STORES,
      free,
      "next:",
      "s_add_i32 s11, s11, 1",
      "s_cmp_lt_u32 s11, s5",
      "s_cbranch_scc1 round",
      "s_lshl_b32 s12, s8, 2",
      "v_mov_b32_e32 v2, s12",
      "global_store_dword v2, v9, s[2:3]",
      "s_endpgm",
    ],
    sharedWords: () => 1024,
    resultWords: (groups) => groups,
    mismatches(shared, results, groups, rounds) {
      const missed = results.reduce((sum, each) => sum + each, 0), of = groups * rounds - missed;
      return [Math.abs(of - shared[64]), of];
    },
  };
}

const LOCKS: readonly Litmus[] = [
  lock("a spin lock", "global_load_dword v7, v1, s[0:1] offset:256", ANEW, "global_store_dword v1, v5, s[0:1]"),
  lock(
    "a spin lock around coherent loads",
    "global_load_dword v7, v1, s[0:1] offset:256 glc dlc",
    [],
    "global_atomic_swap v1, v5, s[0:1]",
  ),
];

/** Workgroups in the order of a ticket each add to the sums of the one before, and wait for them: the look-back of prefix sums. */
const LOOK_BACK: Litmus = {
  name: "look-back",
  threads: 32,
  lines: [
    "v_mov_b32_e32 v1, 0",
    "v_mov_b32_e32 v2, 1",
    "s_mov_b32 s10, exec_lo",
    "s_mov_b32 exec_lo, 1",
    "global_atomic_add v3, v1, v2, s[0:1] glc",
    "s_waitcnt vmcnt(0)",
    "s_mov_b32 exec_lo, s10",
    "v_readfirstlane_b32 s11, v3",
    "s_lshl_b32 s12, s11, 8",
    "s_add_u32 s14, s0, s12",
    "s_addc_u32 s15, s1, 0",
    "v_lshlrev_b32_e32 v4, 2, v0",
    "v_add_nc_u32_e32 v5, s11, v0",
    "s_cmp_eq_u32 s11, 0",
    "s_cbranch_scc1 ready",
    "s_mov_b32 s16, 0",
    "spin:",
    "s_load_dword s17, s[14:15], 0x380 glc",
    "s_waitcnt lgkmcnt(0)",
    "s_cmp_lg_u32 s17, 0",
    "s_cbranch_scc1 seen",
    "s_add_i32 s16, s16, 1",
    "s_cmp_lt_u32 s16, 0x1000",
    "s_cbranch_scc1 spin",
    "s_add_i32 s18, s11, -1",
    "s_mul_i32 s18, s18, s11",
    "s_lshr_b32 s18, s18, 1",
    "v_mul_lo_u32 v6, s11, v0",
    "v_add_nc_u32_e32 v6, s18, v6",
    "s_branch have",
    "seen:",
    ...ANEW,
    "global_load_dword v6, v4, s[14:15] offset:768",
    "s_waitcnt vmcnt(0)",
    "have:",
    "v_add_nc_u32_e32 v5, v5, v6",
    "ready:",
    "global_store_dword v4, v5, s[14:15] offset:1024",
    WAIT_FOR_STORES,
    "s_brev_b32 exec_lo, 1",
    "global_store_dword v1, v2, s[14:15] offset:1152",
    "s_mov_b32 exec_lo, s10",
    "s_lshl_b32 s12, s11, 5",
    "v_add_nc_u32_e32 v4, s12, v0",
    "v_lshlrev_b32_e32 v4, 2, v4",
    "global_store_dword v4, v5, s[2:3]",
    "s_endpgm",
  ],
  sharedWords: (groups) => 256 + 64 * groups,
  resultWords: (groups) => 32 * groups,
  mismatches(_, results) {
    const expected = (n: number) => {
      const ticket = n >> 5, lane = n & 31;
      return ticket * (ticket + 1) / 2 + (ticket + 1) * lane;
    };
    return [results.filter((sum, n) => sum !== expected(n) >>> 0).length, results.length];
  },
};

/**
 * Every even workgroup stores a number twice, in two dwords that it stores as one, and the odd one behind it counts where it loads two different ones. Nothing
 * orders that: on the console both come at once (AMD RDNA2 ISA: a lane's 64 bits at a multiple of 8 are one request).
 */
export const PAIRS: Litmus = {
  name: "two dwords as one",
  threads: 32,
  lines: [
    "s_lshr_b32 s10, s8, 1",
    "s_lshl_b32 s10, s10, 10",
    "s_add_u32 s14, s0, s10",
    "s_addc_u32 s15, s1, 0",
    "v_lshlrev_b32_e32 v4, 3, v0",
    "v_mov_b32_e32 v9, 0",
    "s_mov_b32 s11, 0",
    "s_bitcmp1_b32 s8, 0",
    "s_cbranch_scc1 receive",
    "send:",
    "s_add_i32 s11, s11, 1",
    "v_mov_b32_e32 v6, s11",
    "v_mov_b32_e32 v7, s11",
    "global_store_dwordx2 v4, v[6:7], s[14:15]",
    "s_cmp_lt_u32 s11, s5",
    "s_cbranch_scc1 send",
    "s_endpgm",
    "receive:",
    "s_add_i32 s11, s11, 1",
    "global_load_dwordx2 v[6:7], v4, s[14:15] glc dlc",
    "s_waitcnt vmcnt(0)",
    "v_cmp_ne_u32_e32 vcc_lo, v6, v7",
    "v_add_co_ci_u32_e64 v9, vcc_lo, 0, v9, vcc_lo",
    "s_cmp_lt_u32 s11, s5",
    "s_cbranch_scc1 receive",
    "v_lshl_add_u32 v4, s8, 5, v0",
    "v_lshlrev_b32_e32 v4, 2, v4",
    "global_store_dword v4, v9, s[2:3]",
    "s_endpgm",
  ],
  sharedWords: (groups) => 256 * groups,
  resultWords: (groups) => 32 * groups,
  mismatches: (_, results) => zeros(results),
};

/** All programs whose order is by fences. */
export const LITMUS: readonly Litmus[] = [...MESSAGES, LAST_BLOCK, ...LOCKS, LOOK_BACK];
