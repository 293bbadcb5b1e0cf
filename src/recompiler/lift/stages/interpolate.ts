/**
 * Parameter interpolation (AMD RDNA2 ISA, sections 12.17 and 12.10): an attribute at barycentrics I and J is (P0 + P10 * I) + P20 * J, in two instructions.
 * The two become one operation, which the emitter gives an input variable where I and J are those of the pixel.
 */
import { Flag, type Instruction, Operand } from "../../../rdna/instruction.ts";
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import type { Define } from "../dispatch.ts";
import { refuse } from "../refusal.ts";
import { underExec } from "../under_exec.ts";

/** Adds the handlers of this class. */
export function defineInterpolation(define: Define): void {
  define("v_interp_p1_f32", (l, i) => {
    const { m0, component } = attribute(l, i);
    l.setVector(i.dst, l.ir.emit(Op.InterpolateP1, l.asF(l.source(i.src0)), m0, component));
  });
  define("v_interp_p2_f32", (l, i) => {
    const { ir } = l, { m0, component } = attribute(l, i);
    const first = underExec(l, l.state.values[i.dst]);
    if (ir.op[first] !== Op.InterpolateP1 || ir.c[first] !== component || ir.b[first] !== m0) {
      refuse("it adds to what is no first step of the same attribute");
    }
    l.setVector(i.dst, ir.emit(Op.Interpolate, ir.a[first], l.asF(l.source(i.src0)), m0, component));
  });
  define("v_interp_mov_f32", (l, i) => {
    const { m0, component } = attribute(l, i);
    l.setVector(i.dst, l.ir.emit(Op.Parameter, m0, component, i.imm));
  });
}

/** M0, and the number of the attribute's component. */
function attribute(l: Lifter, i: Instruction): { m0: number; component: number } {
  const { graphics } = l.request;
  if (graphics === undefined) refuse("it belongs to graphics stages, this is a compute program");
  if (graphics.stage !== "pixel") refuse("it belongs to pixel programs");
  if (i.neg !== 0 || i.abs !== 0 || i.omod !== 0 || (i.flags & Flag.Clamp) !== 0) {
    refuse("interpolation with modifiers is not documented");
  }
  const count = graphics.interpolants.length;
  if (i.dim >= count) refuse(`attribute ${i.dim}; SPI_PS_IN_CONTROL.NUM_INTERP is ${count}`);
  return { m0: l.scalar(Operand.M0), component: i.dim * 4 + i.mode };
}
