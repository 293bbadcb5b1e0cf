/**
 * Tile modes: where in a block of 256 bytes, 4 KiB or 64 KiB a texel lies. Each bit of the offset is the XOR of some bits of x, y and the layer z.
 *
 * The equations are those of AMD's AddrLib (Mesa, gfx10SwizzlePattern.h) for Navi10-like chips with 16 pipes; that the console's are the same was
 * measured there for colour and depth targets (64KB_R_X of all element sizes, 64KB_Z_X of 4 bytes).
 */

import { SAMPLE_MODES } from "./tiling_samples.ts";

/** SW_MODE numbers. */
export const Tile = { Linear: 0 } as const;

/** A tiling block for an element size. */
export interface TileEquation {
  /** Texels, powers of two. */
  readonly width: number;
  readonly height: number;
  /** Bytes, a power of two. */
  readonly size: number;
  /** By bit of the byte offset in the block: the bits of x, y, the layer z (coordinates of the whole image) and the sample whose XOR it is. */
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly z: readonly number[];
  readonly s: readonly number[];
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

/** Samples take their space from x first (AddrLib, ComputeThinBlockDimension). */
function equation(bits: readonly string[], elementLog: number, sampleLog: number): TileEquation {
  const masks = (axis: string) =>
    bits.map((bit) =>
      bit.split("^").reduce((mask, term) => term[0] === axis ? mask | 1 << Number(term.slice(1)) : mask, 0)
    );
  return {
    width: 2 ** (Math.ceil((bits.length - elementLog) / 2) - Math.ceil(sampleLog / 2)),
    height: 2 ** (Math.floor((bits.length - elementLog) / 2) - Math.floor(sampleLog / 2)),
    size: 2 ** bits.length,
    x: masks("x"),
    y: masks("y"),
    z: masks("z"),
    s: masks("s"),
  };
}

const equations = new Map<number, TileEquation>();

/**
 * The block of a tile mode for elements of 1, 2, 4, 8 or 16 bytes; undefined for modes (or sizes) that are not supported.
 *
 * @param samples 1, 2, 4 or 8
 */
export function tileEquation(mode: number, bytes: number, samples = 1): TileEquation | undefined {
  const elementLog = Math.log2(bytes), sampleLog = Math.log2(samples);
  const parts = samples === 1 ? MODES[mode] : SAMPLE_MODES[mode]?.[samples] && [SAMPLE_MODES[mode][samples]];
  if (parts === undefined || !Number.isInteger(elementLog)) return undefined;
  const key = (mode * 8 + elementLog) * 4 + sampleLog;
  let found = equations.get(key);
  if (found === undefined) {
    found = equation(parts.flatMap((part) => part[elementLog].split(" ")), elementLog, sampleLog);
    equations.set(key, found);
  }
  return found;
}
