/**
 * Tile modes: where in a block of 256 bytes, 4 KiB or 64 KiB a texel lies. Each bit of the offset is the XOR of some bits of x, y and the layer z.
 *
 * The equations are those of AMD's AddrLib (Mesa, gfx10SwizzlePattern.h) for Navi10-like chips with 16 pipes; that the console's are the same was
 * measured there for colour and depth targets (64KB_R_X of all element sizes, 64KB_Z_X of 4 bytes).
 */

/** SW_MODE numbers. */
export const Tile = { Linear: 0 } as const;

/** A tiling block for an element size. */
export interface TileBlock {
  /** Texels. */
  readonly width: number;
  readonly height: number;
  /** Bytes. */
  readonly size: number;
  /** Byte offset in the block of the texel that holds (x, y) of layer z; coordinates are those of the whole image. */
  offset(x: number, y: number, z: number): number;
}

/** Lowest 8 bits of the offset, by element size of 1, 2, 4, 8, 16 bytes; "0" bits are inside the element. */
const STANDARD = [
  "x0 x1 x2 x3 y0 y1 y2 y3",
  "0 x0 x1 x2 y0 y1 y2 x3",
  "0 0 x0 x1 y0 y1 y2 x2",
  "0 0 0 x0 y0 y1 x1 x2",
  "0 0 0 0 y0 y1 x0 x1",
];
const DISPLAY = [
  "x0 x1 x2 y1 y0 y2 x3 y3",
  "0 x0 x1 x2 y0 y1 y2 x3",
  "0 0 x0 x1 y0 y1 y2 x2",
  "0 0 0 x0 y0 x1 x2 y1",
  "0 0 0 0 x0 y0 x1 y1",
];
const RENDER = ["x0 x1 x2 y1 y0 y2 x3 y4", ...DISPLAY.slice(1)];
const DEPTH = [
  "x0 y0 x1 y1 x2 y2 x3 y4",
  "0 x0 y0 x1 y1 x2 y2 x3",
  "0 0 x0 y0 x1 y1 x2 y2",
  "0 0 0 x0 y0 x1 y1 x2",
  "0 0 0 0 x0 y0 x1 y1",
];

/** Bits 8 to 11. */
const PLAIN_4K = ["y4 x4 y5 x5", "y3 x4 y4 x5", "y3 x3 y4 x4", "y2 x3 y3 x4", "y2 x2 y3 x3"];
const XOR_4K = [
  "z3^y4^x7 z2^x4^y7 z1^y5^x6 z0^x5^y6",
  "y3^z3^x7 z2^x4^y6 z1^y4^x6 z0^x5^y5",
  "y3^z3^x6 z2^x3^y6 z1^y4^x5 z0^x4^y5",
  "y2^z3^x6 z2^x3^y5 z1^y3^x5 z0^x4^y4",
  "y2^z3^x5 x2^z2^y5 z1^y3^x4 z0^x3^y4",
];
const PIPES = new Array(5).fill("x3^y3^z3 z2^x4^y4 z1^y5^x6 z0^x5^y6");

/** Bits 12 to 15. */
const PLAIN_64K = ["y6 x6 y7 x7", "y5 x6 y6 x7", "y5 x5 y6 x6", "y4 x5 y5 x6", "y4 x4 y5 x5"];
const PIPES_64K = ["y6 x6 y7 x7", "y4 x6 y6 x7", "y3 x4 y6 x6", "y2 x3 y4 x6", "y2 x2 y3 x4"];

/** Parts of the equations by SW_MODE. */
const MODES: Readonly<Record<number, readonly (readonly string[])[]>> = {
  1: [STANDARD],
  2: [DISPLAY],
  5: [STANDARD, PLAIN_4K],
  6: [DISPLAY, PLAIN_4K],
  9: [STANDARD, PLAIN_4K, PLAIN_64K],
  10: [DISPLAY, PLAIN_4K, PLAIN_64K],
  21: [STANDARD, XOR_4K],
  22: [DISPLAY, XOR_4K],
  24: [DEPTH, PIPES, PIPES_64K],
  25: [STANDARD, XOR_4K, PLAIN_64K],
  26: [DISPLAY, XOR_4K, PLAIN_64K],
  27: [RENDER, PIPES, PIPES_64K],
};

class Equation implements TileBlock {
  readonly width: number;
  readonly height: number;
  readonly size: number;
  readonly #x: number[] = [];
  readonly #y: number[] = [];
  readonly #z: number[] = [];

  constructor(bits: readonly string[], elementLog: number) {
    for (const bit of bits) {
      const masks = { x: 0, y: 0, z: 0 };
      if (bit !== "0") { for (const term of bit.split("^")) masks[term[0] as "x" | "y" | "z"] |= 1 << Number(term[1]); }
      this.#x.push(masks.x);
      this.#y.push(masks.y);
      this.#z.push(masks.z);
    }
    this.size = 2 ** bits.length;
    this.width = 2 ** Math.ceil((bits.length - elementLog) / 2);
    this.height = 2 ** Math.floor((bits.length - elementLog) / 2);
  }

  offset(x: number, y: number, z: number): number {
    let result = 0;
    for (let bit = 0; bit < this.#x.length; bit++) {
      const mixed = (x & this.#x[bit]) ^ (y & this.#y[bit]) << 8 ^ (z & this.#z[bit]) << 16;
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

const blocks = new Map<number, TileBlock>();

/** The block of a tile mode for elements of 1, 2, 4, 8 or 16 bytes; undefined for modes (or sizes) that are not supported. */
export function blockOf(mode: number, bytes: number): TileBlock | undefined {
  const elementLog = Math.log2(bytes);
  const parts = MODES[mode];
  if (parts === undefined || !Number.isInteger(elementLog)) return undefined;
  const key = mode * 8 + elementLog;
  let block = blocks.get(key);
  if (block === undefined) {
    block = new Equation(parts.flatMap((part) => part[elementLog].split(" ")), elementLog);
    blocks.set(key, block);
  }
  return block;
}
