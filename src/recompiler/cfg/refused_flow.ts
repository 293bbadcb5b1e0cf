/** Why instructions that may change the program counter are not recompiled, by mnemonic. */
export const FLOW_REASONS: Readonly<Record<string, string>> = {
  s_trap: "there is no trap handler",
  s_rfe_b64: "returns from a trap handler",
  s_code_end: "no instruction: it marks the end of all code",
  s_cbranch_cdbgsys: "asks for a debugger",
  s_cbranch_cdbguser: "asks for a debugger",
  s_cbranch_cdbgsys_or_user: "asks for a debugger",
  s_cbranch_cdbgsys_and_user: "asks for a debugger",
  s_subvector_loop_begin: "runs a wave of 64 in halves",
  s_subvector_loop_end: "runs a wave of 64 in halves",
};
