import { CACHED_KINDS } from "./cached.ts";
import { JOURNAL_KIND } from "./journal.ts";
import type { InspectKind } from "./kind.ts";
import { PROGRAM_KIND } from "./program.ts";
import { ARTIFACT_KIND, REQUEST_KIND } from "./request.ts";

/** All kinds; the first that accepts a file looks into it. The last accepts everything, and its loaders say what they do not know. */
export const INSPECT_KINDS: readonly InspectKind[] = [
  JOURNAL_KIND,
  ...CACHED_KINDS,
  REQUEST_KIND,
  ARTIFACT_KIND,
  PROGRAM_KIND,
];
