/** Places of texels in tiling blocks (src/rdna/tiling.ts). */
import { type TileEquation, tileEquation } from "../../tiling.ts";

/** A tiling block for an element size. */
export interface TileBlock {
  /** Texels. */
  readonly width: number;
  readonly height: number;
  /** Bytes. */
  readonly size: number;
  /** Byte offset in the block of a sample of the texel that holds (x, y) of layer z; coordinates are those of the whole image. */
  offset(x: number, y: number, z: number, sample: number): number;
}

class Block implements TileBlock {
  readonly width: number;
  readonly height: number;
  readonly size: number;

  constructor(private readonly equation: TileEquation) {
    this.width = equation.width;
    this.height = equation.height;
    this.size = equation.size;
  }

  offset(x: number, y: number, z: number, sample: number): number {
    const { equation } = this;
    let result = 0;
    for (let bit = 0; bit < equation.x.length; bit++) {
      const mixed = (x & equation.x[bit]) ^ (y & equation.y[bit]) << 8 ^ (z & equation.z[bit]) << 16 ^
        (sample & equation.s[bit]) << 24;
      result |= parity(mixed) << bit;
    }
    return result;
  }
}

/** Whether the number of set bits is odd. */
function parity(bits: number): number {
  bits ^= bits >>> 16;
  bits ^= bits >>> 8;
  bits ^= bits >>> 4;
  return 0x6996 >>> (bits & 15) & 1;
}

const blocks = new Map<TileEquation, TileBlock>();

/** The block of a tile mode for elements of 1, 2, 4, 8 or 16 bytes; undefined for modes (or sizes, or samples) that are not supported. */
export function blockOf(mode: number, bytes: number, samples: number): TileBlock | undefined {
  const equation = tileEquation(mode, bytes, samples);
  if (equation === undefined) return undefined;
  let block = blocks.get(equation);
  if (block === undefined) blocks.set(equation, block = new Block(equation));
  return block;
}
