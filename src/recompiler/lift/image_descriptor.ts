/**
 * Image and sampler descriptors (T#, 8 words, and S#, 4 words). What decides the code (format, tiling, type, levels, selectors, all of a sampler) must be
 * known when the program is recompiled: the request brings the words that the driver found; addresses and sizes stay values of the program.
 *
 * T# of gfx10: base[39:8] in word 0 and 1[7:0]; min LOD 1[19:8]; format 1[28:20]; width - 1 in 1[31:30] and 2[11:0]; height - 1 in 2[27:14]; selectors
 * 3[11:0], base level 3[15:12], last level 3[19:16], tile mode 3[24:20], type 3[31:28]; depth - 1, last layer 4[12:0] and base layer 4[28:16], or pitch - 1
 * of linear 1D and 2D images 4[13:0]; levels - 1 of the chain 5[7:4]; compression 6[21]. S#: see {@linkcode samplerFields}.
 */
import { RefusedError } from "../../errors.ts";
import type { Ir } from "../ir/ir.ts";

/** Bits of each word of a T# that decide the code, word 4 apart. */
const IMAGE_MASKS = Uint32Array.of(0, 0x1fffff00, 0, 0xffffffff, 0, 0xf0, 0x00200000, 0);
/** The same of an S#. */
const SAMPLER_MASKS = Uint32Array.of(0xffffffff, 0x00ffffff, 0x0ff03fff, 0xc0000000);
const T_WORDS = 8;

/**
 * What two images must have in common to share code, from the words of a T# or of a T# and an S#: part of what a compiled program is keyed by. Word 4 counts
 * as whether it is zero, for images with several levels.
 */
export function imageClass(words: ArrayLike<number>): Uint32Array {
  return Uint32Array.from(words, (word, k) => {
    if (k === 4) return word !== 0 && (words[5] & IMAGE_MASKS[5]) !== 0 ? 1 : 0;
    return word & (k < T_WORDS ? IMAGE_MASKS[k] : SAMPLER_MASKS[k - T_WORDS]);
  });
}

/** An image instruction whose descriptor must be known. */
export interface ImageNeed {
  /** Byte offset of the instruction. */
  pc: number;
  /** The values of the T#'s 8 words, and behind them of the S#'s 4 where the instruction samples, in {@linkcode NeedsImageDescriptors.ir}. */
  words: number[];
}

/** The program has image instructions, and `RecompileRequest.imageDescriptors` lacks their descriptors. See passes/resources.ts. */
export class NeedsImageDescriptors extends RefusedError {
  override name = "NeedsImageDescriptors";

  /** @param ir the lifted program, in which the image instructions themselves are missing @param needs by instruction */
  constructor(readonly ir: Ir, readonly needs: readonly ImageNeed[]) {
    const places = needs.map(({ pc }) => "0x" + pc.toString(16)).join(", ");
    super("recompiler.image-descriptors", `the image descriptors used at pc ${places} must be known to recompile`, {
      pc: needs[0].pc,
    });
  }
}

/** Fields of a T#'s class bits. */
export interface ImageClass {
  readonly format: number;
  /** DST_SEL of x, y, z, w, 3 bits each: 0 zero, 1 one, 4..7 component x..w of memory. */
  readonly dstSel: number;
  readonly baseLevel: number;
  /** Last level of the view, within the chain. */
  readonly lastLevel: number;
  /** Last level of the chain. */
  readonly maxMip: number;
  readonly tileMode: number;
  readonly type: number;
  readonly compressed: boolean;
  /** Smallest level of detail. */
  readonly minLod: number;
  /** Word 4 of an image with several levels, and without layers, holds its pitch. */
  readonly hasPitch: boolean;
}

/** Takes the class bits apart. */
export function imageFields(words: ArrayLike<number>): ImageClass {
  const maxMip = (words[5] >>> 4) & 15, lastLevel = (words[3] >>> 16) & 15;
  // Of an image with several samples (types 14 and 15) these are no levels.
  const hasSamples = words[3] >>> 28 >= 14;
  return {
    format: (words[1] >>> 20) & 0x1ff,
    dstSel: words[3] & 0xfff,
    baseLevel: (words[3] >>> 12) & 15,
    lastLevel: hasSamples ? lastLevel : Math.min(lastLevel, maxMip),
    maxMip,
    tileMode: (words[3] >>> 20) & 31,
    type: words[3] >>> 28,
    compressed: (words[6] & 0x00200000) !== 0,
    minLod: ((words[1] >>> 8) & 0xfff) / 256,
    hasPitch: words[4] !== 0,
  };
}

/** An S#, as the interpreter has it (src/rdna/interpreter/image/resource.ts). */
export interface SamplerClass {
  /** Clamp modes of x, y, z. */
  readonly clamp: readonly [number, number, number];
  readonly maxAniso: number;
  /** Comparison of depth. */
  readonly compare: number;
  readonly unnormalized: boolean;
  /** 0 blend, 1 minimum, 2 maximum. */
  readonly filterMode: number;
  readonly minLod: number;
  readonly maxLod: number;
  readonly lodBias: number;
  /** 0 point, 1 linear, 2 and 3 anisotropic. */
  readonly magFilter: number;
  readonly minFilter: number;
  /** 0 none (use the xy filter), 1 point, 2 linear. */
  readonly zFilter: number;
  /** 0 none, 1 point, 2 linear. */
  readonly mipFilter: number;
  /** 0 transparent black, 1 opaque black, 2 opaque white, 3 from a table. */
  readonly borderType: number;
}

/** Takes an S# apart (AMD RDNA2 ISA, section 8.2.6). @param words of the T# and the S# behind it */
export function samplerFields(words: ArrayLike<number>): SamplerClass {
  const [w0, w1, w2, w3] = [0, 1, 2, 3].map((k) => words[T_WORDS + k]);
  return {
    clamp: [w0 & 7, (w0 >>> 3) & 7, (w0 >>> 6) & 7],
    maxAniso: (w0 >>> 9) & 7,
    compare: (w0 >>> 12) & 7,
    unnormalized: ((w0 >>> 15) & 1) !== 0,
    filterMode: (w0 >>> 29) & 3,
    minLod: (w1 & 0xfff) / 256,
    maxLod: ((w1 >>> 12) & 0xfff) / 256,
    lodBias: ((w2 << 18) >> 18) / 256,
    magFilter: (w2 >>> 20) & 3,
    minFilter: (w2 >>> 22) & 3,
    zFilter: (w2 >>> 24) & 3,
    mipFilter: (w2 >>> 26) & 3,
    borderType: w3 >>> 30,
  };
}
