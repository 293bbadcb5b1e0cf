/** Programs of merged groups that are compared with the interpreter, and some that are refused. */
import type { GroupProgram } from "../../../src/recompiler/stages/group_program.ts";
import { assemble } from "./assembled.ts";
import type { GroupCase } from "./group_frame.ts";
import { type Lines, linesOf } from "./programs.ts";
import { ALLOCATE, firstLanes } from "./vertex_cases.ts";

/** A program; run with waves of 32 and 64. */
export interface GroupLines {
  readonly name: string;
  readonly lines: Lines;
  /** A second half, which `lines` go on with: its address is in s10 (user data 2). */
  readonly back?: Lines;
  readonly more?: Partial<GroupCase>;
  /** User SGPRs; 4 where it is left out. User data k from the fourth on are 1000 + k. */
  readonly users?: number;
  /** What the refusal says of a program that is refused. */
  readonly message?: RegExp;
}

const MEMORY = 0x3_0000_0000n;
const NEXT_SGPR = 10;

/** The number of the thread in v30. */
const THREAD: Lines = (n) => [
  "s_bfe_u32 s18, s3, 0x40018",
  `s_lshl_b32 s18, s18, ${n.b === "b32" ? 5 : 6}`,
  "v_mbcnt_lo_u32_b32 v30, -1, s18",
  ...(n.b === "b32" ? [] : ["v_mbcnt_hi_u32_b32 v30, -1, v30"]),
];

/** Lanes with a vertex leave its number and its instance's in LDS, 16 bytes each. */
const GIVE: Lines = (n) => [
  ...THREAD(n),
  ...firstLanes(n, 0),
  "s_cbranch_execz gave",
  "v_lshlrev_b32 v31, 4, v30",
  "ds_write_b32 v31, v5",
  "ds_write_b32 v31, v8 offset:4",
  "gave:",
  `s_mov_${n.b} ${n.exec}, -1`,
  "s_waitcnt lgkmcnt(0)",
];

/** Lanes with a primitive make a point of it: of its vertices' numbers. */
const TAKE: Lines = (n) => [
  "s_barrier",
  ...THREAD(n),
  // As many vertices and primitives as the group has primitives.
  "s_bfe_u32 s12, s3, 0x40018",
  "s_cbranch_scc1 taken",
  "s_bfe_u32 s13, s2, 0x90016",
  "s_lshl_b32 s12, s13, 12",
  "s_or_b32 m0, s13, s12",
  "s_sendmsg sendmsg(MSG_GS_ALLOC_REQ)",
  "taken:",
  ...firstLanes(n, 8),
  "s_cbranch_execz none",
  "v_and_b32 v20, 0xffff, v0",
  "v_lshrrev_b32 v21, 16, v0",
  "v_and_b32 v22, 0xffff, v1",
  ...[20, 21, 22].map((v) => `v_lshlrev_b32 v${v}, 4, v${v}`),
  "ds_read_b32 v10, v20",
  "ds_read_b32 v11, v21",
  "ds_read_b32 v12, v22 offset:4",
  "v_lshlrev_b32 v13, 10, v30",
  "v_or_b32 v13, v13, v30",
  "s_waitcnt lgkmcnt(0)",
  "exp prim v13, off, off, off done",
  "exp pos0 v10, v11, v12, v2 done",
  "exp param0 v12, off, v11, off",
  // The register with the second half's address, in programs that have one.
  "v_mov_b32 v14, s10",
  "exp param2 v14, off, off, off",
  "none:",
  "s_endpgm",
];

const HAND_OVER = ["s_mov_b32 s11, 2", "s_setpc_b64 s[10:11]"];

const sizes: Partial<GroupCase> = { vertices: 180, primitives: 100, corners: 3 };

