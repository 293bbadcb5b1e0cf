/**
 * What is in the registers when a wave of a graphics stage starts (AMD RDNA2 ISA, section 3.4 "Wave state", and Mesa's argument layouts, which Linux's
 * drivers load: radv_shader_args.c).
 */
import { Operand } from "../../../rdna/instruction.ts";
import { InputKind, Op, Type } from "../../ir/ops.ts";
import { inputVgprs, type PixelState, PS_INPUTS, PsInput, type VertexState } from "../../stages/state.ts";
import type { Lifter } from "../context.ts";
import { Slot } from "../slots.ts";

/** User data of merged stages starts here: the hardware fills the SGPRs below. */
const FIRST_MERGED_USER_SGPR = 8;
/** The SGPR below with the wave's place in scratch memory. */
const SCRATCH_SGPR = 5;
/** VGPRs of a merged wave: five of a primitive, then those of a vertex. */
const PRIMITIVE_VGPRS = 5;
/** The instance's VGPR, counted from the vertex's first one. */
const INSTANCE = 3;

/** Fills the registers of a graphics stage; everything that the hardware leaves alone is zero already. */
export function fillStageRegisters(l: Lifter): void {
  const { graphics } = l.request;
  if (graphics?.stage === "pixel") fillPixel(l, graphics);
  else if (graphics?.stage === "vertex") fillVertex(l, graphics);
  const zero = l.u(0);
  for (let slot = Slot.Export0; slot < Slot.Exported0; slot++) l.state.set(slot, zero);
  for (let slot = Slot.Exported0; slot < Slot.Guard0; slot++) l.state.set(slot, l.false);
}

function fillPixel(l: Lifter, state: PixelState): void {
  const { ir, request: { userSgprCount, scratch } } = l;
  let next = userData(l, 0);
  l.setScalar(next++, ir.append(Op.Input, Type.U32, InputKind.PrimitiveMask));
  if (state.waveCount) notLoaded(l, next++);
  if (scratch) l.setScalar(next++, ir.append(Op.Input, Type.U32, InputKind.ScratchOffset));
  if (next > userSgprCount + 3) throw new Error("too many system SGPRs");
  inputVgprs(state).forEach((first, input) => {
    if (first < 0) return;
    for (let k = 0; k < PS_INPUTS[input].vgprs; k++) {
      const slot = Slot.Vgpr0 + first + k;
      if ((state.inputEna >>> input & 1) === 0) notLoaded(l, slot);
      else {
        const type = input <= PsInput.PositionW ? Type.F32 : Type.U32;
        l.state.set(slot, ir.append(Op.Input, type, InputKind.PixelInput, input * 4 + k));
      }
    }
  });
  const live = ir.append(Op.Input, Type.Bool, InputKind.Live);
  l.setScalar(Operand.Exec, ir.emit(Op.BallotLo, live), live);
  if (l.wave64) l.setScalar(Operand.ExecHi, ir.emit(Op.BallotHi, live), live);
}

function fillVertex(l: Lifter, state: VertexState): void {
  const { ir } = l;
  const input = (slot: number, kind: number, index: number) =>
    l.state.set(slot, ir.append(Op.Input, Type.U32, kind, index));
  const vertex0 = Slot.Vgpr0 + (state.form === "ngg" ? PRIMITIVE_VGPRS : 0);
  if (state.form === "ngg") {
    for (let s = 0; s < FIRST_MERGED_USER_SGPR; s++) {
      if (s === 2 || s === 3) input(s, InputKind.MergedWave, s);
      else if (s === SCRATCH_SGPR && l.request.scratch) input(s, InputKind.ScratchOffset, 0);
      else notLoaded(l, s);
    }
    userData(l, FIRST_MERGED_USER_SGPR);
    for (let v = 0; v < PRIMITIVE_VGPRS; v++) input(Slot.Vgpr0 + v, InputKind.PrimitiveInput, v);
  } else userData(l, 0);
  input(vertex0, InputKind.VertexInput, 0);
  for (let v = 1; v < INSTANCE; v++) notLoaded(l, vertex0 + v);
  if (state.vertexVgprs === INSTANCE) input(vertex0 + INSTANCE, InputKind.VertexInput, INSTANCE);
  else notLoaded(l, vertex0 + INSTANCE);
  l.setScalar(Operand.Exec, l.u(-1), l.true);
  if (l.wave64) l.setScalar(Operand.ExecHi, l.u(-1), l.true);
}

/** Loads the user data from SGPR `first` on; returns the SGPR behind them. */
function userData(l: Lifter, first: number): number {
  const { userSgprCount } = l.request;
  for (let k = 0; k < userSgprCount; k++) {
    l.setScalar(first + k, l.ir.append(Op.Input, Type.U32, InputKind.UserData, k));
  }
  return first + userSgprCount;
}

/** A register of which nothing is known: whoever reads it is refused. */
function notLoaded(l: Lifter, slot: number): void {
  const value = l.ir.append(Op.Input, Type.U32, InputKind.NotLoaded, slot);
  if (slot < Slot.Vgpr0) l.setScalar(slot, value);
  else l.state.set(slot, value);
}
