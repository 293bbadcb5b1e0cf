/**
 * Tile modes of images with several samples: the bits of the offset in a block of 64 KiB, as in tiling.ts, with the bits of the sample's number (s). Lowest bit
 * first, "0" bits are inside the element.
 *
 * The equations are those of AMD's AddrLib (Mesa, gfx10SwizzlePattern.h, GFX10_SW_64K_Z_X and _R_X of 2, 4 and 8 samples) for Navi10-like chips with 16 pipes. That
 * the console's are the same was measured there for four samples: colours have the samples in planes of 16 KiB, depths next to each other.
 */

/** By SW_MODE, by number of samples, by element size of 1, 2, 4, 8, 16 bytes. */
export const SAMPLE_MODES: Readonly<Record<number, Readonly<Record<number, readonly string[]>>>> = {
  24: {
    2: [
      "s0 x0 y0 x1 y1 x2 y2 x3 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y4 y6 x6 y7",
      "0 s0 x0 y0 x1 y1 x2 y2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y6 x6",
      "0 0 s0 x0 y0 x1 y1 x2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y6 y2^y7",
      "0 0 0 s0 x0 y0 x1 y1 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 x2 y3 x4 y2^y6",
      "0 0 0 0 s0 x0 y0 x1 x3^y3^z2 x4^y4^z1 x6^y5^z0 x5^y2^y6 y1 x3 y4 x2^y6",
    ],
    4: [
      "s0 s1 x0 y0 x1 y1 x2 y2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y6 x6",
      "0 s0 s1 x0 y0 x1 y1 x2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 x3 y4 x6 y2^y6",
      "0 0 s0 s1 x0 y0 x1 y1 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y2^y6 x2^y7",
      "0 0 0 s0 s1 x0 y0 x1 x3^y3^z2 x4^y4^z1 x6^y2^y5 x5^y6^z0 y3 x4 y1^y6 x2^y7",
      "0 0 0 0 s0 s1 x0 y0 x3^y3^z1 x4^y4^z0 x6^y2^y5 x1^x5^y6 y3 x4 y1^y6 x2^y7",
    ],
    8: [
      "s0 s1 s2 x0 y0 x1 y1 x2 x3^y3^z2 x4^y4^z1 x6^y5^z0 x5^y6^z3 y3 x4 y6 y2^y7",
      "0 s0 s1 s2 x0 y0 x1 y1 x3^y3^z2 x4^y4^z1 x6^y5^z0 x5^y6^z3 y3 x4 y2^y6 x2^y7",
      "0 0 s0 s1 s2 x0 y0 x1 x3^y3^z2 x4^y4^z1 x6^y5^z0 x5^y2^y6 x3 y4 x2^y6 y1^y7",
      "0 0 0 s0 s1 s2 x0 y0 x3^y3^z1 x4^y4^z0 x6^y2^y5 x1^x5^y6 y3 x4 y1^y6 x2^y7",
      "0 0 0 0 s0 s1 s2 x0 x3^y3^z1 x4^y4^z0 x6^y0^y5 x1^x5^y6 x3 y1^y6 x2^y7 y2^y8",
    ],
  },
  27: {
    2: [
      "x0 x1 x2 y1 y0 y2 x3 y4 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y6 x6 y7 s0^y8",
      "0 x0 x1 x2 y0 y1 y2 x3 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y4 x6 y6 s0^y7",
      "0 0 x0 x1 y0 y1 y2 x2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y6 s0^y7",
      "0 0 0 x0 y0 x1 x2 y1 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y2 x3 y4 s0^y6",
      "0 0 0 0 x0 y0 x1 y1 x3^y3^z2 x4^y4^z1 x6^y5^z0 s0^x5^y6 y2 x2 y3 x4",
    ],
    4: [
      "x0 x1 x2 y1 y0 y2 x3 y4 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y6 x6 s0^y7 s1^y8",
      "0 x0 x1 x2 y0 y1 y2 x3 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y4 x6 s0^y6 s1^y7",
      "0 0 x0 x1 y0 y1 y2 x2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 s0^y6 s1^y7",
      "0 0 0 x0 y0 x1 x2 y1 x3^y3^z2 x4^y4^z1 s1^x6^y5 x5^y6^z0 y2 x3 y4 s0^y6",
      "0 0 0 0 x0 y0 x1 y1 x3^y3^z1 x4^y4^z0 s1^x6^y5 s0^x5^y6 y2 x2 y3 x4",
    ],
    8: [
      "x0 x1 x2 y1 y0 y2 x3 y4 x3^y3^z2 x4^y4^z1 x6^y5^z0 x5^y6^z3 y6 s0^y7 s1^y8 s2^y9",
      "0 x0 x1 x2 y0 y1 y2 x3 x3^y3^z2 x4^y4^z1 x6^y5^z0 x5^y6^z3 y4 s0^y6 s1^y7 s2^y8",
      "0 0 x0 x1 y0 y1 y2 x2 x3^y3^z2 x4^y4^z1 x6^y5^z0 s2^x5^y6 y3 x4 s0^y6 s1^y7",
      "0 0 0 x0 y0 x1 x2 y1 x3^y3^z1 x4^y4^z0 s2^x6^y5 s1^x5^y6 y2 x3 y4 s0^y6",
      "0 0 0 0 x0 y0 x1 y1 x3^y3^z1 x4^y4^z0 s2^x6^y5 s1^x5^y6 x2 y2 x3 s0^y6",
    ],
  },
};
