/**
 * The modules and the machine code that tools/corpus left in the cache.
 *
 * @module
 */
import { loadFile } from "../../src/guest/loaders/load_file.ts";
import type { ShaderSource } from "../../src/guest/shader_source.ts";
import { HostError } from "../../src/errors.ts";
import { outputName, type WaveSize } from "../corpus/compile.ts";

/** Where things are. */
export interface CorpusFolders {
  /** Modules as they were extracted. */
  readonly original: string;
  /** Machine code of `original`. */
  readonly originalCode: string;
  /** The same modules, treated so that results can be compared bit by bit. */
  readonly treated: string;
  /** Machine code of `treated`. */
  readonly treatedCode: string;
}

/** The folders that `tools/corpus/main.ts` fills, below `.cache/corpus` of the project. */
export function defaultFolders(): CorpusFolders {
  const cache = decodeURIComponent(new URL("../../.cache/corpus", import.meta.url).pathname);
  return {
    original: `${cache}/llama`,
    originalCode: `${cache}/llama-navi21`,
    treated: `${cache}/llama-treated`,
    treatedCode: `${cache}/llama-treated-navi21`,
  };
}

/** Names of all modules of a folder, sorted. @throws HostError saying what makes the folder */
export function moduleNames(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".spv")).sort();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new HostError("host.corpus", `no ${folder}: run deno run -A tools/corpus/main.ts extract, then summary`);
  }
}

/** The machine code that RADV made of a module, or undefined where it made none. */
export function machineCode(folder: string, module: string, wave: WaveSize): ShaderSource | undefined {
  const file = `${folder}/${outputName(module, wave)}.json`;
  try {
    Deno.statSync(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  const loaded = loadFile(file);
  if (loaded.kind !== "shader") throw new HostError("host.corpus", `${file} describes no shader`);
  return loaded.shader;
}

/** Words of a module. */
export function moduleWords(folder: string, module: string): Uint32Array<ArrayBuffer> {
  return new Uint32Array(Deno.readFileSync(`${folder}/${module}`).buffer);
}
