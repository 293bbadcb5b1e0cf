/** Vertex programs that are compared with the interpreter. */
import type { VertexState } from "../../../src/recompiler/stages/state.ts";
import type { StageCase } from "./stage_case.ts";
import { type Lines, vertexState } from "./programs.ts";

/** A program and its state; run with waves of 32 and 64. */
export interface VertexProgram {
  readonly name: string;
  readonly lines: Lines;
  readonly state: VertexState;
  readonly more?: Partial<StageCase>;
}

const MEMORY = 0x3_0000_0000n;
const more: Partial<StageCase> = {
  memory: [{ address: MEMORY, bytes: Uint8Array.from({ length: 4096 }, (_, k) => 5 * k + (k >> 4) & 0xff) }],
  userData: [Number(MEMORY & 0xffff_ffffn), Number(MEMORY >> 32n), 3, 1],
};

/** From a vertex's and an instance's number in v`vertex` and v`instance`: a position in v10 to v13 and attributes in v14 to v17. User data from s`user` on. */
const work = (vertex: number, instance: number, user: number): string[] => [
  `v_lshlrev_b32 v20, 4, v${vertex}`,
  `global_load_dwordx4 v[10:13], v20, s[${user}:${user + 1}]`,
  `global_load_dwordx4 v[14:17], v20, s[${user}:${user + 1}] offset:1024`,
  "s_waitcnt vmcnt(0)",
  `v_mad_u32_u24 v17, v${instance}, 7, v17`,
  `v_add_nc_u32 v16, s${user + 2}, v16`,
];

const EXPORTS = [
  "exp pos0 v10, v11, v12, v13 done",
  "exp param0 v14, v15, v16, v17",
  "exp param1 v17, off, v14, off",
  "exp param31 v10, v11, v12, v13",
];

/** The first wave of a group asks for its space. */
export const ALLOCATE = [
  "s_bfe_u32 s12, s3, 0x40018",
  "s_cbranch_scc1 rest",
  "s_bfe_u32 s12, s2, 0x9000c",
  "s_bfe_u32 s13, s2, 0x90016",
  "s_lshl_b32 s13, s13, 12",
  "s_or_b32 m0, s13, s12",
  "s_sendmsg sendmsg(MSG_GS_ALLOC_REQ)",
  "rest:",
];

/** EXEC becomes the first lanes, as many as `count` bits of s3 from `shift` on say. */
export const firstLanes = (n: Parameters<Lines>[0], shift: number): string[] => [
  `s_lshr_b32 s14, s3, ${shift}`,
  "s_bfm_b64 s[16:17], s14, 0",
  ...(n.b === "b32" ? ["s_mov_b32 exec_lo, s16"] : ["s_bitcmp1_b32 s14, 6", "s_cselect_b64 exec, -1, s[16:17]"]),
];

export const PRIMITIVES: Lines = (
  n,
) => [...firstLanes(n, 8), "s_cbranch_execz no_primitives", "exp prim v0, off, off, off done", "no_primitives:"];
export const VERTICES: Lines = (
  n,
) => [...firstLanes(n, 0), "s_cbranch_execz no_vertices", ...work(5, 8, 8), ...EXPORTS, "no_vertices:"];

const control = (...bits: number[]) => bits.reduce((all, bit) => all | 1 << bit, 0) >>> 0;

/** All of them. */
export const VERTEX_PROGRAMS: readonly VertexProgram[] = [
  {
    name: "the older vertex stage",
    lines: () => [...work(0, 3, 0), ...EXPORTS, "s_endpgm"],
    state: vertexState(),
    more,
  },
  {
    name: "fewer parameters than exports",
    lines: () => [...work(0, 3, 0), ...EXPORTS, "s_endpgm"],
    state: vertexState({ params: 1 }),
    more,
  },
  {
    name: "NGG: primitives first, then vertices",
    lines: (n) => [...ALLOCATE, ...PRIMITIVES(n), ...VERTICES(n), "s_endpgm"],
    state: vertexState({ form: "ngg" }),
    more,
  },
  {
    name: "NGG: vertices first, then primitives",
    lines: (n) => ["s_barrier", ...ALLOCATE, ...VERTICES(n), ...PRIMITIVES(n), "s_endpgm"],
    state: vertexState({ form: "ngg" }),
    more,
  },
  {
    name: "point size, layer and viewport",
    lines: () => [...work(0, 3, 0), "exp pos0 v10, v11, v12, v13", "exp pos1 v14, off, v16, off done", "s_endpgm"],
    state: vertexState({ positions: 2, outControl: control(16, 18, 19, 21) }),
    more,
  },
  {
    name: "a point size in a vector whose other parts nobody looks at",
    lines: () => [...work(0, 3, 0), "exp pos0 v10, v11, v12, v13", "exp pos1 v14, v15, v16, v17 done", "s_endpgm"],
    state: vertexState({ positions: 2, outControl: control(16, 21) }),
    more,
  },
  {
    name: "clip and cull distances",
    lines: () => [
      ...work(0, 3, 0),
      "exp pos0 v10, v11, v12, v13",
      "exp pos1 v14, off, off, off",
      "exp pos2 v10, v11, v14, v15",
      "exp pos3 v13, v12, v15, v14 done",
      "s_endpgm",
    ],
    state: vertexState({ positions: 4, outControl: control(0, 2, 5, 8 + 1, 8 + 4, 8 + 7, 16, 21, 22, 23) }),
    more,
  },
  {
    name: "distances that clip and cull",
    lines: () => [
      ...work(0, 3, 0),
      "exp pos0 v10, v11, v12, v13",
      "exp pos1 v10, v11, v14, v15",
      "exp pos2 v13, v12, v15, v14 done",
      "s_endpgm",
    ],
    state: vertexState({
      positions: 3,
      outControl: control(0, 1, 2, 3, 4, 5, 8 + 0, 8 + 1, 8 + 2, 8 + 3, 8 + 4, 8 + 7, 22, 23),
    }),
    more,
  },
  {
    name: "stores of vertices",
    lines: (n) => [
      ...work(0, 3, 0),
      "v_and_b32 v21, 15, v0",
      "v_lshlrev_b32 v21, 2, v21",
      "v_add_nc_u32 v21, 0x800, v21",
      "v_mov_b32 v22, 1",
      `v_cmp_lt_u32 ${n.vcc}, 7, v0`,
      `s_and_saveexec_${n.b} ${n.mask(20)}, ${n.vcc}`,
      "global_atomic_add v21, v22, s[0:1]",
      `s_mov_${n.b} ${n.exec}, ${n.mask(20)}`,
      ...EXPORTS,
      "s_endpgm",
    ],
    state: vertexState(),
    more,
  },
];
