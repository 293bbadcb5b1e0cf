/** Short programs with two accesses that must be in order, or need not: the first and the second are told by numbers (module_order.ts). */

/** Values that are stored, and parts of addresses. */
export const DATA = 0x11111111, FLAG = 0x22222222, FLAG_AT = 0x3330, DATA_AT = 0x4440;

/** A program. */
export interface Shape {
  readonly name: string;
  readonly threads: number;
  readonly lines: readonly string[];
  readonly from: number;
  readonly to: number;
  /** Whether the program orders them. */
  readonly ordered: boolean;
}

const SET_UP = [
  "v_lshlrev_b32_e32 v4, 2, v0",
  "v_mov_b32_e32 v1, 0",
  "v_mov_b32_e32 v10, 0x11111111",
  "v_mov_b32_e32 v11, 0x22222222",
  "v_mov_b32_e32 v12, 0x3330",
  "v_mov_b32_e32 v13, 0x4440",
];
const STORE = "global_store_dword v4, v10, s[0:1]", SET = "global_store_dword v1, v11, s[0:1] offset:512";
const WAIT = "s_waitcnt_vscnt null, 0x0", VM = "s_waitcnt vmcnt(0)", LGKM = "s_waitcnt lgkmcnt(0)";
const ASK = "global_load_dword v5, v12, s[0:1] glc dlc", LOOK = "global_load_dword v6, v13, s[0:1]";
const ASK_PLAINLY = "global_load_dword v5, v12, s[0:1]", TAKE = "global_atomic_swap v5, v12, v1, s[0:1] glc";
const ANEW = ["buffer_gl1_inv", "buffer_gl0_inv"];
const END = [VM, "v_add_nc_u32_e32 v6, v5, v6", "global_store_dword v4, v6, s[2:3]", "s_endpgm"];

function release(name: string, between: readonly string[], ordered: boolean, threads = 32, flag = SET): Shape {
  return { name, threads, lines: [...SET_UP, STORE, ...between, flag, "s_endpgm"], from: DATA, to: FLAG, ordered };
}

function acquire(name: string, ask: string, between: readonly string[], ordered: boolean, threads = 32): Shape {
  return { name, threads, lines: [...SET_UP, ask, ...between, LOOK, ...END], from: FLAG_AT, to: DATA_AT, ordered };
}

/** A store or a wait for some lanes only, and a wait that some waves come by. */
const FIRST = ["v_cmp_eq_u32_e32 vcc_lo, 0, v0", "s_and_b32 exec_lo, exec_lo, vcc_lo"];
const MAYBE = ["s_cmp_eq_u32 s4, 0", "s_cbranch_scc1 without"];

/** All of them. */
export const SHAPES: readonly Shape[] = [
  release("a store, a wait, a flag", [WAIT], true),
  release("the same in a workgroup of one thread", [WAIT], true, 1),
  release("a store, a wait, an atomic flag", [WAIT], true, 32, "global_atomic_add v1, v11, s[0:1] offset:512"),
  release("a store, a wait, the flag of one lane", [WAIT, ...FIRST], true),
  release("a store, a wait, s_barrier, a flag", [WAIT, "s_barrier"], true, 64),
  release("a store, a wait, s_barrier, caches invalidated, a flag", [WAIT, "s_barrier", ...ANEW], true, 64),
  release("a store, a wait, two s_barrier, a flag", [WAIT, "s_barrier", "s_barrier"], true, 64),
  release("a store and a flag", [], false),
  release("a store, s_barrier, a flag", ["s_barrier"], false, 64),
  release("a store, a wait on one of two ways, a flag", [...MAYBE, WAIT, "without:"], false, 1),
  release(
    "a store, a wait on both ways, a flag",
    [...MAYBE, WAIT, "s_branch both", "without:", WAIT, "both:"],
    true,
    1,
  ),
  acquire("a coherent load, a wait, a load", ASK, [VM], true),
  acquire("a coherent load, a wait, caches invalidated, a load", ASK, [VM, ...ANEW], true),
  acquire("a coherent load and a load", ASK, [], false),
  acquire("a coherent load, a wait for LDS, a load", ASK, [LGKM], false),
  acquire("an atomic operation with a result, a wait, a load", TAKE, [VM], true),
  acquire("a load, caches of all workgroups invalidated, a load", ASK_PLAINLY, [VM, ...ANEW], true),
  acquire("a load, the scalar cache invalidated, a load", ASK_PLAINLY, [VM, "s_dcache_inv"], true),
  acquire("a load, the workgroup's cache invalidated, a load", ASK_PLAINLY, [VM, "buffer_gl0_inv"], false),
  acquire("a load, a wait, a load", ASK_PLAINLY, [VM], false),
  acquire("a coherent load, a wait, s_barrier, a load", ASK, [VM, "s_barrier"], true, 64),
  acquire("a coherent load, a wait in one thread, a load", ASK, [VM], true, 1),
];

/** Programs whose fences order nothing for others: they cost no words. */
export const FREE: readonly Pick<Shape, "name" | "threads" | "lines">[] = [
  { name: "only loads", threads: 64, lines: [...SET_UP, ASK_PLAINLY, VM, "s_barrier", "buffer_gl0_inv", LOOK, ...END] },
  { name: "nothing behind the wait", threads: 64, lines: [...SET_UP, STORE, WAIT, "s_barrier", "s_endpgm"] },
  { name: "no store before the wait", threads: 64, lines: [...SET_UP, WAIT, "s_barrier", ...ANEW, STORE, "s_endpgm"] },
  { name: "loads behind a store", threads: 64, lines: [...SET_UP, STORE, WAIT, "s_barrier", LOOK, VM, "s_endpgm"] },
];
