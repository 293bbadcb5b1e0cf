/**
 * Sampling one place of an image with a sampler (AMD RDNA2 ISA, section 8.2; sampler fields as in AMD's register headers).
 *
 * Precision: coordinates are f32 and scaled to texels in f64; the weights of linear filtering have 8 fractional bits, as the hardware's (Vulkan:
 * subTexelPrecisionBits and mipmapPrecisionBits are 8 on AMD), rounded to nearest; texels are blended in f64 and the result is rounded to f32 once. A
 * comparison with another implementation must allow a weight's step, 1/256 of the difference of the texels, in each filtered dimension (on the console a
 * bilinear sample of 8-bit texels differs from exact blending by at most one step of 255); nearest sampling of texel centres is exact.
 *
 * Refused, because its result is not documented: anisotropic filtering, linear filtering of cube maps across edges, border colours from a table, clamping
 * to half a border texel.
 */
import type { Instruction } from "../../instruction.ts";
import { f32Bits, f32Value } from "../float/bits.ts";
import { roundToEven } from "../float/round.ts";
import { refuse } from "../machine/refuse.ts";
import type { Wave } from "../machine/wave.ts";
import { COMPONENTS } from "../memory/formats.ts";
import { Dim, type ImageAddress, texelOffset } from "./address.ts";
import type { ImageResource, Sampler } from "./resource.ts";
import { type Place, readTexel, selectComponents, SELECTED_VALUES } from "./texel.ts";

/** Clamp modes. */
const Clamp = { Wrap: 0, Mirror: 1, LastTexel: 2, MirrorOnceLastTexel: 3, Border: 6, MirrorOnceBorder: 7 } as const;

/** Steps of a filter weight. */
const WEIGHT_STEPS = 256;

/** What a sample works with; one object is reused. */
export interface SampleContext {
  w: Wave;
  i: Instruction;
  image: ImageResource;
  sampler: Sampler;
  address: ImageAddress;
  unnormalized: boolean;
  /** The result is compared with a reference. */
  compares: boolean;
  /** Components that are needed. */
  mask: number;
}

/** Result of the last sample or gather: four components as registers hold them. */
export const SAMPLED = new Int32Array(4);
/** Whether all texels of the last sample could be read. */
export let sampleGood = true;

/** Sums of weighted components. */
const SUM = new Float64Array(4);
const place: Place = { x: 0, y: 0, z: 0, sample: 0 };

/** A coordinate along one axis: the lower texel, and the weight of the upper one. */
interface Tap {
  low: number;
  weight: number;
}
const taps: Tap[] = [{ low: 0, weight: 0 }, { low: 0, weight: 0 }, { low: 0, weight: 0 }];

/** Axes that are filtered, by dimension. */
function axes(dim: number): number {
  return dim === Dim.D1 || dim === Dim.D1Array ? 1 : dim === Dim.D3 ? 3 : 2;
}

/** Samples at a level of detail (0 is the view's first level) into {@linkcode SAMPLED}. */
export function sampleAt(c: SampleContext, lod: number): void {
  const { image, sampler, i, w } = c;
  sampleGood = true;
  const limited = Math.max(lod, image.minLod - image.baseLevel);
  const filter = limited > 0 ? sampler.minFilter : sampler.magFilter;
  if (filter >= 2 && sampler.maxAniso > 0) refuse(w, i, "anisotropic filtering");
  const linear = (filter & 1) !== 0;
  const levels = image.lastLevel - image.baseLevel;
  SUM.fill(sampler.filterMode === 0 ? 0 : sampler.filterMode === 1 ? Infinity : -Infinity);
  if (sampler.mipFilter === 2) {
    const exact = Math.max(0, Math.min(levels, limited));
    const steps = Math.round(exact * WEIGHT_STEPS);
    const low = Math.floor(steps / WEIGHT_STEPS), weight = steps % WEIGHT_STEPS / WEIGHT_STEPS;
    sampleLevel(c, low, linear, 1 - weight);
    if (weight > 0) sampleLevel(c, low + 1, linear, weight);
  } else {
    const level = sampler.mipFilter === 1 ? Math.floor(Math.max(0, Math.min(levels, limited)) + 0.5) : 0;
    sampleLevel(c, Math.min(level, levels), linear, 1);
  }
  for (let k = 0; k < 4; k++) SAMPLED[k] = image.format.isFloat ? f32Bits(SUM[k]) : SUM[k] | 0;
}

