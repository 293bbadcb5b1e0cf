import { RefusedError } from "../errors.ts";
import type { Ir } from "./ir/ir.ts";
import { deadCode } from "./passes/dead_code.ts";
import { dropUnseenChoices } from "./passes/demand.ts";
import { dropUnseenHalves } from "./passes/halves.ts";
import { checkGuestBarriers } from "./passes/guest_barriers.ts";
import { lockstepBarriers } from "./passes/lockstep.ts";
import { pack } from "./passes/pack/pack.ts";
import { type LaneModeRefusal, type PackShape, packShape } from "./passes/pack/shape.ts";
import { keepTogether } from "./passes/together.ts";
import { simplify } from "./passes/simplify.ts";
import { type RecompileRequest, threadsOf } from "./request.ts";
import type { ResourcePlan } from "./resources/plan.ts";

/** A program in the packed form, and its shape. */
export interface Packed {
  readonly ir: Ir;
  readonly shape: PackShape;
}

/**
 * Brings a program into the packed form (passes/pack).
 *
 * @param simplified the program before the regions pass
 * @param lanes of the workgroup that do something
 * @param plan what the host resolves
 * @throws RefusedError where the device cannot do it. @throws LaneModeRefusal as {@linkcode pack}
 */
export function packProgram(
  simplified: Ir,
  request: RecompileRequest,
  shape: PackShape,
  lanes: number,
  plan?: ResourcePlan,
): Packed {
  let ir = simplified;
  // What single lanes see is the same in all forms, and cheaper to find before there are several copies of it.
  const seen = dropUnseenChoices(ir, true), halves = dropUnseenHalves(seen.ir);
  if (seen.changed || halves.changed) ir = deadCode(simplify(halves.ir));
  const threads = threadsOf(request), oneWave = threads <= request.waveSize;
  const together = keepTogether(ir, oneWave, true);
  if (together !== ir) ir = deadCode(simplify(together));
  checkGuestBarriers(ir, oneWave, request.codeAddress);
  const barrierBefore = lockstepBarriers(ir, threads, lanes, plan);
  const { waveSize, codeAddress } = request;
  return { ir: deadCode(simplify(pack(ir, { ...shape, waveSize, barrierBefore, codeAddress }))), shape };
}

/**
 * The shape of the packed form on the request's device.
 *
 * @param instead of what it is asked for: what another form was refused for
 * @throws RefusedError where the device has none: that of the other form, if there was one
 */
export function requirePackShape(request: RecompileRequest, instead?: LaneModeRefusal): PackShape {
  const shape = packShape(request);
  if (typeof shape !== "string") return shape;
  if (instead === undefined) {
    throw new RefusedError("recompiler.lane-mode", `packed was asked for: ${shape}`, {
      guestAddress: request.codeAddress,
    });
  }
  throw new RefusedError(instead.code, `${instead.summary}; it cannot be packed either: ${shape}`, instead.place);
}
