/** Pixel programs that are compared with the interpreter. */
import { EXPORT_FORMATS, type PixelState } from "../../../src/recompiler/stages/state.ts";
import { INTERPOLATION, OPTIMIZED } from "./interpolation_cases.ts";
import { SAMPLES } from "./sample_cases.ts";
import type { StageCase } from "./stage_case.ts";
import { colors, interpolate, type Lines, type PixelProgram, pixelState, TAKE_MASK } from "./programs.ts";

const RAW = "exp mrt0 v10, v11, v12, v13 done vm";
const END = "s_endpgm";
/** Guest memory of the cases that have some: user data s0, s1 is its address. */
const MEMORY = 0x3_0000_0000n;

/** MODE rounds f16 toward zero (RSRC1 FLOAT_MODE 3:2), as console shaders do. */
const TRUNCATED: PixelProgram[] = [
  {
    name: "mixed multiply-adds whose halves are rounded toward zero",
    lines: () => [
      TAKE_MASK,
      ...interpolate(0),
      "v_cvt_pkrtz_f16_f32 v16, v10, v11",
      "v_mul_f32 v17, 0x477fe000, v12",
      "v_fma_mixlo_f16 v14, v10, v11, v12",
      "v_fma_mixhi_f16 v14, v10, -v13, v11",
      "v_fma_mixlo_f16 v15, v10, v16, 1.0 op_sel_hi:[0,1,1]",
      "v_fma_mixhi_f16 v15, v17, v17, v11",
      "exp mrt0 v14, v15, v16, v17 done vm",
      END,
    ],
    state: pixelState({ colors: colors({ format: "32_abgr", number: "uint" }) }),
    more: { registers: { floatMode: 0xfc } },
  },
];

/** Values for exports: attributes in v10 to v13, and packed ones in v14 and v15. */
const PACKED = ["v_cvt_pkrtz_f16_f32 v14, v10, v11", "v_cvt_pkrtz_f16_f32 v15, v12, v13"];

const FORMATS: PixelProgram[] = EXPORT_FORMATS.filter((format) => format !== "zero").flatMap((format) => {
  const compressed = format.includes("16_abgr");
  const numbers = format.startsWith("32")
    ? ["float", "uint", "sint"] as const
    : format.startsWith("uint")
    ? ["uint"] as const
    : format.startsWith("sint")
    ? ["sint"] as const
    : ["float"] as const;
  return numbers.map((number) => ({
    name: `a colour of format ${format}, target of ${number}`,
    lines: () => [
      TAKE_MASK,
      ...interpolate(0),
      ...(compressed ? [...PACKED, "exp mrt0 v14, v14, v15, v15 done compr vm"] : [RAW]),
      END,
    ],
    state: pixelState({ colors: colors({ format, number }) }),
  }));
});

const depth = (changes: Partial<PixelState["depth"]>) => ({ ...pixelState().depth, ...changes });
const DEPTHS: PixelProgram[] = [
  {
    name: "depth alone",
    lines: () => [TAKE_MASK, ...interpolate(0), "exp mrtz v10, off, off, off", RAW, END],
    state: pixelState({ depthFormat: "32_r", depth: depth({ exportsDepth: true }) }),
  },
  {
    name: "depth and stencil",
    lines: () => [TAKE_MASK, ...interpolate(0), "exp mrtz v10, v11, off, off", RAW, END],
    state: pixelState({
      depthFormat: "32_gr",
      depth: depth({ exportsDepth: true, exportsStencil: true, conservative: 1 }),
    }),
  },
  {
    name: "depth, stencil and mask",
    lines: () => [TAKE_MASK, ...interpolate(0), "exp mrtz v10, v11, v12, off", RAW, END],
    state: pixelState({
      depthFormat: "32_abgr",
      depth: depth({ exportsDepth: true, exportsStencil: true, exportsMask: true, conservative: 2 }),
    }),
  },
  {
    name: "stencil and mask as halves",
    lines: () => [TAKE_MASK, ...interpolate(0), ...PACKED, "exp mrtz v14, v14, v15, v15 compr", RAW, END],
    state: pixelState({ depthFormat: "uint16_abgr", depth: depth({ exportsStencil: true, exportsMask: true }) }),
  },
  {
    name: "an exported depth that nobody looks at",
    lines: () => [TAKE_MASK, ...interpolate(0), "exp mrtz v10, v11, v12, off", RAW, END],
    state: pixelState({ depthFormat: "32_abgr" }),
  },
];

