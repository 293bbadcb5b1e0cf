/** Image and sampler descriptors, T# and S# (AMD RDNA2 ISA, section 8.2.5 and 8.2.6; field names of AMD's register headers, SQ_IMG_RSRC and SQ_IMG_SAMP). */
import { Flag, type Instruction } from "../../instruction.ts";
import { refuse } from "../machine/refuse.ts";
import type { Wave } from "../machine/wave.ts";
import { type Format, formatOf } from "../../formats.ts";
import { ImageType } from "../../image_type.ts";
import { Tile } from "../../tiling.ts";
import { blockOf, type TileBlock } from "./tiling.ts";

/** Alignment of the rows of linear images, in bytes (measured on the console). */
const LINEAR_ALIGNMENT = 256;

/** An image, decoded. One object is reused for all instructions. */
export class ImageResource {
  /** Base address, signed 64-bit. */
  base = 0;
  format!: Format;
  /** One of {@linkcode ImageType}. */
  type = 0;
  /** Texels of the first level of the whole chain. */
  width = 1;
  height = 1;
  /** Slices of a 3D image. */
  depth = 1;
  /** First layer of the view, and their number. */
  baseLayer = 0;
  layers = 1;
  /** Levels of the view. */
  baseLevel = 0;
  lastLevel = 0;
  /** Last level of the whole chain. */
  maxMip = 0;
  /** Smallest level of detail. */
  minLod = 0;
  dstSel = 0;
  tile = 0;
  /** Row pitch in texels of a linear image where word 4 has it, 0 elsewhere. */
  pitch = 0;
  /** Samples of a texel: more than one of {@linkcode ImageType} D2Msaa and D2MsaaArray only. */
  samples = 1;
  /** Tiling block, undefined for linear images. */
  block: TileBlock | undefined;

  /** Reads the descriptor of an instruction; refuses what is not implemented. */
  read(w: Wave, i: Instruction): this {
    const { sgpr } = w;
    const at = i.srsrc;
    const half = (i.flags & Flag.R128) !== 0;
    const [w0, w1, w2, w3] = [sgpr[at], sgpr[at + 1], sgpr[at + 2], sgpr[at + 3]];
    const w4 = half ? 0 : sgpr[at + 4], w5 = half ? 0 : sgpr[at + 5], w6 = half ? 0 : sgpr[at + 6];
    // 40 bits in units of 256 bytes, sign-extended.
    this.base = ((w1 & 0xff) << 24 >> 24) * 2 ** 40 + w0 * 256;
    this.minLod = (w1 >>> 8 & 0xfff) / 256;
    const number = w1 >>> 20 & 0x1ff;
    const format = formatOf(number);
    if (format === undefined) refuse(w, i, `the image format ${number} is reserved or not supported`);
    this.format = format;
    this.width = (w1 >>> 30 | (w2 & 0xfff) << 2) + 1;
    this.height = (w2 >>> 14 & 0x3fff) + 1;
    this.dstSel = w3 & 0xfff;
    this.baseLevel = w3 >>> 12 & 15;
    this.lastLevel = w3 >>> 16 & 15;
    this.tile = w3 >>> 20 & 31;
    this.type = w3 >>> 28;
    this.maxMip = w5 >>> 4 & 15;
    this.#setExtent(w, i, w4);
    this.samples = 1;
    if (this.hasSamples) this.#setSamples(w, i);
    // The last level is limited by the chain.
    this.lastLevel = Math.min(this.lastLevel, this.maxMip);
    if (this.baseLevel > this.maxMip) refuse(w, i, "the view has no levels");
    if ((w6 >>> 21 & 1) !== 0) refuse(w, i, "compressed image data (DCC)");
    this.block = this.tile === Tile.Linear ? undefined : blockOf(this.tile, this.format.bytes, this.samples);
    if (this.tile !== Tile.Linear) this.#checkTiling(w, i);
    else if (this.maxMip > 0 && (this.pitch === 0 || this.type === ImageType.D3)) {
      refuse(w, i, "a linear image with several levels, without a pitch or in three dimensions");
    }
    return this;
  }

