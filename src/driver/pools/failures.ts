/**
 * Which recompiles ahead of use did not work, for all isolates: marked once, with what the log says. The mark only keeps loaders from queueing the same
 * again; who draws or dispatches with such a shader recompiles it there, and fails there if it must.
 *
 * @module
 */
import { decodeError, encodeError } from "../../sync/error_data.ts";
import { decodeData, encodeData } from "../../sync/plain_data.ts";
import type { Room } from "./room.ts";

/** Why a shader was not made ahead of use. */
export interface PreparationFailure {
  /** What the shader is called: stage, address, hash. */
  readonly shader: string;
  /** `deferred`: nothing is wrong, but what is needed is known at its use only (descriptors of images). */
  readonly kind: "failed" | "deferred";
  /** What was thrown; as text for a deferred one. */
  readonly error: unknown;
}

/** Gets a line about something that went wrong and that nobody is told of by an error. */
export type LogLine = (line: string) => void;

/**
 * Marks a request.
 *
 * @returns false if it was marked before: then nothing has changed
 */
export function markFailure(room: Room, key: Uint32Array, failure: PreparationFailure): boolean {
  const { reference, pin, state } = room.failures.begin(key);
  try {
    if (state !== "create") return false;
    try {
      const error = failure.kind === "failed" ? encodeError(failure.error) : encodeError(String(failure.error));
      const blob = room.arena.append(encodeData({ shader: failure.shader, kind: failure.kind, error }));
      room.arena.share(blob); // first: see preparation.ts
      room.failures.publish(reference, BigInt(blob));
    } catch (error) {
      room.failures.fail(reference, error);
      throw error;
    }
    return true;
  } finally {
    room.failures.unpin(pin);
  }
}

/** Why a request failed ahead of use; undefined if it did not. */
export function failureOf(room: Room, key: Uint32Array): PreparationFailure | undefined {
  if (room.failures.peek(key) !== "ready") return undefined;
  const { reference, pin, state, value } = room.failures.begin(key);
  try {
    if (state === "create") room.failures.abandon(reference);
    return state === "ready" ? read(room, value) : undefined;
  } finally {
    room.failures.unpin(pin);
  }
}

/** All of them, in no order. */
export function failures(room: Room): PreparationFailure[] {
  return room.failures.snapshot().map(({ value }) => read(room, value));
}

/** The line that is logged, once, for one. */
export function failureLine({ shader, error }: PreparationFailure): string {
  const message = (error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/g, "; ");
  return `${shader} was not prepared in the background: ${message}; it is tried again where it is used`;
}

function read(room: Room, value: bigint): PreparationFailure {
  const { shader, kind, error } = decodeData(room.arena.read(Number(value))) as {
    shader: string;
    kind: PreparationFailure["kind"];
    error: Uint8Array;
  };
  return { shader, kind, error: decodeError(error) };
}
