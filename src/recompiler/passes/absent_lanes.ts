import type { Ir } from "../ir/ir.ts";
import { InputKind, Op, OPS, Type } from "../ir/ops.ts";
import { lacksLanes, type RecompileRequest } from "../request.ts";

/**
 * The lift gives a workgroup whole waves: lanes without threads are there, switched off. Where no lane looks at another one nobody can tell, so they need not
 * be invocations: then every lane has a thread.
 *
 * @returns whether `ir` was changed (in place): it should be simplified then.
 */
export function dropAbsentLanes(ir: Ir, request: RecompileRequest): boolean {
  if (!lacksLanes(request) || request.partialThreads) return false;
  for (let i = 1; i < ir.length; i++) if (OPS[ir.op[i]].exchange) return false;
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
