/** Programs of graphics stages that are refused, each by name. */
import type { RecompilerDevice } from "../../../src/recompiler/request.ts";
import type { StageProgram } from "../../../src/recompiler/stages/registers.ts";
import type { Interpolant, PixelState, VertexState } from "../../../src/recompiler/stages/state.ts";
import { colors, flat, interpolate, type Lines, pixelState, smooth, TAKE_MASK, vertexState } from "./programs.ts";
import { ALLOCATE, firstLanes, PRIMITIVES, VERTICES } from "./vertex_cases.ts";

/** A program, and what the refusal says. */
export interface RefusedProgram {
  readonly name: string;
  readonly lines: Lines;
  readonly state: PixelState | VertexState;
  readonly message: RegExp;
  readonly registers?: Partial<StageProgram>;
  /** What of the device is missing. */
  readonly without?: keyof NonNullable<RecompilerDevice["graphics"]>;
  /** Only for waves of that size. */
  readonly waveSize?: 32 | 64;
}

const RAW = "exp mrt0 v10, v11, v12, v13 done vm";
const END = "s_endpgm";
const POSITION = "exp pos0 v0, v0, v0, v0 done";

/** A pixel program of a few lines, which end with an export. */
const pixel = (
  name: string,
  message: RegExp,
  lines: readonly string[],
  state: Partial<PixelState> = {},
  more: Partial<RefusedProgram> = {},
): RefusedProgram => ({ name, message, lines: () => [...lines, RAW, END], state: pixelState(state), ...more });
const attribute = (name: string, message: RegExp, interpolant: Interpolant): RefusedProgram =>
  pixel(name, message, [TAKE_MASK, ...interpolate(0)], { interpolants: [interpolant] });
const vertex = (
  name: string,
  message: RegExp,
  lines: Lines,
  state: Partial<VertexState> = {},
  more: Partial<RefusedProgram> = {},
): RefusedProgram => ({ name, message, lines, state: vertexState(state), ...more });
const ngg = (name: string, message: RegExp, lines: Lines, state: Partial<VertexState> = {}): RefusedProgram =>
  vertex(name, message, lines, { form: "ngg", ...state }, { registers: { userSgprCount: 4 } });
const whole = { depth: { ...pixelState().depth, alphaToMask: true }, depthFormat: "32_r" } as const;

