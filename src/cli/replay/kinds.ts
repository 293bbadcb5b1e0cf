import type { ReplayKind } from "./kind.ts";
import { PROGRAM_KIND } from "./program.ts";
import { REQUEST_KIND } from "./request.ts";

/** All kinds; the first that accepts a file replays it. The last accepts everything, and its loaders say what they do not know. */
export const REPLAY_KINDS: readonly ReplayKind[] = [REQUEST_KIND, PROGRAM_KIND];
