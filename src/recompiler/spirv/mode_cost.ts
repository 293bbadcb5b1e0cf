import type { Ir } from "../ir/ir.ts";
import { Op, OPS } from "../ir/ops.ts";
import { findVarying } from "../passes/pack/varying.ts";

/**
 * What things cost in the lane modes, in operations of one invocation. An operation costs words, and so creation time, in all modes; an exchange of the
 * spanned form costs barriers of the workgroup when it runs.
 *
 * Measured with bench/wave_modes.ts (1,024 workgroups of one wave of 64, least of five runs in ms, spanned against packed with 8 lanes an invocation) on
 * llvmpipe (LLVM 15, subgroups of 8): 17 ballots 58 and 7; prefix sums by DPP 78 and 16; butterfly swizzles 60 and 23; shuffles to anywhere 44 and 32;
 * waterfall loops 344 and 18; 17 ballots among 370 operations 58 and 26. So a spanned exchange takes about 3.5 us, an operation 60 ns in either form: some 58
 * operations. Creation takes 5 to 20 times as long packed there (8 copies), so what an exchange saves when it runs must be worth its copies' words. On
 * a device of 32 lanes there are 2: real programs are known to have been created in 0.5 to 0.6 of the packed time when spanned with few exchanges, in the same
 * time with 1,210 of them.
 */
export const MODE_COST = {
  /** An access to guest memory: its translation, and waiting. */
  access: 8,
  /** An exchange through workgroup memory, and a barrier that was added for the lockstep of a wave. */
  spannedExchange: 64,
  /** A vote or a shuffle of the device's subgroups. */
  nativeExchange: 16,
  /** An exchange of the packed form, for each slot: its ballot or its part of a choice. */
  packedExchange: 4,
  /** A shuffle of the packed form, for each slot: it may look at more than one other slot. */
  packedShuffle: 8,
  /** Rounds that a loop is taken to have, and how many nested loops count. */
  rounds: 8,
  depth: 2,
} as const;

/** Estimates for a program, in operations. */
export interface ModeCosts {
  readonly spanned: number;
  readonly packed: number;
}

/**
 * Estimates what a program costs.
 *
 * @param spanned the program behind the regions pass
 * @param simplified the same before it, which would be packed
 * @param slots lanes of an invocation of the packed form
 */
export function estimateModes(spanned: Ir, simplified: Ir, slots: number): ModeCosts {
  const varying = findVarying(simplified);
  return {
    spanned: sum(spanned, (i) => {
      const op = spanned.op[i];
      const exchanges = OPS[op].exchange === true || op === Op.Barrier && spanned.a[i] !== 0;
      return exchanges ? MODE_COST.spannedExchange : own(op);
    }),
    packed: sum(simplified, (i) => {
      const op = simplified.op[i];
      if (OPS[op].exchange === true) {
        return slots * (op === Op.Shuffle ? MODE_COST.packedShuffle : MODE_COST.packedExchange);
      }
      return (varying[i] !== 0 ? slots : 1) * own(op);
    }),
  };
}

/** Cost of an operation that does not exchange. */
function own(op: number): number {
  return op === Op.Load || op === Op.Store || op === Op.Atomic ? MODE_COST.access : 1;
}

/** Adds up the costs of operations, those in loops for each round. */
function sum(ir: Ir, cost: (i: number) => number): number {
  let total = 0, depth = 0;
  for (let i = 1; i < ir.length; i++) {
    const op = ir.op[i];
    if (op === Op.Loop) depth++;
    else if (op === Op.EndLoop) depth--;
    if (op === Op.Const || op === Op.Nop || op === Op.Input) continue;
    total += cost(i) * MODE_COST.rounds ** Math.min(depth, MODE_COST.depth);
  }
  return total;
}
