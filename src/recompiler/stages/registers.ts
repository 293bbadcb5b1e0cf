/**
 * Stage state from registers: what a draw's register state, or the register lists of shader records, say of a pixel or vertex program.
 *
 * Offsets are dwords within the SH and the context bank, fields those of AMD's register headers (gc_10_3_0_offset.h, gc_10_3_0_sh_mask.h).
 *
 * @module
 */
import { RefusedError } from "../../errors.ts";
import type { Target } from "../../rdna/target.ts";
import type { RecompilerDevice, RecompileRequest } from "../request.ts";
import {
  type ColorExport,
  EXPORT_FORMATS,
  type ExportFormat,
  type GraphicsState,
  type Interpolant,
  type PixelState,
  type TargetNumber,
  type VertexForm,
  type VertexState,
} from "./state.ts";

/** Registers by offset. `undefined` where nothing has set one. */
export interface StageRegisters {
  sh(offset: number): number | undefined;
  context(offset: number): number | undefined;
}

/** A register and its value, as shader records list them. */
export interface RegisterEntry {
  readonly offset: number;
  readonly value: number;
}

/** Registers that lists name; of several entries for one register the last counts. */
export function registersOf(lists: {
  readonly sh: readonly RegisterEntry[];
  readonly context: readonly RegisterEntry[];
}): StageRegisters {
  const tables = [lists.sh, lists.context].map((list) => new Map(list.map(({ offset, value }) => [offset, value])));
  return { sh: (offset) => tables[0].get(offset), context: (offset) => tables[1].get(offset) };
}

/** SH registers. */
const Sh = {
  Rsrc1Ps: 0x00a,
  Rsrc2Ps: 0x00b,
  Rsrc1Vs: 0x04a,
  Rsrc2Vs: 0x04b,
  Rsrc1Gs: 0x08a,
  Rsrc2Gs: 0x08b,
  Rsrc1Es: 0x0ca,
  Rsrc2Es: 0x0cb,
} as const;

/** Context registers. */
const Cx = {
  TargetMask: 0x08e,
  ShaderMask: 0x08f,
  PsInputCntl0: 0x191,
  VsOutConfig: 0x1b1,
  PsInputEna: 0x1b3,
  PsInputAddr: 0x1b4,
  PsInControl: 0x1b6,
  BarycCntl: 0x1b8,
  PosFormat: 0x1c3,
  ZFormat: 0x1c4,
  ColFormat: 0x1c5,
  DbShaderControl: 0x203,
  VsOutCntl: 0x207,
  ScModeCntl1: 0x293,
  StagesEn: 0x2d5,
  ColorInfo0: 0x31c,
  ColorStride: 0xf,
} as const;

/** A graphics program: its state, and the registers that every stage has. */
export interface StageProgram {
  readonly state: GraphicsState;
  readonly waveSize: 32 | 64;
  /** User SGPRs, at the stage's first one. */
  readonly userSgprCount: number;
  /** RSRC2 SCRATCH_EN. */
  readonly scratch: boolean;
  /** LDS bytes of a workgroup. */
  readonly ldsBytes: number;
  /** RSRC1 FLOAT_MODE, IEEE_MODE, DX10_CLAMP. */
  readonly floatMode: number;
  readonly ieee: boolean;
  readonly dx10Clamp: boolean;
}

/** Where an attribute comes from, by its SPI_PS_INPUT_CNTL word. */
export function decodeInterpolant(word: number): Interpolant {
  const high = (word >>> 5 & 1) === 1, flat = (word >>> 10 & 1) === 1;
  return {
    source: high && !flat ? { constant: word >>> 8 & 3 } : { param: word & 31 },
    flat,
    custom: high && flat,
    packedHalves: (word >>> 19 & 1) === 1,
    pointSprite: (word >>> 17 & 1) === 1,
    cylinderWrap: word >>> 13 & 15,
  };
}

/**
 * The pixel program that registers describe.
 *
 * What is not set has the value that CLEAR_STATE gives it (0, and all bits for the masks); SPI_PS_INPUT_ENA, SPI_PS_IN_CONTROL and RSRC1 and 2 must be set,
 * for without them nobody knows what is in the program's registers.
 *
 * @throws RefusedError `recompiler.stage-registers` that names what is missing
 */
