/**
 * Instructions that are refused by name, each with the reason. They have handlers so that a program that reaches one is told why; what has no handler at
 * all is not implemented yet.
 */
import { opcodesNamed } from "./memory.ts";
import type { Define } from "./dispatch.ts";
import { refuse } from "./refusal.ts";

const CLOCK = "the time is not part of what a program's results may depend on here";
const SCRATCH = "scalar access to scratch memory is not documented well enough";
const SRC2 = "it reads one LDS word and changes another as one operation";
const DOT2 = "how the sums of this dot product are rounded, and whether denormals count, is not documented for gfx10";
const GWS = "global wave sync reaches across workgroups";

/** Reasons by mnemonic; a name that ends in `*` stands for all that begin so. */
const REASONS: Readonly<Record<string, string>> = {
  s_memtime: CLOCK,
  s_memrealtime: CLOCK,
  "s_scratch_*": SCRATCH,
  s_dcache_discard: "it throws away writes that the caches hold",
  s_dcache_discard_x2: "it throws away writes that the caches hold",
  "ds_gws_*": GWS,
  ds_ordered_count: "ordered counts are GDS operations in the order of the waves of a dispatch",
  "ds_*_src2_*": SRC2,
  "v_interp_*_f16":
    "16-bit attributes are two numbers in one register of the vertex program; an input variable interpolates the register as one number",
  s_sendmsghalt: "a message to the hardware outside of the wave",
  s_setkill: "it ends the wave from outside of its program",
  v_dot2_f32_f16: DOT2,
  v_dot2c_f32_f16: DOT2,
  v_trig_preop_f64: "1201 bits of 2 / pi",
  "image_*_pck*": "unconverted texels are not implemented",
  image_msaa_load: "all samples of a texel at once are not implemented",
  "image_bvh*": "ray intersection is not implemented",
  image_gather4h: "a gather along a row is not documented well enough",
};

/** Names that {@linkcode defineUnsupported} gave a refusing handler. */
export const REFUSED_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries(REASONS).flatMap(([pattern, reason]) => {
    const star = pattern.indexOf("*");
    if (star < 0) return [[pattern, reason] as const];
    const inner = pattern.slice(star + 1).replace(/\*$/, "");
    return opcodesNamed(pattern.slice(0, star)).filter(({ name }) => name.includes(inner))
      .map(({ name }) => [name, reason] as const);
  }),
);

/** Adds the handlers of this class. */
export function defineUnsupported(define: Define): void {
  for (const [name, reason] of REFUSED_NAMES) define(name, () => refuse(reason));
}
