/**
 * The graphics program that a shader file describes by itself: by its AGC record, or by the registers that its description lists. Halves of merged programs:
 * shader_halves.ts.
 *
 * @module
 */
import { AnyAgcError, RefusedError, withPlace } from "../errors.ts";
import type { ShaderSource } from "../guest/shader_source.ts";
import { type GroupProgram, groupProgram } from "../recompiler/stages/group_program.ts";
import {
  pixelProgram,
  type RegisterEntry,
  registersOf,
  type StageProgram,
  vertexProgram,
} from "../recompiler/stages/registers.ts";

/** SPI_PS_INPUT_CNTL_0 (context), SPI_SHADER_PGM_RSRC1_ES and _HS (SH). */
const PS_INPUT_CNTL_0 = 0x191, RSRC1_ES = 0x0ca, RSRC1_HS = 0x10a;

/**
 * The program of a shader that is not linked with another: attribute i of a pixel program is parameter i.
 *
 * @param wave lanes of a wave where the file does not say
 * @throws RefusedError `recompiler.stage` for stages that are not recompiled, `recompiler.stage-registers` for what the file lacks
 */
export function stageProgramOf(shader: ShaderSource, wave?: 32 | 64): StageProgram {
  const record = shader.abi.kind === "agc" ? shader.abi.record : undefined;
  const { sh, context } = registerLists(shader);
  // What the draw sets wins over what a record alone can say.
  record?.inputs.forEach(({ flat }, i) => {
    const offset = PS_INPUT_CNTL_0 + i;
    if (!context.some((entry) => entry.offset === offset)) context.push({ offset, value: i | Number(flat) << 10 });
  });
  let program: StageProgram;
  try {
    program = programOf(shader, registersOf({ sh, context }), sh);
  } catch (error) {
    throw error instanceof AnyAgcError ? withPlace(error, { file: shader.file }) : error;
  }
  return wave !== undefined && shader.waveSize === undefined ? { ...program, waveSize: wave } : program;
}

/** The register lists of a shader's record or description; new lists. */
export function registerLists(
  { abi, stageRegisters }: ShaderSource,
): { sh: RegisterEntry[]; context: RegisterEntry[] } {
  const record = abi.kind === "agc" ? abi.record : undefined;
  return {
    sh: [...record?.shRegisters ?? stageRegisters?.sh ?? []],
    context: [...record?.cxRegisters ?? stageRegisters?.context ?? []],
  };
}

/** VGT_SHADER_STAGES_EN (context). */
const STAGES_EN = 0x2d5;

/**
 * The program of a merged group that one shader is: an NGG program whose primitives are its own, because it culls or has a geometry shader.
 *
 * @param threads of a group at most
 * @throws RefusedError `recompiler.stage` for shaders that are no NGG programs, `recompiler.stage-registers` for what the file lacks
 */
export function groupProgramOf(shader: ShaderSource, threads?: number): GroupProgram {
  const registers = registersOf(registerLists(shader)), { stage, abi } = shader;
  const stages = (abi.kind === "agc" ? abi.record.specials?.shaderStagesEnable.value : undefined) ??
    registers.context(STAGES_EN) ?? 0;
  if ((stage !== "vertex" && stage !== "geometry") || (stages >>> 13 & 1) === 0) {
    throw refused(shader, `a ${stage} shader whose VGT_SHADER_STAGES_EN is 0x${stages.toString(16)} is no NGG program`);
  }
  try {
    return groupProgram("geometry", [registers], stages, undefined, threads);
  } catch (error) {
    throw error instanceof AnyAgcError ? withPlace(error, { file: shader.file }) : error;
  }
}

function programOf(shader: ShaderSource, registers: ReturnType<typeof registersOf>, sh: readonly RegisterEntry[]) {
  const { stage, abi } = shader;
  const stages = abi.kind === "agc" ? abi.record.specials?.shaderStagesEnable.value : undefined;
  const has = (offset: number) => sh.some((entry) => entry.offset === offset);
  switch (stage) {
    case "pixel":
      return pixelProgram(registers);
    case "vertex":
    case "geometry":
    case "geometry-front":
      return vertexProgram(registers, stages);
    case "hull":
      // Some compilers give a plain vertex program this type; its registers are those of the export stage.
      if (stages === undefined && has(RSRC1_ES) && !has(RSRC1_HS)) return vertexProgram(registers);
      break;
    case "geometry-back":
      // A back half that a geometry shader or tessellation made says so.
      vertexProgram(registers, stages);
      throw refused(
        shader,
        "the back half of a merged program, which its front half goes on with: recompile the front half",
      );
  }
  throw refused(shader, `${stage} programs are not recompiled`);
}

function refused({ name, file }: ShaderSource, why: string): RefusedError {
  return new RefusedError("recompiler.stage", `${name}: ${why}`, { file });
}
