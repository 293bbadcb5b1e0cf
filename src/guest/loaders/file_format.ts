import { ExitCode, InvalidInputError, UsageError } from "../../errors.ts";

/** A file that is not what it claims to be. The message says what is wrong, the place says where. Exit code 2, like every unreadable input file. */
export class MalformedFileError extends InvalidInputError {
  override name = "MalformedFileError";
  override readonly exitCode = ExitCode.Usage;
}

/** Largest input file, in bytes: everything is read into memory whole. */
const MAX_FILE_BYTES = 1 << 30;

/** Reads a whole file. A missing, unreadable or too large one gives a {@linkcode UsageError}. */
export function readInputFile(path: string): Uint8Array<ArrayBuffer> {
  let size: number;
  try {
    const info = Deno.statSync(path);
    if (!info.isFile) throw new UsageError("file.not-a-file", "not a regular file", { file: path });
    size = info.size;
  } catch (error) {
    throw unreadable(path, error);
  }
  if (size > MAX_FILE_BYTES) {
    throw new UsageError("file.too-large", `${size} bytes; files are read up to ${MAX_FILE_BYTES} bytes`, {
      file: path,
    });
  }
  try {
    return Deno.readFileSync(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** True when there is a regular file at `path`. */
export function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Folder part of a path, without the last slash; `.` when there is none. */
export function folderOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "." : path.slice(0, slash) || "/";
}

/** Last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Bytes as little-endian 32-bit words; the length must be a multiple of 4. Copies, so that any alignment will do. */
export function wordsOf(bytes: Uint8Array): Uint32Array<ArrayBuffer> {
  return new Uint32Array(bytes.slice().buffer);
}

/** Little-endian bytes of 32-bit words (the hosts that Deno runs on are little-endian). */
export function bytesOf(words: Uint32Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(words.slice().buffer);
}

function unreadable(path: string, error: unknown): UsageError {
  if (error instanceof UsageError) return error;
  if (error instanceof Deno.errors.NotFound) {
    return new UsageError("file.missing", "there is no such file", { file: path });
  }
  return new UsageError("file.unreadable", error instanceof Error ? error.message : String(error), { file: path });
}
