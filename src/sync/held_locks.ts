/**
 * Which locks this isolate holds, as a bitmask.
 *
 * Two rules are asserted with it, always (an assertion is one AND of a number):
 *
 * 1. Nobody waits for work (a job, a pipeline in creation, a label, admission to the budget) and nobody calls the driver's compiler while
 *    holding a lock. {@linkcode assertNoLocksHeld} guards every such place.
 * 2. Locks are taken in the order of their bits, low bit first. So no two isolates can wait for each other.
 *
 * @module
 */
import { SyncError } from "./sync_error.ts";

/**
 * Bits of the lock classes, outermost first. The locks inside the shared structures are leaves: they are held for a few hundred
 * nanoseconds, and nothing is waited for under them.
 */
export const LockBit = {
  /** The shader registry's lock for transactions. */
  Preparation: 1 << 0,
  /** The Vulkan device: shared by who uses it, exclusive for teardown and replacement. */
  Device: 1 << 1,
  /** Guest memory and command recording: {@linkcode GpuMutex}. */
  Gpu: 1 << 2,
  /** Locks of tests and of code outside the structures. */
  Other: 1 << 3,
  /** Inside a JobBoard. */
  Board: 1 << 8,
  /** Inside a KeyedTable. */
  Table: 1 << 9,
  /** Inside an Arena. */
  Arena: 1 << 10,
} as const;

const NAMES = new Map<number, string>(Object.entries(LockBit).map(([name, bit]) => [bit, name]));

let held = 0;

/** The mask of this isolate. */
export function heldLocks(): number {
  return held;
}

/** Names of the locks in a mask, for messages. */
export function lockNames(mask: number): string {
  const names: string[] = [];
  for (const [bit, name] of NAMES) if (mask & bit) names.push(name);
  return names.join(", ") || "none";
}

/**
 * To be called before a lock is asked for.
 *
 * @throws SyncError `sync.lock-order` if this isolate holds the same class or one that comes after it.
 */
export function assertLockOrder(bit: number): void {
  if (held >= bit) {
    throw new SyncError(
      "sync.lock-order",
      `lock ${lockNames(bit)} asked for while holding ${lockNames(held)}; the order is ${
        [...NAMES.values()].join(", ")
      }`,
    );
  }
}

/** Notes that the lock was got. */
export function noteLocked(bit: number): void {
  held |= bit;
}

/** Notes that the lock was given back. */
export function noteUnlocked(bit: number): void {
  held &= ~bit;
}

/**
 * To be called on entry to every wait and before every driver compile.
 *
 * @param what what is about to be waited for, for the message
 * @throws SyncError `sync.wait-with-lock`
 */
export function assertNoLocksHeld(what: string): void {
  if (held !== 0) {
    throw new SyncError("sync.wait-with-lock", `${what} while holding ${lockNames(held)}`);
  }
}
