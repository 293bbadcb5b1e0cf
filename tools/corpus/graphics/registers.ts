/**
 * The registers that RADV sets for a pipeline's stages (Mesa 22.3.6, radv_pipeline.c: radv_pipeline_emit_hw_ngg, _hw_vs, _fragment_shader, _ps_inputs,
 * radv_compute_db_shader_control), as far as they decide what the programs are. Offsets are dwords within the SH and context banks.
 *
 * @module
 */
import type { FragmentBinary, VertexBinary } from "../radv/graphics_cache.ts";
import { ATTACHMENT_FORMATS } from "./formats.ts";
import type { ShaderPair } from "./sources.ts";

/** An offset and a value. */
export type Register = readonly [offset: number, value: number];

/** Register lists of a stage. */
export interface StageRegisterLists {
  readonly sh: readonly Register[];
  readonly context: readonly Register[];
}

/** Offsets from 32 on are constants (AC_EXP_PARAM_DEFAULT_VAL_0000 = 64 and the next three). */
const FIRST_DEFAULT = 64;

/** Of the vertex stage. */
export function vertexRegisters(v: VertexBinary): StageRegisterLists {
  const distances = v.clipMask | v.cullMask, misc = v.pointSize || v.layer || v.viewport;
  const bit = (set: boolean, at: number) => set ? 1 << at : 0;
  const outControl = v.clipMask | distances << 8 | bit(v.pointSize, 16) | bit(v.layer, 18) | bit(v.viewport, 19) |
    bit(misc, 21) | bit((distances & 0x0f) !== 0, 22) | bit((distances & 0xf0) !== 0, 23);
  const wave32 = v.waveSize === 32;
  const stages = v.ngg ? 2 << 3 | 1 << 13 | bit(wave32, 22) | bit(v.passthrough, 25) : bit(wave32, 23);
  const rsrc = v.ngg ? 0x08a : 0x04a;
  return {
    sh: [[rsrc, v.rsrc[0]], [rsrc + 1, v.rsrc[1]]],
    context: [
      [0x1b1, v.params === 0 ? 1 << 7 : v.params - 1 << 1],
      [0x1c3, [0, 1, 2, 3].reduce((all, k) => all | (k < v.positions ? 4 << 4 * k : 0), 0)],
      [0x207, outControl],
      [0x2d5, stages],
    ],
  };
}

/** Of the fragment stage; attributes come from where the vertex stage exports them. */
export function fragmentRegisters(f: FragmentBinary, v: VertexBinary, { targets }: ShaderPair): StageRegisterLists {
  const formats = targets.map((name) => ATTACHMENT_FORMATS[name]);
  const nibbles = (values: readonly number[]) => values.reduce((all, value, k) => (all | value << 4 * k) >>> 0, 0);
  // 32_ABGR, 32_GR or 32_R with a depth; 16-bit words without one (ac_get_spi_shader_z_format).
  const depthFormat = f.writesZ
    ? f.writesSampleMask ? 9 : f.writesStencil ? 2 : 1
    : f.writesStencil || f.writesSampleMask
    ? 7
    : 0;
  const conservative = f.depthLayout === 2 ? 2 : f.depthLayout === 3 ? 1 : 0;
  const early = f.earlyTests || !f.writesMemory;
  const shaderControl = Number(f.writesZ) | Number(f.writesStencil) << 1 | Number(early) << 4 |
    Number(f.canDiscard) << 6 |
    Number(f.writesSampleMask) << 8 | Number(f.earlyTests) << 12 | conservative << 13;
  return {
    sh: [[0x00a, f.rsrc[0]], [0x00b, f.rsrc[1]]],
    context: [
      [0x08f, nibbles(formats.map(() => 15))],
      ...f.inputs.map(({ slot, flat }, k): Register => [0x191 + k, inputControl(v.paramOffsets[slot], flat)]),
      [0x1b3, f.inputEna],
      [0x1b4, f.inputAddr],
      [0x1b6, f.inputs.length | (f.waveSize === 32 ? 1 << 15 : 0)],
      [0x1b8, 1 << 24 | (f.sampleShading ? 2 << 16 : 0)],
      [0x1c4, depthFormat],
      [0x1c5, nibbles(formats.map(({ exported }) => exported))],
      [0x203, shaderControl],
      [0x293, f.sampleShading ? 1 << 16 : 0],
      ...formats.map(({ numbers }, k): Register => [0x31c + 15 * k, numbers << 8]),
    ],
  };
}

/** SPI_PS_INPUT_CNTL: OFFSET and FLAT_SHADE, or a constant. */
function inputControl(offset: number, flat: boolean): number {
  if (offset < 32) return offset | Number(flat) << 10;
  const constant = offset >= FIRST_DEFAULT && offset < FIRST_DEFAULT + 4 ? offset - FIRST_DEFAULT : 0;
  return 0x20 | constant << 8;
}
