/**
 * Exchanges of graphics programs. Lanes of a quad (four pixels, numbers 4n to 4n + 3) may look at each other; where the lane that is looked at is in the
 * quad for every lane there is, a shuffle becomes a quad shuffle.
 *
 * @module
 */
import type { Ir } from "../ir/ir.ts";
import { InputKind, Op } from "../ir/ops.ts";
import { PureFunction } from "./pure_function.ts";

/** Lanes of a quad. */
const QUAD = 4;

/** Makes quad shuffles of the shuffles that are such, in place; the lanes' numbers are left to `deadCode`. @returns whether there were any */
export function findQuadShuffles(ir: Ir, waveSize: number): boolean {
  let changed = false;
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.Shuffle) continue;
    const permutation = permutationOf(ir, ir.b[i], waveSize);
    if (permutation === undefined) continue;
    ir.op[i] = Op.QuadShuffle;
    ir.b[i] = permutation;
    changed = true;
  }
  return changed;
}

/** The lane of its quad that each lane looks at, two bits each; undefined where one looks elsewhere or quads differ. */
function permutationOf(ir: Ir, lane: number, waveSize: number): number | undefined {
  const f = PureFunction.of(ir, lane);
  if (f === undefined || f.inputs().some(({ kind }) => kind !== InputKind.LaneId)) return undefined;
  let permutation = 0;
  for (let own = 0; own < waveSize; own++) {
    const within = (f.evaluate(() => own) & waveSize - 1) - (own & ~(QUAD - 1));
    if (within < 0 || within >= QUAD) return undefined;
    const shift = 2 * (own % QUAD);
    if (own < QUAD) permutation |= within << shift;
    else if ((permutation >>> shift & 3) !== within) return undefined;
  }
  return permutation;
}
