/**
 * The two halves of a merged program. A merged stage runs two shaders, which are records of their own: the front half (the vertex or domain shader) goes on with
 * the back half (the geometry or hull shader) by a jump to an address that is in a user SGPR, or there is nothing for the back half to do.
 *
 * @module
 */
import { AnyAgcError, type ErrorPlace, hex, InvalidInputError, RefusedError, withPlace } from "../errors.ts";
import type { AgcSpecials } from "../guest/loaders/agc_record.ts";
import type { ShaderSource } from "../guest/shader_source.ts";
import { opcodeId } from "../rdna/table.ts";
import { decode } from "../rdna/decode.ts";
import type { RecompilerDevice, RecompileRequest } from "../recompiler/request.ts";
import { type GroupProgram, groupProgram, groupRequest, type GroupStage } from "../recompiler/stages/group_program.ts";
import { registersOf, type StageProgram, stageRequest, vertexProgram } from "../recompiler/stages/registers.ts";
import { registerLists } from "./stage_program.ts";

/** A program made of two halves: load all of `code` at one address, a multiple of 256. */
export interface FusedShader {
  readonly name: string;
  readonly front: ShaderSource;
  readonly back: ShaderSource;
  /** Both halves; of a front half that is all of the program, that alone. */
  readonly code: Uint32Array;
  /** Byte offset of the back half; absent where the front half is all of the program. */
  readonly backOffset?: number;
  /** What it is recompiled as: a vertex program where each vertex is one of the lane's own, else a merged group. */
  readonly program: { readonly kind: "vertex"; readonly stage: StageProgram } | {
    readonly kind: "group";
    readonly group: GroupProgram;
  };
}

/** Code is loaded at multiples of this (SPI_SHADER_PGM_LO counts 256 bytes). */
const ALIGNMENT = 256;
/** What OpenAGC's code takes for the high half of all code addresses. */
const CODE_HIGH = 2n;
const S_CODE_END = 0xbf9f_0000;
const endpgm = opcodeId("s_endpgm"), setpc = opcodeId("s_setpc_b64");

/**
 * Puts the halves of a program together.
 *
 * @throws InvalidInputError `driver.shader-halves` for shaders that are no halves of one program, RefusedError `recompiler.stage-registers`
 */
export function fuseShaderHalves(front: ShaderSource, back: ShaderSource): FusedShader {
  const stage = stageOf(front, back);
  const stages = [front, back].map(stagesOf);
  if (stages[0] !== stages[1]) {
    throw notHalves(front, back, `their VGT_SHADER_STAGES_EN are ${stages.map((word) => `0x${word.toString(16)}`)}`);
  }
  for (const [field, register] of PROGRAM_REGISTERS) {
    const [first, second] = [front, back].map((half) => specialsOf(half)[field]?.value);
    if (first !== second) throw notHalves(front, back, `their ${register} are ${textOf(first)} and ${textOf(second)}`);
  }
  if (front.target !== back.target) throw notHalves(front, back, `they are for ${front.target} and ${back.target}`);
  const name = `${front.name} + ${back.name}`;
  try {
    const goesOn = inFile(front, () => endsWithJump(front));
    if (!goesOn) {
      if (!inFile(back, () => isEmpty(back))) {
        throw notHalves(front, back, "the front half does not go on with the back half, which is not empty");
      }
      return { name, front, back, code: front.code, program: programOf(stage, front, back, stages[0]) };
    }
    const backOffset = Math.ceil(4 * front.code.length / ALIGNMENT) * ALIGNMENT;
    const code = new Uint32Array(backOffset / 4 + back.code.length).fill(S_CODE_END);
    code.set(front.code);
    code.set(back.code, backOffset / 4);
    const pointer = [...front.userSgprs, ...back.userSgprs].find((each) => each.name === "next_stage_pc");
    if (pointer === undefined) throw notHalves(front, back, "no user SGPR has the back half's address");
    const next = { sgpr: pointer.sgpr, offset: backOffset };
    return { name, front, back, code, backOffset, program: programOf(stage, front, back, stages[0], next) };
  } catch (error) {
    throw error instanceof AnyAgcError ? withPlace(error, { file: front.file }) : error;
  }
}

/**
 * The recompiler's request for a fused program.
 *
 * @param codeAddress where its code is: its high half must be 2, which the halves take for that of all code
 * @throws InvalidInputError `driver.code-address`
 */
export function fusedRequest(
  { name, program, code, front }: FusedShader,
  codeAddress: bigint,
  device: RecompilerDevice,
): RecompileRequest {
  const last = codeAddress + BigInt(code.byteLength) - 1n;
  if (codeAddress % BigInt(ALIGNMENT) !== 0n || codeAddress >> 32n !== CODE_HIGH || last >> 32n !== CODE_HIGH) {
    throw new InvalidInputError(
      "driver.code-address",
      `${name} cannot be at ${
        hex(codeAddress)
      }: all of its code must be at addresses whose high half is ${CODE_HIGH}, from a multiple of ${ALIGNMENT} on`,
      { file: front.file, guestAddress: codeAddress },
    );
  }
  return program.kind === "vertex"
    ? stageRequest(program.stage, code, codeAddress, front.target, device)
    : groupRequest(program.group, code, codeAddress, front.target, device);
}

