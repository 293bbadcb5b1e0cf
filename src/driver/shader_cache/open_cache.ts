/**
 * Where artifacts are kept, and whether.
 *
 * @module
 */
import { cacheFolder } from "../../storage/cache_folder.ts";
import { switchFlag, switchValue } from "../../switches.ts";
import { ShaderCache } from "./shader_cache.ts";

/** The shader cache, as the switches want it; undefined when they want none, or there is no folder. */
export function openShaderCache(): ShaderCache | undefined {
  if (switchFlag("ANYPS5_NO_SHADER_CACHE")) return undefined;
  const named = switchValue("ANYPS5_SHADER_CACHE_DIR");
  if (named !== undefined) return new ShaderCache(named);
  const parent = cacheFolder();
  return parent === undefined ? undefined : new ShaderCache(`${parent}/shaders`);
}
