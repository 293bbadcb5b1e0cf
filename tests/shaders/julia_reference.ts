/**
 * The picture of shaders/julia computed on the CPU, pixel by pixel, from the formulas in the header of julia.s: an oracle that shares
 * nothing with the decoder, the recompiler or the driver. Every operation rounds to f32 once, as the guest's do.
 *
 * @module
 */
const f32 = Math.fround;

/** What the guest takes from its code and its user SGPRs. */
export interface JuliaParameters {
  width: number;
  height: number;
  /** Most iterations. */
  iterations: number;
  /** The constant c of z := z * z + c. */
  re: number;
  im: number;
}

/** The parameters that the checked-in program uses. */
export const JULIA: JuliaParameters = { width: 640, height: 360, iterations: 160, re: -0.4, im: 0.6 };

/** R, G, B, A bytes, rows without gaps. */
export function juliaReference({ width, height, iterations, re, im }: JuliaParameters = JULIA): Uint8Array {
  const picture = new Uint8Array(width * height * 4);
  const cRe = f32(re), cIm = f32(im), step = f32(0.005), perRow = f32(1 / 360);
  const bits = new DataView(new ArrayBuffer(4));
  for (let y = 0; y < height; y++) {
    const h = f32(y * perRow);
    const base = [
      f32(f32(h * f32(0.1)) + f32(0.04)),
      f32(f32(h * f32(0.09)) + f32(0.02)),
      f32(f32(h * f32(0.28)) + f32(0.14)),
    ];
    for (let x = 0; x < width; x++) {
      let zRe = f32((x - 319.5) * step), zIm = f32((y - 179.5) * step);
      let count = 0, norm = 0, least = 4, inside = false;
      while (true) {
        const re2 = f32(zRe * zRe), im2 = f32(zIm * zIm);
        norm = f32(re2 + im2);
        if (norm >= 16) break;
        least = Math.min(least, norm);
        const product = f32(zRe * zIm);
        zRe = f32(f32(re2 - im2) + cRe);
        zIm = f32(f32(product + product) + cIm);
        if (++count >= iterations) {
          inside = true;
          break;
        }
      }
      let [r, g, b] = base;
      if (inside) {
        r = f32(r + f32(least * f32(0.9)));
        g = f32(g + f32(least * f32(0.3)));
        b = f32(b + f32(least * f32(0.15)));
      } else {
        bits.setFloat32(0, norm);
        let fraction = f32(1 - f32(((bits.getUint32(0) - 0x41800000) >>> 3) * 2 ** -22));
        fraction = Math.max(0, fraction);
        fraction = f32(fraction * f32(f32(fraction * f32(0.34)) + f32(0.66)));
        const t = Math.min(1, f32(f32(fraction + count) * f32(1 / 32))), u = f32(1 - t);
        const ut = f32(u * t), tt = f32(t * t), uu = f32(u * u);
        r = f32(r + f32(f32(ut * tt) * 9));
        g = f32(g + f32(f32(ut * ut) * 15));
        b = f32(b + f32(f32(ut * uu) * 8.5));
      }
      const at = (y * width + x) * 4;
      picture[at] = to8(r);
      picture[at + 1] = to8(g);
      picture[at + 2] = to8(b);
      picture[at + 3] = 255;
    }
  }
  return picture;
}

function to8(c: number): number {
  return Math.trunc(f32(f32(Math.min(1, c) * 255) + 0.5));
}