/** Adds a level's sample to the sums. */
function sampleLevel(c: SampleContext, level: number, linear: boolean, weight: number): void {
  const { image, i, w } = c;
  const chainLevel = image.baseLevel + level;
  const count = axes(i.dim);
  // The third axis of a 3D image may have a filter of its own.
  const zLinear = c.sampler.zFilter === 0 ? linear : c.sampler.zFilter === 2;
  if (!image.format.isFloat && (linear || (count === 3 && zLinear))) refuse(w, i, "linear filtering of integers");
  for (let axis = 0; axis < count; axis++) setTap(c, axis, chainLevel, axis === 2 ? zLinear : linear);
  for (let corner = 0; corner < 1 << count; corner++) {
    let share = weight;
    for (let axis = 0; axis < count; axis++) {
      share *= corner >>> axis & 1 ? taps[axis].weight : 1 - taps[axis].weight;
    }
    if (share === 0) continue;
    readCorner(c, corner, count, chainLevel);
    accumulate(c, share);
  }
}

function accumulate(c: SampleContext, share: number): void {
  const { filterMode } = c.sampler;
  for (let k = 0; k < 4; k++) {
    if ((c.mask >>> k & 1) === 0) continue;
    const value = c.image.format.isFloat ? f32Value(SELECTED_VALUES[k]) : SELECTED_VALUES[k];
    if (filterMode === 0) SUM[k] += share * value;
    else SUM[k] = filterMode === 1 ? Math.min(SUM[k], value) : Math.max(SUM[k], value);
  }
}

/** Size of an axis at a level of the chain. */
function axisSize(image: ImageResource, axis: number, level: number): number {
  return axis === 0 ? image.levelWidth(level) : axis === 1 ? image.levelHeight(level) : image.levelDepth(level);
}

/** The place of a coordinate in texels, counted from the image's edge. */
function texels(c: SampleContext, axis: number, level: number): number {
  const { image, address, i } = c;
  const size = axisSize(image, axis, level);
  let coordinate = address.coordinates[axis];
  // Cube coordinates lie in 1..2 (see V_CUBESC_F32 and its use by compilers).
  if (i.dim === Dim.Cube) coordinate -= 1;
  return c.unnormalized ? coordinate : coordinate * size;
}

/** NaN coordinates count as zero. */
function setTap(c: SampleContext, axis: number, level: number, linear: boolean): void {
  const at = texels(c, axis, level);
  const exact = at === at ? Math.max(-1e9, Math.min(1e9, at)) : 0;
  const shift = texelOffset(c.address.offset, axis);
  if (!linear) {
    taps[axis].low = Math.floor(exact) + shift;
    taps[axis].weight = 0;
    return;
  }
  const steps = roundToEven((exact - 0.5) * WEIGHT_STEPS);
  taps[axis].low = Math.floor(steps / WEIGHT_STEPS) + shift;
  taps[axis].weight = (steps - Math.floor(steps / WEIGHT_STEPS) * WEIGHT_STEPS) / WEIGHT_STEPS;
}

/** Reads one texel of a footprint into the selected values: bit k of `corner` chooses the upper one along axis k. */
function readCorner(c: SampleContext, corner: number, count: number, level: number): void {
  const { w, i, image } = c;
  let border = false;
  const clamped = (axis: number): number => {
    const size = axisSize(image, axis, level);
    const texel = clampTexel(c, axis, taps[axis].low + (corner >>> axis & 1), size);
    border ||= texel < 0;
    return texel;
  };
  place.x = clamped(0);
  place.y = count > 1 ? clamped(1) : 0;
  place.z = count === 3 ? clamped(2) : layerOf(c);
  if (border) {
    if (c.sampler.borderType === 3) refuse(w, i, "a border colour from a table");
    const one = image.format.isFloat ? 0x3f800000 : 1;
    COMPONENTS.fill(c.sampler.borderType === 2 ? one : 0);
    COMPONENTS[3] = c.sampler.borderType === 0 ? 0 : one;
    if (c.compares) compareReference(c);
    // Border colours do not go through DST_SEL where it chooses components.
    for (let k = 0; k < 4; k++) SELECTED_VALUES[k] = c.compares ? COMPONENTS[0] : COMPONENTS[k];
    return;
  }
  sampleGood = readTexel(w, i, image, place, level) && sampleGood;
  if (c.compares) compareReference(c);
  selectComponents(w, i, image, c.mask);
}