/** Those that are recompiled. */
export const GROUP_PROGRAMS: readonly GroupLines[] = [
  { name: "points of triangles, in one program", lines: (n) => [...GIVE(n), ...TAKE(n)] },
  { name: "points of triangles, in two halves", lines: (n) => [...GIVE(n), ...HAND_OVER], back: TAKE },
  {
    name: "primitives of the program's own, exports of some components, twice to one target, more than 16 user SGPRs",
    users: 19,
    lines: (n) => [
      ...ALLOCATE,
      ...THREAD(n),
      ...firstLanes(n, 8),
      "s_cbranch_execz none",
      "v_xor_b32 v0, s25, v0",
      "v_xor_b32 v0, s23, v0",
      "exp prim v0, off, off, off done",
      "none:",
      ...firstLanes(n, 0),
      "s_cbranch_execz end",
      "exp pos0 v5, v8, v30, v5",
      "exp param3 v5, v5, v5, v5",
      "v_cmp_lt_u32 vcc_lo, 7, v5".replace("vcc_lo", n.vcc),
      `s_and_${n.b} ${n.exec}, ${n.exec}, ${n.vcc}`,
      "exp param3 off, v30, off, v8",
      "exp pos0 v30, off, off, off done",
      "end:",
      "s_endpgm",
    ],
  },
  {
    name: "memory and GDS",
    lines: (n) => [
      ...ALLOCATE,
      ...THREAD(n),
      ...firstLanes(n, 0),
      "s_cbranch_execz end",
      "v_lshlrev_b32 v20, 4, v5",
      "global_load_dwordx4 v[10:13], v20, s[8:9]",
      "s_movk_i32 m0, 0x100",
      "v_mov_b32 v21, 8",
      "ds_add_u32 v21, v5 gds",
      "s_waitcnt vmcnt(0) lgkmcnt(0)",
      "exp pos0 v10, v11, v12, v13 done",
      "v_lshlrev_b32 v20, 2, v30",
      "global_store_dword v20, v30, s[8:9] offset:1024",
      "end:",
      "s_endpgm",
    ],
  },
];

const END = "s_endpgm";

/** Those that are refused. */
export const REFUSED_GROUPS: readonly GroupLines[] = [
  {
    name: "a compressed export",
    lines: () => ["exp pos0 v0, v0, v1, v1 compr", END],
    message: /a compressed export in a merged group/,
  },
  {
    name: "a primitive of four words",
    lines: () => ["exp prim v0, v0, v0, v0 done", END],
    message: /a primitive export of another form than one word/,
  },
  { name: "a colour", lines: () => ["exp mrt0 v0, v0, v0, v0", END], message: /export target 0 in a merged group/ },
  {
    name: "another message",
    lines: () => ["s_sendmsg sendmsg(MSG_INTERRUPT)", END],
    message: /a message to the hardware outside of the wave/,
  },
  {
    name: "a half that goes on where nobody knows",
    lines: () => HAND_OVER,
    message: /s_setpc_b64 jumps to an address that is not known before the program runs/,
  },
  {
    name: "a half that goes on elsewhere",
    lines: () => ["s_mov_b32 s11, 4", "s_setpc_b64 s[10:11]"],
    back: () => [END],
    message: /s_setpc_b64 jumps to guest address 0x4\w+, outside of the program/,
  },
];

/** Words from a half to the next one: code is loaded at multiples of 256 bytes. */
const HALF_WORDS = 64;

/** The case of a program. */
export function groupCaseOf({ name, lines, back, more, users = 4 }: GroupLines, waveSize: 32 | 64): GroupCase {
  let code = assemble(waveSize, linesOf(lines, waveSize)), next: GroupProgram["group"]["next"];
  if (back !== undefined) {
    const second = assemble(waveSize, linesOf(back, waveSize)),
      offset = Math.ceil(code.length / HALF_WORDS) * HALF_WORDS;
    const both = new Uint32Array(offset + second.length).fill(0xbf9f_0000);
    both.set(code);
    both.set(second, offset);
    code = both;
    next = { sgpr: NEXT_SGPR, offset: 4 * offset };
  }
  return {
    name: `${name}, wave ${waveSize}`,
    code,
    program: {
      stage: "geometry",
      waveSize,
      threads: 256,
      userSgprCount: users,
      scratch: false,
      ldsBytes: 4096,
      floatMode: 0xf0,
      ieee: false,
      dx10Clamp: true,
      group: next === undefined ? {} : { next },
    },
    userData: [
      Number(MEMORY & 0xffff_ffffn),
      Number(MEMORY >> 32n),
      ...Array.from({ length: users - 2 }, (_, k) => k < 2 ? 0 : 1002 + k),
    ],
    memory: [{ address: MEMORY, bytes: Uint8Array.from({ length: 4096 }, (_, k) => 5 * k + (k >> 4) & 0xff) }],
    ...sizes,
    ...more,
  } as GroupCase;
}
