/**
 * The shaders that a program's file has records of, registered as the guest that made them had them.
 *
 * @module
 */
import { AnyAgcError } from "../../errors.ts";
import type { AgcShaderRecord } from "../../guest/loaders/agc_record.ts";
import type { LoadedProgram, Program } from "../../guest/program.ts";
import type { LogLine } from "../pools/failures.ts";
import type { ShaderRegistry } from "./shader_registry.ts";

/** Records of the compute shaders whose code lies where they say. Of the other stages nothing is prepared: draws are not executed. */
export function computeRecords(program: Program): AgcShaderRecord[] {
  const { shaders = [] } = program as Partial<LoadedProgram>;
  return shaders.flatMap(({ address, source: { abi } }) =>
    abi.kind === "agc" && abi.record.stage === "compute" && abi.record.codeAddress === address ? [abi.record] : []
  );
}

/**
 * Registers them. The command streams stay the authority: a record that is wrong is said and left out, as code that nobody registered is accepted.
 *
 * @param registry of the memory that the program is mapped in
 */
export function registerRecords(registry: ShaderRegistry, records: readonly AgcShaderRecord[], say: LogLine): void {
  for (const record of records) {
    try {
      registry.registerShader(record);
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      say(`a shader of the program's file is not prepared: ${error.message}`);
    }
  }
}
