/** Pixel programs that interpolate, compared with the interpreter. */
import type { Interpolant } from "../../../src/recompiler/stages/state.ts";
import { flat, interpolate, type PixelProgram, pixelState, smooth, TAKE_MASK } from "./programs.ts";

const RAW = "exp mrt0 v10, v11, v12, v13 done vm";
const END = "s_endpgm";
const constant = (value: number): Interpolant => ({ ...smooth(0), source: { constant: value } });

/** Attributes at all places. */
export const INTERPOLATION: PixelProgram[] = [
  ...[0, 1, 2, 4, 5, 6].map((bit) => ({
    name: `an attribute with barycentrics of kind ${bit}`,
    lines: () => [TAKE_MASK, ...interpolate(1), RAW, END],
    state: pixelState({ inputAddr: 1 << bit }),
  })),
  {
    name: "attributes at computed barycentrics, in a loop too, beside one at the pixel's own",
    lines: () => [
      TAKE_MASK,
      ...interpolate(0, 0, "x"),
      "v_mul_f32 v20, 0.5, v0",
      "v_add_f32 v21, 0.5, v1",
      ...interpolate(1, 20, "y", 11),
      "s_mov_b32 s10, 3",
      "again:",
      "v_mul_f32 v20, 0.5, v20",
      ...interpolate(2, 20, "zw", 12),
      "v_add_f32 v21, v12, v13",
      "s_sub_u32 s10, s10, 1",
      "s_cmp_lg_u32 s10, 0",
      "s_cbranch_scc1 again",
      RAW,
      END,
    ],
    state: pixelState(),
  },
  {
    name: "I of one kind and J of another",
    lines: () => [
      TAKE_MASK,
      ...["x", "y", "z", "w"].flatMap((component, k) => [
        `v_interp_p1_f32 v${10 + k}, v0, attr0.${component}`,
        `v_interp_p2_f32 v${10 + k}, v3, attr0.${component}`,
      ]),
      RAW,
      END,
    ],
    state: pixelState({ inputAddr: 0x22 }),
  },
  {
    name: "one attribute at the sample, the centre and the centroid",
    lines: () => [
      TAKE_MASK,
      ...interpolate(2, 0, "x"),
      ...interpolate(2, 2, "y", 11),
      ...interpolate(2, 4, "zw", 12),
      RAW,
      END,
    ],
    state: pixelState({ inputAddr: 7 }),
  },
  {
    name: "one attribute at the centre and the centroid, in a program of samples",
    lines: () => [TAKE_MASK, ...interpolate(0, 0, "xy"), ...interpolate(0, 2, "zw", 12), RAW, END],
    state: pixelState({ inputAddr: 6, perSample: true }),
  },
  {
    name: "perspective and linear attributes",
    lines: () => [TAKE_MASK, ...interpolate(0, 0, "xy"), ...interpolate(3, 2, "zw", 12), RAW, END],
    state: pixelState({ inputAddr: 0x22 }),
  },
  {
    name: "flat attributes, moved and interpolated",
    lines: () => [
      TAKE_MASK,
      "v_interp_mov_f32 v10, p0, attr0.x",
      "v_interp_mov_f32 v11, p0, attr0.w",
      ...interpolate(1, 0, "yz", 12),
      RAW,
      END,
    ],
    state: pixelState({ interpolants: [flat(3), flat(0)] }),
  },
  {
    name: "attributes of other parameters, and constants",
    lines: () => [
      TAKE_MASK,
      ...interpolate(0, 0, "x"),
      ...interpolate(1, 0, "w", 11),
      ...interpolate(2, 0, "x", 12),
      "v_interp_mov_f32 v13, p0, attr3.w",
      RAW,
      END,
    ],
    state: pixelState({ interpolants: [smooth(31), constant(1), constant(2), constant(3)] }),
  },
  {
    name: "an attribute that only some lanes interpolate",
    lines: (n) => [
      TAKE_MASK,
      ...interpolate(0),
      `v_cmp_lt_f32 ${n.vcc}, 0, v10`,
      `s_and_saveexec_${n.b} ${n.mask(20)}, ${n.vcc}`,
      ...interpolate(1),
      `s_mov_${n.b} ${n.exec}, ${n.mask(20)}`,
      RAW,
      END,
    ],
    state: pixelState(),
  },
];

/** The centroid's barycentrics in v2 and v3, the centre's in v0 and v1: where the mask's sign says so the centre's count. */
export const OPTIMIZED: PixelProgram[] = [
  {
    name: "centroids that the hardware may leave out",
    lines: (n) => [
      TAKE_MASK,
      "v_mov_b32 v20, s4",
      `v_cmp_gt_i32 ${n.vcc}, 0, v20`,
      `v_cndmask_b32 v2, v2, v0, ${n.vcc}`,
      `v_cndmask_b32 v3, v3, v1, ${n.vcc}`,
      ...interpolate(0, 2, "xy"),
      ...interpolate(1, 0, "zw", 12),
      RAW,
      END,
    ],
    state: pixelState({ inputAddr: 6 }),
  },
];
