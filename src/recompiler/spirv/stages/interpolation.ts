/**
 * Attributes as input variables. An attribute whose I and J are the pixel's barycentrics of one kind (perspective or linear; sample, centre or centroid) is
 * what the host interpolates. At other places it is computed of its vertices' values (stages/computed_barycentrics.ts) where the device tells them; everything
 * else that could be done with barycentrics is refused by name.
 */
import type { Ir } from "../../ir/ir.ts";
import { InputKind, Op } from "../../ir/ops.ts";
import { VERTEX_VALUE } from "../../stages/computed_barycentrics.ts";
import type { Interpolant, PixelState } from "../../stages/state.ts";
import { Capability, Code, Decoration, Glsl } from "../codes.ts";
import type { Emitter, HandlerTable } from "../emitter.ts";
import { T } from "../module.ts";
import type { StageInputs } from "./inputs.ts";
import { BARYCENTRICS, type Place } from "./barycentrics.ts";
import { INPUT } from "./variables.ts";

/** DEFAULT_VAL of SPI_PS_INPUT_CNTL: the four components. */
const DEFAULTS: readonly (readonly number[])[] = [[0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 0], [1, 1, 1, 1]];
const ONE = 0x3f80_0000;

/** Values of v_interp_mov_f32's operand. */
const P0 = 2;

/** How the program looks at a parameter of the vertex program. */
interface Use {
  flat: boolean;
  linear: boolean;
  /** The vertices' own values, which are looked at in no other way. */
  vertices: boolean;
  readonly places: Set<Place>;
}

/** What of each parameter the program uses; made once for a program, before its first attribute. */
const USES = new WeakMap<Ir, Map<number, Use>>();

/** Parameters of the vertex program that the program reads, with their interpolation. */
export function parametersOf(e: Emitter): ReadonlyMap<number, Readonly<Use>> {
  let uses = USES.get(e.ir);
  if (uses === undefined) USES.set(e.ir, uses = gatherUses(e));
  return uses;
}

function gatherUses(e: Emitter): Map<number, Use> {
  const { ir } = e, uses = new Map<number, Use>();
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.Interpolate && ir.op[i] !== Op.Parameter) continue;
    const interpolant = interpolantOf(e, i);
    if ("constant" in interpolant.source) continue;
    const { param } = interpolant.source;
    const kind = interpolant.flat || ir.op[i] === Op.Parameter ? undefined : kindOf(e, i);
    const use = uses.get(param);
    const linear = kind?.linear === true, vertices = ofVertex(ir, i) >= 0;
    if (use === undefined) {
      const places = new Set(kind === undefined ? [] : [kind.place]);
      uses.set(param, { flat: interpolant.flat, linear, vertices, places });
      continue;
    }
    if (use.flat !== interpolant.flat || use.vertices !== vertices || (!use.flat && use.linear !== linear)) {
      throw e.refuse(
        i,
        "interpolation",
        `parameter ${param} is interpolated in two ways, of which one input variable has one`,
      );
    }
    if (kind !== undefined) use.places.add(kind.place);
  }
  return uses;
}

/** Number of the component of its attribute that an operation reads, attribute * 4 included. */
function componentOf(ir: Ir, i: number): number {
  return ir.op[i] === Op.Interpolate ? ir.d[i] : ir.b[i];
}

/** The vertex (0 to 2) whose own value an operation is; -1 for others. */
function ofVertex(ir: Ir, i: number): number {
  return ir.op[i] === Op.Parameter && ir.c[i] >= VERTEX_VALUE ? ir.c[i] - VERTEX_VALUE : -1;
}

function interpolantOf(e: Emitter, i: number): Interpolant {
  const { ir } = e, m0 = ir.op[i] === Op.Interpolate ? ir.c[i] : ir.a[i];
  if (ir.op[m0] !== Op.Input || ir.a[m0] !== InputKind.PrimitiveMask) {
    throw e.refuse(i, "interpolation", "M0 is not the primitive mask that the wave got");
  }
  const interpolant = (e.request.graphics as PixelState).interpolants[componentOf(ir, i) >> 2];
  const special = interpolant.custom
    ? "the vertices' own values (FLAT_SHADE with the high bit of OFFSET)"
    : interpolant.pointSprite
    ? "PT_SPRITE_TEX: a point's coordinates"
    : interpolant.cylinderWrap !== 0
    ? "CYL_WRAP: cylindrical wrapping"
    : interpolant.packedHalves
    ? "FP16_INTERP_MODE: two 16-bit numbers"
    : undefined;
  if (special !== undefined && "param" in interpolant.source) throw e.refuse(i, "interpolation", special);
  return interpolant;
}

