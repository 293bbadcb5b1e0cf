/** Opcodes that the instruction fuzzer never draws, with the reason: they end or leave the program, belong to graphics stages, or a side refuses them by name. */
import { REFUSED_NAMES } from "../../src/recompiler/lift/unsupported.ts";

const END = "it ends the program: every program that the fuzzers make ends with s_endpgm";
const GRAPHICS = "it belongs to graphics stages, and the fuzzers make compute programs: tests/recompiler/stages";
const DEBUGGER = "refused by the recompiler: it asks for a debugger";

/** Reasons by mnemonic, beside those that the recompiler gives for what it refuses by name. */
const REASONS: Readonly<Record<string, string>> = {
  s_endpgm: END,
  s_endpgm_saved: END,
  s_endpgm_ordered_ps_done: END,
  s_code_end: "no instruction: it marks the end of all code",
  s_trap: "refused by the recompiler: there is no trap handler",
  s_rfe_b64: "refused by the recompiler: it returns from a trap handler",
  s_cbranch_cdbgsys: DEBUGGER,
  s_cbranch_cdbguser: DEBUGGER,
  s_cbranch_cdbgsys_or_user: DEBUGGER,
  s_cbranch_cdbgsys_and_user: DEBUGGER,
  s_sendmsg: GRAPHICS,
  v_interp_p1_f32: GRAPHICS,
  v_interp_p2_f32: GRAPHICS,
  v_interp_mov_f32: GRAPHICS,
  exp: GRAPHICS,
  s_subvector_loop_begin: "refused by the recompiler: it runs a wave of 64 in halves",
  s_subvector_loop_end: "refused by the recompiler: it runs a wave of 64 in halves",
};

/** Why an opcode is not drawn; undefined for those that should be. */
export function whyUndrawn(name: string): string | undefined {
  const refused = REFUSED_NAMES.get(name);
  return refused === undefined ? REASONS[name] : `refused by the recompiler: ${refused}`;
}

/** All opcodes that {@linkcode whyUndrawn} knows beside those that are refused by name. */
export const UNDRAWN: readonly string[] = Object.keys(REASONS);
