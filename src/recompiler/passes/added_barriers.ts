import type { Ir } from "../ir/ir.ts";
import { Op } from "../ir/ops.ts";
import { LaneModeRefusal } from "./pack/shape.ts";
import { classifyUniformity, Uniformity } from "./uniformity.ts";

/**
 * Checks that every barrier that was added for the lockstep of a wave (lds_hazards.ts) stands where the whole workgroup comes by.
 *
 * @returns the number of added barriers.
 * @throws LaneModeRefusal where LDS traffic between lanes happens in control flow that the workgroup does not share.
 */
export function checkAddedBarriers(ir: Ir, wavePerWorkgroup: boolean, codeAddress: bigint): number {
  const added: number[] = [];
  for (let i = 0; i < ir.length; i++) if (ir.op[i] === Op.Barrier && ir.a[i] === 1) added.push(i);
  if (added.length === 0) return 0;
  const { flow } = classifyUniformity(ir, wavePerWorkgroup);
  const bad = added.find((i) => flow[i] !== Uniformity.Workgroup);
  if (bad !== undefined) {
    throw new LaneModeRefusal(
      "recompiler.lds-lockstep",
      "lanes of a wave exchange data through LDS without s_barrier in control flow that their workgroup does not share",
      { pc: ir.pc[bad], guestAddress: codeAddress + BigInt(ir.pc[bad]) },
    );
  }
  return added.length;
}
