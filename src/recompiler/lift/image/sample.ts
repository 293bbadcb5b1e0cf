/**
 * Image samples, gathers and the level-of-detail query (AMD RDNA2 ISA, section 12.16), at the precision that src/rdna/interpreter/image/sample.ts documents:
 * coordinates in f64, weights of 8 bits, texels blended in f64. The same operations in the same order, so that the results are the interpreter's.
 *
 * The level of detail from derivatives is computed to 2^-46, where the interpreter's is to 2^-52: weights between levels could differ by a step of 1/256
 * where it lies that near the middle of two.
 */
import { Flag, type Instruction } from "../../../rdna/instruction.ts";
import { OPCODES } from "../../../rdna/table.ts";
import { FaultReason, nowhere } from "../../abi.ts";
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import type { Define } from "../dispatch.ts";
import { floatBits, isNan } from "../formats/bits.ts";
import type { SamplerClass } from "../image_descriptor.ts";
import { constant64 } from "../memory.ts";
import { refuse } from "../refusal.ts";
import { REFUSED_NAMES } from "../unsupported.ts";
import { type ImageAddress, imageAddress } from "./address.ts";
import { atLeast, atMost, type Double, f64, idOf, isNan64, isPositive, requireDouble, widen } from "./double.ts";
import { limitLod, rawLod } from "./lod.ts";
import { clampTexel, hasBorder, type Tap, tapOf, WEIGHT_STEPS } from "./taps.ts";
import { type ImageOperands, imageOperands, namedComponents, readTexel, selectComponents, writeData } from "./texel.ts";
import { Dim, type ImageView, type Level } from "./view.ts";

/** Adds the handlers of this class. */
export function defineImageSamples(define: Define): void {
  for (const { name, image, words } of OPCODES) {
    if (image !== "sample" && image !== "gather") continue;
    if (!REFUSED_NAMES.has(name)) define(name, words.has("lod") ? query : image === "gather" ? gather : sample);
  }
}

/** What a sample works with. */
interface Sample {
  readonly l: Lifter;
  readonly i: Instruction;
  readonly view: ImageView;
  readonly sampler: SamplerClass;
  readonly address: ImageAddress;
  readonly unnormalized: boolean;
  /** The result is compared with a reference. */
  readonly compares: boolean;
  /** Components that are needed. */
  readonly mask: number;
  /** Axes that are filtered. */
  readonly axes: number;
}

function begin(l: Lifter, i: Instruction): Sample | undefined {
  requireDouble(l, "sampling");
  const operands = imageOperands(l, i);
  if (operands === undefined) return undefined;
  const { view, sampler }: ImageOperands = operands;
  if (view.hasSamples) refuse("images with several samples are not filtered");
  view.requireDimension(i.dim);
  return {
    l,
    i,
    view,
    sampler,
    address: imageAddress(l, i, true),
    unnormalized: sampler.unnormalized || (i.flags & Flag.Unorm) !== 0,
    compares: OPCODES[i.op].words.has("c"),
    mask: i.mode === 0 ? 1 : i.mode,
    axes: i.dim === Dim.D1 || i.dim === Dim.D1Array ? 1 : i.dim === Dim.D3 ? 3 : 2,
  };
}

function lodOf(s: Sample): Double {
  const { l, i, view, sampler, address } = s;
  return limitLod(l, rawLod(l, i, view, sampler, address, s.unnormalized), sampler, address);
}

/** The level of detail, not below the image's own limit. */
function limitedByView({ l, view: { fields } }: Sample, lod: Double): Double {
  return atLeast(l, lod, fields.minLod - fields.baseLevel);
}

// --- samples ---

function sample(l: Lifter, i: Instruction): void {
  const s = begin(l, i);
  if (s === undefined) return;
  const { view, sampler, mask } = s;
  const { minFilter, magFilter, mipFilter, maxAniso, filterMode } = sampler;
  if ((minFilter >= 2 || magFilter >= 2) && maxAniso > 0) refuse("anisotropic filtering");
  if (filterMode === 3) refuse("the reserved filter mode 3 of a sampler");
  const levels = view.lastLevel, sameFilter = ((minFilter ^ magFilter) & 1) === 0;
  // Where nothing depends on the level of detail it is not computed: derivatives cost an exchange.
  const needsLod = !sameFilter || (levels > 0 && mipFilter !== 0);
  const limited: Double = needsLod ? limitedByView(s, lodOf(s)) : { known: 0 };
  const isMin = isPositive(l, limited);
  const bit = (filter: number) => filter & 1 ? l.true : l.false;
  const linear = sameFilter ? bit(magFilter) : l.select(isMin, bit(minFilter), bit(magFilter));
  const zLinear = sampler.zFilter === 0 ? linear : bit(sampler.zFilter === 2 ? 1 : 0);
  const blends = linear !== l.false || (s.axes === 3 && zLinear !== l.false) || (levels > 0 && mipFilter === 2);
  if (!view.format.isFloat && blends) {
    refuse("linear filtering of integers");
  }
  const sum = new Sum(s);
  for (const { level, weight } of levelsOf(s, limited)) sampleLevel(s, sum, level, weight, linear, zLinear);
  writeData(l, i, view.format.isFloat, namedComponents(mask).map((c) => sum.result(c)));
}

