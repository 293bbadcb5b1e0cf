import type { Target } from "../target.ts";

/** What the text of an instruction depends on beside the instruction. */
export interface DisassemblyContext {
  /** Lanes per wave: decides whether a lane mask is one SGPR or a pair. */
  readonly waveSize: 32 | 64;
  /** GPU variant: some hardware registers and counters have a name on one of them only. */
  readonly target: Target;
}
