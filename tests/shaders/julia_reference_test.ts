import { assertEquals } from "@std/assert";
import { JULIA, juliaReference } from "./julia_reference.ts";

/** The reference again in binary64: it must agree with the one in binary32 wherever rounding cannot matter. */
function pixelInDouble(x: number, y: number): [number, number, number] {
  let re = (x - 319.5) * 0.005, im = (y - 179.5) * 0.005, count = 0, norm = re * re + im * im, least = 4;
  while (norm < 16 && count < JULIA.iterations) {
    least = Math.min(least, norm);
    [re, im] = [re * re - im * im + JULIA.re, 2 * re * im + JULIA.im];
    count++;
    if (count < JULIA.iterations) norm = re * re + im * im;
  }
  const h = y / 360, base = [0.04 + 0.1 * h, 0.02 + 0.09 * h, 0.14 + 0.28 * h];
  const glow = norm < 16 ? [0.9 * least, 0.3 * least, 0.15 * least] : bands(norm, count);
  return base.map((c, i) => Math.floor(Math.min(1, c + glow[i]) * 255 + 0.5)) as [number, number, number];
}

function bands(norm: number, count: number): [number, number, number] {
  const exponent = Math.floor(Math.log2(norm)), log2 = exponent + norm / 2 ** exponent - 1;
  const f = Math.max(0, 1 - (log2 - 4) / 4);
  const t = Math.min(1, (f * (0.66 + 0.34 * f) + count) / 32), u = 1 - t;
  return [9 * u * t ** 3, 15 * u * u * t * t, 8.5 * u ** 3 * t];
}

Deno.test("the CPU's picture agrees with the formulas in double precision, but for what rounding may change", () => {
  const picture = juliaReference();
  let compared = 0, different = 0;
  for (let y = 0; y < JULIA.height; y += 3) {
    for (let x = 0; x < JULIA.width; x += 3) {
      const expected = pixelInDouble(x, y), at = (y * JULIA.width + x) * 4;
      compared++;
      // Near the edge of the set an orbit amplifies rounding: such pixels may differ wholly.
      if (expected.some((c, i) => Math.abs(c - picture[at + i]) > 1)) different++;
      assertEquals(picture[at + 3], 255);
    }
  }
  assertEquals(different / compared < 0.01, true, `${different} of ${compared} pixels differ`);
});

Deno.test("the picture has bands outside and a calm inside", () => {
  const picture = juliaReference(), colours = new Set(new Uint32Array(picture.buffer));
  assertEquals(colours.size > 5000, true, `${colours.size} colours`);
});
