/**
 * Reading and writing files for commands, with errors that say which file and why.
 *
 * @module
 */
import { UsageError } from "../errors.ts";

/** Reads a file that the user named. @throws UsageError with the cause in words */
export async function readInput(path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    throw new UsageError("cli.unreadable-file", `cannot read ${path}: ${cause(error)}`, { file: path });
  }
}

/**
 * Writes a file that the user named: under another name in the same folder first, so that under its own name there is either all of it or what was there
 * before, whatever interrupts the program. Things that are no regular files (a pipe, a terminal) are written to directly.
 *
 * @throws UsageError with the cause in words
 */
export function writeOutput(path: string, data: Uint8Array): Promise<void> {
  // Without waiting in between: a signal is handled before or after, never with half a file on the disk.
  try {
    const target = existing(path);
    if (target === undefined) Deno.writeFileSync(path, data);
    else replace(target, data);
    return Promise.resolve();
  } catch (error) {
    return Promise.reject(
      new UsageError("cli.unwritable-file", `cannot write ${path}: ${cause(error)}`, { file: path }),
    );
  }
}

/** The path to replace, links followed; undefined for what cannot be replaced. */
function existing(path: string): string | undefined {
  try {
    const real = Deno.realPathSync(path), { isFile } = Deno.statSync(real);
    return isFile ? real : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return path;
    throw error;
  }
}

function replace(path: string, data: Uint8Array): void {
  const slash = path.lastIndexOf("/") + 1;
  const partial = `${path.slice(0, slash)}.${path.slice(slash)}.${Deno.pid}.part`;
  try {
    Deno.writeFileSync(partial, data);
    Deno.renameSync(partial, path);
  } catch (error) {
    try {
      Deno.removeSync(partial);
    } catch {
      // It was never made; the first error is the one to tell.
    }
    throw error;
  }
}

/** Makes a folder that the user named, with its parents. @throws UsageError with the cause in words */
export async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (error) {
    throw new UsageError("cli.unwritable-folder", `cannot make the folder ${path}: ${cause(error)}`, { file: path });
  }
}

function cause(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "no such file or folder";
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  if (error instanceof Deno.errors.IsADirectory) return "it is a folder";
  if (error instanceof Deno.errors.AlreadyExists) return "a file has that name";
  if (error instanceof Deno.errors.NotADirectory) return "a part of the path is not a folder";
  return error instanceof Error ? error.message : String(error);
}
