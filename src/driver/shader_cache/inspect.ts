/**
 * What a cache's folder holds, for `anyagc doctor`: every entry is read and checked.
 *
 * @module
 */
import { RECOMPILER_VERSION } from "../../recompiler/version.ts";
import { checkEntry, ENTRY_SUFFIX } from "./entry.ts";

/** What was found. */
export interface CacheInspection {
  readonly folder: string;
  /** Entries of this version of the recompiler, whole. */
  readonly entries: number;
  /** Of other versions: they go when the folder is full. */
  readonly otherVersions: number;
  /** Names of files that are not as they were written: what they were for is recompiled, and they are replaced. */
  readonly damaged: readonly string[];
  /** Bytes of all. */
  readonly bytes: number;
}

/** Looks at a folder; undefined when there is none. */
export function inspectShaderCache(folder: string): CacheInspection | undefined {
  const damaged: string[] = [];
  let entries = 0, otherVersions = 0, bytes = 0;
  try {
    for (const { name, isFile } of Deno.readDirSync(folder)) {
      if (!name.endsWith(ENTRY_SUFFIX)) continue;
      if (!isFile) {
        damaged.push(name); // a folder, or a pipe, which nobody writes to
        continue;
      }
      const content = readIfThere(`${folder}/${name}`);
      if (content === undefined) continue;
      bytes += content.length;
      const version = checkEntry(content);
      if (version === undefined) damaged.push(name);
      else if (version === RECOMPILER_VERSION) entries++;
      else otherVersions++;
    }
  } catch {
    return undefined; // it is not there, or may not be read
  }
  return { folder, entries, otherVersions, damaged: damaged.sort(), bytes };
}

function readIfThere(path: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Deno.readFileSync(path);
  } catch {
    return undefined; // another process has removed it
  }
}