/** The half that a program counter is in, and the byte offset in that half's code. */
export function halfOf(fused: FusedShader, pc: number): { shader: ShaderSource; pc: number } {
  const { front, back, backOffset } = fused;
  return backOffset === undefined || pc < backOffset ? { shader: front, pc } : { shader: back, pc: pc - backOffset };
}

/** An error of a fused program, with the half that it is in: its name, its file and the place in its code. */
export function withHalf(error: AnyAgcError, fused: FusedShader): AnyAgcError {
  const at = error.place.pc;
  if (at === undefined) return withPlace(error, { file: fused.front.file }, `${fused.name}: `);
  const { shader, pc } = halfOf(fused, at);
  return withPlace(error, placeIn(shader, pc), `the ${shader.stage} shader ${shader.name} at its byte ${hex(pc)}: `);
}

/** A place in a half's file. */
function placeIn({ file, codeFileOffset }: ShaderSource, pc = 0): ErrorPlace {
  return codeFileOffset === undefined ? { file } : { file, fileOffset: codeFileOffset + pc };
}

/** Looks at a half's code; errors say where it lies in its file. */
function inFile<Result>(half: ShaderSource, look: () => Result): Result {
  try {
    return look();
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    throw withPlace(error, placeIn(half, error.place.pc), `the ${half.stage} shader ${half.name}: `);
  }
}

function stageOf(front: ShaderSource, back: ShaderSource): GroupStage {
  for (const stage of ["geometry", "hull"] as const) {
    if (front.stage === `${stage}-front` && back.stage === `${stage}-back`) return stage;
  }
  throw notHalves(front, back, `their stages are ${front.stage} and ${back.stage}`);
}

/** Registers of the whole program, which both halves' records have: the sizes of its groups, what comes out of it. */
const PROGRAM_REGISTERS = [
  ["geControl", "GE_CNTL"],
  ["gsOutPrimitiveType", "VGT_GS_OUT_PRIM_TYPE"],
  ["geUserVgprEnable", "GE_USER_VGPR_EN"],
] as const;

function textOf(value: number | undefined): string {
  return value === undefined ? "not set" : hex(value);
}

function stagesOf(shader: ShaderSource): number {
  return specialsOf(shader).shaderStagesEnable.value;
}

function specialsOf(shader: ShaderSource): AgcSpecials {
  const { abi } = shader, specials = abi.kind === "agc" ? abi.record.specials : undefined;
  if (specials !== undefined) return specials;
  throw new RefusedError(
    "recompiler.stage-registers",
    `${shader.name}: the record has no specials, and so no VGT_SHADER_STAGES_EN`,
    { file: shader.file },
  );
}

function programOf(
  stage: GroupStage,
  front: ShaderSource,
  back: ShaderSource,
  stages: number,
  next?: { sgpr: number; offset: number },
): FusedShader["program"] {
  // What only one of the halves says counts; of what both say, what the back half does.
  const lists = [front, back].map(registerLists);
  if (stage === "geometry" && next === undefined && isVertexOnly(stages)) {
    const all = {
      sh: [...lists[0].sh, ...lists[1].sh],
      context: [...lists[0].context, ...lists[1].context],
    };
    return { kind: "vertex", stage: vertexProgram(registersOf(all), stages) };
  }
  return { kind: "group", group: groupProgram(stage, lists.map(registersOf), stages, next) };
}

/** VGT_SHADER_STAGES_EN: PRIMGEN_PASSTHRU_EN (25), and none of LS, HS, GS or a domain shader. */
function isVertexOnly(stages: number): boolean {
  return (stages >>> 25 & 1) === 1 && (stages & 0x27) === 0 && (stages >>> 3 & 3) !== 1;
}

/** Whether a half is one s_endpgm. */
function isEmpty({ code, target }: ShaderSource): boolean {
  return decode(code, 0, target).op === endpgm;
}

/** Whether the code of a half, up to its first end, ends with a jump to an address in registers. */
function endsWithJump({ code, target, execBytes }: ShaderSource): boolean {
  for (let word = 0; 4 * word < execBytes;) {
    const instruction = decode(code, 4 * word, target);
    if (instruction.op === setpc) return true;
    if (instruction.op === endpgm) return false;
    word += instruction.size;
  }
  return false;
}

function notHalves(front: ShaderSource, back: ShaderSource, why: string): InvalidInputError {
  return new InvalidInputError(
    "driver.shader-halves",
    `${front.name} and ${back.name} are no halves of one program: ${why}`,
    {
      file: back.file,
    },
  );
}