export function pixelProgram(registers: StageRegisters): StageProgram {
  const cx = (offset: number, otherwise = 0) => registers.context(offset) ?? otherwise;
  const rsrc1 = need(registers.sh(Sh.Rsrc1Ps), "SPI_SHADER_PGM_RSRC1_PS");
  const rsrc2 = need(registers.sh(Sh.Rsrc2Ps), "SPI_SHADER_PGM_RSRC2_PS");
  const ena = need(registers.context(Cx.PsInputEna), "SPI_PS_INPUT_ENA");
  const control = need(registers.context(Cx.PsInControl), "SPI_PS_IN_CONTROL");
  const barycentric = cx(Cx.BarycCntl), shaderControl = cx(Cx.DbShaderControl);
  const state: PixelState = {
    stage: "pixel",
    inputAddr: cx(Cx.PsInputAddr, ena) & 0xffff,
    inputEna: ena & 0xffff,
    positionLocation: barycentric >>> 16 & 3,
    positionCorner: (barycentric >>> 20 & 1) === 1,
    frontFaceAllBits: (barycentric >>> 24 & 1) === 1,
    barycentricControl: barycentric & 0xffff,
    interpolants: Array.from(
      { length: control & 0x3f },
      (_, i) => decodeInterpolant(cx(Cx.PsInputCntl0 + i, i & 31)),
    ),
    waveCount: (rsrc2 >>> 7 & 1) === 1,
    colors: Array.from({ length: 8 }, (_, i) => colorExport(registers, i)),
    targetMask: (cx(Cx.TargetMask, -1) & cx(Cx.ShaderMask, -1)) >>> 0,
    depthFormat: exportFormat(cx(Cx.ZFormat), "SPI_SHADER_Z_FORMAT"),
    depth: {
      exportsDepth: (shaderControl & 1) !== 0,
      exportsStencil: (shaderControl >>> 1 & 1) !== 0,
      exportsMask: (shaderControl >>> 8 & 1) !== 0,
      order: shaderControl >>> 4 & 3,
      beforeShader: (shaderControl >>> 12 & 1) !== 0,
      conservative: shaderControl >>> 13 & 3,
      alphaToMask: (shaderControl >>> 7 & 1) !== 0,
    },
    perSample: (cx(Cx.ScModeCntl1) >>> 16 & 1) === 1,
  };
  return { state, waveSize: control >>> 15 & 1 ? 32 : 64, ldsBytes: 0, ...commonFields(rsrc1, rsrc2) };
}

/**
 * The vertex program that registers describe: an NGG program where VGT_SHADER_STAGES_EN says so, else one of the older vertex stage.
 *
 * @param stages VGT_SHADER_STAGES_EN, where the registers do not hold it (shader records list it with the specials); undefined: the registers'
 * @throws RefusedError `recompiler.stage` for geometry and tessellation, `recompiler.stage-registers` that names what is missing
 */
export function vertexProgram(registers: StageRegisters, stages = registers.context(Cx.StagesEn)): StageProgram {
  const form: VertexForm = stages !== undefined && (stages >>> 13 & 1) === 1 ? "ngg" : "legacy";
  if (stages !== undefined) refuseOtherStages(stages);
  const rsrc1 = form === "ngg"
    ? need(registers.sh(Sh.Rsrc1Gs), "SPI_SHADER_PGM_RSRC1_GS")
    : need(registers.sh(Sh.Rsrc1Vs) ?? registers.sh(Sh.Rsrc1Es), "SPI_SHADER_PGM_RSRC1_VS");
  const rsrc2 = form === "ngg"
    ? need(registers.sh(Sh.Rsrc2Gs), "SPI_SHADER_PGM_RSRC2_GS")
    : need(registers.sh(Sh.Rsrc2Vs) ?? registers.sh(Sh.Rsrc2Es), "SPI_SHADER_PGM_RSRC2_VS");
  const posFormat = registers.context(Cx.PosFormat) ?? 4, outConfig = registers.context(Cx.VsOutConfig);
  const state: VertexState = {
    stage: "vertex",
    form,
    passthrough: form === "ngg" && (stages! >>> 25 & 1) === 1,
    vertexVgprs: form === "ngg" ? rsrc2 >>> 16 & 3 : rsrc1 >>> 24 & 3,
    primitiveVgprs: form === "ngg" ? rsrc1 >>> 29 & 3 : 0,
    positions: Math.max(1, [0, 1, 2, 3].filter((i) => (posFormat >>> 4 * i & 15) !== 0).length),
    outControl: registers.context(Cx.VsOutCntl) ?? 0,
    params: outConfig === undefined ? 32 : outConfig >>> 7 & 1 ? 0 : (outConfig >>> 1 & 31) + 1,
  };
  const wave32 = stages === undefined ? false : (stages >>> (form === "ngg" ? 22 : 23) & 1) === 1;
  return {
    state,
    waveSize: wave32 ? 32 : 64,
    ldsBytes: form === "ngg" ? 512 * (rsrc2 >>> 19 & 0xff) : 0,
    ...commonFields(rsrc1, rsrc2),
  };
}

