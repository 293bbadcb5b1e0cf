/** Exports (AMD RDNA2 ISA, section 12.18): a wave of a graphics stage notes what it exports, in order. */
import { Flag, type Instruction, Operand } from "../../instruction.ts";
import type { Define } from "../handler.ts";
import { refuse } from "../machine/refuse.ts";
import { LANES, type Wave } from "../machine/wave.ts";

/** One export instruction that a wave has executed. */
export interface Export {
  pc: number;
  /** Target: 0 to 7 colours, 8 MRTZ, 9 nothing, 12 to 15 positions, 20 the primitive, 32 to 63 parameters. */
  target: number;
  /** Components (or, compressed, halves) that are there. */
  mask: number;
  /** Two words with two 16-bit components each. */
  compressed: boolean;
  done: boolean;
  /** EXEC tells which pixels count. */
  validMask: boolean;
  /** EXEC. */
  exec: bigint;
  /** The four words by lane; only the first two of compressed exports. */
  values: Int32Array[];
}

/** Adds the handlers of this class. */
export function defineExports(define: Define): void {
  define("exp", (w, i) => {
    if (w.stage === undefined) refuse(w, i, "belongs to graphics stages; this wave is one of a compute program");
    w.stage.exports.push({
      pc: i.pc,
      target: i.dim,
      mask: i.mode,
      compressed: (i.flags & Flag.Compr) !== 0,
      done: (i.flags & Flag.Done) !== 0,
      validMask: (i.flags & Flag.ValidMask) !== 0,
      exec: execOf(w),
      values: [i.src0, i.src1, i.src2, i.src3].map((source) => registerOf(w, i, source)),
    });
  });
}

function execOf(w: Wave): bigint {
  const low = BigInt(w.sgpr[Operand.Exec]);
  return w.size === 64 ? low | BigInt(w.sgpr[Operand.ExecHi]) << 32n : low;
}

function registerOf(w: Wave, i: Instruction, source: number): Int32Array {
  if (source < Operand.Vgpr0) refuse(w, i, `source ${source}`);
  const row = (source - Operand.Vgpr0) * LANES;
  return w.vgpr.slice(row, row + w.size);
}
