/**
 * AnyAGC as a library: load a guest program, open a device, run it, look at its memory.
 *
 * @example Run a program and read a word of its memory
 * ```ts no-assert
 * import { loadProgram, openDevice } from "@anyagc/anyagc";
 *
 * const program = loadProgram("shaders/julia/program.json");
 * using device = openDevice();
 * const run = device.run(program);
 * console.log(run.result.outcome, run.memory.readU32(program.frame!.address));
 * run.close();
 * ```
 *
 * @module
 */
export { AnyAgcError, type ErrorData, type ErrorPlace, ExitCode } from "./src/errors.ts";
export { GuestFaultError, HostError, InvalidInputError, RefusedError, UsageError } from "./src/errors.ts";
export { type Device, type DeviceDescription, openDevice, type OpenOptions } from "./src/driver/device.ts";
export type { ProgramRun, RunMemory } from "./src/driver/device.ts";
export type { RunResult, WaitReport } from "./src/driver/run_program.ts";
export type { LabelWrite } from "./src/driver/driver_sink.ts";
export type { ProgramReport } from "./src/driver/executor.ts";
export type { Picture } from "./src/guest/frame.ts";
export type { Difference } from "./src/guest/map_program.ts";
export type { Expectation, Frame, MemoryPiece, Program, ProgramMemory } from "./src/guest/program.ts";
export type { ProgramSubmission, Target, UntouchedRange } from "./src/guest/program.ts";
export { loadProgram } from "./src/guest/load_program.ts";
export { createInterpolantMapping } from "./src/driver/registry/interpolants.ts";
export {
  type LinkedRegister,
  type LinkedShaders,
  type LinkOptions,
  linkShaders,
} from "./src/driver/registry/link_shaders.ts";
export { openShaders, type OpenShadersOptions, resolveShaderAbi } from "./src/driver/registry/open_shaders.ts";
export { type Shader, type ShaderModule, Shaders, type ShaderState } from "./src/driver/registry/open_shaders.ts";
export { type MergedShader, recompileMergedShader } from "./src/driver/merged_shader.ts";
export type { GroupLayout } from "./src/recompiler/stages/group.ts";
export { readShaderFile } from "./src/driver/registry/shader_file.ts";
export type { Resolution } from "./src/driver/registry/variant_maker.ts";
export type { AgcPlaceholder, AgcSemantic, AgcShaderRecord, AgcSpecials } from "./src/guest/loaders/agc_record.ts";
export type { AgcUserData, RegisterWrite } from "./src/guest/loaders/agc_record.ts";
export type { ShaderStage } from "./src/guest/shader_source.ts";
