/**
 * Instructions without an effect of their own where memory operations are in program order: waits, clauses and cache maintenance order nothing;
 * priorities, sleeps, prefetches and performance counters change timing only; trace data goes to tools that are not there; s_version states what the
 * program was built for (AMD RDNA2 ISA, sections 12.5 and 12.6).
 */
export const NO_EFFECT: readonly string[] = [
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
  "ds_nop",
  "s_ttracedata",
  "s_ttracedata_imm",
  "s_incperflevel",
  "s_decperflevel",
  "s_version",
];
