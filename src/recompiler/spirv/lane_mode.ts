import { RefusedError } from "../../errors.ts";
import type { Ir } from "../ir/ir.ts";
import { InputKind, Op, OPS } from "../ir/ops.ts";
import { type Artifact, lacksLanes, type RecompileRequest, threadsOf } from "../request.ts";
import { packShape } from "../passes/pack/shape.ts";
import { isExchange } from "./exchange_plan.ts";
import { estimateModes, MODE_COST } from "./mode_cost.ts";

/** How guest lanes map to invocations, and why so. */
export interface LaneModeChoice {
  readonly mode: Artifact["laneMode"];
  readonly reason: string;
}

/**
 * Chooses the lane mode of a program.
 *
 * - `laneless`: it never observes the wave.
 * - `native`: a host subgroup is a guest wave, and lanes exchange by subgroup operations. Needs a device of which subgroups of that size can be required.
 * - `spanned`: lanes exchange through workgroup memory, on hosts of any width.
 *
 * What spanned refuses, or what {@linkcode packedIsCheaper} finds, is packed (recompile.ts).
 *
 * @param firstExchange the first operation that looks at other lanes; -1 without one
 * @param wholeWaves lanes without threads can be invocations
 * @throws RefusedError where a mode was asked for (`RecompilerDevice.laneMode`) that the device cannot do
 */
export function chooseLaneMode(
  ir: Ir,
  request: RecompileRequest,
  firstExchange: number,
  wholeWaves: boolean,
): LaneModeChoice {
  if (firstExchange < 0) return { mode: "laneless", reason: "the program does not observe the wave" };
  const pc = ir.pc[firstExchange];
  const observes = `the program observes the wave: ${OPS[ir.op[firstExchange]].name} at pc 0x${pc.toString(16)}`;
  const { device, waveSize } = request;
  const obstacle = nativeObstacle(request, wholeWaves);
  if (device.laneMode === "spanned") return { mode: "spanned", reason: `${observes}; spanned was asked for` };
  if (device.laneMode === "native") {
    if (obstacle === undefined) return { mode: "native", reason: `${observes}; native was asked for` };
    throw new RefusedError("recompiler.lane-mode", `native was asked for: ${obstacle}`, {
      pc,
      guestAddress: BigInt.asUintN(64, request.codeAddress + BigInt(pc)),
    });
  }
  if (obstacle !== undefined) return { mode: "spanned", reason: `${observes}; ${obstacle}` };
  const { minimum, maximum } = device.requiredSubgroup!;
  if (minimum === maximum) return { mode: "native", reason: `${observes}; all subgroups have ${waveSize} lanes` };
  const { exchanges, operations } = count(ir);
  // A required subgroup size is not worth it for few exchanges on a device that could choose a narrower one: it costs registers in all of the program.
  // Requiring one is known to have made a driver spill for 20 minutes what took 2 seconds without.
  const worth = operations < exchanges * MODE_COST.spannedExchange;
  return {
    mode: worth ? "native" : "spanned",
    reason: `${observes}; ${exchanges} exchanges in ${operations} operations are ${
      worth ? "" : "not "
    }worth subgroups of ${waveSize} lanes on a device of ${minimum} to ${maximum}`,
  };
}

/** What an exchange will take, in operations, as far as this can be told before the lane mode is chosen. */
export function exchangeCost(request: RecompileRequest): number {
  const { device: { laneMode = "native", requiredSubgroup } } = request;
  const native = laneMode === "native" && requiredSubgroup?.minimum === requiredSubgroup?.maximum &&
    nativeObstacle(request, true) === undefined;
  return native ? MODE_COST.nativeExchange : MODE_COST.spannedExchange;
}

/** Why a wave cannot be a subgroup; undefined when it can. */
function nativeObstacle(request: RecompileRequest, wholeWaves: boolean): string | undefined {
  const { device: { requiredSubgroup }, waveSize } = request;
  if (requiredSubgroup === undefined) return "the device has no subgroups of a required size with ballots and shuffles";
  const { minimum, maximum, perWorkgroup } = requiredSubgroup;
  if (waveSize < minimum || waveSize > maximum) {
    return `subgroups of the device have ${minimum === maximum ? minimum : `${minimum} to ${maximum}`} lanes`;
  }
  if (Math.ceil(threadsOf(request) / waveSize) > perWorkgroup) {
    return `a workgroup has at most ${perWorkgroup} subgroups`;
  }
  if (lacksLanes(request) && !wholeWaves) return "the last wave has lanes that are no invocations";
  return undefined;
}

function count(ir: Ir): { exchanges: number; operations: number } {
  let exchanges = 0, operations = 0;
  for (let i = 1; i < ir.length; i++) {
    if (isExchange(ir.op[i])) exchanges++;
    else if (ir.op[i] !== Op.Const && ir.op[i] !== Op.Nop) operations++;
  }
  return { exchanges, operations };
}

/** The first operation that looks at other lanes; -1 without one. */
export function firstExchange(ir: Ir): number {
  for (let i = 1; i < ir.length; i++) if (isExchange(ir.op[i])) return i;
  return -1;
}

/** Whether lanes without threads are invocations of a program whose lanes look at each other. */
export function hasWholeWaves(ir: Ir, request: RecompileRequest): boolean {
  if (!lacksLanes(request)) return false;
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Input && ir.a[i] === InputKind.ThreadActive) return true;
  return false;
}

/**
 * Why a program that would be spanned had better be packed; undefined when it should not.
 *
 * @param ir the program behind the regions pass
 * @param simplified the same before it
 */
export function packedIsCheaper(ir: Ir, simplified: Ir, request: RecompileRequest): string | undefined {
  const first = firstExchange(ir);
  if (first < 0 || request.device.laneMode !== undefined) return undefined;
  const { mode, reason } = chooseLaneMode(ir, request, first, hasWholeWaves(ir, request));
  const shape = packShape(request);
  if (mode !== "spanned" || typeof shape === "string") return undefined;
  // Requiring wider subgroups than the device could choose costs more than is known here.
  if (request.device.requiredSubgroup!.minimum < shape.width) return undefined;
  const { spanned, packed } = estimateModes(ir, simplified, shape.slots);
  if (packed >= spanned) return undefined;
  const lanes = shape.slots === 1 ? "1 lane" : `${shape.slots} lanes`;
  return `${reason}; packed with ${lanes} an invocation is estimated at ${packed} operations, spanned at ${spanned}`;
}

/** Whether a program observes the wave: lanes look at each other, or pass data through LDS without a barrier of the guest's (passes/lds_hazards.ts). */
export function observesWave(ir: Ir): boolean {
  for (let i = 1; i < ir.length; i++) {
    if (isExchange(ir.op[i]) || ir.op[i] === Op.Barrier && ir.a[i] !== 0) return true;
  }
  return false;
}