/** The kind of barycentrics of an Interpolate. */
function kindOf(e: Emitter, i: number): { place: Place; linear: boolean } {
  const { ir } = e;
  const input = (value: number, component: number) =>
    ir.op[value] === Op.Input && ir.a[value] === InputKind.PixelInput && (ir.b[value] & 3) === component
      ? ir.b[value] >> 2
      : -1;
  const kind = BARYCENTRICS[input(ir.a[i], 0)];
  if (kind === undefined || input(ir.a[i], 0) !== input(ir.b[i], 1)) {
    throw e.refuse(i, "interpolation", "I and J are not the pixel's own barycentrics of one kind: they are computed");
  }
  return kind;
}

function interpolate(e: Emitter, i: number): void {
  const { source, flat } = interpolantOf(e, i), component = e.ir.d[i] & 3;
  if ("constant" in source) e.ids[i] = defaultOf(e, source.constant, component);
  else e.ids[i] = read(e, i, source.param, component, flat ? undefined : kindOf(e, i).place);
}

function parameter(e: Emitter, i: number): void {
  if (ofVertex(e.ir, i) >= 0) return vertexValue(e, i, ofVertex(e.ir, i));
  const { source, flat } = interpolantOf(e, i), component = e.ir.b[i] & 3, isP0 = e.ir.c[i] === P0;
  if ("constant" in source) e.ids[i] = isP0 ? defaultOf(e, source.constant, component) : e.module.constant(T.F32, 0);
  else if (!flat) {
    throw e.refuse(i, "interpolation", "a vertex's own value (P0, P10, P20) of an attribute that is not flat");
  } else if (!isP0) {
    throw e.refuse(i, "interpolation", "the differences P10 and P20 of a flat attribute, which are not documented");
  } else e.ids[i] = read(e, i, source.param, component, undefined);
}

/** The value that a vertex of the primitive has. */
function vertexValue(e: Emitter, i: number, vertex: number): void {
  const { body, module } = e, { source } = interpolantOf(e, i);
  if ("constant" in source) throw new Error("a constant attribute has no vertices");
  parametersOf(e);
  module.extension("SPV_KHR_fragment_shader_barycentric");
  module.capability(Capability.FragmentBarycentric);
  const variable = (e.inputs as StageInputs).variables.perVertex(INPUT, source.param, T.F32x4);
  const vector = body.load(T.F32x4, body.element(INPUT, T.F32x4, variable, module.u32(vertex)));
  e.ids[i] = body.extract(T.F32, vector, componentOf(e.ir, i) & 3);
}

function defaultOf(e: Emitter, constant: number, component: number): number {
  return e.module.constant(T.F32, DEFAULTS[constant][component] === 1 ? ONE : 0);
}

/** A component of a parameter; `place` is undefined for flat ones. */
function read(e: Emitter, i: number, param: number, component: number, place: Place | undefined): number {
  const { body, module } = e, { flat, linear, places } = parametersOf(e).get(param)!;
  const { perSample } = e.request.graphics as PixelState;
  const inputs = e.inputs as StageInputs;
  const decorations: number[] = flat ? [Decoration.Flat] : linear ? [Decoration.NoPerspective] : [];
  // One place can be said of the variable; of several the instruction says it. A host's own choice is the centre, but for programs of samples.
  const only = places.size === 1 ? [...places][0] : undefined;
  if (only === "sample") {
    requireSampleRate(e, i);
    decorations.push(Decoration.Sample);
  } else if (only === "centroid") decorations.push(Decoration.Centroid);
  const variable = inputs.variables.location(INPUT, param, T.F32x4, decorations);
  if (
    place === undefined || (only !== undefined && !(only === "center" && perSample)) ||
    (place === "center" && !perSample)
  ) {
    return body.load(T.F32, body.element(INPUT, T.F32, variable, module.u32(component)));
  }
  module.capability(Capability.InterpolationFunction);
  let vector: number;
  if (place === "centroid") vector = body.glsl(Glsl.InterpolateAtCentroid, T.F32x4, [variable]);
  else if (place === "sample") {
    vector = body.glsl(Glsl.InterpolateAtSample, T.F32x4, [variable, inputs.sampleId(i)]);
  } else {
    const zero = module.constant(T.F32, 0);
    const centre = body.ops(Code.CompositeConstruct, T.F32x2, [zero, zero]);
    vector = body.glsl(Glsl.InterpolateAtOffset, T.F32x4, [variable, centre]);
  }
  return body.extract(T.F32, vector, component);
}

function requireSampleRate(e: Emitter, i: number): void {
  if (e.request.device.graphics?.sampleRate !== true) {
    throw e.refuse(i, "interpolation", "attributes at the sample, which this device cannot do");
  }
  e.module.capability(Capability.SampleRateShading);
}

function firstStep(e: Emitter, i: number): void {
  if (e.usage.uses[i] === 0) return;
  throw e.refuse(i, "interpolation", "the first step of an interpolation is used by itself");
}

/** Handlers of this file. */
export const INTERPOLATION: HandlerTable = {
  Interpolate: interpolate,
  InterpolateP1: firstStep,
  Parameter: parameter,
};
