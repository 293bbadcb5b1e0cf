import { Encoding, Flag, type Instruction } from "./instruction.ts";
import { type Opcode, OPCODES } from "./table.ts";

/** Dimensions of an image instruction, by the DIM field (AMD RDNA2 ISA, section 8.2.3). */
export interface ImageDim {
  /** Name in assembler text: SQ_RSRC_IMG_... */
  readonly name: string;
  /** Coordinates: x, y, z or face, slice, sample. */
  readonly coordinates: number;
  /** Components of one screen-space derivative. */
  readonly derivative: number;
}

/** Image dimensions by the DIM field. */
export const IMAGE_DIMS: readonly ImageDim[] = [
  { name: "1D", coordinates: 1, derivative: 1 },
  { name: "2D", coordinates: 2, derivative: 2 },
  { name: "3D", coordinates: 3, derivative: 3 },
  { name: "CUBE", coordinates: 3, derivative: 2 },
  { name: "1D_ARRAY", coordinates: 2, derivative: 1 },
  { name: "2D_ARRAY", coordinates: 3, derivative: 2 },
  { name: "2D_MSAA", coordinates: 3, derivative: 2 },
  { name: "2D_MSAA_ARRAY", coordinates: 4, derivative: 2 },
];

/** What the address of an image instruction consists of, in 32-bit registers. */
export interface ImageAddress {
  /** Registers with packed texel offsets, depth comparison and LOD bias, in front. */
  readonly extra: number;
  /** Registers with derivatives. */
  readonly derivatives: number;
  /** Registers with coordinates, LOD, LOD clamp and mip level. */
  readonly coordinates: number;
  /** All of them. */
  readonly total: number;
}

/**
 * Number of address registers of an image instruction (AMD RDNA2 ISA, section 8.2.4 and 8.2.5): with A16 coordinates (and what follows them)
 * are packed in pairs, with A16 or G16 each axis of derivatives is.
 */
export function imageAddress(ins: Instruction, opcode: Opcode = OPCODES[ins.op]): ImageAddress {
  const words = opcode.words;
  const a16 = (ins.flags & Flag.A16) !== 0;
  if (opcode.image === "bvh") {
    // Node pointer (1 or 2), ray extent, then origin, direction and inverse direction of three components each; A16 packs the last two.
    const total = (words.has("wide") ? 2 : 1) + 1 + 3 + (a16 ? 3 : 6);
    return { extra: 0, derivatives: 0, coordinates: total, total };
  }
  if (opcode.image === "resinfo") return { extra: 0, derivatives: 0, coordinates: 1, total: 1 };
  const dim = IMAGE_DIMS[ins.dim];
  const has = (word: string) => words.has(word) ? 1 : 0;
  let extra = has("o") + has("c");
  let coordinates = dim.coordinates + has("cl") + has("l") + has("mip");
  if (a16) {
    extra += has("b");
    coordinates = coordinates + 1 >> 1;
  } else extra += has("b");
  let derivatives = 0;
  if (has("d") || has("cd")) {
    const packed = has("g16") === 1;
    derivatives = packed ? 2 * (dim.derivative + 1 >> 1) : 2 * dim.derivative;
  }
  return { extra, derivatives, coordinates, total: extra + derivatives + coordinates };
}

/** Number of data registers of an image instruction, the TFE or LWE status register included. */
export function imageDataDwords(ins: Instruction, opcode: Opcode = OPCODES[ins.op]): number {
  if (ins.encoding !== Encoding.Mimg) throw new Error("not an image instruction");
  if (opcode.image === "bvh") return 4;
  const status = ins.flags & (Flag.Tfe | Flag.Lwe) ? 1 : 0;
  let channels = 0;
  for (let bit = 0; bit < 4; bit++) channels += ins.mode >>> bit & 1;
  channels = Math.max(channels, 1);
  if (opcode.image === "gather") channels = 4;
  // Compare-and-swap takes the new and the old value, whatever the mask says.
  if (opcode.name.endsWith("cmpswap")) channels = Math.max(channels, 2);
  if (opcode.image !== "atomic" && ins.flags & Flag.D16) channels = channels + 1 >> 1;
  return channels + status;
}