const TARGETS: PixelProgram[] = [
  {
    name: "eight targets, some of them without a format, and components left out",
    lines: () => [
      TAKE_MASK,
      ...interpolate(0),
      ...PACKED,
      ...[0, 2, 4, 6].map((target) => `exp mrt${target} v10, v11, off, v13`),
      ...[1, 3, 5].map((target) => `exp mrt${target} v14, v14, v15, v15 compr`),
      "exp mrt7 v13, off, v11, v10 done vm",
      END,
    ],
    state: pixelState({
      colors: colors(
        { format: "32_abgr", number: "float" },
        { format: "fp16_abgr", number: "float" },
        { format: "zero", number: "float" },
        { format: "unorm16_abgr", number: "float" },
        { format: "32_gr", number: "uint" },
        { format: "sint16_abgr", number: "sint" },
        { format: "32_ar", number: "float" },
        { format: "32_abgr", number: "sint" },
      ),
    }),
  },
  {
    name: "half of a compressed colour",
    lines: () => [TAKE_MASK, ...interpolate(0), ...PACKED, "exp mrt0 v14, v14, off, off done compr vm", END],
    state: pixelState({ colors: colors({ format: "fp16_abgr", number: "float" }) }),
  },
];

const DISCARDS: PixelProgram[] = [
  {
    name: "pixels discarded by EXEC at the export",
    lines: (n) => [
      TAKE_MASK,
      ...interpolate(0),
      `v_cmp_lt_f32 ${n.vcc}, 0, v10`,
      `s_and_${n.b} ${n.exec}, ${n.exec}, ${n.vcc}`,
      RAW,
      END,
    ],
    state: pixelState(),
  },
  {
    name: "nothing is exported, and no pixel stays",
    lines: (n) => [`s_mov_${n.b} ${n.exec}, 0`, "exp null off, off, off, off done vm", END],
    state: pixelState(),
  },
  {
    name: "nothing is exported, and every pixel stays",
    lines: () => ["exp null off, off, off, off done vm", END],
    state: pixelState(),
  },
  {
    name: "an early end where no pixel of the wave is left",
    lines: (n) => [
      TAKE_MASK,
      `s_mov_${n.b} ${n.mask(20)}, ${n.exec}`,
      ...interpolate(0),
      `v_cmp_lt_f32 ${n.vcc}, 0, v10`,
      `s_and_${n.b} ${n.mask(20)}, ${n.mask(20)}, ${n.vcc}`,
      "s_cbranch_scc0 none",
      ...interpolate(1),
      `s_and_${n.b} ${n.exec}, ${n.exec}, ${n.mask(20)}`,
      RAW,
      END,
      "none:",
      `s_mov_${n.b} ${n.exec}, 0`,
      "exp null off, off, off, off done vm",
      END,
    ],
    state: pixelState(),
  },
  {
    name: "two colours, and the mask of pixels comes with the last one",
    lines: (n) => [
      TAKE_MASK,
      ...interpolate(0),
      "exp mrt0 v10, v11, v12, v13",
      `v_cmp_lt_f32 ${n.vcc}, 0, v11`,
      `s_and_${n.b} ${n.exec}, ${n.exec}, ${n.vcc}`,
      "exp mrt1 v13, v12, v11, v10 done vm",
      END,
    ],
    state: pixelState({
      colors: colors({ format: "32_abgr", number: "float" }, { format: "32_abgr", number: "float" }),
    }),
  },
];

const FLOW: PixelProgram[] = [
  {
    name: "a colour that each side of a branch makes",
    lines: (n) => [
      TAKE_MASK,
      ...interpolate(0),
      `v_cmp_lt_f32 ${n.vcc}, 0, v10`,
      `s_and_saveexec_${n.b} ${n.mask(20)}, ${n.vcc}`,
      "s_cbranch_execz other",
      "v_add_f32 v11, v10, v10",
      "v_mul_f32 v12, v11, v13",
      "other:",
      `s_xor_${n.b} ${n.exec}, ${n.exec}, ${n.mask(20)}`,
      "s_cbranch_execz join",
      "v_sub_f32 v11, v12, v10",
      "v_mov_b32 v13, 1.0",
      "join:",
      `s_mov_${n.b} ${n.exec}, ${n.mask(20)}`,
      RAW,
      END,
    ],
    state: pixelState(),
  },
  {
    name: "a loop of as many rounds as each pixel wants",
    lines: (n) => [
      TAKE_MASK,
      ...interpolate(0),
      "v_and_b32 v14, 7, v10",
      "v_mov_b32 v15, 0",
      `s_mov_${n.b} ${n.mask(20)}, ${n.exec}`,
      "round:",
      `v_cmp_lt_u32 ${n.vcc}, v15, v14`,
      `s_and_${n.b} ${n.exec}, ${n.exec}, ${n.vcc}`,
      "s_cbranch_execz out",
      "v_add_nc_u32 v15, 1, v15",
      "v_add_f32 v11, v11, v12",
      "s_branch round",
      "out:",
      `s_mov_${n.b} ${n.exec}, ${n.mask(20)}`,
      RAW,
      END,
    ],
    state: pixelState(),
  },
];

