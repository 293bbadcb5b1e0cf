/**
 * The state of a pixel or vertex program that decides what it is recompiled to: its ABI. Plain data, part of `RecompileRequest` and so of every key;
 * `registers.ts` derives it from the registers that a draw or a shader record sets.
 *
 * Register and field names are those of AMD's register headers (Linux, gc_10_3_0_sh_mask.h).
 *
 * @module
 */

/** Stages that can be recompiled. */
export type Stage = "compute" | "pixel" | "vertex";

/** How the colour, depth and position exports are stored (SPI_SHADER_COL_FORMAT and SPI_SHADER_Z_FORMAT, four bits each), by number. */
export const EXPORT_FORMATS = [
  "zero",
  "32_r",
  "32_gr",
  "32_ar",
  "fp16_abgr",
  "unorm16_abgr",
  "snorm16_abgr",
  "uint16_abgr",
  "sint16_abgr",
  "32_abgr",
] as const;
/** Name of an export format. */
export type ExportFormat = typeof EXPORT_FORMATS[number];

/** What the numbers of a colour target are: decides the type of the module's output where an export format says nothing of it. */
export const TARGET_NUMBERS = ["float", "uint", "sint"] as const;
/** One of {@linkcode TARGET_NUMBERS}. */
export type TargetNumber = typeof TARGET_NUMBERS[number];

/** One colour export. */
export interface ColorExport {
  readonly format: ExportFormat;
  /** Of the target (CB_COLORn_INFO.NUMBER_TYPE); only the 32-bit formats look at it. */
  readonly number: TargetNumber;
}

/** Where attribute N of a pixel program comes from (SPI_PS_INPUT_CNTL_N). */
export interface Interpolant {
  /** Parameter export of the vertex program (OFFSET, 0 to 31), or one of the constants of DEFAULT_VAL: 0 0000, 1 0001, 2 1110, 3 1111. */
  readonly source: { readonly param: number } | { readonly constant: number };
  /** FLAT_SHADE: every pixel has the provoking vertex's value. */
  readonly flat: boolean;
  /** FP16_INTERP_MODE: the 32 bits are two f16 numbers. */
  readonly packedHalves: boolean;
  /** FLAT_SHADE and the high bit of OFFSET together: the vertices' own values are passed through, nothing is interpolated. */
  readonly custom: boolean;
  /** PT_SPRITE_TEX: a point's coordinates take its place. */
  readonly pointSprite: boolean;
  /** CYL_WRAP: a bit for each of x, y, z, w that wraps around. */
  readonly cylinderWrap: number;
}

/** What the state of a pixel program is. */
export interface PixelState {
  readonly stage: "pixel";
  /** SPI_PS_INPUT_ADDR: which inputs have VGPRs. Bits as in {@linkcode PS_INPUTS}. */
  readonly inputAddr: number;
  /** SPI_PS_INPUT_ENA: which of them are loaded. */
  readonly inputEna: number;
  /** SPI_BARYC_CNTL.POS_FLOAT_LOCATION: where in the pixel its position is: 0 centre, 1 centroid, 2 the sample. */
  readonly positionLocation: number;
  /** SPI_BARYC_CNTL.POS_FLOAT_ULC: the position is the pixel's corner. */
  readonly positionCorner: boolean;
  /** SPI_BARYC_CNTL.FRONT_FACE_ALL_BITS. */
  readonly frontFaceAllBits: boolean;
  /** The other bits of SPI_BARYC_CNTL, which move barycentrics; 0 in all known programs. */
  readonly barycentricControl: number;
  /** Attributes in order (SPI_PS_IN_CONTROL.NUM_INTERP of them). */
  readonly interpolants: readonly Interpolant[];
  /** SPI_SHADER_PGM_RSRC2_PS.WAVE_CNT_EN: an SGPR with the wave's number. */
  readonly waveCount: boolean;
  /** Colour exports, eight. */
  readonly colors: readonly ColorExport[];
  /** Components that reach the targets: four bits for each (CB_TARGET_MASK and CB_SHADER_MASK). */
  readonly targetMask: number;
  /** SPI_SHADER_Z_FORMAT. */
  readonly depthFormat: ExportFormat;
  /** DB_SHADER_CONTROL, what the depth block does with the MRTZ export and when it tests. */
  readonly depth: DepthControl;
  /** The program runs once a sample (PA_SC_MODE_CNTL_1.PS_ITER_SAMPLE). */
  readonly perSample: boolean;
}