const INTERPOLATION: RefusedProgram[] = [
  pixel("the primitive mask as a number", /the program reads the primitive mask as a number/, [
    TAKE_MASK,
    ...interpolate(0),
    "v_mov_b32 v10, s4",
  ]),
  pixel("M0 is another number", /M0 is not the primitive mask/, ["s_mov_b32 m0, 5", ...interpolate(0)]),
  pixel("a second step without a first", /no first step of the same attribute/, [
    TAKE_MASK,
    "v_interp_p2_f32 v10, v1, attr0.x",
  ]),
  pixel("a second step of another attribute", /no first step of the same attribute/, [
    TAKE_MASK,
    "v_interp_p1_f32 v10, v0, attr1.x",
    "v_interp_p2_f32 v10, v1, attr0.x",
  ]),
  pixel("a first step alone", /the first step of an interpolation is used by itself/, [
    TAKE_MASK,
    "v_interp_p1_f32 v10, v0, attr0.x",
  ]),
  pixel(
    "barycentrics that are computed",
    /barycentrics at the centre as numbers, which this device does not tell/,
    [
      TAKE_MASK,
      "v_add_f32 v0, v0, v0",
      ...interpolate(0),
    ],
    {},
    { without: "barycentrics" },
  ),
  pixel("an attribute at the pixel's barycentrics and at computed ones", /interpolated in two ways/, [
    TAKE_MASK,
    ...interpolate(0, 0, "x"),
    "v_add_f32 v0, v0, v0",
    ...interpolate(0, 0, "yzw", 11),
  ]),
  pixel(
    "I of one kind and J of another",
    /I and J are not the pixel's own barycentrics of one kind/,
    [
      TAKE_MASK,
      "v_interp_p1_f32 v10, v0, attr0.x",
      "v_interp_p2_f32 v10, v3, attr0.x",
    ],
    { inputAddr: 6 },
    { without: "barycentrics" },
  ),
  pixel("a vertex's own value", /a vertex's own value \(P0, P10, P20\) of an attribute that is not flat/, [
    TAKE_MASK,
    "v_interp_mov_f32 v10, p0, attr0.x",
  ]),
  pixel("a difference of a flat attribute", /P10 and P20 of a flat attribute/, [
    TAKE_MASK,
    "v_interp_mov_f32 v10, p10, attr0.x",
  ], { interpolants: [flat(0)] }),
  pixel("16-bit attributes", /16-bit attributes are two numbers in one register/, [
    TAKE_MASK,
    "v_interp_p1ll_f16 v10, v0, attr0.x",
  ]),
  pixel("an attribute that there is not", /attribute 7; SPI_PS_IN_CONTROL.NUM_INTERP is 4/, [
    TAKE_MASK,
    ...interpolate(7),
  ]),
  pixel("one parameter, perspective and linear", /parameter 2 is interpolated in two ways/, [
    TAKE_MASK,
    ...interpolate(2, 0, "x"),
    ...interpolate(2, 2, "y", 11),
  ], { inputAddr: 0x22 }),
  attribute("a point's coordinates", /PT_SPRITE_TEX/, { ...smooth(0), pointSprite: true }),
  attribute("cylindrical wrapping", /CYL_WRAP/, { ...smooth(0), cylinderWrap: 1 }),
  attribute("packed halves", /FP16_INTERP_MODE/, { ...smooth(0), packedHalves: true }),
  attribute("values that are passed through", /the vertices' own values/, { ...flat(0), custom: true }),
  pixel("attributes at the sample", /attributes at the sample, which this device cannot do/, [
    TAKE_MASK,
    ...interpolate(0),
  ], {
    inputAddr: 1,
  }, { without: "sampleRate" }),
];

/** A pixel program that exports v0. */
const reads = (
  name: string,
  message: RegExp,
  state: Partial<PixelState>,
  lines: readonly string[] = [],
  more: Partial<RefusedProgram> = {},
): RefusedProgram => ({
  name,
  message,
  lines: () => [...lines, "exp mrt0 v0, v0, v0, v0 done vm", END],
  state: pixelState(state),
  ...more,
});

const INPUTS: RefusedProgram[] = [
  reads("the line stipple", /the program reads the line stipple coordinate/, { inputAddr: 0x80 }),
  reads("the pull model", /the program reads the pull model/, { inputAddr: 8 }),
  reads("a register that is not loaded", /v0, which the hardware does not load for this stage/, {
    inputAddr: 0x300,
    inputEna: 0x200,
  }),
  reads("barycentrics as numbers", /barycentrics at the centre as numbers, which this device does not tell/, {}, [], {
    without: "barycentrics",
  }),
  reads("a front face of another form", /the front face without FRONT_FACE_ALL_BITS/, {
    inputAddr: 0x1000,
    frontFaceAllBits: false,
  }),
  reads("coverage of samples", /the coverage of all samples in a program that runs once a sample/, {
    inputAddr: 0x4000,
    perSample: true,
  }),
  reads("the position at the centroid", /the position at the centroid/, { inputAddr: 0x100, positionLocation: 1 }),
  reads("the sample's position of whole pixels", /the sample's position in a program of whole pixels/, {
    inputAddr: 0x100,
    positionLocation: 2,
  }),
  reads(
    "other ancillary bits",
    /other ancillary bits than the sample's and the layer's number/,
    { inputAddr: 0x2000 },
    [
      "v_bfe_u32 v0, v0, 0, 8",
    ],
  ),
  reads(
    "the sample's number",
    /the sample's number, which this device does not tell/,
    {
      inputAddr: 0x2000,
      perSample: true,
    },
    ["v_bfe_u32 v0, v0, 8, 4"],
    { without: "sampleRate" },
  ),
  reads("the layer", /the layer's number, which this device does not tell/, { inputAddr: 0x2000 }, [
    "v_bfe_u32 v0, v0, 16, 11",
  ], { without: "layers" }),
  reads("scratch memory", /scratch memory in a graphics stage/, { inputAddr: 0x100 }, [
    "v_mov_b32 v0, s5",
  ], { registers: { scratch: true } }),
];