/** Saves EXEC, makes whole quads of it. */
const WHOLE_QUADS: Lines = (n) => [`s_mov_${n.b} ${n.mask(20)}, ${n.exec}`, `s_wqm_${n.b} ${n.exec}, ${n.exec}`];
const EXACT: Lines = (n) => [`s_mov_${n.b} ${n.exec}, ${n.mask(20)}`];
/** Two derivatives of v10, and v11 of the quad's other lanes. */
const DERIVATIVES = [
  "v_mov_b32_dpp v14, v10 quad_perm:[0,0,2,2] row_mask:0xf bank_mask:0xf",
  "v_sub_f32_dpp v14, v10, v14 quad_perm:[1,1,3,3] row_mask:0xf bank_mask:0xf",
  "v_mov_b32_dpp v15, v10 quad_perm:[0,1,0,1] row_mask:0xf bank_mask:0xf",
  "v_sub_f32_dpp v15, v10, v15 quad_perm:[2,3,2,3] row_mask:0xf bank_mask:0xf",
  "v_mov_b32_dpp v16, v11 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf",
  "v_mov_b32_dpp v17, v11 quad_perm:[3,0,0,1] row_mask:0xf bank_mask:0xf",
];

const QUADS: PixelProgram[] = [
  {
    name: "derivatives in whole quads, exported by the pixels",
    lines: (n) => [
      ...WHOLE_QUADS(n),
      TAKE_MASK,
      ...interpolate(0),
      ...DERIVATIVES,
      ...EXACT(n),
      "exp mrt0 v14, v15, v16, v17 done vm",
      END,
    ],
    state: pixelState(),
  },
  {
    name: "ds_swizzle within quads",
    lines: (n) => [
      ...WHOLE_QUADS(n),
      TAKE_MASK,
      ...interpolate(0),
      "ds_swizzle_b32 v14, v10 offset:swizzle(QUAD_PERM,1,0,3,2)",
      "ds_swizzle_b32 v15, v10 offset:swizzle(QUAD_PERM,2,3,0,1)",
      "ds_swizzle_b32 v16, v11 offset:swizzle(QUAD_PERM,0,0,0,0)",
      "ds_swizzle_b32 v17, v11 offset:swizzle(QUAD_PERM,1,2,3,0)",
      "s_waitcnt lgkmcnt(0)",
      ...EXACT(n),
      "exp mrt0 v14, v15, v16, v17 done vm",
      END,
    ],
    state: pixelState(),
  },
  {
    name: "derivatives without helpers: lanes outside EXEC give zeros",
    lines: () => [
      TAKE_MASK,
      ...interpolate(0),
      "v_mov_b32_dpp v14, v10 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:0",
      "v_mov_b32_dpp v15, v11 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:0",
      "exp mrt0 v14, v15, v10, v11 done vm",
      END,
    ],
    state: pixelState(),
  },
  {
    name: "quads of what a discard has left",
    lines: (n) => [
      ...WHOLE_QUADS(n),
      TAKE_MASK,
      ...interpolate(0),
      `v_cmp_lt_f32 ${n.vcc}, 0, v10`,
      `s_and_${n.b} ${n.mask(20)}, ${n.mask(20)}, ${n.vcc}`,
      `s_wqm_${n.b} ${n.exec}, ${n.mask(20)}`,
      "v_mul_f32 v10, v11, v12",
      ...DERIVATIVES,
      ...EXACT(n),
      "exp mrt0 v14, v15, v16, v17 done vm",
      END,
    ],
    state: pixelState(),
  },
];

