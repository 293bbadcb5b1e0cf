/**
 * Image descriptors (T#, 8 words). What decides the code (format, tiling, type, selectors) must be known when the program is recompiled: the
 * request brings the words that the driver found; addresses and sizes stay values of the program.
 *
 * T# of gfx10: base[39:8] in word 0 and 1[7:0]; format 1[28:20]; width - 1 in 1[31:30] and 2[11:0]; height - 1 in 2[27:14]; selectors 3[11:0], base
 * level 3[15:12], last level 3[19:16], tile mode 3[24:20], type 3[31:28]; pitch - 1 of linear 2D images 4[13:0]; compression 6[21].
 */
import { RefusedError } from "../../errors.ts";
import type { Ir } from "../ir/ir.ts";

/** Bits of each word that decide the code: two images that agree in them share it. */
export const IMAGE_CLASS_MASKS: Readonly<Uint32Array> = Uint32Array.of(
  0,
  0x1ff00000,
  0,
  0xffffffff,
  0,
  0,
  0x00200000,
  0,
);

/** The class bits of a T#: part of what a compiled program is keyed by. */
export function imageClass(words: ArrayLike<number>): Uint32Array {
  return Uint32Array.from(IMAGE_CLASS_MASKS, (mask, k) => words[k] & mask);
}

/** An image instruction whose descriptor must be known. */
export interface ImageNeed {
  /** Byte offset of the instruction. */
  pc: number;
  /** The values of the descriptor's 8 words in {@linkcode NeedsImageDescriptors.ir}. */
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
  /** DST_SEL of x, y, z, w: 0 zero, 1 one, 4..7 component x..w of memory. */
  readonly selectors: readonly number[];
  readonly baseLevel: number;
  readonly tileMode: number;
  readonly type: number;
  readonly compressed: boolean;
}

/** Takes the class bits apart. */
export function imageFields(words: ArrayLike<number>): ImageClass {
  return {
    format: (words[1] >>> 20) & 0x1ff,
    selectors: [0, 3, 6, 9].map((shift) => (words[3] >>> shift) & 7),
    baseLevel: (words[3] >>> 12) & 15,
    tileMode: (words[3] >>> 20) & 31,
    type: words[3] >>> 28,
    compressed: (words[6] & 0x00200000) !== 0,
  };
}
