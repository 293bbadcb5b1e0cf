/** Program control that is no branch (AMD RDNA2 ISA, section 12.5), and instructions that only wait, hint or touch caches. */
import { NO_EFFECT } from "../../rdna/no_effect.ts";
import { Op } from "../ir/ops.ts";
import type { Define } from "./dispatch.ts";
import { refuse } from "./refusal.ts";

/** What else has no effect in the recompiler: no lane pipeline to flush, no translation cache to probe. */
const HERE = ["v_nop", "v_pipeflush", "s_atc_probe", "s_atc_probe_buffer"];

/**
 * What programs put between accesses to memory whose order they count on (LLVM, "Memory Model GFX10-GFX11"): waiting for stores, and looking at memory
 * anew. What waits for loads and results of atomics only (vmcnt) is needed for the values themselves, and says nothing.
 */
const FENCES: readonly string[] = [
  "s_waitcnt_vscnt",
  "s_dcache_inv",
  "s_dcache_wb",
  "s_gl1_inv",
  "buffer_gl0_inv",
  "buffer_gl1_inv",
];

/** Adds the handlers of this class. */
export function defineProgramControl(define: Define): void {
  for (const name of [...NO_EFFECT, ...HERE]) if (!FENCES.includes(name)) define(name, () => {});
  for (const name of FENCES) {
    define(name, (l) => {
      if (l.request.graphics === undefined) l.ir.emit(Op.Fence, name === "s_waitcnt_vscnt" ? 1 : 0);
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
