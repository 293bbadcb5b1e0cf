/** Export targets and the formats that their words have (AMD RDNA2 ISA, section 12.18, "TARGET"). */
import type { ExportFormat } from "./state.ts";

/** Numbers of the targets. */
export const ExportTarget = {
  /** Colour 0; up to colour 7. */
  Color0: 0,
  /** MRTZ: depth, stencil, sample mask. */
  Depth: 8,
  /** Nothing. */
  Null: 9,
  /** Position 0; up to position 3. */
  Position0: 12,
  /** The primitive of an NGG program. */
  Primitive: 20,
  /** Parameter 0; up to parameter 31. */
  Param0: 32,
} as const;

/** Whether a format's four components come in two registers, as halves. */
export function isCompressed(format: ExportFormat): boolean {
  return format.includes("16_abgr");
}
