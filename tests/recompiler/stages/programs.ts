/** State and machine code of the stage tests' programs, in parts. */
import type { StageProgram } from "../../../src/recompiler/stages/registers.ts";
import type { ColorExport, Interpolant, PixelState, VertexState } from "../../../src/recompiler/stages/state.ts";
import { assemble } from "./assembled.ts";
import type { StageCase } from "./stage_case.ts";

/** Names of registers and instructions that depend on the wave's size. */
export interface Names {
  exec: string;
  vcc: string;
  /** b32 or b64. */
  b: string;
  /** A mask in SGPRs from an even one on. */
  mask(sgpr: number): string;
}

/** Lines of a program for a wave size. */
export type Lines = (n: Names) => readonly string[];

const NAMES: Readonly<Record<32 | 64, Names>> = {
  32: { exec: "exec_lo", vcc: "vcc_lo", b: "b32", mask: (sgpr) => `s${sgpr}` },
  64: { exec: "exec", vcc: "vcc", b: "b64", mask: (sgpr) => `s[${sgpr}:${sgpr + 1}]` },
};

/** All lines of programs that tests have made, for the check of words.ts. */
export function linesOf(lines: Lines, waveSize: 32 | 64): readonly string[] {
  return lines(NAMES[waveSize]);
}

/** A pixel program and its state; run with waves of 32 and 64. */
export interface PixelProgram {
  readonly name: string;
  readonly lines: Lines;
  readonly state: PixelState;
  readonly more?: Partial<StageCase> & { registers?: Partial<StageProgram> };
}

const ZERO: ColorExport = { format: "zero", number: "float" };

/** A smooth attribute from parameter `param`. */
export function smooth(param: number): Interpolant {
  return { source: { param }, flat: false, custom: false, packedHalves: false, pointSprite: false, cylinderWrap: 0 };
}

/** A flat one. */
export function flat(param: number): Interpolant {
  return { ...smooth(param), flat: true };
}

/** Eight colour exports, the first ones given. */
export function colors(...first: readonly ColorExport[]): ColorExport[] {
  return Array.from({ length: 8 }, (_, k) => first[k] ?? ZERO);
}

/** The state of a pixel program: perspective barycentrics at the centre, four smooth attributes, one raw float target. */
export function pixelState(changes: Partial<PixelState> = {}): PixelState {
  return {
    stage: "pixel",
    inputAddr: 2,
    inputEna: changes.inputAddr ?? 2,
    positionLocation: 0,
    positionCorner: false,
    frontFaceAllBits: true,
    barycentricControl: 0,
    interpolants: [0, 1, 2, 3].map(smooth),
    waveCount: false,
    colors: colors({ format: "32_abgr", number: "float" }),
    targetMask: 0xffff_ffff,
    depthFormat: "zero",
    depth: {
      exportsDepth: false,
      exportsStencil: false,
      exportsMask: false,
      order: 0,
      beforeShader: false,
      conservative: 0,
      alphaToMask: false,
    },
    perSample: false,
    ...changes,
  };
}

/** The state of a vertex program: the older stage with instances, unless changed. */
export function vertexState(changes: Partial<VertexState> = {}): VertexState {
  return {
    stage: "vertex",
    form: "legacy",
    passthrough: changes.form === "ngg",
    vertexVgprs: 3,
    primitiveVgprs: 0,
    positions: 1,
    outControl: 0,
    params: 32,
    ...changes,
  };
}

/** A program's registers. */
export function programOf(
  state: PixelState | VertexState,
  waveSize: 32 | 64,
  changes: Partial<StageProgram> = {},
): StageProgram {
  return {
    state,
    waveSize,
    userSgprCount: 4,
    scratch: false,
    ldsBytes: 0,
    floatMode: 0xf0,
    ieee: false,
    dx10Clamp: true,
    ...changes,
  };
}

/** A case of lines. */
export function caseOf(
  name: string,
  lines: Lines,
  state: PixelState | VertexState,
  waveSize: 32 | 64,
  more: Partial<StageCase> & { registers?: Partial<StageProgram> } = {},
): StageCase {
  const { registers, ...rest } = more;
  return {
    name: `${name}, wave ${waveSize}`,
    code: assemble(waveSize, linesOf(lines, waveSize)),
    program: programOf(state, waveSize, registers),
    ...rest,
  };
}

/** Lines that put the primitive mask, behind four user SGPRs, into M0. */
export const TAKE_MASK = "s_mov_b32 m0, s4";

/** Lines that interpolate attribute components x, y, z, w to v10... with I and J in v`i` and v`i + 1`. */
export function interpolate(attribute: number, i = 0, components = "xyzw", to = 10): string[] {
  return [...components].flatMap((component, k) => [
    `v_interp_p1_f32 v${to + k}, v${i}, attr${attribute}.${component}`,
    `v_interp_p2_f32 v${to + k}, v${i + 1}, attr${attribute}.${component}`,
  ]);
}
