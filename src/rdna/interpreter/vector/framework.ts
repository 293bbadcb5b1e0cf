/**
 * Vector ALU handlers from pure functions: the opcode table says how sources are fetched and where the result goes, a kernel computes one lane.
 */
import { Flag, type Instruction, Operand } from "../../instruction.ts";
import { type Opcode, opcodeId, OPCODES } from "../../table.ts";
import type { FloatMode } from "../float/mode.ts";
import type { Define, Handler } from "../handler.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { finishInteger, refuseOutputModifiers, RESULT, RESULT_WIDE, writeOf } from "../operands/results.ts";
import { beginVector, type Fetch, fetchOf, isWide, NARROW, WIDE } from "../operands/vector.ts";

/**
 * Computes one lane. Sources of up to 32 bits are int32 numbers (16-bit ones in the low half, zero-extended), 64-bit ones unsigned bigints, lane masks
 * 0 or 1; results likewise.
 */
// deno-lint-ignore no-explicit-any
export type Kernel = (m: FloatMode, a: any, b: any, c: any) => number | bigint;

/** Options of {@linkcode defineVop}. */
interface VopOptions {
  /** The destination's old value is the last source. */
  accumulate?: boolean;
  /** What to do with an integer result: nothing (the default; modifiers are refused), or wrap or clamp an exact one. */
  exact?: boolean;
}

/** Registers a vector ALU opcode. */
export function defineVop(define: Define, name: string, kernel: Kernel, options: VopOptions = {}): void {
  define(name, vopHandler(OPCODES[opcodeId(name)], kernel, options));
}

/** Float result (clamp and output modifiers act), or one that takes no modifiers. */
export function vopHandler(opcode: Opcode, kernel: Kernel, options: VopOptions): Handler {
  const { src, dst } = opcode;
  const fetches: Fetch[] = src.map((_, n) => fetchOf(opcode, n));
  const type = dst[0];
  const write = writeOf(type);
  const isFloat = type.kind === "f";
  const finish = finisher(opcode, options.exact === true);
  const wideSources = src.map(isWide);
  if (options.accumulate) {
    fetches.push(fetchDestination);
    wideSources.push(false);
  }
  const wide = isWide(type) || wideSources.includes(true);
  const compute = wide ? wideLoop(kernel, wideSources, isWide(type)) : narrowLoop(kernel);
  return (w, i) => {
    beginVector(w, i);
    for (let n = 0; n < fetches.length; n++) fetches[n](w, i, n);
    if (!isFloat && (i.omod !== 0 || i.flags & Flag.Clamp)) checkModifiers(w, i, options.exact === true, opcode);
    compute(w);
    if (finish !== undefined) finish(w, i);
    write(w, i);
  };
}

/** Integer results clamp where they are exact; an output modifier does nothing to conversions (LLVM: it only clears exceptions). */
function checkModifiers(w: Wave, i: Instruction, exact: boolean, opcode: Opcode): void {
  if (exact && i.omod === 0) return;
  if (opcode.name.startsWith("v_cvt_") || opcode.name.startsWith("v_frexp_exp")) {
    if ((i.flags & Flag.Clamp) === 0) return;
  }
  refuseOutputModifiers(w, i);
}

function finisher(opcode: Opcode, exact: boolean): ((w: Wave, i: Instruction) => void) | undefined {
  const type = opcode.dst[0];
  if (!exact || isWide(type)) return undefined;
  const signed = type.kind === "i";
  return (w, i) => {
    const clamp = (i.flags & Flag.Clamp) !== 0;
    for (let lane = 0; lane < w.size; lane++) RESULT[lane] = finishInteger(EXACT[lane], type.bits, signed, clamp);
  };
}

/** Exact integer results, before wrapping or clamping. */
const EXACT = new Float64Array(LANES);

function narrowLoop(kernel: Kernel): (w: Wave) => void {
  const [a, b, c] = NARROW;
  return (w) => {
    const m = w.mode;
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      const value = kernel(m, a[lane], b[lane], c[lane]) as number;
      RESULT[lane] = value;
      EXACT[lane] = value;
    }
  };
}

function wideLoop(kernel: Kernel, wideSources: readonly boolean[], wideResult: boolean): (w: Wave) => void {
  const [a, b, c] = [0, 1, 2].map((n) => wideSources[n] ? WIDE[n] : NARROW[n]);
  return (w) => {
    const m = w.mode;
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      const value = kernel(m, a[lane], b[lane], c[lane]);
      if (wideResult) RESULT_WIDE[lane] = value as bigint;
      else {
        RESULT[lane] = value as number;
        EXACT[lane] = value as number;
      }
    }
  };
}

/** The destination's old value as source `n`: 32 bits, or the half that op_sel bit 3 names for 16-bit results. */
function fetchDestination(w: Wave, i: Instruction, n: number): void {
  const out = NARROW[n], { vgpr } = w;
  const row = (i.dst - Operand.Vgpr0) * LANES;
  const { bits, count } = OPCODES[i.op].dst[0];
  const shift = i.opSel & 8 ? 16 : 0;
  for (let lane = 0; lane < w.size; lane++) {
    const old = vgpr[row + lane];
    out[lane] = bits === 16 && count === 1 ? old >>> shift & 0xffff : old;
  }
}
