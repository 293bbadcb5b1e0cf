/**
 * The unified image formats that are implemented, by number (names: AMD RDNA2 ISA, "Image and buffer formats"; order within a width: UNORM, SNORM,
 * USCALED, SSCALED, UINT, SINT, FLOAT). Component x is in the lowest bits; 2_10_10_10 reads from the highest bits down.
 */

/** How a component's bits are a number. */
export type NumberKind = "unorm" | "snorm" | "uscaled" | "sscaled" | "uint" | "sint" | "float";

/** Layout of one texel. */
export interface PixelFormat {
  /** Name in the ISA's style. */
  readonly name: string;
  /** Bytes of a texel. */
  readonly bytes: number;
  /** Width in bits of x, y, z, w, as many as there are. */
  readonly bits: readonly number[];
  readonly kind: NumberKind;
}

const KINDS: readonly NumberKind[] = ["unorm", "snorm", "uscaled", "sscaled", "uint", "sint", "float"];

function run(
  first: number,
  name: string,
  bits: readonly number[],
  kinds: readonly NumberKind[],
): [number, PixelFormat][] {
  const bytes = bits.reduce((x, y) => x + y) / 8;
  return kinds.map((kind, k) => [first + k, { name: `${name}_${kind.toUpperCase()}`, bytes, bits, kind }]);
}

const FORMATS = new Map<number, PixelFormat>([
  ...run(1, "8", [8], KINDS.slice(0, 6)),
  ...run(7, "16", [16], KINDS),
  ...run(14, "8_8", [8, 8], KINDS.slice(0, 6)),
  ...run(20, "32", [32], KINDS.slice(4)),
  ...run(23, "16_16", [16, 16], KINDS),
  ...run(44, "2_10_10_10", [10, 10, 10, 2], KINDS.slice(0, 6)),
  ...run(56, "8_8_8_8", [8, 8, 8, 8], KINDS.slice(0, 6)),
  ...run(62, "32_32", [32, 32], KINDS.slice(4)),
  ...run(65, "16_16_16_16", [16, 16, 16, 16], KINDS),
  ...run(75, "32_32_32_32", [32, 32, 32, 32], KINDS.slice(4)),
]);

/** The format with this number, undefined where it is not implemented. */
export function pixelFormat(number: number): PixelFormat | undefined {
  return FORMATS.get(number);
}
