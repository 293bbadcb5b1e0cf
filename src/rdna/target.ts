/** The GPU variants whose machine code is decoded: gfx1013 is the console's (gfx10.1 and ray tracing), gfx1030 is gfx10.3. */
export type Target = "gfx1013" | "gfx1030";

/** All targets; the position is the bit in {@linkcode Opcode.targets}. */
export const TARGETS: readonly Target[] = ["gfx1013", "gfx1030"];