/** Layer of an array, or face of a cube: the coordinate rounded to nearest even and clamped. */
function layerOf({ i, address, image }: SampleContext): number {
  const axis = i.dim === Dim.D1Array ? 1 : i.dim === Dim.D2Array || i.dim === Dim.Cube ? 2 : -1;
  if (axis < 0) return 0;
  const coordinate = roundToEven(address.coordinates[axis]);
  let layer = coordinate > 0 ? Math.min(coordinate, 0xffff_ffff) : 0;
  // Cube arrays count eight to a cube.
  if (i.dim === Dim.Cube) layer = Math.floor(layer / 8) * 6 + layer % 8;
  return Math.min(layer, image.layers - 1);
}

/** A texel of an axis brought into the image, or -1 for the border. */
function clampTexel(c: SampleContext, axis: number, texel: number, size: number): number {
  if (texel >= 0 && texel < size) return texel;
  const { w, i } = c;
  if (i.dim === Dim.Cube) refuse(w, i, "filtering a cube map across an edge");
  const mode = c.sampler.clamp[axis];
  switch (mode) {
    case Clamp.Wrap:
      return (texel % size + size) % size;
    case Clamp.Mirror: {
      const turn = (texel % (2 * size) + 2 * size) % (2 * size);
      return turn < size ? turn : 2 * size - 1 - turn;
    }
    case Clamp.LastTexel:
      return texel < 0 ? 0 : size - 1;
    case Clamp.MirrorOnceLastTexel:
      return Math.min(texel < 0 ? -1 - texel : texel, size - 1);
    case Clamp.Border:
      return -1;
    case Clamp.MirrorOnceBorder: {
      const mirrored = texel < 0 ? -1 - texel : texel;
      return mirrored < size ? mirrored : -1;
    }
    default:
      return refuse(w, i, "clamping to half a border texel");
  }
}

/** Compares the reference with the first component, which becomes 1 or 0 (DEPTH_COMPARE_FUNC). */
function compareReference(c: SampleContext): void {
  const { kind } = c.image.format;
  let reference = c.address.reference;
  // A reference for normalized depth is limited to what the depth can be.
  if (kind === "unorm") reference = Math.max(0, Math.min(1, reference));
  const depth = f32Value(COMPONENTS[0]);
  COMPONENTS.fill(COMPARE[c.sampler.compare](reference, depth) ? 0x3f800000 : 0);
}

const COMPARE: readonly ((reference: number, depth: number) => boolean)[] = [
  () => false,
  (a, b) => a < b,
  (a, b) => a === b,
  (a, b) => a <= b,
  (a, b) => a > b,
  (a, b) => a !== b,
  (a, b) => a >= b,
  () => true,
];

/** Corners of a gather in the order of the results: left below, right below, right above, left above (y grows downwards). */
const GATHER_CORNERS = [2, 3, 1, 0];

/** Gathers one component of the four texels that linear filtering would use, into {@linkcode SAMPLED}. */
export function gatherAt(c: SampleContext, lod: number): void {
  const { w, i, image } = c;
  sampleGood = true;
  if (axes(i.dim) !== 2) refuse(w, i, "gathering from an image that is not two-dimensional");
  const component = c.compares ? 0 : 31 - Math.clz32(c.mask & -c.mask);
  const levels = image.lastLevel - image.baseLevel;
  const limited = Math.max(lod, image.minLod - image.baseLevel);
  const level = image.baseLevel + Math.min(levels, Math.floor(Math.max(0, limited) + 0.5));
  for (let axis = 0; axis < 2; axis++) setTap(c, axis, level, true);
  GATHER_CORNERS.forEach((corner, k) => {
    readCorner(c, corner, 2, level);
    SAMPLED[k] = SELECTED_VALUES[component];
  });
}
