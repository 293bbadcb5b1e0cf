/**
 * Where artifacts are kept, and whether.
 *
 * @module
 */
import { cacheFolder } from "../../storage/cache_folder.ts";
import { switchFlag, switchValue } from "../../switches.ts";
import { ShaderCache } from "./shader_cache.ts";

/** Where the switches want artifacts to be kept; undefined when they want none, or there is no folder. */
export function shaderCacheFolder(): string | undefined {
  if (switchFlag("ANYPS5_NO_SHADER_CACHE")) return undefined;
  const named = switchValue("ANYPS5_SHADER_CACHE_DIR");
  if (named !== undefined) return named;
  const parent = cacheFolder();
  return parent === undefined ? undefined : `${parent}/shaders`;
}

/** The shader cache there; undefined when there is none. */
export function openShaderCache(): ShaderCache | undefined {
  const folder = shaderCacheFolder();
  return folder === undefined ? undefined : new ShaderCache(folder);
}