  /** Layers, slices or pitch: the meaning of word 4 depends on the type. */
  #setExtent(w: Wave, i: Instruction, w4: number): void {
    this.depth = this.layers = 1;
    this.baseLayer = this.pitch = 0;
    switch (this.type) {
      case ImageType.D1:
        this.height = 1;
        this.pitch = w4 === 0 ? 0 : (w4 & 0x3fff) + 1;
        break;
      case ImageType.D2:
        this.pitch = w4 === 0 ? 0 : (w4 & 0x3fff) + 1;
        break;
      case ImageType.D3:
        this.depth = (w4 & 0x1fff) + 1;
        break;
      case ImageType.D1Array:
        this.height = 1;
        this.#setLayers(w4);
        break;
      case ImageType.Cube:
      case ImageType.D2Array:
      case ImageType.D2MsaaArray:
        this.#setLayers(w4);
        break;
      case ImageType.D2Msaa:
        break;
      default:
        refuse(w, i, `the image type ${this.type} is reserved`);
    }
  }

  /** Whether texels have samples. */
  get hasSamples(): boolean {
    return this.type === ImageType.D2Msaa || this.type === ImageType.D2MsaaArray;
  }

  /** Such an image has one level; the fields of the levels have the logarithm of the samples (Mesa, radv_image.c, gfx10_make_texture_descriptor). */
  #setSamples(w: Wave, i: Instruction): void {
    if (this.tile === Tile.Linear) refuse(w, i, "a linear image with several samples");
    if (this.baseLevel !== 0 || this.lastLevel !== this.maxMip) {
      refuse(w, i, "an image with several samples whose level fields do not agree on their number");
    }
    if (this.maxMip > 3) refuse(w, i, `an image with ${2 ** this.maxMip} samples`);
    this.samples = 1 << this.maxMip;
    this.lastLevel = this.maxMip = 0;
  }

  #setLayers(w4: number): void {
    this.baseLayer = w4 >>> 16 & 0x1fff;
    this.layers = Math.max(1, (w4 & 0x1fff) + 1 - this.baseLayer);
  }

  #checkTiling(w: Wave, i: Instruction): void {
    if (this.block === undefined) refuse(w, i, `the tile mode ${this.tile} is not supported`);
    if (this.maxMip > 0) refuse(w, i, "a tiled image with several levels");
    if (this.type === ImageType.D3) refuse(w, i, "a tiled image in three dimensions");
  }

  /** Texels of a level (counted from the start of the chain). */
  levelWidth(level: number): number {
    return Math.max(1, this.width >> level);
  }

  levelHeight(level: number): number {
    return Math.max(1, this.height >> level);
  }

  levelDepth(level: number): number {
    return Math.max(1, this.depth >> level);
  }

  /** Guest address of a texel, or of one of its samples: signed 64-bit. `z` is the layer of the whole image, or the slice of a 3D image. */
  address(x: number, y: number, z: number, level: number, sample = 0): number {
    const { bytes } = this.format;
    if (this.block !== undefined) {
      const { width, height, size } = this.block;
      const across = Math.ceil(this.width / width), down = Math.ceil(this.height / height);
      const index = (z * down + Math.floor(y / height)) * across + Math.floor(x / width);
      // Bits of the base inside a block are a rotation of banks, which enters by XOR.
      const low = (this.base % size + size) % size;
      return this.base - low + index * size + (this.block.offset(x, y, z, sample) ^ low);
    }
    return this.base + this.#linearOffset(x, y, z, level, bytes);
  }

  /** Levels lie behind each other, the smallest first; layers are whole chains. */
  #linearOffset(x: number, y: number, z: number, level: number, bytes: number): number {
    let levelStart = 0, chain = 0;
    for (let each = this.maxMip; each >= 0; each--) {
      if (each === level) levelStart = chain;
      chain += this.#rowBytes(each) * this.levelHeight(each);
    }
    return z * chain + levelStart + y * this.#rowBytes(level) + x * bytes;
  }

  #rowBytes(level: number): number {
    const { bytes } = this.format;
    if (level === 0 && this.pitch !== 0) return this.pitch * bytes;
    return Math.ceil(this.levelWidth(level) * bytes / LINEAR_ALIGNMENT) * LINEAR_ALIGNMENT;
  }
}

/** A sampler, decoded. */
export class Sampler {
  /** Clamp modes of x, y, z. */
  clamp = [0, 0, 0];
  maxAniso = 0;
  compare = 0;
  unnormalized = false;
  forceDegamma = false;
  skipDegamma = false;
  /** 0 blend, 1 minimum, 2 maximum. */
  filterMode = 0;
  minLod = 0;
  maxLod = 0;
  lodBias = 0;
  /** 0 point, 1 linear, 2 and 3 anisotropic. */
  magFilter = 0;
  minFilter = 0;
  /** 0 none (use the xy filter), 1 point, 2 linear. */
  zFilter = 0;
  /** 0 none, 1 point, 2 linear. */
  mipFilter = 0;
  /** 0 transparent black, 1 opaque black, 2 opaque white, 3 from a table. */
  borderType = 0;

  /** Reads the four words at a scalar register. */
  read(w: Wave, register: number): this {
    const { sgpr } = w;
    const [w0, w1, w2, w3] = [sgpr[register], sgpr[register + 1], sgpr[register + 2], sgpr[register + 3]];
    this.clamp[0] = w0 & 7;
    this.clamp[1] = w0 >>> 3 & 7;
    this.clamp[2] = w0 >>> 6 & 7;
    this.maxAniso = w0 >>> 9 & 7;
    this.compare = w0 >>> 12 & 7;
    this.unnormalized = (w0 >>> 15 & 1) !== 0;
    this.forceDegamma = (w0 >>> 20 & 1) !== 0;
    this.filterMode = w0 >>> 29 & 3;
    this.skipDegamma = w0 >>> 31 !== 0;
    this.minLod = (w1 & 0xfff) / 256;
    this.maxLod = (w1 >>> 12 & 0xfff) / 256;
    this.lodBias = (w2 << 18 >> 18) / 256;
    this.magFilter = w2 >>> 20 & 3;
    this.minFilter = w2 >>> 22 & 3;
    this.zFilter = w2 >>> 24 & 3;
    this.mipFilter = w2 >>> 26 & 3;
    this.borderType = w3 >>> 30;
    return this;
  }
}
