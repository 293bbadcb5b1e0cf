/** Program control that is no branch (AMD RDNA2 ISA, section 12.5), and instructions that only wait, hint or touch caches. */
import { Op } from "../ir/ops.ts";
import type { Define } from "./dispatch.ts";

/**
 * Nothing to do: memory operations are in program order here, so waits, clauses and cache invalidations have no effect of their own; priorities,
 * sleeps, probes and prefetches change timing only; trace data and performance levels go to tools that are not there; s_version states what the program
 * was built for.
 */
const NO_EFFECT = [
  "s_nop",
  "s_waitcnt",
  "s_waitcnt_vscnt",
  "s_waitcnt_vmcnt",
  "s_waitcnt_expcnt",
  "s_waitcnt_lgkmcnt",
  "s_waitcnt_depctr",
  "s_wait_idle",
  "s_clause",
  "s_inst_prefetch",
  "s_sleep",
  "s_wakeup",
  "s_setprio",
  "s_icache_inv",
  "s_dcache_inv",
  "s_dcache_wb",
  "s_gl1_inv",
  "buffer_gl0_inv",
  "buffer_gl1_inv",
  "v_nop",
  "v_pipeflush",
  "ds_nop",
  "s_atc_probe",
  "s_atc_probe_buffer",
  "s_ttracedata",
  "s_ttracedata_imm",
  "s_incperflevel",
  "s_decperflevel",
  "s_version",
];

/** Adds the handlers of this class. */
export function defineProgramControl(define: Define): void {
  for (const name of NO_EFFECT) define(name, () => {});
  define("s_barrier", (l) => {
    l.ir.emit(Op.Barrier);
  });
}
