/**
 * Compiles SPIR-V modules to RDNA2 machine code: reflection, RADV, description, files.
 *
 * @module
 */
import { AnyAgcError, UsageError } from "../../src/errors.ts";
import { describe, descriptionText } from "./description.ts";
import { type ComputeBinary, readComputeBinary } from "./radv/cache_data.ts";
import type { Family } from "./radv/environment.ts";
import type { CompileJob } from "./radv/job.ts";
import type { RadvProcess } from "./radv/process.ts";
import { readModule } from "./spirv/module.ts";
import { type ComputeInterface, reflectCompute, type ReflectOptions } from "./spirv/reflect.ts";

/** Lanes of a wave. */
export type WaveSize = 32 | 64;

/** What to compile. */
export interface CompileRequest extends ReflectOptions {
  /** SPIR-V file. */
  readonly file: string;
  readonly family: Family;
  readonly waveSize: WaveSize;
}

/** Machine code with its description. */
export interface Compiled {
  readonly code: Uint8Array;
  /** JSON text. */
  readonly description: string;
  readonly binary: ComputeBinary;
  readonly reflected: ComputeInterface;
}

/** A module that was not compiled. */
export interface NotCompiled {
  /** `refused`: by this tool, before RADV saw it. The others: see CompileOutcome. */
  readonly failed: "refused" | "error" | "crash" | "timeout";
  readonly reason: string;
}

/** Compiles one module with a running RADV. Its family is the request's. */
export async function compileModule(radv: RadvProcess, request: CompileRequest): Promise<Compiled | NotCompiled> {
  let reflected: ComputeInterface;
  try {
    reflected = reflectCompute(readModule(request.file), request);
  } catch (error) {
    if (!(error instanceof AnyAgcError) || error instanceof UsageError) throw error; // a file that is not there
    return { failed: "refused", reason: error.message };
  }
  const outcome = await radv.compile(jobOf(request, reflected));
  if ("failed" in outcome) return outcome;
  const binary = readComputeBinary(outcome.cacheData);
  const source = request.file.slice(request.file.lastIndexOf("/") + 1);
  const description = describe({ source, family: request.family, driver: radv.driver, reflected, binary });
  return { code: binary.code, description: descriptionText(description), binary, reflected };
}

/** Base name of the output: `x.comp.spv` gives `x.w32.comp`, `x.spv` gives `x.w32`. */
export function outputName(file: string, waveSize: WaveSize): string {
  const name = file.slice(file.lastIndexOf("/") + 1).replace(/\.spv$/, "");
  return name.endsWith(".comp") ? `${name.slice(0, -5)}.w${waveSize}.comp` : `${name}.w${waveSize}`;
}

/** Writes NAME.rdna.bin and NAME.json. */
export function writeCompiled(folder: string, name: string, compiled: Compiled): void {
  Deno.mkdirSync(folder, { recursive: true });
  Deno.writeFileSync(`${folder}/${name}.rdna.bin`, compiled.code);
  Deno.writeTextFileSync(`${folder}/${name}.json`, compiled.description);
}

function jobOf(request: CompileRequest, reflected: ComputeInterface): CompileJob {
  const setCount = Math.max(0, ...reflected.bindings.map(({ set }) => set + 1));
  return {
    spirv: request.file,
    entryPoint: reflected.entryPoint,
    waveSize: request.waveSize,
    sets: Array.from({ length: setCount }, (_, set) => reflected.bindings.filter((binding) => binding.set === set)),
    pushConstantBytes: reflected.pushConstantBytes,
    // A Boolean is given as a VkBool32 (Vulkan specification, "Specialization Constants").
    specialization: reflected.specConstants.map(({ id, bits, value }) => ({
      id,
      bytes: bits === 1 ? 4 : bits / 8,
      value: `0x${value.toString(16)}`,
    })),
  };
}
