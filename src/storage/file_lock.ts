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
 * Runs `body` while this process alone has the lock `path` (a file of its own, which stays: removing it would let two in).
 *
 * @returns what `body` returns; undefined if the lock was not to be had
 */
export function withLock<T>(path: string, body: () => T, patienceMs?: number): T | undefined {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(path, { create: true, write: true, mode: 0o600 });
  } catch {
    return undefined; // nothing can be written there
  }
  try {
    return lockFile(file, patienceMs) ? body() : undefined;
  } finally {
    file.close(); // gives the lock back
  }
}
