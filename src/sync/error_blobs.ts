/**
 * Errors kept in the arena, for who waits. An arena that is full must not keep a job or a creation from ending: the error's details are lost then,
 * and who waits is told that.
 *
 * @module
 */
import type { Arena } from "./arena.ts";
import { decodeError } from "./error_data.ts";
import { SyncError } from "./sync_error.ts";

/**
 * Puts an error down; throws nothing, so that it may be called with a lock held.
 *
 * @param encoded by `encodeError`, before the lock was taken
 * @param refer stores the reference where waiters find it: 0 if the arena has no room. Called before the blob is shared, so who dies leaves nothing.
 */
export function putError(arena: Arena, encoded: Uint8Array, refer: (reference: number) => void): void {
  let reference: number;
  try {
    reference = arena.append(encoded);
  } catch (problem) {
    if (!(problem instanceof SyncError && problem.code === "sync.arena-full")) throw problem;
    refer(0);
    return;
  }
  refer(reference);
  arena.share(reference);
}

/**
 * The error that {@linkcode putError} put down.
 *
 * @param what whose error it is, for the message if it was lost
 */
export function getError(arena: Arena, reference: number, what: string): unknown {
  if (reference !== 0) return decodeError(arena.view(reference));
  return new SyncError("sync.error-lost", `${what} failed, and the arena had no room to say why`);
}