const EXPORTS: RefusedProgram[] = [
  pixel("two exports to one target", /a lane may come to two exports to one target/, ["exp mrt0 v10, v11, v12, v13"]),
  pixel("a compressed export to 32-bit words", /compressed, to a target whose format is 32_ABGR/, [
    "exp mrt0 v0, v0, v1, v1 compr",
  ]),
  pixel("whole words to a format of halves", /not compressed, to a target whose format is FP16_ABGR/, [], {
    colors: colors({ format: "fp16_abgr", number: "float" }),
  }),
  {
    name: "no export that is done",
    message: /may end without an export that is done/,
    lines: () => ["exp mrt0 v0, v0, v0, v0 vm", END],
    state: pixelState(),
  },
  pixel("a position from a pixel program", /export target 12 in a pixel program/, ["exp pos0 v0, v0, v0, v0"]),
  vertex(
    "a colour from a vertex program",
    /export target 0 in a vertex program/,
    () => ["exp mrt0 v0, v0, v0, v0", POSITION, END],
  ),
  vertex("a primitive from the older stage", /a primitive export outside of NGG programs/, () => [
    "exp prim v0, off, off, off done",
    POSITION,
    END,
  ]),
  pixel("coverage from the alpha of MRTZ", /COVERAGE_TO_MASK_ENABLE/, ["exp mrtz v0, off, off, off"], whole),
  pixel("a stencil value", /a stencil value, which this device does not take from a shader/, [
    "exp mrtz v0, v1, off, off",
  ], {
    depthFormat: "32_gr",
    depth: { ...pixelState().depth, exportsStencil: true },
  }, { without: "stencilExport" }),
  pixel("a depth in halves", /a depth export with the format FP16_ABGR/, ["exp mrtz v0, v0, v1, v1 compr"], {
    depthFormat: "fp16_abgr",
    depth: { ...pixelState().depth, exportsDepth: true },
  }),
  vertex("edge flags", /USE_VTX_EDGE_FLAG/, () => ["exp pos1 v0, v0, v0, v0", POSITION, END], {
    outControl: 1 << 17 | 1 << 21,
  }),
  vertex("vertices that remove primitives", /USE_VTX_KILL_FLAG/, () => ["exp pos1 v0, v0, v0, v0", POSITION, END], {
    outControl: 1 << 20 | 1 << 21,
  }),
  vertex("a layer", /a layer or viewport from a vertex program/, () => ["exp pos1 v0, v0, v0, v0", POSITION, END], {
    outControl: 1 << 18 | 1 << 21,
  }, { without: "layers" }),
  vertex(
    "distances",
    /clip or cull distances, which this device does not have/,
    () => ["exp pos1 v0, v0, v0, v0", POSITION, END],
    {
      outControl: 1 | 1 << 22,
    },
    { without: "distances" },
  ),
];

const MEMORY: RefusedProgram[] = [
  {
    name: "a store by helpers",
    message: /lanes may write that are no pixels of the primitive/,
    lines: (n) => [`s_wqm_${n.b} ${n.exec}, ${n.exec}`, "global_store_dword v0, v1, s[0:1]", RAW, END],
    state: pixelState(),
  },
  pixel("a store before or after the tests", /Z_ORDER is 1: whether pixels that fail their tests write/, [
    "global_store_dword v0, v1, s[0:1]",
  ], { depth: { ...pixelState().depth, order: 1 } }),
  vertex(
    "LDS",
    /LDS in a graphics stage/,
    () => [
      "ds_write_b32 v0, v3",
      "s_waitcnt lgkmcnt(0)",
      "ds_read_b32 v4, v0",
      "s_waitcnt lgkmcnt(0)",
      "exp pos0 v4, v0, v0, v0 done",
      END,
    ],
    {},
    { registers: { ldsBytes: 512 } },
  ),
];

