/**
 * Linking: the draw state that follows from which shaders are used together. What sceAgcLinkShaders and sceAgcCreatePrimState put into their register
 * tables (public signatures and table layouts: 34 context and 3 uconfig registers).
 *
 * @module
 */
import { hex, InvalidInputError, RefusedError } from "../../errors.ts";
import type { AgcShaderRecord, AgcSpecials } from "../../guest/loaders/agc_record.ts";
import { createInterpolantMapping, INTERPOLANTS } from "./interpolants.ts";

/** One register and its value; `offset` counts dwords in the register's bank. */
export interface LinkedRegister {
  /** Dword offset in the bank. */
  readonly offset: number;
  /** 32-bit value. */
  readonly value: number;
}

/** Register tables of a pair of shaders, in the order of the console's tables. */
export interface LinkedShaders {
  /** Context: SPI_PS_INPUT_CNTL_0..31, VGT_SHADER_STAGES_EN, VGT_GS_OUT_PRIM_TYPE. */
  readonly context: readonly LinkedRegister[];
  /** Uconfig: GE_CNTL, GE_USER_VGPR_EN, VGT_PRIMITIVE_TYPE. */
  readonly uconfig: readonly LinkedRegister[];
}

/** What is linked. */
export interface LinkOptions {
  /** The stage whose outputs are interpolated: a record of a geometry stage (vertex shaders run as such). */
  readonly geometry: AgcShaderRecord;
  /** The pixel shader; none for draws that only write depth. */
  readonly pixel?: AgcShaderRecord;
  /** The hull stage of a draw with tessellation. */
  readonly hull?: AgcShaderRecord;
  /** VGT_PRIMITIVE_TYPE (AMD register headers: DI_PT_POINTLIST 1 ... DI_PT_TRISTRIP 6, DI_PT_RECTLIST 17). */
  readonly primitiveType: number;
}

const SPI_PS_INPUT_CNTL = 0x191, VGT_SHADER_STAGES_EN = 0x2d5, VGT_GS_OUT_PRIM_TYPE = 0x29b;
const GE_CNTL = 0x25b, GE_USER_VGPR_EN = 0x262, VGT_PRIMITIVE_TYPE = 0x242;
/** VGT_SHADER_STAGES_EN: a geometry shader of the guest's own makes the primitives. */
const GS_ENABLED = 0x20;

/** VGT_GS_OUT_PRIM_TYPE (points 0, lines 1, triangles 2, rectangles 3) by VGT_PRIMITIVE_TYPE. */
const OUT_PRIMITIVE: Readonly<Record<number, number>> = {
  0x01: 0, // point list
  0x02: 1, // line list
  0x03: 1, // line strip
  0x04: 2, // triangle list
  0x05: 2, // triangle fan
  0x06: 2, // triangle strip
  0x0a: 1, // line list with adjacency
  0x0b: 1, // line strip with adjacency
  0x0c: 2, // triangle list with adjacency
  0x0d: 2, // triangle strip with adjacency
  0x11: 3, // rectangle list
  0x12: 1, // line loop
  0x13: 2, // quad list
  0x14: 2, // quad strip
  0x15: 2, // polygon
};

/**
 * The registers that a draw with these shaders needs beside the shaders' own tables.
 *
 * @returns tables in the order of the console's
 * @throws InvalidInputError `registry.link` for records of other stages, without specials, or that name other registers;
 * RefusedError `registry.primitive-type` where the primitives that come out are not known.
 *
 * @example Triangles
 * ```ts no-assert
 * import { linkShaders, readShaderFile } from "@anyagc/anyagc";
 *
 * const geometry = readShaderFile("runtime_triangle_vert_back.sb"), pixel = readShaderFile("runtime_triangle_frag.sb");
 * const { context, uconfig } = linkShaders({ geometry, pixel, primitiveType: 4 });
 * console.log(context.length, uconfig[2].value);
 * ```
 */
export function linkShaders({ geometry, pixel, hull, primitiveType }: LinkOptions): LinkedShaders {
  const specials = specialsOf(geometry, "geometry");
  if (pixel !== undefined && pixel.stage !== "pixel") refuse(pixel, `the pixel shader is a ${pixel.stage} shader`);
  const stages = specials.shaderStagesEnable.value | (hull === undefined ? 0 : stagesOf(hull));
  const mapping = createInterpolantMapping(geometry.outputs, pixel?.inputs ?? []);
  return {
    context: [
      ...Array.from({ length: INTERPOLANTS }, (_, i) => ({ offset: SPI_PS_INPUT_CNTL + i, value: mapping[i] })),
      { offset: VGT_SHADER_STAGES_EN, value: stages >>> 0 },
      { offset: VGT_GS_OUT_PRIM_TYPE, value: outPrimitive(stages, specials, geometry, primitiveType) },
    ],
    uconfig: [
      named(geometry, specials.geControl, GE_CNTL),
      named(geometry, specials.geUserVgprEnable, GE_USER_VGPR_EN),
      { offset: VGT_PRIMITIVE_TYPE, value: primitiveType },
    ],
  };
}

function outPrimitive(stages: number, specials: AgcSpecials, geometry: AgcShaderRecord, type: number): number {
  if ((stages & GS_ENABLED) !== 0) return named(geometry, specials.gsOutPrimitiveType, VGT_GS_OUT_PRIM_TYPE).value;
  const out = OUT_PRIMITIVE[type];
  if (out !== undefined) return out;
  throw new RefusedError(
    "registry.primitive-type",
    `VGT_PRIMITIVE_TYPE ${hex(type)}: what primitives come out is not known`,
    { guestAddress: geometry.address },
  );
}

function specialsOf(record: AgcShaderRecord, stage: "geometry" | "hull"): AgcSpecials {
  if (!record.stage.startsWith(stage)) refuse(record, `the ${stage} stage is a ${record.stage} shader`);
  if (record.specials === undefined) refuse(record, `the ${stage} stage's record has no specials`);
  named(record, record.specials.shaderStagesEnable, VGT_SHADER_STAGES_EN);
  return record.specials;
}

function stagesOf(hull: AgcShaderRecord): number {
  return specialsOf(hull, "hull").shaderStagesEnable.value;
}

/** A register of the specials, which must be the one that belongs there; a special that is all zero was left out. */
function named(record: AgcShaderRecord, { offset, value }: LinkedRegister, expected: number): LinkedRegister {
  if (offset !== expected && (offset !== 0 || value !== 0)) {
    refuse(record, `the specials name register ${hex(offset)} instead of ${hex(expected)}`);
  }
  return { offset: expected, value };
}

function refuse(record: AgcShaderRecord, reason: string): never {
  throw new InvalidInputError("registry.link", reason, { guestAddress: record.address });
}
