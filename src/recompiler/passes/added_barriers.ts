import type { Ir } from "../ir/ir.ts";
import { Op } from "../ir/ops.ts";
import { LaneModeRefusal } from "./pack/shape.ts";
import { classifyUniformity, Uniformity } from "./uniformity.ts";

/**
 * Checks that every barrier that was added for the lockstep of a wave (lockstep.ts) stands where the whole workgroup comes by.
 *
 * @returns the number of added barriers.
 * @throws LaneModeRefusal where traffic between lanes through LDS or guest memory happens in control flow that the workgroup does not share.
 */
export function checkAddedBarriers(ir: Ir, wavePerWorkgroup: boolean, codeAddress: bigint): number {
  const added: number[] = [];
  for (let i = 0; i < ir.length; i++) if (ir.op[i] === Op.Barrier && ir.a[i] === 1) added.push(i);
  if (added.length === 0) return 0;
  const { flow } = classifyUniformity(ir, wavePerWorkgroup);
  const bad = added.find((i) => flow[i] !== Uniformity.Workgroup);
  if (bad !== undefined) {
    const [code, what] = isOfLds(ir, bad) ? ["lds", "LDS"] : ["memory", "guest memory"];
    throw new LaneModeRefusal(
      `recompiler.${code}-lockstep`,
      `lanes of a wave exchange data through ${what} without s_barrier in control flow that their workgroup does not share`,
      { pc: ir.pc[bad], guestAddress: codeAddress + BigInt(ir.pc[bad]) },
    );
  }
  return added.length;
}

/** Whether a barrier was added before an access to LDS: it is the next one of all accesses then. */
function isOfLds(ir: Ir, barrier: number): boolean {
  for (let i = barrier + 1; i < ir.length; i++) {
    switch (ir.op[i]) {
      case Op.LdsLoad:
      case Op.LdsStore:
      case Op.LdsAtomic:
        return true;
      case Op.Load:
      case Op.Store:
      case Op.Atomic:
        return false;
    }
  }
  return false;
}
