/** Program control that is no branch (AMD RDNA2 ISA, section 12.5), and instructions that only wait, hint or touch caches. */
import { NO_EFFECT } from "../../rdna/no_effect.ts";
import { FenceKind, Op } from "../ir/ops.ts";
import type { Define } from "./dispatch.ts";
import { FENCES, waitsForAnswers } from "./fences.ts";
import { refuse } from "./refusal.ts";

/** What else has no effect in the recompiler: no lane pipeline to flush, no translation cache to probe. */
const HERE = ["v_nop", "v_pipeflush", "s_atc_probe", "s_atc_probe_buffer"];

/** Adds the handlers of this class. */
export function defineProgramControl(define: Define): void {
  for (const name of [...NO_EFFECT, ...HERE]) if (FENCES[name] === undefined) define(name, () => {});
  for (const [name, kind] of Object.entries(FENCES)) {
    define(name, (l, i) => {
      if (l.request.graphics !== undefined) return;
      if (kind !== FenceKind.Results || waitsForAnswers(l.answerCounters, name, i.imm)) l.ir.emit(Op.Fence, kind);
    });
  }
  define("s_sethalt", (_, i) => {
    if ((i.imm & 1) !== 0) refuse("it halts the wave until the host resumes it");
  });
  define("s_barrier", (l) => {
    // Without LDS, which is refused there, nobody can tell whether the waves of a graphics stage wait for each other.
    if (l.request.graphics === undefined) l.ir.emit(Op.Barrier);
  });
}
