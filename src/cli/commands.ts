/**
 * The table of commands.
 *
 * @module
 */
import { BENCH } from "./bench.ts";
import { CAPTURE } from "./capture.ts";
import type { Command } from "./command.ts";
import { COMPLETIONS } from "./completions.ts";
import { CONVERT } from "./convert.ts";
import { DISASM } from "./disasm.ts";
import { DOCTOR } from "./doctor.ts";
import { INSPECT } from "./inspect.ts";
import { JOURNAL } from "./journal.ts";
import { RECOMPILE } from "./recompile.ts";
import { REPLAY } from "./replay.ts";
import { RUN } from "./run.ts";

/** All commands, in the order of the help. Back ends are imported by a command's `run`, so that help costs nothing. */
export const COMMANDS: readonly Command[] = [
  RUN,
  CAPTURE,
  REPLAY,
  CONVERT,
  INSPECT,
  DISASM,
  RECOMPILE,
  JOURNAL,
  DOCTOR,
  BENCH,
  COMPLETIONS,
];