/** The recompiler's request for a graphics program. `code` are the words from the entry point on. */
export function stageRequest(
  program: StageProgram,
  code: Uint32Array,
  codeAddress: bigint,
  target: Target,
  device: RecompilerDevice,
): RecompileRequest {
  return { ...graphicsRequest(program, program.waveSize, code, codeAddress, target, device), graphics: program.state };
}

/** What the requests of all graphics programs have, of merged groups as well: nothing of a dispatch's numbers. */
export function graphicsRequest(
  { waveSize, userSgprCount, scratch, ldsBytes, floatMode, ieee, dx10Clamp }: Omit<StageProgram, "state">,
  threads: number,
  code: Uint32Array,
  codeAddress: bigint,
  target: Target,
  device: RecompilerDevice,
): RecompileRequest {
  return {
    code,
    codeAddress,
    target,
    waveSize,
    workgroupSize: [threads, 1, 1],
    userSgprCount,
    workgroupIds: [false, false, false],
    tgSize: false,
    scratch,
    threadIdCount: 0,
    ldsBytes,
    floatMode,
    ieee,
    dx10Clamp,
    partialThreads: false,
    device,
  };
}

/** Fields that RSRC1 and RSRC2 have in every graphics stage. */
export function commonFields(rsrc1: number, rsrc2: number) {
  return {
    userSgprCount: (rsrc2 >>> 1 & 31) | (rsrc2 >>> 27 & 1) << 5,
    scratch: (rsrc2 & 1) !== 0,
    floatMode: rsrc1 >>> 12 & 0xff,
    dx10Clamp: (rsrc1 >>> 21 & 1) !== 0,
    ieee: (rsrc1 >>> 23 & 1) !== 0,
  };
}

function colorExport(registers: StageRegisters, index: number): ColorExport {
  const format = exportFormat((registers.context(Cx.ColFormat) ?? 0) >>> 4 * index & 15, "SPI_SHADER_COL_FORMAT");
  const info = registers.context(Cx.ColorInfo0 + Cx.ColorStride * index);
  const numbers: Partial<Record<ExportFormat, TargetNumber>> = { "uint16_abgr": "uint", "sint16_abgr": "sint" };
  // CB_COLORn_INFO.NUMBER_TYPE: 4 UINT, 5 SINT.
  const type = info === undefined ? 0 : info >>> 8 & 7;
  return { format, number: numbers[format] ?? (type === 4 ? "uint" : type === 5 ? "sint" : "float") };
}

function exportFormat(number: number, register: string): ExportFormat {
  const format = EXPORT_FORMATS[number];
  if (format === undefined) throw refused(`${register} has the reserved export format ${number}`);
  return format;
}

/** VGT_SHADER_STAGES_EN: LS_EN 1:0, HS_EN 2, ES_EN 4:3 (1: the domain shader), GS_EN 5. */
function refuseOtherStages(stages: number): void {
  const value = `VGT_SHADER_STAGES_EN is 0x${stages.toString(16)}`;
  if ((stages >>> 5 & 1) !== 0) {
    throw new RefusedError("recompiler.stage", `${value}: a geometry shader is part of the program`);
  }
  if ((stages & 7) !== 0 || (stages >>> 3 & 3) === 1) {
    throw new RefusedError("recompiler.stage", `${value}: a tessellation stage is part of the program`);
  }
}

function need(value: number | undefined, name: string): number {
  if (value !== undefined) return value;
  throw refused(`${name} is not set: nothing says what is in the program's registers`);
}

function refused(why: string): RefusedError {
  return new RefusedError("recompiler.stage-registers", why);
}
