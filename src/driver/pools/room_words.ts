import { PIPELINES } from "./room.ts";

/** Words that the isolates of a driver room share. */
export const W = {
  /** Rung for the main isolate. */
  Bell: 0,
  /** Pools that are wanted, a bit each. */
  Wanted: 1,
  /** The room is being closed. */
  Closing: 2,
  /** Milliseconds of creations that the pipeline cache's file does not have, at least one for each. */
  UnsavedMs: 3,
  /** Creations, of them cache hits, and their milliseconds. */
  Created: 4,
  Hits: 5,
  CreatedMs: 6,
  /** Programs and pipelines that were to be made ahead of use, and could not be. */
  AheadFailed: 7,
  /** How often all pipelines were destroyed. */
  Cleared: 8,
  /** Records of pipelines that could not be written to the journal. */
  Unrecorded: 9,
  /** From here on a word for each entry of the table of pipelines: its generation that a dispatch asked for. */
  Asked: 10,
} as const;
/** How many. */
export const WORDS = W.Asked + PIPELINES;
