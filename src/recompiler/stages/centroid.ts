/**
 * Centroids. Where all pixels of a wave are covered whole the hardware may leave the centroid's barycentrics out and say so in bit 31 of the primitive mask
 * (BC_OPTIMIZE; AMD RDNA2 ISA, section 3.4.3): the program then takes the centre's, which are the same there. So the choice is the centroid's.
 *
 * @module
 */
import type { Ir } from "../ir/ir.ts";
import { InputKind, Op } from "../ir/ops.ts";
import { PureFunction } from "./pure_function.ts";
import { PsInput } from "./state.ts";

/** The centre's barycentrics that stand for the centroid's. */
const CENTERS: readonly (readonly [center: number, centroid: number])[] = [
  [PsInput.PerspCenter, PsInput.PerspCentroid],
  [PsInput.LinearCenter, PsInput.LinearCentroid],
];
const OPTIMIZED = 0x8000_0000;

/** Makes the centroid's barycentrics of choices between them and the centre's, in place. */
export function takeCentroids(ir: Ir): void {
  const known = new Map<number, boolean>();
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.Select) continue;
    const [center, centroid] = [ir.b[i], ir.c[i]].map((value) =>
      ir.op[value] === Op.Input && ir.a[value] === InputKind.PixelInput ? ir.b[value] : -1
    );
    if (center < 0 || centroid < 0 || (center & 3) !== (centroid & 3)) continue;
    if (!CENTERS.some(([a, b]) => a === center >> 2 && b === centroid >> 2)) continue;
    let optimized = known.get(ir.a[i]);
    if (optimized === undefined) known.set(ir.a[i], optimized = saysOptimized(ir, ir.a[i]));
    if (!optimized) continue;
    ir.op[i] = Op.Input;
    ir.a[i] = InputKind.PixelInput;
    ir.b[i] = centroid;
    ir.c[i] = 0;
  }
}

/** Whether a truth is bit 31 of the primitive mask. */
function saysOptimized(ir: Ir, condition: number): boolean {
  const f = PureFunction.of(ir, condition);
  const inputs = f?.inputs() ?? [];
  if (f === undefined || inputs.length !== 1 || inputs[0].kind !== InputKind.PrimitiveMask) return false;
  if ((f.bitsOf(inputs[0].id) & ~OPTIMIZED) !== 0 && !f.operations().every((name) => name === "SLt")) return false;
  return f.evaluate(() => OPTIMIZED) === 1 && f.evaluate(() => 0) === 0 && f.evaluate(() => 0x7fff_ffff) === 0 &&
    f.evaluate(() => 0xffff_ffff) === 1;
}