/** DB_SHADER_CONTROL. */
export interface DepthControl {
  /** Z_EXPORT_ENABLE, STENCIL_TEST_VAL_EXPORT_ENABLE, MASK_EXPORT_ENABLE: what of MRTZ counts. */
  readonly exportsDepth: boolean;
  readonly exportsStencil: boolean;
  readonly exportsMask: boolean;
  /** Z_ORDER: 0 late, 1 early then late, 2 again, 3 early then again. */
  readonly order: number;
  /** DEPTH_BEFORE_SHADER: tests come first, whatever the program does. */
  readonly beforeShader: boolean;
  /** CONSERVATIVE_Z_EXPORT: 0 any depth, 1 less than the primitive's, 2 greater. */
  readonly conservative: number;
  /** COVERAGE_TO_MASK_ENABLE: the alpha of MRTZ becomes coverage. */
  readonly alphaToMask: boolean;
}

/** How vertices are made: a merged wave of vertices and primitives (NGG), or a wave of vertices alone (the older vertex stage). */
export const VERTEX_FORMS = ["ngg", "legacy"] as const;
/** One of {@linkcode VERTEX_FORMS}. */
export type VertexForm = typeof VERTEX_FORMS[number];

/** What the state of a vertex program is. */
export interface VertexState {
  readonly stage: "vertex";
  readonly form: VertexForm;
  /** VGT_SHADER_STAGES_EN.PRIMGEN_PASSTHRU_EN: VGPR 0 of a primitive is the word that it is exported with; NGG only. */
  readonly passthrough: boolean;
  /** How many VGPRs of a vertex are loaded, less one (RSRC2_GS.ES_VGPR_COMP_CNT, or RSRC1_VS.VGPR_COMP_CNT). */
  readonly vertexVgprs: number;
  /** The same of a primitive (RSRC1_GS.GS_VGPR_COMP_CNT); NGG only. */
  readonly primitiveVgprs: number;
  /** Position exports that there are (SPI_SHADER_POS_FORMAT, nibbles that are 4COMP), 1 to 4. */
  readonly positions: number;
  /** PA_CL_VS_OUT_CNTL: what position exports 1 to 3 are. Bits as in {@linkcode VsOut}. */
  readonly outControl: number;
  /** Parameter exports that reach the pixel program (SPI_VS_OUT_CONFIG). */
  readonly params: number;
}

/** State of one of the graphics stages. */
export type GraphicsState = PixelState | VertexState;

/** Inputs of a pixel program in the order of their VGPRs; the index is the bit in SPI_PS_INPUT_ENA and SPI_PS_INPUT_ADDR. */
export const PS_INPUTS: readonly { readonly name: string; readonly vgprs: number }[] = [
  { name: "perspective barycentrics at the sample", vgprs: 2 },
  { name: "perspective barycentrics at the centre", vgprs: 2 },
  { name: "perspective barycentrics at the centroid", vgprs: 2 },
  { name: "the pull model (I/W, J/W, 1/W)", vgprs: 3 },
  { name: "linear barycentrics at the sample", vgprs: 2 },
  { name: "linear barycentrics at the centre", vgprs: 2 },
  { name: "linear barycentrics at the centroid", vgprs: 2 },
  { name: "the line stipple coordinate", vgprs: 1 },
  { name: "the position's x", vgprs: 1 },
  { name: "the position's y", vgprs: 1 },
  { name: "the position's z", vgprs: 1 },
  { name: "the position's w", vgprs: 1 },
  { name: "the front face", vgprs: 1 },
  { name: "the ancillary bits", vgprs: 1 },
  { name: "the sample coverage", vgprs: 1 },
  { name: "the fixed-point position", vgprs: 1 },
];

/** Numbers of {@linkcode PS_INPUTS}. */
export const PsInput = {
  PerspSample: 0,
  PerspCenter: 1,
  PerspCentroid: 2,
  PullModel: 3,
  LinearSample: 4,
  LinearCenter: 5,
  LinearCentroid: 6,
  LineStipple: 7,
  PositionX: 8,
  PositionY: 9,
  PositionZ: 10,
  PositionW: 11,
  FrontFace: 12,
  Ancillary: 13,
  SampleCoverage: 14,
  FixedPosition: 15,
} as const;

/** Bits of PA_CL_VS_OUT_CNTL. Bits 7:0 enable clip distances, 15:8 cull distances. */
export const VsOut = {
  ClipMask: 0xff,
  CullShift: 8,
  PointSize: 1 << 16,
  EdgeFlag: 1 << 17,
  RenderTargetIndex: 1 << 18,
  ViewportIndex: 1 << 19,
  KillFlag: 1 << 20,
  MiscVector: 1 << 21,
  Distances0: 1 << 22,
  Distances1: 1 << 23,
} as const;

/** What a request's stage is. */
export function stageOf(request: { readonly graphics?: GraphicsState }): Stage {
  return request.graphics?.stage ?? "compute";
}

/** First VGPR of each enabled input of a pixel program, by the input's number; -1 for those without VGPRs. */
export function inputVgprs({ inputAddr }: PixelState): number[] {
  let next = 0;
  return PS_INPUTS.map(({ vgprs }, bit) => {
    if ((inputAddr >>> bit & 1) === 0) return -1;
    const first = next;
    next += vgprs;
    return first;
  });
}
