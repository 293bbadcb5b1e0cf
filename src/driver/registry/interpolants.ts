/**
 * Which parameter of the geometry stage each interpolant of a pixel shader reads: the values of SPI_PS_INPUT_CNTL_0..31 (context registers 0x191 on).
 *
 * | bits | field (AMD register headers, gfx10: SPI_PS_INPUT_CNTL_0) | meaning |
 * |---|---|---|
 * | 4:0 | OFFSET | parameter slot |
 * | 5 | OFFSET, high bit | no parameter: the default value; with a parameter: read as it is, without interpolation |
 * | 9:8 | DEFAULT_VAL | which default value |
 * | 10 | FLAT_SHADE | of the provoking vertex |
 * | 19 | FP16_INTERP_MODE | two halves in a parameter |
 * | 20 | USE_DEFAULT_ATTR1 | the upper half is the default |
 * | 22:21 | DEFAULT_VAL_ATTR1 | which default value |
 * | 24, 25 | ATTR0_VALID, ATTR1_VALID | the halves that the pixel shader reads |
 *
 * The rules of matching are those that public reimplementations of sceAgcCreateInterpolantMapping state; console captures (corpus/golden) agree.
 *
 * @module
 */
import { InvalidInputError } from "../../errors.ts";
import type { AgcSemantic } from "../../guest/loaders/agc_record.ts";

/** Interpolants of a pixel shader at most, and registers of the mapping. */
export const INTERPOLANTS = 32;

const NO_PARAMETER = 1 << 5, FLAT = 1 << 10, TWO_HALVES = 1 << 19, DEFAULT_HIGH_HALF = 1 << 20;
const SLOT = 0x1f;

/**
 * The values of SPI_PS_INPUT_CNTL_0..31 for a pixel shader behind a geometry stage.
 *
 * A pixel input takes the output with its semantic; what has none reads its default value. Without inputs, and behind the last one, entry i is i.
 *
 * @param outputs output semantics of the geometry stage's record
 * @param inputs input semantics of the pixel shader's record, in order: input i is interpolant i
 * @returns 32 values
 * @throws InvalidInputError `registry.interpolants` for more than 32 inputs.
 *
 * @example A colour that is flat, and a texture coordinate that nobody writes
 * ```ts no-assert
 * import { createInterpolantMapping, readShaderFile } from "@anyagc/anyagc";
 *
 * const vertex = readShaderFile("triangle_vert.sb"), pixel = readShaderFile("triangle_frag.sb");
 * const controls = createInterpolantMapping(vertex.outputs, pixel.inputs);
 * console.log(controls[0].toString(16));
 * ```
 */
export function createInterpolantMapping(
  outputs: readonly AgcSemantic[],
  inputs: readonly AgcSemantic[],
): Uint32Array<ArrayBuffer> {
  if (inputs.length > INTERPOLANTS) {
    throw new InvalidInputError(
      "registry.interpolants",
      `a pixel shader with ${inputs.length} inputs; ${INTERPOLANTS} can be interpolated`,
    );
  }
  const controls = Uint32Array.from({ length: INTERPOLANTS }, (_, i) => i);
  for (const [i, input] of inputs.entries()) {
    const output = outputs.find(({ semantic }) => semantic === input.semantic);
    controls[i] = control(input, output);
  }
  return controls;
}

function control(input: AgcSemantic, output: AgcSemantic | undefined): number {
  let word = input.defaultValue << 8 | (output === undefined ? 0 : output.hardwareMapping & SLOT);
  if (input.flat || input.custom) word |= FLAT;
  if (input.custom || output === undefined) word |= NO_PARAMETER;
  if (input.isF16 === 0) return word;
  word |= input.isF16 << 24 | input.defaultValueHigh << 21 | TWO_HALVES;
  // A half is there if both sides have it.
  const both = output === undefined ? 0 : input.isF16 & output.isF16;
  if ((both & 1) === 0) word |= NO_PARAMETER;
  if ((both & 2) === 0) word |= DEFAULT_HIGH_HALF;
  return word;
}
