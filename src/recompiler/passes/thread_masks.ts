import type { Ir } from "../ir/ir.ts";
import { InputKind, Op } from "../ir/ops.ts";

/**
 * Finds the Bools that are never true in a lane without a thread. It is believed of all of them, until nothing refutes it any more, so that masks which
 * go around a loop are found as well.
 *
 * @returns 1 at each of them
 */
export function threadMasks(ir: Ir): Uint8Array<ArrayBuffer> {
  const masks = new Uint8Array(ir.length).fill(1);
  const holds = (i: number): boolean => {
    const a = ir.a[i], b = ir.b[i];
    switch (ir.op[i]) {
      case Op.Input:
        return a === InputKind.ThreadActive;
      case Op.Const:
        return a === 0;
      case Op.LAnd:
        return masks[a] === 1 || masks[b] === 1;
      case Op.LOr:
      case Op.LXor:
      case Op.Phi:
      case Op.LoopPhi:
        return masks[a] === 1 && masks[b] === 1;
      case Op.Select:
        return masks[b] === 1 && masks[ir.c[i]] === 1;
      case Op.ContPhi:
      case Op.BreakPhi:
        for (let k = 0; k < b; k++) if (masks[ir.pool[a + k]] === 0) return false;
        return true;
      default:
        return false;
    }
  };
  for (let changed = true; changed;) {
    changed = false;
    for (let i = 0; i < ir.length; i++) {
      if (masks[i] === 0 || holds(i)) continue;
      masks[i] = 0;
      changed = true;
    }
  }
  return masks;
}
