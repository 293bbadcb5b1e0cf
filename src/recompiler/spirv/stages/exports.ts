/** Exports as output variables, and discarded pixels. */
import { InputKind, Op } from "../../ir/ops.ts";
import { ExportTarget } from "../../stages/export_targets.ts";
import type { ColorExport, PixelState, VertexState } from "../../stages/state.ts";
import { VsOut } from "../../stages/state.ts";
import { BuiltIn, Capability, Code, Glsl, Mode } from "../codes.ts";
import type { Emitter, HandlerTable } from "../emitter.ts";
import { T } from "../module.ts";
import type { StageInputs } from "./inputs.ts";
import { OUTPUT } from "./variables.ts";

function exported(e: Emitter, i: number): void {
  const { graphics } = e.request, target = e.ir.c[i];
  if (graphics?.stage === "pixel") {
    if (target === ExportTarget.Depth) exportDepth(e, i, graphics);
    else exportColor(e, i, graphics.colors[target], target);
  } else if (target >= ExportTarget.Param0) exportParameter(e, i, target - ExportTarget.Param0);
  else exportPosition(e, i, target - ExportTarget.Position0);
}

const store = (e: Emitter, variable: number, value: number) => e.body.words.put3(Code.Store, variable, value);
const variables = (e: Emitter) => (e.inputs as StageInputs).variables;

/** The U32 components of what is exported. */
function parts(e: Emitter, i: number): number[] {
  const vector = e.ir.a[i];
  // The parts themselves, where the vector is not needed as one.
  const { ir } = e;
  if (ir.op[vector] === Op.Vec) return [ir.a[vector], ir.b[vector], ir.c[vector], ir.d[vector]].map((v) => e.use(v));
  return [0, 1, 2, 3].map((k) => e.body.extract(T.U32, e.use(vector), k));
}

const asFloat = (e: Emitter, id: number) => e.body.op1(Code.Bitcast, T.F32, id);

function construct(e: Emitter, type: T, ids: readonly number[]): number {
  return e.body.ops(Code.CompositeConstruct, type, ids);
}

/** A colour: four components of the target's type, from the words of the format (AMD register headers, SPI_SHADER_EX_FORMAT). */
function exportColor(e: Emitter, i: number, { format, number }: ColorExport, target: number): void {
  const words = parts(e, i), zero = e.module.u32(0);
  let bits: number[];
  let isFloat = number === "float";
  switch (format) {
    case "32_r":
      bits = [words[0], zero, zero, zero];
      break;
    case "32_gr":
      bits = [words[0], words[1], zero, zero];
      break;
    case "32_ar":
      // gfx10 has alpha in the second word (Mesa, export_fs_mrt_color).
      bits = [words[0], zero, zero, words[1]];
      break;
    case "32_abgr":
      bits = words;
      break;
    case "fp16_abgr":
      bits = halves(e, words, (word) => unpack(e, Glsl.UnpackHalf2x16, word));
      isFloat = true;
      break;
    case "unorm16_abgr":
      bits = halves(e, words, (word) => unpack(e, Glsl.UnpackUnorm2x16, word));
      isFloat = true;
      break;
    case "snorm16_abgr":
      bits = halves(e, words, (word) => unpack(e, Glsl.UnpackSnorm2x16, word));
      isFloat = true;
      break;
    case "uint16_abgr":
      bits = halves(e, words, (word) => fields(e, Code.BitFieldUExtract, word));
      break;
    case "sint16_abgr":
      bits = halves(e, words, (word) => fields(e, Code.BitFieldSExtract, word));
      break;
    default:
      throw e.refuse(i, "export", `a colour export with the format ${format.toUpperCase()}`);
  }
  const is16 = format.includes("16_abgr");
  if (isFloat) {
    const floats = is16 ? bits : bits.map((id) => asFloat(e, id));
    return store(e, variables(e).location(OUTPUT, target, T.F32x4), construct(e, T.F32x4, floats));
  }
  if (number !== "sint") return store(e, variables(e).location(OUTPUT, target, T.V4), construct(e, T.V4, bits));
  const vector = e.body.op1(Code.Bitcast, T.I32x4, construct(e, T.V4, bits));
  store(e, variables(e).location(OUTPUT, target, T.I32x4), vector);
}

