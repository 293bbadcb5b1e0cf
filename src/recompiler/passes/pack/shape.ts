import { RefusedError } from "../../../errors.ts";
import { type RecompileRequest, threadsOf } from "../../request.ts";

/** How a packed module lays the lanes of a guest wave over a host subgroup. */
export interface PackShape {
  /** Invocations of a host subgroup (H). */
  readonly width: number;
  /** Guest lanes of one invocation (K = wave / H): its slots. */
  readonly slots: number;
}

/**
 * The number of an input's slot stands in the upper bits of operand b of `Input` (the lower ones are the axis). Lane number of slot k is
 * `k * width + subgroup lane`: a ballot is then the slots' ballots one after the other, neighbours in a slot access neighbours in memory, and what stays in
 * a row of `width` lanes (quads always) stays in its slot.
 */
export const SLOT_SHIFT = 8;

/** Operand of a `Barrier` that only the lanes of one wave wait at, all of which are a host subgroup. */
export const SUBGROUP_BARRIER = 2;

/** Axis of an `Input` operand b. */
export function axisOf(b: number): number {
  return b & ((1 << SLOT_SHIFT) - 1);
}

/** Slot of an `Input` operand b. */
export function slotOf(b: number): number {
  return b >>> SLOT_SHIFT;
}

/**
 * The widest subgroup that a wave can be packed into, or why there is none: subgroups must be full, of one size, with ballots and shuffles, and not wider
 * than the wave. The size is always required: a workgroup of 1,024 threads has 32 waves, so no more than the 32 subgroups that llvmpipe takes then.
 */
export function packShape(request: RecompileRequest): PackShape | string {
  const { device: { requiredSubgroup }, waveSize } = request;
  if (requiredSubgroup === undefined) return "the device has no subgroups of a required size with ballots and shuffles";
  const { minimum, maximum, perWorkgroup } = requiredSubgroup;
  if (minimum > waveSize) return `subgroups of the device have at least ${minimum} lanes, a wave has ${waveSize}`;
  const waves = Math.ceil(threadsOf(request) / waveSize);
  if (waves > perWorkgroup) return `a workgroup has ${waves} waves, and at most ${perWorkgroup} subgroups`;
  const width = Math.min(maximum, waveSize);
  return { width, slots: waveSize / width };
}

/** A lane mode cannot hold the program, but another one may: what {@linkcode RefusedError}s of the lane modes are. */
export class LaneModeRefusal extends RefusedError {}
