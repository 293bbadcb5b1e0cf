/**
 * Data formats of buffers and images: the unified format numbers (AMD RDNA2 ISA, section 8 "Buffer and image unified formats"; names and numbers as in
 * LLVM, UfmtGFX10, and Mesa, gfx10_format_table).
 *
 * Names list the bits of the components from the highest to the lowest, so that 10_11_11 has X in its low 11 bits.
 */

/** How the bits of a component are a number. */
export type NumberKind = "unorm" | "snorm" | "uscaled" | "sscaled" | "uint" | "sint" | "float" | "srgb" | "shared";

/** A format. */
export interface Format {
  /** For messages, for example "8_8_8_8_UNORM". */
  readonly name: string;
  /** Bits of the components X, Y, Z, W that exist, in this order (X is lowest). */
  readonly bits: readonly number[];
  /** How they are numbers. */
  readonly kind: NumberKind;
  /** Bytes of an element. */
  readonly bytes: number;
  /** Components are floats in registers (integers otherwise). */
  readonly isFloat: boolean;
}

const table: (Format | undefined)[] = [];

function add(number: number, fields: string, kind: NumberKind): void {
  const bits = fields.split("_").map(Number).reverse();
  const total = bits.reduce((sum, each) => sum + each, 0);
  table[number] = {
    name: `${fields}_${kind === "shared" ? "FLOAT" : kind.toUpperCase()}`,
    bits,
    kind,
    bytes: total / 8,
    isFloat: kind !== "uint" && kind !== "sint",
  };
}

const SIX: readonly NumberKind[] = ["unorm", "snorm", "uscaled", "sscaled", "uint", "sint"];
const SEVEN: readonly NumberKind[] = [...SIX, "float"];
const THREE: readonly NumberKind[] = ["uint", "sint", "float"];

/** Runs of formats with consecutive numbers. */
const RUNS: readonly (readonly [first: number, fields: string, kinds: readonly NumberKind[]])[] = [
  [1, "8", SIX],
  [7, "16", SEVEN],
  [14, "8_8", SIX],
  [20, "32", THREE],
  [23, "16_16", SEVEN],
  [30, "10_11_11", SEVEN],
  [37, "11_11_10", SEVEN],
  [44, "10_10_10_2", SIX],
  [50, "2_10_10_10", SIX],
  [56, "8_8_8_8", SIX],
  [62, "32_32", THREE],
  [65, "16_16_16_16", SEVEN],
  [72, "32_32_32", THREE],
  [75, "32_32_32_32", THREE],
  [128, "8", ["srgb"]],
  [129, "8_8", ["srgb"]],
  [130, "8_8_8_8", ["srgb"]],
  [132, "5_9_9_9", ["shared"]],
  [133, "5_6_5", ["unorm"]],
  [134, "1_5_5_5", ["unorm"]],
  [135, "5_5_5_1", ["unorm"]],
  [136, "4_4_4_4", ["unorm"]],
];

for (const [first, fields, kinds] of RUNS) kinds.forEach((kind, k) => add(first + k, fields, kind));

/** The format with a number, or undefined when it does not exist or is not supported. */
export function formatOf(number: number): Format | undefined {
  return table[number];
}

/** Numbers of all supported formats. */
export const FORMAT_NUMBERS: readonly number[] = [...table.keys()].filter((number) => table[number] !== undefined);
