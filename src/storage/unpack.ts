/**
 * Puts files that are carried inside an executable on the disk, where the module loader and the dynamic loader can read them.
 *
 * @module
 */
import { HostError } from "../errors.ts";
import { cacheFolders, ensurePrivate, isPrivate } from "./cache_folder.ts";

/** Files that belong together, as a bundle or a library. */
export interface Package {
  /** Name by content: other content has another name. */
  readonly name: string;
  readonly files: readonly PackedFile[];
}

/** One of them. */
export interface PackedFile {
  /** Name without a folder. */
  readonly name: string;
  readonly bytes: number;
  /** SHA-256 of the content, in hexadecimal. */
  readonly sha256: string;
  /** A large file that not every start uses: of one that was unpacked before only the size is looked at, and its user checks the hash. */
  readonly checkedOnUse?: boolean;
  /** Reads the content. */
  read(): Uint8Array<ArrayBuffer>;
}

/** Only the owner may look. */
const FOLDER_MODE = 0o700, FILE_MODE = 0o600;
/** Name, in a cache folder, of the folder with the packages. */
const PLACE = "unpacked";
/** A package that nobody used for so long (or a half-written one, whose process must be gone) is removed when another one is unpacked. */
const UNUSED_MS = 30 * 24 * 3600_000, PARTIAL_MS = 3600_000;

/**
 * The folder with the package's files: unpacked before, with every file as it should be, or unpacked now. Any number of processes may
 * do so at once: a folder appears whole, by a rename. A damaged one is replaced.
 *
 * @param folders where it may lie, best first; after them a new temporary folder, which stays
 * @throws {HostError} `host.unpack` when it can be written nowhere
 */
export async function unpack(pack: Package, folders: readonly string[] = cacheFolders()): Promise<string> {
  let reason = "no folder";
  for (const cache of folders) {
    const parent = `${cache}/${PLACE}`, folder = `${parent}/${pack.name}`;
    if (!ensurePrivate(cache) || !ensurePrivate(parent)) continue;
    if (await isIntact(pack, folder)) {
      markUsed(folder);
      return folder;
    }
    try {
      sweep(parent);
      return await place(pack, parent, folder);
    } catch (error) {
      if (error instanceof HostError) throw error;
      reason = error instanceof Error ? error.message : String(error);
    }
  }
  try {
    const parent = Deno.makeTempDirSync({ prefix: "anyagc-" });
    return await place(pack, parent, `${parent}/${pack.name}`);
  } catch (error) {
    if (error instanceof HostError) throw error;
    reason = error instanceof Error ? error.message : reason;
  }
  throw new HostError(
    "host.unpack",
    `the files inside the executable can be unpacked nowhere (${reason}). Name a folder that can be written: ANYAGC_CACHE_DIR=FOLDER`,
  );
}

/** Writes everything beside `folder`, then renames. */
async function place(pack: Package, parent: string, folder: string): Promise<string> {
  const temporary = Deno.makeTempDirSync({ dir: parent, prefix: `${pack.name}.`, suffix: ".part" });
  try {
    for (const file of pack.files) {
      const data = file.read();
      if (await sha256(data) !== file.sha256) {
        throw new HostError(
          "host.damaged-executable",
          `the executable is damaged: ${file.name} inside is not as built`,
        );
      }
      Deno.writeFileSync(`${temporary}/${file.name}`, data, { createNew: true, mode: FILE_MODE });
    }
    Deno.chmodSync(temporary, FOLDER_MODE);
    try {
      Deno.renameSync(temporary, folder);
    } catch (error) {
      // Another process was faster, or a damaged one is in the way.
      if (!exists(folder)) throw error;
      if (!await isIntact(pack, folder)) replace(temporary, folder);
    }
    return folder;
  } finally {
    removeQuietly(temporary);
  }
}

/** Processes that have files of the damaged folder open keep them: it is moved away, then removed. */
function replace(temporary: string, folder: string): void {
  const damaged = `${temporary}.damaged`;
  Deno.renameSync(folder, damaged);
  Deno.renameSync(temporary, folder);
  removeQuietly(damaged);
}

async function isIntact(pack: Package, folder: string): Promise<boolean> {
  try {
    if (!isPrivate(folder)) return false;
    const checks = pack.files.map(async (file) => {
      const path = `${folder}/${file.name}`;
      if (file.checkedOnUse) return Deno.statSync(path).size === file.bytes;
      return await sha256(Deno.readFileSync(path)) === file.sha256;
    });
    return (await Promise.all(checks)).every((same) => same);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    if (error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.IsADirectory) return false;
    throw error;
  }
}

function markUsed(folder: string): void {
  try {
    const now = new Date();
    Deno.utimeSync(folder, now, now);
  } catch {
    // A read-only file system: nothing is swept there either.
  }
}

/** Removes what nobody uses any more. */
function sweep(parent: string): void {
  for (const { name } of Deno.readDirSync(parent)) {
    const path = `${parent}/${name}`, limit = /\.(part|damaged)$/.test(name) ? PARTIAL_MS : UNUSED_MS;
    const { mtime } = Deno.lstatSync(path);
    if (mtime !== null && Date.now() - mtime.getTime() > limit) removeQuietly(path);
  }
}

/** SHA-256 in hexadecimal. */
export async function sha256(data: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", data)).toHex();
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function removeQuietly(path: string): void {
  try {
    Deno.removeSync(path, { recursive: true });
  } catch {
    // It was renamed, or belongs to nobody any more.
  }
}
