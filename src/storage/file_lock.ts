/**
 * One process at a time: advisory locks of files (flock), which end with the process that holds them, however it ends.
 *
 * @module
 */

/** Milliseconds between two tries, and in all: who holds a lock only reads and writes a file. */
const PAUSE_MS = 5, PATIENCE_MS = 2000;

/** Takes the exclusive lock of an open file. False when somebody holds it all the time, or the file system has no locks. */
function lockFile(file: Deno.FsFile, patienceMs = PATIENCE_MS): boolean {
  const end = performance.now() + patienceMs;
  const sleep = new Int32Array(new SharedArrayBuffer(4));
  try {
    while (!file.tryLockSync(true)) {
      if (performance.now() > end) return false;
      Atomics.wait(sleep, 0, 0, PAUSE_MS);
    }
    return true;
  } catch {
    return false; // not on this file system
  }
}

/**
 * Runs `body` while this process alone has the lock `path`: a file of its own. Only who has it may remove it; who gets a removed one takes the
 * one that is there then.
 *
 * @param failed told why the lock was not to be had
 * @returns what `body` returns; undefined if the lock was not to be had
 */
export function withLock<T>(
  path: string,
  body: () => T,
  patienceMs?: number,
  failed: (reason: string) => void = () => {},
): T | undefined {
  for (;;) {
    let file: Deno.FsFile;
    try {
      file = Deno.openSync(path, { create: true, write: true, mode: 0o600 });
    } catch (error) {
      failed(error instanceof Error ? error.message : String(error)); // nothing can be written there
      return undefined;
    }
    try {
      if (!lockFile(file, patienceMs)) {
        failed(`${path} is locked all the time, or cannot be`);
        return undefined;
      }
      if (isAt(path, file)) return body();
    } finally {
      file.close(); // gives the lock back
    }
  }
}

/** Whether a path leads to an open file. */
function isAt(path: string, file: Deno.FsFile): boolean {
  try {
    const { dev, ino } = Deno.statSync(path), own = file.statSync();
    return dev === own.dev && ino === own.ino;
  } catch {
    return false; // it is gone
  }
}
