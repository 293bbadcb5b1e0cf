/**
 * Files that are there whole or not at all: written beside their place under another name, then renamed.
 *
 * @module
 */

/** Ends the names of files that are being written. */
const PARTIAL = ".part";
/** Permissions of a new file, before the process's mask. */
const NEW_FILE = 0o666;
let serial = 0;

/**
 * Writes a file: afterwards it has all of `data`; after an error, or when the process ends meanwhile, what it had before. Links are
 * followed. What is no regular file (a pipe, /dev/stdout) is written to directly.
 *
 * Without waiting in between: the event loop handles a signal before or after, never with a half-written file on the disk.
 *
 * @param mode permissions of a new file, before the process's mask; one that is replaced keeps its own
 */
export function writeFileAtomically(path: string, data: Uint8Array, mode = NEW_FILE): void {
  const place = placeOf(path, mode);
  if (place === undefined) return Deno.writeFileSync(path, data);
  try {
    Deno.writeFileSync(place.temporary, data, { createNew: true, mode: place.mode });
    Deno.renameSync(place.temporary, place.path);
  } catch (error) {
    removeQuietly(place.temporary);
    throw error;
  }
}

/** Where to write, and the name until then, in the same folder and of no other writer. Undefined for what is no regular file. */
function placeOf(path: string, mode: number): { path: string; temporary: string; mode: number } | undefined {
  let real = path;
  try {
    const info = Deno.statSync(path);
    if (!info.isFile) return undefined;
    if (info.mode !== null) mode = info.mode & 0o777;
    if (Deno.lstatSync(path).isSymlink) real = Deno.realPathSync(path);
  } catch {
    // It is not there, or may not be looked at: writing says why.
  }
  const random = crypto.getRandomValues(new Uint32Array(1))[0].toString(36);
  return { path: real, temporary: `${real}.${Deno.pid}-${serial++}-${random}${PARTIAL}`, mode };
}

function removeQuietly(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // It is not there, or the folder is gone: either way there is nothing to keep clean.
  }
}