/** A level of the view that takes part, with its weight: an F64, 0 for all of it. */
interface WeightedLevel {
  readonly level: Level;
  readonly weight: number;
}

function levelsOf(s: Sample, limited: Double): WeightedLevel[] {
  const { l, view, sampler: { mipFilter } } = s;
  const { ir } = l;
  const levels = view.lastLevel;
  const number = (value: number) => view.levelOf(l.u(value));
  if (levels === 0 || mipFilter === 0) return [{ level: number(0), weight: 0 }];
  const exact = atLeast(l, atMost(l, limited, levels), 0);
  if (mipFilter !== 2) {
    if ("known" in exact) return [{ level: number(Math.min(Math.floor(exact.known + 0.5), levels)), weight: 0 }];
    return [{ level: view.levelOf(nearestLevel(s, exact)), weight: 0 }];
  }
  if ("known" in exact) {
    const steps = Math.round(exact.known * WEIGHT_STEPS);
    const low = Math.floor(steps / WEIGHT_STEPS), weight = steps % WEIGHT_STEPS / WEIGHT_STEPS;
    if (weight === 0) return [{ level: number(low), weight: 0 }];
    return [{ level: number(low), weight: f64(l, 1 - weight) }, { level: number(low + 1), weight: f64(l, weight) }];
  }
  const scaled = ir.emit(Op.FMul64, exact.id, f64(l, WEIGHT_STEPS));
  const steps = ir.emit(Op.CvtD2U, ir.emit(Op.FFloor64, ir.emit(Op.FAdd64, scaled, f64(l, 0.5))));
  const low = ir.emit(Op.Shr, steps, l.u(8));
  const part = ir.emit(Op.CvtU2D, ir.emit(Op.And, steps, l.u(WEIGHT_STEPS - 1)));
  const weight = ir.emit(Op.FMul64, part, f64(l, 1 / WEIGHT_STEPS));
  const other = ir.emit(Op.FAdd64, f64(l, 1), ir.emit(Op.FNeg64, weight));
  // Without a weight the level behind the last is not looked at.
  const next = ir.emit(Op.UMin, l.addConstant(low, 1), l.u(levels));
  return [{ level: view.levelOf(low), weight: other }, { level: view.levelOf(next), weight }];
}

/** U32: the level nearest to a level of detail of 0 and more. */
function nearestLevel({ l, view }: Sample, exact: Double): number {
  if ("known" in exact) return l.u(Math.min(Math.floor(exact.known + 0.5), view.lastLevel));
  const floor = l.ir.emit(Op.FFloor64, l.ir.emit(Op.FAdd64, exact.id, f64(l, 0.5)));
  return l.ir.emit(Op.UMin, l.ir.emit(Op.CvtD2U, floor), l.u(view.lastLevel));
}

/** Adds a level's sample to the sums. */
function sampleLevel(s: Sample, sum: Sum, level: Level, weight: number, linear: number, zLinear: number): void {
  const { l, axes } = s;
  const { ir } = l;
  const taps = Array.from({ length: axes }, (_, axis) => tapAt(s, axis, level, axis === 2 ? zLinear : linear));
  for (let corner = 0; corner < 1 << axes; corner++) {
    // The upper texel of an axis that is not filtered has no weight.
    if (taps.some((tap, axis) => (corner >>> axis) & 1 && tap.weight === 0)) continue;
    let share = weight;
    taps.forEach((tap, axis) => {
      if (tap.weight === 0) return;
      const part = (corner >>> axis) & 1 ? tap.weight : ir.emit(Op.FAdd64, f64(l, 1), ir.emit(Op.FNeg64, tap.weight));
      share = share === 0 ? part : ir.emit(Op.FMul64, share, part);
    });
    const counts = share === 0 ? l.true : ir.emit(Op.FOrdNe, share, f64(l, 0));
    sum.add(readCorner(s, taps, corner, level, l.and(l.exec(), counts)), share, counts);
  }
}

