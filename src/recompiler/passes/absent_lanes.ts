import type { Ir } from "../ir/ir.ts";
import { InputKind, Op, OPS, Type } from "../ir/ops.ts";
import { lacksLanes, type RecompileRequest, threadsOf } from "../request.ts";
import { threadMasks } from "./thread_masks.ts";

/**
 * The lift gives a workgroup whole waves: lanes without threads are there, switched off. Where no lane looks at another one nobody can tell, so they need not
 * be invocations: then every lane has a thread.
 *
 * @returns whether `ir` was changed (in place): it should be simplified then.
 */
export function dropAbsentLanes(ir: Ir, request: RecompileRequest): boolean {
  if (!lacksLanes(request) || request.partialThreads) return false;
  for (let i = 1; i < ir.length; i++) if (OPS[ir.op[i]].exchange) return false;
  return everyLaneHasThread(ir);
}

function everyLaneHasThread(ir: Ir): boolean {
  let changed = false;
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.Input || ir.a[i] !== InputKind.ThreadActive) continue;
    ir.op[i] = Op.Const;
    ir.type[i] = Type.Bool;
    ir.a[i] = 1;
    ir.b[i] = 0;
    changed = true;
  }
  return changed;
}

/**
 * A workgroup of one thread is its first lane: where nothing switches the others on, they change no memory and have no part in votes and ballots, and the
 * first active lane is the thread's. Then nothing remains to be exchanged.
 *
 * @returns whether `ir` was changed (in place): it should be simplified then. All exchanges are gone then, or none.
 */
export function keepOneThread(ir: Ir, request: RecompileRequest): boolean {
  if (threadsOf(request) !== 1 || request.partialThreads) return false;
  const n = ir.length;
  const masks = threadMasks(ir);
  for (let i = 1; i < n; i++) if (!concernsThread(ir, masks, i)) return false;
  const zero = ir.constU(0), one = ir.constU(1), yes = ir.constB(true);
  const become = (i: number, op: number, a: number, b: number, c = 0) => {
    [ir.op[i], ir.a[i], ir.b[i], ir.c[i], ir.d[i]] = [op, a, b, c, 0];
  };
  for (let i = 1; i < n; i++) {
    switch (ir.op[i]) {
      case Op.Any:
        become(i, Op.LAnd, ir.a[i], yes);
        break;
      case Op.ReadFirstLane:
      case Op.ReadLane:
        become(i, Op.Or, ir.a[i], zero);
        break;
      case Op.BallotLo:
        become(i, Op.Select, ir.a[i], one, zero);
        break;
      case Op.BallotHi:
        become(i, Op.And, zero, zero);
        break;
      case Op.Barrier:
        become(i, Op.Nop, 0, 0); // a thread waits for nobody; fences are for other workgroups
        break;
    }
  }
  return everyLaneHasThread(ir) || ir.length > n;
}

/** Whether an operation is the thread's alone: an exchange of nothing but what the thread has, an effect that no other lane has. */
function concernsThread(ir: Ir, masks: Uint8Array, i: number): boolean {
  const a = ir.a[i], b = ir.b[i];
  switch (ir.op[i]) {
    case Op.Any:
    case Op.BallotLo:
    case Op.BallotHi:
      return masks[a] === 1;
    case Op.ReadFirstLane:
      return masks[b] === 1 || ir.op[b] === Op.Const; // of all lanes, and of none, the first one counts
    case Op.ReadLane:
      return ir.op[b] === Op.Const && ir.a[b] === 0;
    case Op.Barrier:
    case Op.Fence:
      return true;
    default: {
      const { exchange, effect } = OPS[ir.op[i]];
      return exchange !== true && (effect !== true || masks[b] === 1);
    }
  }
}
