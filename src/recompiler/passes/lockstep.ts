import type { Ir } from "../ir/ir.ts";
import type { ResourcePlan } from "../resources/plan.ts";
import { ldsHazards } from "./lds_hazards.ts";
import { memoryHazards } from "./memory_hazards.ts";

/**
 * Finds where barriers keep the lockstep of a wave: before accesses to LDS, and at fences and accesses of guest memory.
 *
 * @param ir a simplified program; fences that need no barrier are taken out of it
 * @param threads of the workgroup
 * @param lanes of its waves
 * @param plan what the host resolves
 * @returns operations before which a barrier is needed
 */
export function lockstepBarriers(ir: Ir, threads: number, lanes: number, plan?: ResourcePlan): Set<number> {
  const hazards = memoryHazards(ir, lanes, plan);
  for (const hazard of ldsHazards(ir, threads, lanes, hazards)) hazards.add(hazard);
  return hazards;
}