/** Both words of a compressed export, taken apart. */
function halves(_e: Emitter, words: readonly number[], apart: (word: number) => number[]): number[] {
  return [...apart(words[0]), ...apart(words[1])];
}

function unpack({ body }: Emitter, instruction: number, word: number): number[] {
  const pair = body.glsl1(instruction, T.F32x2, word);
  return [body.extract(T.F32, pair, 0), body.extract(T.F32, pair, 1)];
}

function fields({ body, module }: Emitter, instruction: number, word: number): number[] {
  return [0, 16].map((shift) => body.op3(instruction, T.U32, word, module.u32(shift), module.u32(16)));
}

/** MRTZ: depth, stencil and sample mask, as far as DB_SHADER_CONTROL looks at them. */
function exportDepth(e: Emitter, i: number, { depthFormat, depth }: PixelState): void {
  const { body, module } = e, words = parts(e, i);
  const active = e.isConstant(e.ir.b[i], 1) ? 0 : e.use(e.ir.b[i]);
  const chosen = (type: T, value: number, otherwise: () => number) =>
    active === 0 ? value : body.select(type, active, value, otherwise());
  let z = 0, stencil = 0, mask = 0;
  switch (depthFormat) {
    case "32_r":
      z = words[0];
      break;
    case "32_gr":
      [z, stencil] = words;
      break;
    case "32_abgr":
      [z, stencil, mask] = words;
      break;
    case "uint16_abgr":
      // Without a depth (Mesa, export_fs_mrt_z): stencil in bits 23:16 of the first word, the mask in the low half of the second.
      stencil = body.op2(Code.ShiftRightLogical, T.U32, words[0], module.u32(16));
      mask = body.op2(Code.BitwiseAnd, T.U32, words[1], module.u32(0xffff));
      break;
    default:
      throw e.refuse(i, "export", `a depth export with the format ${depthFormat.toUpperCase()}`);
  }
  if (depth.alphaToMask) throw e.refuse(i, "export", "COVERAGE_TO_MASK_ENABLE: coverage from the alpha of MRTZ");
  if (depth.exportsDepth && z !== 0) {
    module.mode(Mode.DepthReplacing);
    if (depth.conservative !== 0) module.mode(depth.conservative === 1 ? Mode.DepthLess : Mode.DepthGreater);
    const own = () => body.extract(T.F32, (e.inputs as StageInputs).fragCoord(), 2);
    store(e, variables(e).builtIn(OUTPUT, BuiltIn.FragDepth, T.F32), chosen(T.F32, asFloat(e, z), own));
  }
  if (depth.exportsStencil && stencil !== 0) {
    if (e.request.device.graphics?.stencilExport !== true) {
      throw e.refuse(i, "export", "a stencil value, which this device does not take from a shader");
    }
    if (active !== 0) throw e.refuse(i, "export", "a stencil value that not every pixel has");
    module.extension("SPV_EXT_shader_stencil_export");
    module.capability(Capability.StencilExport);
    module.mode(Mode.StencilRefReplacing);
    const byte = body.op2(Code.BitwiseAnd, T.U32, stencil, module.u32(0xff));
    const variable = variables(e).builtIn(OUTPUT, BuiltIn.FragStencilRef, T.I32);
    store(e, variable, body.op1(Code.Bitcast, T.I32, byte));
  }
  if (depth.exportsMask && mask !== 0) {
    const array = variables(e).builtInArray(OUTPUT, BuiltIn.SampleMask, T.I32, 1);
    const value = body.op1(Code.Bitcast, T.I32, chosen(T.U32, mask, () => module.u32(-1)));
    store(e, body.element(OUTPUT, T.I32, array, module.u32(0)), value);
  }
}

function exportParameter(e: Emitter, i: number, index: number): void {
  if (index >= (e.request.graphics as VertexState).params) return;
  const vector = construct(e, T.F32x4, parts(e, i).map((id) => asFloat(e, id)));
  store(e, variables(e).location(OUTPUT, index, T.F32x4), vector);
}