const LANES: RefusedProgram[] = [
  pixel("a lane of another quad", /lanes of other quads are looked at/, [
    "v_mov_b32_dpp v10, v11 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
  ]),
  pixel("a lane of a fixed number", /a lane of a fixed number is looked at/, [
    "v_readlane_b32 s8, v0, 5",
    "v_mov_b32 v10, s8",
  ], { inputAddr: 0x100 }),
  pixel(
    "quads on a device without",
    /quad operations, which this stage of the device does not have/,
    [
      "v_mov_b32_dpp v10, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
    ],
    { inputAddr: 0x100 },
    { without: "quads" },
  ),
  {
    name: "a ballot on a device without",
    message: /the wave is observed; this device has no subgroup operations in the stage/,
    lines: (n) => [`s_bcnt1_i32_${n.b} s8, ${n.exec}`, "v_mov_b32 v10, s8", RAW, END],
    state: pixelState(),
    without: "subgroups",
  },
];

const MERGED: RefusedProgram[] = [
  ngg(
    "primitives that are the program's own",
    /PRIMGEN_PASSTHRU_EN is off/,
    (n) => [...ALLOCATE, ...PRIMITIVES(n), ...VERTICES(n), END],
    { passthrough: false },
  ),
  ngg("no space is asked for", /asks for no space for vertices/, (n) => [...PRIMITIVES(n), ...VERTICES(n), END]),
  ngg("no primitive is exported", /the program exports no primitive/, (n) => [...ALLOCATE, ...VERTICES(n), END]),
  ngg("less space is asked for", /is not that of its group: it culls or makes vertices/, (n) => [
    ...ALLOCATE.map((line) => line === "s_or_b32 m0, s13, s12" ? "s_mov_b32 m0, s12" : line),
    ...PRIMITIVES(n),
    ...VERTICES(n),
    END,
  ]),
  ngg("another primitive", /the primitive that is exported is not the one that the lane got/, (n) => [
    ...ALLOCATE,
    ...firstLanes(n, 8),
    "v_add_nc_u32 v0, 1, v0",
    "exp prim v0, off, off, off done",
    ...VERTICES(n),
    END,
  ]),
  ngg("primitives of the vertices' lanes", /the lanes that export primitives are not those that have one/, (n) => [
    ...ALLOCATE,
    ...firstLanes(n, 0),
    "exp prim v0, off, off, off done",
    ...VERTICES(n),
    END,
  ]),
  ngg("the number of vertices as a number", /computes with the numbers of vertices and primitives of its wave/, (n) => [
    ...ALLOCATE,
    ...PRIMITIVES(n),
    ...firstLanes(n, 0),
    "s_and_b32 s15, s3, 0xff",
    "v_mov_b32 v10, s15",
    "exp pos0 v10, v10, v10, v10 done",
    END,
  ]),
  ngg("a store by primitives", /lanes with primitives do more than export them/, (n) => [
    ...ALLOCATE,
    ...PRIMITIVES(n),
    "v_mov_b32 v1, 0",
    "global_store_dword v1, v1, s[8:9]",
    ...VERTICES(n),
    END,
  ]),
  ngg("a store by the first wave", /the first wave of a group does more than ask for space/, (n) => [
    ...ALLOCATE.slice(0, -1),
    "v_mov_b32 v1, 0",
    "global_store_dword v1, v1, s[8:9]",
    "rest:",
    ...PRIMITIVES(n),
    ...VERTICES(n),
    END,
  ]),
  ngg("another message", /a message to the hardware outside of the wave/, (n) => [
    "s_sendmsg sendmsg(MSG_INTERRUPT)",
    ...ALLOCATE,
    ...PRIMITIVES(n),
    ...VERTICES(n),
    END,
  ]),
];

/** All of them. */
export const REFUSED_PROGRAMS: readonly RefusedProgram[] = [
  ...INTERPOLATION,
  ...INPUTS,
  ...EXPORTS,
  ...MEMORY,
  ...LANES,
  ...MERGED,
];
