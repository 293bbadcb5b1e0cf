/**
 * Parameter interpolation (AMD RDNA2 ISA, section 12.17): P0 + P10 * I, and then + P20 * J, each rounded once. How the hardware rounds in between is not
 * documented; hosts interpolate in their own way, so nothing may depend on it.
 */
import { Flag, type Instruction, Operand } from "../../instruction.ts";
import { fma32 } from "../float/f32.ts";
import type { Define } from "../handler.ts";
import { refuse } from "../machine/refuse.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import type { StageWave } from "./run_stage_wave.ts";

/** Values of v_interp_mov_f32's operand, which are also those of {@linkcode StageWave.parameter}. */
const P10 = 0, P20 = 1, P0 = 2;

/** Adds the handlers of this class. */
export function defineInterpolation(define: Define): void {
  define("v_interp_p1_f32", (w, i) => {
    const stage = stageOf(w, i);
    each(w, i, (lane, source) => fma32(w.mode, parameter(stage, i, lane, P10), source, parameter(stage, i, lane, P0)));
  });
  define("v_interp_p2_f32", (w, i) => {
    const stage = stageOf(w, i);
    each(w, i, (lane, source, old) => fma32(w.mode, parameter(stage, i, lane, P20), source, old));
  });
  define("v_interp_mov_f32", (w, i) => {
    const stage = stageOf(w, i);
    each(w, i, (lane) => parameter(stage, i, lane, i.imm));
  });
  for (const name of ["v_interp_p1ll_f16", "v_interp_p1lv_f16", "v_interp_p2_f16"]) {
    define(name, (w, i) => refuse(w, i, "how 16-bit parameters lie in LDS is not documented"));
  }
}

function stageOf(w: Wave, i: Instruction): StageWave {
  if (w.stage === undefined) refuse(w, i, "belongs to graphics stages; this wave is one of a compute program");
  if (i.neg !== 0 || i.abs !== 0 || i.omod !== 0 || (i.flags & Flag.Clamp) !== 0) refuse(w, i, "with modifiers");
  if (w.sgpr[Operand.M0] !== w.stage.primitiveMask >>> 0) {
    refuse(w, i, "M0 is not the primitive mask that the wave got");
  }
  return w.stage;
}

function parameter(stage: StageWave, i: Instruction, lane: number, which: number): number {
  return stage.parameter(lane, i.dim, i.mode, which);
}

function each(w: Wave, i: Instruction, compute: (lane: number, source: number, old: number) => number): void {
  w.activateExec();
  const to = (i.dst - Operand.Vgpr0) * LANES, from = (i.src0 - Operand.Vgpr0) * LANES;
  const results = new Int32Array(w.size);
  for (let lane = 0; lane < w.size; lane++) {
    if (w.isActive(lane)) results[lane] = compute(lane, i.src0 < 0 ? 0 : w.vgpr[from + lane], w.vgpr[to + lane]);
  }
  for (let lane = 0; lane < w.size; lane++) if (w.isActive(lane)) w.vgpr[to + lane] = results[lane];
}