/** Position exports: the position, then, in this order and as PA_CL_VS_OUT_CNTL has them, the vector of other things and two of distances. */
function exportPosition(e: Emitter, i: number, index: number): void {
  const { outControl } = e.request.graphics as VertexState;
  if (index === 0) {
    const vector = construct(e, T.F32x4, parts(e, i).map((id) => asFloat(e, id)));
    return store(e, variables(e).builtIn(OUTPUT, BuiltIn.Position, T.F32x4), vector);
  }
  const vectors = [VsOut.MiscVector, VsOut.Distances0, VsOut.Distances1].filter((bit) => (outControl & bit) !== 0);
  const what = vectors[index - 1];
  // A vector that nobody looks at.
  if (what === undefined) return;
  if (what === VsOut.MiscVector) exportMisc(e, i, outControl);
  else exportDistances(e, i, outControl, what === VsOut.Distances0 ? 0 : 4);
}

function exportMisc(e: Emitter, i: number, outControl: number): void {
  const { body, module } = e, [size, , target] = parts(e, i);
  const has = (bit: number) => (outControl & bit) !== 0;
  if (has(VsOut.EdgeFlag)) throw e.refuse(i, "export", "USE_VTX_EDGE_FLAG: edge flags");
  if (has(VsOut.KillFlag)) throw e.refuse(i, "export", "USE_VTX_KILL_FLAG: vertices that remove their primitives");
  if (has(VsOut.PointSize)) {
    store(e, variables(e).builtIn(OUTPUT, BuiltIn.PointSize, T.F32), asFloat(e, size));
  }
  if (!has(VsOut.RenderTargetIndex) && !has(VsOut.ViewportIndex)) return;
  if (e.request.device.graphics?.layers !== true) {
    throw e.refuse(i, "export", "a layer or viewport from a vertex program, which this device cannot do");
  }
  // gfx9 and later have both in one word: layer 10:0, viewport 19:16 (Mesa, ac_nir_export_position).
  const field = (shift: number, count: number) =>
    body.op1(Code.Bitcast, T.I32, body.op3(Code.BitFieldUExtract, T.U32, target, module.u32(shift), module.u32(count)));
  if (has(VsOut.RenderTargetIndex)) {
    module.capability(Capability.ShaderLayer);
    store(e, variables(e).builtIn(OUTPUT, BuiltIn.Layer, T.I32), field(0, 11));
  }
  if (has(VsOut.ViewportIndex)) {
    module.capability(Capability.ShaderViewportIndex);
    store(e, variables(e).builtIn(OUTPUT, BuiltIn.ViewportIndex, T.I32), field(16, 4));
  }
}

/**
 * Distances `first` to `first + 3`: those that are enabled stand in the host's arrays without gaps. One that clips need not cull as well, for nothing is
 * left of a primitive whose vertices are all outside; so the arrays together never have more than eight, the most that hosts take.
 */
function exportDistances(e: Emitter, i: number, outControl: number, first: number): void {
  const { body, module } = e, words = parts(e, i);
  if (e.request.device.graphics?.distances !== true) {
    throw e.refuse(i, "export", "clip or cull distances, which this device does not have");
  }
  const clip = outControl & VsOut.ClipMask;
  for (
    const [mask, builtIn, capability] of [
      [clip, BuiltIn.ClipDistance, Capability.ClipDistance],
      [outControl >>> VsOut.CullShift & VsOut.ClipMask & ~clip, BuiltIn.CullDistance, Capability.CullDistance],
    ]
  ) {
    const enabled = [0, 1, 2, 3, 4, 5, 6, 7].filter((k) => (mask >> k & 1) !== 0);
    enabled.forEach((distance, place) => {
      if (distance < first || distance >= first + 4) return;
      module.capability(capability);
      const array = variables(e).builtInArray(OUTPUT, builtIn, T.F32, enabled.length);
      const element = body.element(OUTPUT, T.F32, array, module.u32(place));
      store(e, element, asFloat(e, words[distance - first]));
    });
  }
}

/** Pixels that do not count are discarded when the program ends: until then they are helpers for the others of their quad. */
function valid(e: Emitter, i: number): void {
  const { ir, body } = e, value = ir.a[i];
  const isLive = ir.op[value] === Op.Input && ir.a[value] === InputKind.Live;
  if (isLive || e.isConstant(value, 1)) return;
  const condition = e.use(value);
  e.discards = true;
  e.finish = () => {
    const kill = e.module.bound++, stay = e.module.bound++;
    body.selectionMerge(stay);
    body.branchIf(condition, stay, kill);
    body.label(kill);
    body.words.put1(Code.Kill);
    body.label(stay);
  };
}

/** Handlers of this file. */
export const EXPORTS: HandlerTable = { Export: exported, Valid: valid };