function tapAt({ l, i, view, address, unnormalized }: Sample, axis: number, level: Level, linear: number): Tap {
  const shift = address.offset === 0 ? 0 : l.ir.emit(Op.SBfe, address.offset, l.u(axis * 8), l.u(6));
  return tapOf(l, address.coordinates[axis], view.size(axis, level), {
    linear,
    unnormalized,
    isCube: i.dim === Dim.Cube,
    shift,
  });
}

/** Sums of weighted components. */
class Sum {
  /** F64 by component; 0 before the first texel. */
  private readonly sums = [0, 0, 0, 0];
  /** Register values of the only texel, while there is one with all of the weight. */
  private single: readonly number[] | undefined;
  private texels = 0;

  constructor(private readonly s: Sample) {}

  add(values: readonly number[], share: number, counts: number): void {
    const { l, sampler, mask, view } = this.s;
    this.texels++;
    this.single = this.texels === 1 && share === 0 ? values : undefined;
    if (!view.format.isFloat) return;
    for (const c of namedComponents(mask)) {
      const value = widen(l, values[c]);
      const before = this.sums[c] || f64(l, [0, Infinity, -Infinity][sampler.filterMode]);
      const after = sampler.filterMode === 0 ? this.blend(before, value, share) : this.extreme(before, value);
      this.sums[c] = l.select(counts, after, before);
    }
  }

  private blend(before: number, value: number, share: number): number {
    const { ir } = this.s.l;
    return ir.emit(Op.FAdd64, before, share === 0 ? value : ir.emit(Op.FMul64, share, value));
  }

  /** Minimum or maximum; a NaN stays. */
  private extreme(before: number, value: number): number {
    const { l, sampler } = this.s;
    const found = l.ir.emit(sampler.filterMode === 1 ? Op.FMin64 : Op.FMax64, before, value);
    return l.select(isNan64(l, before), before, l.select(isNan64(l, value), value, found));
  }

  /** A component as its register holds it. */
  result(c: number): number {
    const { l, view } = this.s;
    if (this.single === undefined) return l.asU(l.ir.emit(Op.CvtD2F, this.sums[c]));
    const value = this.single[c];
    if (!view.format.isFloat) return value;
    // As if added to 0: no -0, no signalling NaN.
    const quiet = l.select(isNan(l, value), l.ir.emit(Op.Or, value, l.u(0x400000)), value);
    if (this.s.sampler.filterMode !== 0) return quiet;
    const isZero = l.ir.emit(Op.IEq, l.ir.emit(Op.Shl, value, l.u(1)), l.u(0));
    return l.select(isZero, l.u(0), quiet);
  }
}

/** Selected values of one texel of a footprint: bit k of `corner` chooses the upper one along axis k. */
function readCorner(s: Sample, taps: readonly Tap[], corner: number, level: Level, active: number): number[] {
  const { l, i, view, sampler, axes, mask } = s;
  const { ir } = l;
  const isCube = i.dim === Dim.Cube;
  let border = l.false, outside = l.false;
  const clamped = (axis: number) => {
    const size = view.size(axis, level);
    const texel = (corner >>> axis) & 1 ? l.addConstant(taps[axis].low, 1) : taps[axis].low;
    if (isCube) {
      // Across an edge lies another face, which is not implemented: the access becomes a fault.
      outside = l.or(outside, l.not(ir.emit(Op.ULt, texel, size)));
      return texel;
    }
    const found = clampTexel(l, sampler.clamp[axis], texel, size);
    border = l.or(border, found.border);
    return found.texel;
  };
  const x = clamped(0), y = axes > 1 ? clamped(1) : l.u(0), z = axes === 3 ? clamped(2) : layerOf(s);
  let address = view.address([x, y, z], level);
  if (isCube) address = l.select(outside, constant64(l, BigInt(nowhere(FaultReason.CubeEdge)) << 32n), address);
  const texel = readTexel(l, i, view, address, l.and(active, l.not(border)));
  const components = s.compares ? compared(s, texel[0]) : texel;
  const values = selectComponents(l, view, components, mask);
  if (border === l.false) return values;
  const colour = borderColour(s);
  return values.map((value, c) => value === 0 ? 0 : l.select(border, colour[c], value));
}