/** A memory of words that differ. */
function memory(words = 64): NonNullable<StageCase["memory"]> {
  const bytes = Uint8Array.from({ length: 4 * words }, (_, k) => 7 * k & 0xff);
  return [{ address: MEMORY, bytes }];
}
const WITH_MEMORY: Partial<StageCase> = {
  memory: memory(),
  userData: [Number(MEMORY & 0xffff_ffffn), Number(MEMORY >> 32n)],
};

const INPUTS: PixelProgram[] = [
  {
    name: "the position",
    lines: () => ["exp mrt0 v0, v1, v2, v3 done vm", END],
    state: pixelState({ inputAddr: 0xf00 }),
  },
  {
    name: "the position's corner",
    lines: () => ["exp mrt0 v0, v1, v0, v1 done vm", END],
    state: pixelState({ inputAddr: 0x300, positionCorner: true }),
  },
  {
    name: "the position of the pixel's centre and of the sample, in programs of samples",
    lines: () => ["exp mrt0 v0, v1, v0, v1 done vm", END],
    state: pixelState({ inputAddr: 0x300, perSample: true }),
  },
  {
    name: "the sample's position",
    lines: () => ["exp mrt0 v0, v1, v0, v1 done vm", END],
    state: pixelState({ inputAddr: 0x300, perSample: true, positionLocation: 2 }),
  },
  {
    name: "front face, coverage, and the position as integers",
    lines: () => ["exp mrt0 v0, v1, v2, v0 done vm", END],
    state: pixelState({ inputAddr: 0xd000, colors: colors({ format: "32_abgr", number: "uint" }) }),
  },
  {
    name: "the sample's number and the layer",
    lines: () => [
      "v_bfe_u32 v1, v0, 8, 4",
      "v_bfe_u32 v2, v0, 16, 11",
      "v_lshrrev_b32 v3, 8, v0",
      "v_and_b32 v3, 15, v3",
      "exp mrt0 v1, v2, v3, v1 done vm",
      END,
    ],
    state: pixelState({
      inputAddr: 0x2000,
      perSample: true,
      colors: colors({ format: "32_abgr", number: "uint" }),
    }),
  },
  {
    name: "registers of inputs that are not loaded count all the same",
    lines: () => ["exp mrt0 v7, v8, v9, v10 done vm", END],
    state: pixelState({ inputAddr: 0xf8a, inputEna: 0xf00 }),
  },
  {
    name: "user data, loads and stores of the pixels",
    lines: () => [
      "v_cvt_u32_f32 v2, v0",
      "v_and_b32 v2, 15, v2",
      "v_lshlrev_b32 v2, 2, v2",
      "global_load_dword v3, v2, s[0:1]",
      "v_mov_b32 v4, 5",
      "global_atomic_add v2, v4, s[0:1] offset:128",
      "s_waitcnt vmcnt(0)",
      "exp mrt0 v3, v3, v2, v3 done vm",
      END,
    ],
    state: pixelState({ inputAddr: 0x300, colors: colors({ format: "32_abgr", number: "uint" }) }),
    more: WITH_MEMORY,
  },
  {
    name: "one atomic for all pixels of the wave",
    lines: (n) => [
      `s_bcnt1_i32_${n.b} s8, ${n.exec}`,
      `s_ff1_i32_${n.b} s9, ${n.exec}`,
      n.b === "b32" ? "s_lshl_b32 s10, 1, s9" : "s_lshl_b64 s[10:11], 1, s9",
      `s_and_saveexec_${n.b} ${n.mask(20)}, ${n.mask(10)}`,
      "s_cbranch_execz done",
      "v_mov_b32 v2, 0",
      "v_mov_b32 v3, s8",
      "global_atomic_add v2, v3, s[0:1]",
      "done:",
      `s_mov_${n.b} ${n.exec}, ${n.mask(20)}`,
      "exp mrt0 v0, v1, v0, v1 done vm",
      END,
    ],
    state: pixelState({ inputAddr: 0x300 }),
    more: WITH_MEMORY,
  },
];

/** All of them. */
export const PIXEL_PROGRAMS: readonly PixelProgram[] = [
  ...SAMPLES,
  ...INTERPOLATION,
  ...FORMATS,
  ...DEPTHS,
  ...TARGETS,
  ...DISCARDS,
  ...FLOW,
  ...QUADS,
  ...INPUTS,
  ...OPTIMIZED,
  ...TRUNCATED,
];
