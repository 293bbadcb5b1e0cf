/** Pixel programs that load samples of images, compared with the interpreter. */
import { type PixelProgram, pixelState } from "./programs.ts";

const RAW = "exp mrt0 v10, v11, v12, v13 done vm";
const END = "s_endpgm";
const MEMORY = 0x3_0000_0000n;

/** A T# of 72x40 texels with `2 ** log` samples at MEMORY, which is at the start of a block. */
export const sampledImage = (format: number, tile: number, log: number): number[] => [
  Number(MEMORY >> 8n & 0xffff_ffffn),
  (Number(MEMORY >> 40n) | format << 20 | (71 & 3) << 30) >>> 0,
  71 >> 2 | 39 << 14,
  (0xfac | log << 16 | tile << 20 | 14 << 28) >>> 0,
  0,
  log << 4,
  0,
  0,
];
/** Both ways to say which sample. */
export const SAMPLES: PixelProgram[] = [
  ...([[56, 27, 1, "two of four bytes"], [71, 27, 2, "four of eight bytes"], [22, 24, 3, "eight of a depth"]] as const)
    .map((
      [format, tile, log, what],
    ) => ({
      name: `samples of an image, by a number and computed: ${what}`,
      // The position is in v0 and v1; the sample of the second load is x modulo the samples.
      lines: () => [
        "v_cvt_u32_f32 v4, v0",
        "v_cvt_u32_f32 v5, v1",
        "v_mov_b32 v6, 1",
        `v_and_b32 v7, ${2 ** log - 1}, v4`,
        "image_load v[10:13], v[4:6], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D_MSAA",
        "image_load v14, [v4, v5, v7], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D_MSAA",
        "s_waitcnt vmcnt(0)",
        "v_mov_b32 v13, v14",
        RAW,
        END,
      ],
      state: pixelState({ inputAddr: 0x300, interpolants: [] }),
      more: {
        registers: { userSgprCount: 16 },
        userData: [...new Array(8).fill(0), ...sampledImage(format, tile, log)],
        image: sampledImage(format, tile, log),
        quads: 40,
        memory: [{
          address: MEMORY,
          bytes: Uint8Array.from(
            { length: 16 * 65536 },
            (_, k) => k % 4 === 3 ? k >> 8 & 0x3f : 7 * k + (k >> 9) & 0xff,
          ),
        }],
      },
    })),
];
