/**
 * Where AnyAGC keeps what it can make again: unpacked files of the executable, answers of devices.
 *
 * @module
 */
import { switchValue } from "../switches.ts";

/** Only the owner may look, since what lies there is executed. */
const PRIVATE = 0o700;

/**
 * Folders that may hold caches, best first, whether they exist or not: ANYAGC_CACHE_DIR alone if it is set, else XDG_CACHE_HOME/anyagc
 * or HOME/.cache/anyagc ("XDG Base Directory Specification": relative paths count as unset), and a folder of this user below TMPDIR.
 */
export function cacheFolders(): string[] {
  const named = switchValue("ANYAGC_CACHE_DIR");
  if (named !== undefined) return [absolute(named)];
  const folders: string[] = [];
  const xdg = Deno.env.get("XDG_CACHE_HOME"), home = Deno.env.get("HOME");
  if (xdg?.startsWith("/")) folders.push(`${xdg}/anyagc`);
  else if (home?.startsWith("/")) folders.push(`${home}/.cache/anyagc`);
  const temporary = Deno.env.get("TMPDIR");
  folders.push(`${temporary?.startsWith("/") ? temporary : "/tmp"}/anyagc-${Deno.uid() ?? "user"}`);
  return folders;
}

/** Whether it is a folder, of this user, into which nobody else may write. */
export function isPrivate(folder: string): boolean {
  try {
    const info = Deno.lstatSync(folder);
    return info.isDirectory && info.uid === Deno.uid() && ((info.mode ?? 0) & 0o022) === 0;
  } catch {
    return false; // it is not there, or may not be looked at
  }
}

/** {@linkcode isPrivate}, after making it if need be. */
export function ensurePrivate(folder: string): boolean {
  try {
    Deno.mkdirSync(folder, { recursive: true, mode: PRIVATE });
  } catch {
    // A read-only file system, a file in the way, no right: what counts is whether it is there.
  }
  return isPrivate(folder);
}

/** The first of {@linkcode cacheFolders} that can be used; undefined when there is none. */
export function cacheFolder(): string | undefined {
  return cacheFolders().find(ensurePrivate);
}

function absolute(path: string): string {
  return path.startsWith("/") ? path : `${Deno.cwd()}/${path}`;
}
