/**
 * Removes journals. A run that has one open begins it anew (src/storage/journal.ts), so nothing but warm starts is lost.
 *
 * @module
 */
import { withLock } from "../../storage/file_lock.ts";
import { lockOf } from "../../storage/journal.ts";
import { chosenJournals, infoOf, type JournalPlace } from "./folder.ts";

const DAY_MS = 24 * 3600_000;
/** Who holds a lock only reads and writes a file. */
const LOCK_MS = 500;

/** What became of the journals. */
export interface Cleared {
  readonly removed: { readonly file: string; readonly bytes: number }[];
  /** `failed`: it should have gone. */
  readonly kept: { readonly file: string; readonly reason: string; readonly failed: boolean }[];
}

/**
 * Removes journals of a folder with their locks, which are held meanwhile.
 *
 * @param names all when there is none
 * @param days only those that no run has used for so long
 * @throws UsageError for names of none
 */
export function clearJournals(folder: string | undefined, names: readonly string[], days: number | undefined): Cleared {
  const cleared: Cleared = { removed: [], kept: [] };
  for (const place of chosenJournals(folder, names, true)) {
    const result = clearOne(place, days);
    if (result === undefined) continue;
    if (typeof result === "number") cleared.removed.push({ file: place.path, bytes: result });
    else cleared.kept.push({ file: place.path, ...result });
  }
  return cleared;
}

/** Bytes that were removed, or why it is kept; undefined when it is not there any more. */
function clearOne(
  { path }: JournalPlace,
  days: number | undefined,
): number | { reason: string; failed: boolean } | undefined {
  const lock = lockOf(path), there = infoOf(lock);
  if (infoOf(path)?.isFile === false) return { reason: "it is no file, but a link or a folder", failed: true };
  // Locking makes or opens the file, wherever a link leads.
  if (there !== undefined && !there.isFile) return { reason: `its lock ${lock} is no file`, failed: true };
  let gone = false, busy = "";
  try {
    const result = withLock(
      lock,
      () => {
        const info = infoOf(path);
        if (info === undefined) {
          Deno.removeSync(lock);
          return gone = true;
        }
        if (!info.isFile) return { reason: "it is no file, but a link or a folder", failed: true };
        const used = info.mtime?.getTime() ?? 0;
        if (days !== undefined && Date.now() - used < days * DAY_MS) {
          return { reason: `a run used it less than ${days} days ago`, failed: false };
        }
        Deno.removeSync(path);
        // Last: who waits for it finds that it is gone, and takes another one.
        Deno.removeSync(lock);
        return info.size;
      },
      LOCK_MS,
      (reason) => busy = reason,
    );
    if (gone || typeof result === "boolean") return undefined;
    return result ?? { reason: `in use: ${busy}`, failed: false };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error), failed: true };
  }
}
