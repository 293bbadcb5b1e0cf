/** From coordinates to texels: scaling, filter weights, clamping (src/rdna/interpreter/image/sample.ts, as IR). */
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import { refuse } from "../refusal.ts";
import { f64, isNan64 } from "./double.ts";

/** Clamp modes. */
const Clamp = { Wrap: 0, Mirror: 1, LastTexel: 2, MirrorOnceLastTexel: 3, Border: 6, MirrorOnceBorder: 7 } as const;

/** Steps of a filter weight. */
export const WEIGHT_STEPS = 256;

/** A coordinate along one axis: the lower texel (U32, signed), and the F64 weight of the upper one; 0 where it has none. */
export interface Tap {
  readonly low: number;
  readonly weight: number;
}

/** How an axis is filtered: a Bool for each lane, or {@linkcode Lifter.true} and {@linkcode Lifter.false}. */
export interface TapForm {
  readonly linear: number;
  readonly unnormalized: boolean;
  /** Cube coordinates lie in 1..2. */
  readonly isCube: boolean;
  /** U32: texel offset, 0 for none. */
  readonly shift: number;
}

/** Finds the texels of a coordinate (f32 bits) on an axis of `size` texels (U32). NaN counts as zero. */
export function tapOf(l: Lifter, coordinate: number, size: number, form: TapForm): Tap {
  const { ir } = l;
  // A negative denormal lies in the texel below 0, whether or not MODE flushes it on the way to f64.
  const isTiny = ir.emit(Op.ULt, l.addConstant(coordinate, 0x7fffffff), l.u(0x7fffff));
  let at = ir.emit(Op.CvtF2D, l.asF(l.select(isTiny, l.u(0x80800000), coordinate)));
  if (form.isCube) at = ir.emit(Op.FAdd64, at, f64(l, -1));
  if (!form.unnormalized) at = ir.emit(Op.FMul64, at, ir.emit(Op.CvtU2D, size));
  const limited = ir.emit(Op.FMin64, ir.emit(Op.FMax64, at, f64(l, -1e9)), f64(l, 1e9));
  const exact = l.select(isNan64(l, at), f64(l, 0), limited);
  const shifted = (low: number) => form.shift === 0 ? low : ir.emit(Op.IAdd, low, form.shift);
  const nearest = () => shifted(ir.emit(Op.CvtD2S, ir.emit(Op.FFloor64, exact)));
  if (form.linear === l.false) return { low: nearest(), weight: 0 };
  const moved = ir.emit(Op.FMul64, ir.emit(Op.FAdd64, exact, f64(l, -0.5)), f64(l, WEIGHT_STEPS));
  const steps = ir.emit(Op.FRndne64, moved);
  const floor = ir.emit(Op.FFloor64, ir.emit(Op.FMul64, steps, f64(l, 1 / WEIGHT_STEPS)));
  const rest = ir.emit(Op.FAdd64, steps, ir.emit(Op.FMul64, floor, f64(l, -WEIGHT_STEPS)));
  const low = shifted(ir.emit(Op.CvtD2S, floor)), weight = ir.emit(Op.FMul64, rest, f64(l, 1 / WEIGHT_STEPS));
  if (form.linear === l.true) return { low, weight };
  return { low: l.select(form.linear, low, nearest()), weight: l.select(form.linear, weight, f64(l, 0)) };
}

/** A texel brought into the image. */
export interface Clamped {
  /** U32, below the size. */
  readonly texel: number;
  /** Bool: it is the border instead. */
  readonly border: number;
}

/** Whether a clamp mode ever gives the border. */
export function hasBorder(mode: number): boolean {
  return mode === Clamp.Border || mode === Clamp.MirrorOnceBorder;
}

/** Brings a texel of an axis into the image. */
export function clampTexel(l: Lifter, mode: number, texel: number, size: number): Clamped {
  const { ir } = l;
  const last = l.addConstant(size, -1);
  const mirrored = () => l.select(ir.emit(Op.SLt, texel, l.u(0)), ir.emit(Op.Not, texel), texel);
  switch (mode) {
    case Clamp.Wrap:
      return { texel: remainder(l, texel, size), border: l.false };
    case Clamp.Mirror: {
      const turn = remainder(l, texel, ir.emit(Op.Shl, size, l.u(1)));
      const back = ir.emit(Op.ISub, l.addConstant(ir.emit(Op.Shl, size, l.u(1)), -1), turn);
      return { texel: l.select(ir.emit(Op.ULt, turn, size), turn, back), border: l.false };
    }
    case Clamp.LastTexel:
      return { texel: ir.emit(Op.SMin, ir.emit(Op.SMax, texel, l.u(0)), last), border: l.false };
    case Clamp.MirrorOnceLastTexel:
      return { texel: ir.emit(Op.UMin, mirrored(), last), border: l.false };
    case Clamp.Border:
      return { texel, border: l.not(ir.emit(Op.ULt, texel, size)) };
    case Clamp.MirrorOnceBorder: {
      const once = mirrored();
      return { texel: once, border: l.not(ir.emit(Op.ULt, once, size)) };
    }
    default:
      return refuse("clamping to half a border texel");
  }
}

/** The remainder, 0 to size - 1, of a signed number by a size of at most 2^15: by a quotient in f64 that is at most one off. */
function remainder(l: Lifter, value: number, size: number): number {
  const { ir } = l;
  const number = ir.emit(Op.CvtS2D, value), divisor = ir.emit(Op.CvtU2D, size);
  const quotient = ir.emit(Op.CvtD2S, ir.emit(Op.FFloor64, ir.emit(Op.FMul64, number, ir.emit(Op.FRcp64, divisor))));
  const rest = ir.emit(Op.ISub, value, ir.emit(Op.IMul, quotient, size));
  const raised = l.select(ir.emit(Op.SLt, rest, l.u(0)), ir.emit(Op.IAdd, rest, size), rest);
  return l.select(ir.emit(Op.SLe, size, raised), ir.emit(Op.ISub, raised, size), raised);
}
