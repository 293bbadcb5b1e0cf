import { InvalidInputError } from "../errors.ts";

/** The graphics queue (DCB). */
export const GRAPHICS_QUEUE = 0;
/** First compute queue (ACB). */
const FIRST_COMPUTE_QUEUE = 0x20;
/** Last compute queue (ACB). */
const LAST_COMPUTE_QUEUE = 0x57;

/** One command buffer for one queue, as the guest submits it. The words are not copied: whoever may change them passes a copy. */
export interface Submission {
  /** 0 is the graphics queue, 0x20..0x57 are compute queues. */
  readonly queue: number;
  /** PM4 words. None is legal, and does nothing. */
  readonly words: Uint32Array;
  /** Guest address of the first word, where it is known (for messages). */
  readonly address?: bigint;
  /** Input file, for messages. */
  readonly file?: string;
  /** Byte offset of the first word in that file, for messages. Offsets in errors count from it (from the submission's start when absent). */
  readonly fileOffset?: number;
  /** Name for messages. */
  readonly label?: string;
  /** What the guest's shaders were when it was submitted: a number of who keeps them, which goes with its dispatches. */
  readonly snapshot?: number;
}

/** Which packets a queue takes. */
export type QueueKind = "graphics" | "compute";

/** Kind of a queue number; other numbers than 0 and 0x20..0x57 name no queue. */
export function queueKind(queue: number): QueueKind {
  if (queue === GRAPHICS_QUEUE) return "graphics";
  if (Number.isInteger(queue) && queue >= FIRST_COMPUTE_QUEUE && queue <= LAST_COMPUTE_QUEUE) return "compute";
  throw new InvalidInputError(
    "pm4.queue-number",
    "a submission goes to queue 0 (graphics) or to 0x20..0x57 (compute)",
    { queue },
  );
}
