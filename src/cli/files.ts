/**
 * Reading and writing files for commands, with errors that say which file and why.
 *
 * @module
 */
import { UsageError } from "../errors.ts";
import { writeFileAtomically } from "../storage/atomic_file.ts";

/** Reads a file that the user named, of `most` bytes at most. @throws UsageError with the cause in words */
export async function readInput(path: string, most = Infinity): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const { size } = await Deno.stat(path);
    if (size > most) throw new Error(`${size} bytes; such files are read up to ${most} bytes`);
    return await Deno.readFile(path);
  } catch (error) {
    throw new UsageError("cli.unreadable-file", `cannot read ${path}: ${cause(error)}`, { file: path });
  }
}

/** Reads the first bytes of a file that the user named, up to `bytes` of them. @throws UsageError with the cause in words */
export async function readHead(path: string, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    using file = await Deno.open(path);
    const head = new Uint8Array(bytes);
    return head.slice(0, await file.read(head) ?? 0);
  } catch (error) {
    throw new UsageError("cli.unreadable-file", `cannot read ${path}: ${cause(error)}`, { file: path });
  }
}

/**
 * Writes a file that the user named: under its name there is all of it, or what was there before. Things that are no regular files (a pipe, a terminal) are
 * written to directly.
 *
 * @throws UsageError with the cause in words
 */
// deno-lint-ignore require-await -- the interface is that of its neighbours, and rejections are what callers expect
export async function writeOutput(path: string, data: Uint8Array): Promise<void> {
  writeOutputNow(path, data);
}

/** {@linkcode writeOutput} for callers that cannot wait. @throws UsageError */
export function writeOutputNow(path: string, data: Uint8Array): void {
  try {
    writeFileAtomically(path, data);
  } catch (error) {
    throw new UsageError("cli.unwritable-file", `cannot write ${path}: ${cause(error)}`, { file: path });
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
