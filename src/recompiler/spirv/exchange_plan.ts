import type { Ir } from "../ir/ir.ts";
import { Op, OPS } from "../ir/ops.ts";
import { indexStructure } from "../passes/structure.ts";
import { classifyUniformity, Uniformity } from "../passes/uniformity.ts";

/** What must hold so that the whole workgroup comes to every exchange of a program. (Barriers: passes/guest_barriers.ts, passes/added_barriers.ts.) */
export interface ExchangePlan {
  /** 1 at each If and Loop that has an exchange (or an agreement) inside. */
  readonly holds: Uint8Array;
  /**
   * 1 at each If whose condition depends on loads in a program that also writes memory: another workgroup may write between the loads of two lanes, so
   * the workgroup has to agree on one lane's condition before the branch. (On the console one scalar load serves the wave.)
   */
  readonly agree: Uint8Array;
  /** Uniformity of the condition at each If. */
  readonly condition: Uint8Array;
  /** First exchange that not the whole workgroup comes to; -1 when all are good. */
  readonly badExchange: number;
}

function writesMemory(ir: Ir): boolean {
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Store || ir.op[i] === Op.Atomic) return true;
  return false;
}

/** Whether an operation reads other lanes. */
export function isExchange(op: number): boolean {
  return OPS[op].exchange === true;
}

/**
 * Looks at the control flow around exchanges, which need all invocations of the workgroup.
 *
 * @param oneWave the workgroup is one wave.
 * @param packed exchanges are those of one wave, so they need no more than that (votes of the workgroup and barriers do); a packed program agrees by itself (passes/pack).
 */
export function planExchanges(ir: Ir, oneWave: boolean, packed = false): ExchangePlan {
  const need = packed ? Uniformity.Wave : Uniformity.Workgroup;
  const n = ir.length;
  const structure = indexStructure(ir);
  const holds = new Uint8Array(n), agree = new Uint8Array(n), condition = new Uint8Array(n);
  const writes = writesMemory(ir);
  // Where others may write what it loads, a packed program has one invocation load for all.
  const trusted = classifyUniformity(ir, oneWave, structure, packed && writes);
  // What waves load for themselves is the same for all of them, as it is for the barriers of the guest.
  const shared = packed && writes ? classifyUniformity(ir, oneWave, structure) : trusted;
  let badExchange = -1;
  for (let i = 1; i < n; i++) {
    const op = ir.op[i];
    if (op === Op.If) {
      condition[i] = trusted.value[ir.a[i]];
      if (condition[i] !== Uniformity.Lane) condition[i] = Math.max(condition[i], shared.value[ir.a[i]]);
    }
    if (!isExchange(op)) continue;
    if (op === Op.AnyGroup ? shared.flow[i] !== Uniformity.Workgroup : trusted.flow[i] < need) {
      if (badExchange < 0) badExchange = i;
    }
    hold(i);
  }
  if (writes && badExchange < 0 && !packed) {
    const strict = classifyUniformity(ir, oneWave, structure, true).value;
    const ask = (at: number) => {
      if (ir.op[at] !== Op.If || strict[ir.a[at]] === Uniformity.Workgroup) return;
      agree[at] = 1;
      hold(at); // agreeing is an exchange, too
    };
    for (let i = 1; i < n; i++) {
      if (holds[i] !== 0) ask(i);
      if (ir.op[i] !== Op.Break && ir.op[i] !== Op.Continue) continue;
      const loop = structure.loopOf[i];
      if (holds[loop] === 0) continue;
      for (let p = structure.parentOf[i]; p !== loop; p = structure.parentOf[p]) ask(p);
    }
  }
  return { holds, agree, condition, badExchange };

  function hold(at: number): void {
    for (let p = structure.parentOf[at]; p >= 0 && holds[p] === 0; p = structure.parentOf[p]) holds[p] = 1;
  }
}
