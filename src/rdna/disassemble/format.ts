/** Component layouts of the unified buffer formats, in the order of their numbers, with the number types of each (AMD RDNA2 ISA, table 47). */
const LAYOUTS: readonly (readonly [layout: string, types: string])[] = [
  ["8", "norm"],
  ["16", "norm float"],
  ["8_8", "norm"],
  ["32", "int float"],
  ["16_16", "norm float"],
  ["10_11_11", "norm float"],
  ["11_11_10", "norm float"],
  ["10_10_10_2", "norm"],
  ["2_10_10_10", "norm"],
  ["8_8_8_8", "norm"],
  ["32_32", "int float"],
  ["16_16_16_16", "norm float"],
  ["32_32_32", "int float"],
  ["32_32_32_32", "int float"],
];
const TYPES: Readonly<Record<string, readonly string[]>> = {
  norm: ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT"],
  int: ["UINT", "SINT"],
  float: ["FLOAT"],
};

const NAMES: readonly string[] = [
  "INVALID",
  ...LAYOUTS.flatMap(([layout, types]) =>
    types.split(" ").flatMap((group) => TYPES[group].map((type) => `${layout}_${type}`))
  ),
];

/** The format that is not written. */
const DEFAULT_FORMAT = 1;

/** Text of an MTBUF format modifier, with a leading space. */
export function bufferFormatText(format: number): string {
  if (format === DEFAULT_FORMAT) return "";
  const name = NAMES[format];
  return name === undefined ? ` format:${format}` : ` format:[BUF_FMT_${name}]`;
}