/** Border colours do not go through DST_SEL. */
function borderColour(s: Sample): number[] {
  const { l, view, sampler: { borderType, clamp } } = s;
  if (borderType === 3 && clamp.slice(0, s.axes).some(hasBorder)) refuse("a border colour from a table");
  const one = l.u(view.format.isFloat ? 0x3f800000 : 1), zero = l.u(0);
  const colour = [0, 1, 2].map(() => borderType === 2 ? one : zero);
  const four = [...colour, borderType === 0 ? zero : one];
  return s.compares ? four.map(() => compared(s, four[0])[0]) : four;
}

/** Layer of an array, or face of a cube: the coordinate rounded to nearest even and clamped. */
function layerOf({ l, i, address, view }: Sample): number {
  const axis = i.dim === Dim.D1Array ? 1 : i.dim === Dim.D2Array || i.dim === Dim.Cube ? 2 : -1;
  if (axis < 0) return l.u(0);
  const { ir } = l;
  const rounded = ir.emit(Op.FRndne, l.asF(address.coordinates[axis]));
  let layer = ir.emit(Op.CvtF2U, rounded);
  if (i.dim === Dim.Cube) {
    // Cube arrays count eight to a cube.
    const cube = ir.emit(Op.IMul, ir.emit(Op.Shr, layer, l.u(3)), l.u(6));
    layer = ir.emit(Op.IAdd, cube, ir.emit(Op.And, layer, l.u(7)));
  }
  return ir.emit(Op.UMin, layer, l.addConstant(view.layers, -1));
}

/** Compares the reference with the depth: all components become 1 or 0 (DEPTH_COMPARE_FUNC). */
function compared({ l, view, sampler, address }: Sample, depth: number): number[] {
  const { ir } = l;
  let reference = l.asF(address.reference);
  // A reference for normalized depth is limited to what the depth can be; a NaN stays one.
  if (view.format.kind === "unorm") {
    const limited = ir.emit(Op.FMin, ir.emit(Op.FMax, reference, ir.constF(0)), ir.constF(floatBits(1)));
    reference = l.select(ir.emit(Op.FIsNan, reference), reference, limited);
  }
  const other = l.asF(depth);
  const result = [
    () => l.false,
    () => ir.emit(Op.FOrdLt, reference, other),
    () => ir.emit(Op.FOrdEq, reference, other),
    () => ir.emit(Op.FOrdLe, reference, other),
    () => ir.emit(Op.FOrdLt, other, reference),
    () => ir.emit(Op.FUnordNe, reference, other),
    () => ir.emit(Op.FOrdLe, other, reference),
    () => l.true,
  ][sampler.compare]();
  const value = l.select(result, l.u(0x3f800000), l.u(0));
  return [value, value, value, value];
}

// --- gathers ---

/** Corners of a gather in the order of the results: left below, right below, right above, left above (y grows downwards). */
const GATHER_CORNERS = [2, 3, 1, 0];

/** Gathers one component of the four texels that linear filtering would use. */
function gather(l: Lifter, i: Instruction): void {
  const s = begin(l, i);
  if (s === undefined) return;
  if (s.axes !== 2) refuse("gathering from an image that is not two-dimensional");
  const { view } = s;
  const component = s.compares ? 0 : 31 - Math.clz32(s.mask & -s.mask);
  const level = view.lastLevel === 0
    ? view.levelOf(l.u(0))
    : view.levelOf(nearestLevel(s, atLeast(l, limitedByView(s, lodOf(s)), 0)));
  const taps = [0, 1].map((axis) => tapAt(s, axis, level, l.true));
  const one: Sample = { ...s, mask: 1 << component };
  const values = GATHER_CORNERS.map((corner) => readCorner(one, taps, corner, level, l.exec())[component]);
  writeData(l, i, view.format.isFloat, values);
}

// --- the query ---

/** image_get_lod: the level of detail within the view and the sampler's limits, and without any. */
function query(l: Lifter, i: Instruction): void {
  const s = begin(l, i);
  if (s === undefined) return;
  const { view, sampler, address } = s;
  const raw = rawLod(l, i, view, sampler, address, s.unnormalized);
  const within = atLeast(l, atMost(l, limitLod(l, raw, sampler, address), view.lastLevel), 0);
  const values = [within, raw].map((lod) => l.asU(l.ir.emit(Op.CvtD2F, idOf(l, lod))));
  writeData(l, i, view.format.isFloat, namedComponents(s.mask & 3).map((c) => values[c]));
}
