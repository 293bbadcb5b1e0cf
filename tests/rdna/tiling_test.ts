import { assert, assertEquals } from "@std/assert";
import { type TileEquation, tileEquation } from "../../src/rdna/tiling.ts";

const BYTES = [1, 2, 4, 8, 16];
/** 64KB_Z_X and 64KB_R_X. */
const MODES = { depth: 24, colour: 27 } as const;

function parity(bits: number): number {
  let ones = 0;
  for (; bits !== 0; bits &= bits - 1) ones++;
  return ones & 1;
}

function offset({ x, y, s }: TileEquation, at: readonly [number, number], sample: number): number {
  return x.reduce(
    (result, _, bit) =>
      result | parity(x[bit] & at[0]) << bit ^ parity(y[bit] & at[1]) << bit ^ parity(s[bit] & sample) << bit,
    0,
  );
}

Deno.test("blocks of several samples hold every sample of their texels once, wherever the block is", () => {
  for (const mode of Object.values(MODES)) {
    for (const samples of [1, 2, 4, 8]) {
      for (const bytes of BYTES) {
        const block = tileEquation(mode, bytes, samples);
        assert(block !== undefined);
        const { width, height, size } = block;
        assertEquals(width * height * samples * bytes, size);
        for (const [left, top] of [[0, 0], [width, 3 * height], [5 * width, 2 * height]]) {
          const seen = new Uint8Array(size / bytes);
          for (let n = 0; n < width * height * samples; n++) {
            const texel = Math.floor(n / samples);
            const at = offset(block, [left + texel % width, top + Math.floor(texel / width)], n % samples);
            assertEquals(at % bytes, 0);
            seen[at / bytes]++;
          }
          assert(seen.every((count) => count === 1), `mode ${mode}, ${samples} samples of ${bytes} bytes`);
        }
      }
    }
  }
});

Deno.test("blocks of four samples have the sizes that the console's have", () => {
  const sizes = BYTES.map((bytes) => {
    const { width, height } = tileEquation(MODES.colour, bytes, 4)!;
    return [width, height];
  });
  assertEquals(sizes, [[128, 128], [128, 64], [64, 64], [64, 32], [32, 32]]);
});

Deno.test("four samples of a colour are in planes of 16 KiB, four of a depth next to each other, as measured on the console", () => {
  for (let texel = 0; texel < 64 * 64; texel++) {
    const at = [texel % 64, texel >> 6] as const;
    for (let sample = 0; sample < 4; sample++) {
      assertEquals(offset(tileEquation(MODES.colour, 4, 4)!, at, sample) >> 14, sample);
      assertEquals(offset(tileEquation(MODES.depth, 4, 4)!, at, sample) >> 2 & 3, sample);
    }
  }
});

Deno.test("other modes and numbers of samples are not known", () => {
  assertEquals(
    [[27, 4, 3], [27, 4, 16], [25, 4, 4], [0, 4, 4], [24, 3, 2]].map(([mode, bytes, samples]) =>
      tileEquation(mode, bytes, samples)
    ),
    [
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ],
  );
});
