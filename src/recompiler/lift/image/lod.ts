/** Level of detail (src/rdna/interpreter/image/sample_ops.ts, as IR). */
import { IMAGE_DIMS } from "../../../rdna/image.ts";
import type { Instruction } from "../../../rdna/instruction.ts";
import { OPCODES } from "../../../rdna/table.ts";
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import type { SamplerClass } from "../image_descriptor.ts";
import type { ImageAddress } from "./address.ts";
import { atLeast, atMost, type Double, f64, idOf, isNan64, log2, plus, widen } from "./double.ts";
import type { ImageView } from "./view.ts";

/** The level of detail of an instruction before limits; 0 is the view's first level. NaN counts as 0. */
export function rawLod(
  l: Lifter,
  i: Instruction,
  view: ImageView,
  sampler: SamplerClass,
  address: ImageAddress,
  unnormalized: boolean,
): Double {
  const lod = anyLod(l, i, view, sampler, address, unnormalized);
  return "known" in lod ? lod : { id: l.select(isNan64(l, lod.id), f64(l, 0), lod.id) };
}

function anyLod(
  l: Lifter,
  i: Instruction,
  view: ImageView,
  sampler: SamplerClass,
  address: ImageAddress,
  unnormalized: boolean,
): Double {
  const { words } = OPCODES[i.op];
  if (words.has("lz") || unnormalized) return { known: 0 };
  if (words.has("l")) return plus(l, { id: widen(l, address.lod) }, sampler.lodBias);
  const given = words.has("d") || words.has("cd");
  const derivatives = given
    ? address.derivatives.map((axis) => axis.map((bits) => widen(l, bits)))
    : quadDerivatives(l, i, address);
  const lod = lodOfDerivatives(l, view, derivatives);
  if (!words.has("b")) return plus(l, { id: lod }, sampler.lodBias);
  const bias = plus(l, { id: widen(l, address.bias) }, sampler.lodBias);
  return { id: l.ir.emit(Op.FAdd64, lod, idOf(l, bias)) };
}

/** The sampler's limits, then the instruction's own lower limit. */
export function limitLod(l: Lifter, lod: Double, sampler: SamplerClass, address: ImageAddress): Double {
  const limited = atLeast(l, atMost(l, lod, sampler.maxLod), sampler.minLod);
  if (address.lodClamp === 0) return limited;
  return { id: l.ir.emit(Op.FMax64, idOf(l, limited), widen(l, address.lodClamp)) };
}

/** Derivatives across the lane's quad: lanes 0 and 1 lie side by side, 2 and 3 below them. Registers of lanes outside EXEC are read as they are. */
function quadDerivatives(l: Lifter, i: Instruction, { coordinates }: ImageAddress): number[][] {
  const { ir } = l;
  const count = IMAGE_DIMS[i.dim].derivative;
  return [1, 2].map((step) => {
    const first = ir.emit(Op.And, l.lane, l.u(~step)), second = ir.emit(Op.Or, first, l.u(step));
    return coordinates.slice(0, count).map((bits) => {
      const [from, to] = [first, second].map((lane) => widen(l, ir.emit(Op.Shuffle, bits, lane)));
      return ir.emit(Op.FAdd64, to, ir.emit(Op.FNeg64, from));
    });
  });
}

/** log2 of the longer derivative in texels of the view's first level; -1000 without any. */
function lodOfDerivatives(l: Lifter, view: ImageView, derivatives: readonly number[][]): number {
  const { ir } = l;
  const base = view.levelOf(l.u(0));
  const lengths = derivatives.map((axis) => {
    const squares = axis.map((derivative, c) => {
      const texels = ir.emit(Op.FMul64, derivative, ir.emit(Op.CvtU2D, view.size(c, base)));
      return ir.emit(Op.FMul64, texels, texels);
    });
    return squares.reduce((sum, square) => ir.emit(Op.FAdd64, sum, square));
  });
  // A NaN is no length.
  const longest = lengths.reduce((most, length) => ir.emit(Op.FMax64, most, length), f64(l, 0));
  const isZero = ir.emit(Op.FOrdEq, longest, f64(l, 0)), isInfinite = ir.emit(Op.FOrdEq, longest, f64(l, Infinity));
  const finite = ir.emit(Op.FMul64, log2(l, longest), f64(l, 0.5));
  return l.select(isZero, f64(l, -1000), l.select(isInfinite, f64(l, Infinity), finite));
}
