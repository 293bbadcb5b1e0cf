/** Image and sampler descriptors for tests, and a run with an image in memory. */
import { type After, type Before, halves } from "./machine.ts";
import { execute, type Program } from "./asm.ts";

/** Guest address of the tests' image. */
export const IMAGE = 0x23_4560_0000n;

/** Image types. */
export const Type = { D1: 8, D2: 9, D3: 10, Cube: 11, D1Array: 12, D2Array: 13, D2Msaa: 14 } as const;

/** Formats that the tests use. */
export const F = {
  U8: 5,
  Unorm16: 7,
  U8x2: 18,
  U32: 20,
  S32: 21,
  F32: 22,
  Unorm8x4: 56,
  U8x4: 60,
  S8x4: 61,
  U32x2: 62,
  F32x2: 64,
  F16x4: 71,
  F32x4: 77,
} as const;

/** Selectors X, Y, Z, W. */
export const XYZW = 0xfac;

/** Fields of an image descriptor. */
export interface ImageFields {
  format?: number;
  type?: number;
  width?: number;
  height?: number;
  /** Layers or slices. */
  depth?: number;
  baseLayer?: number;
  /** Levels of the view, and of the whole chain. */
  baseLevel?: number;
  lastLevel?: number;
  maxMip?: number;
  minLod?: number;
  select?: number;
  tile?: number;
  /** Texels from row to row of a linear image. */
  pitch?: number;
  address?: bigint;
}

/** The image in s[8:15]; 32_UINT, 8 by 4 texels if nothing else is said. */
export function imageAt8(fields: ImageFields = {}): Record<number, number> {
  const { format = F.U32, type = Type.D2, width = 8, height = 4, depth = 1, baseLayer = 0, select = XYZW } = fields;
  const { baseLevel = 0, lastLevel = 0, maxMip = lastLevel, minLod = 0, tile = 0, pitch, address = IMAGE } = fields;
  const wide = width - 1;
  return {
    8: Number(address >> 8n & 0xffff_ffffn),
    9: (Number(address >> 40n & 0xffn) | minLod * 256 << 8 | format << 20 | wide << 30) >>> 0,
    10: (wide >>> 2 | height - 1 << 14 | 1 << 31) >>> 0,
    11: (select | baseLevel << 12 | lastLevel << 16 | tile << 20 | type << 28) >>> 0,
    12: pitch === undefined ? depth - 1 | baseLayer << 16 : pitch - 1,
    13: maxMip << 4,
    14: 0,
    15: 0,
  };
}

/** Fields of a sampler. */
export interface SamplerFields {
  clamp?: [number, number, number];
  compare?: number;
  unnormalized?: boolean;
  filterMode?: number;
  minLod?: number;
  maxLod?: number;
  bias?: number;
  mag?: number;
  min?: number;
  z?: number;
  mip?: number;
  border?: number;
  aniso?: number;
}

/** The sampler in s[16:19]; nearest, wrapping. */
export function samplerAt16(fields: SamplerFields = {}): Record<number, number> {
  const { clamp = [0, 0, 0], compare = 0, unnormalized = false, filterMode = 0, aniso = 0 } = fields;
  const { minLod = 0, maxLod = 15, bias = 0, mag = 0, min = mag, z = 0, mip = 0, border = 0 } = fields;
  return {
    16: (clamp[0] | clamp[1] << 3 | clamp[2] << 6 | aniso << 9 | compare << 12 | (unnormalized ? 1 << 15 : 0) |
      filterMode << 29) >>> 0,
    17: minLod * 256 | maxLod * 256 << 12,
    18: (bias * 256 & 0x3fff | mag << 20 | min << 22 | z << 24 | mip << 26) >>> 0,
    19: (border << 30) >>> 0,
  };
}

/** A linear image of rows of 256 bytes whose texel at (x, y) has the bits `texel(x, y)`, of one dword. */
export function rows(width: number, height: number, texel: (x: number, y: number) => number): Uint32Array {
  const words = new Uint32Array(64 * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) words[y * 64 + x] = texel(x, y);
  return words;
}

/** A run with `words` at the image's address; four lanes unless EXEC is given. */
export function withImage(program: Program, words: Uint32Array, before: Before = {}): After & { words: Uint32Array } {
  const memory = new Map([[IMAGE, new Uint8Array(words.buffer as ArrayBuffer)]]);
  return { ...execute(program, { exec: 0xfn, memory, ...before }), words };
}

/** Low and high word of the tests' image address. */
export const [IMAGE_LO, IMAGE_HI] = halves(IMAGE);
