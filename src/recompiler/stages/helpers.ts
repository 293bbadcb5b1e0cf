/**
 * Helper lanes of pixel programs: lanes of a quad that are no pixels of the primitive. The console runs them where the program's EXEC says so (s_wqm); a
 * host runs them wherever it needs them, and drops what they write.
 *
 * @module
 */
import { RefusedError } from "../../errors.ts";
import type { Ir } from "../ir/ir.ts";
import { InputKind, Op, OPS, Type } from "../ir/ops.ts";
import type { RecompileRequest } from "../request.ts";

/**
 * Checks that no helper writes memory: the host would drop it, the console would not.
 *
 * @throws RefusedError `recompiler.helper-write`
 */
export function checkHelperWrites(ir: Ir, request: RecompileRequest): void {
  const implied = new Map<number, boolean>();
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.Store && ir.op[i] !== Op.Atomic) continue;
    if (impliesLive(ir, ir.b[i], implied)) continue;
    throw new RefusedError(
      "recompiler.helper-write",
      `${OPS[ir.op[i]].name}: lanes may write that are no pixels of the primitive; a host drops what they write`,
      { pc: ir.pc[i], guestAddress: BigInt.asUintN(64, request.codeAddress + BigInt(ir.pc[i])) },
    );
  }
}

/** Whether a truth holds in pixels only. */
function impliesLive(ir: Ir, id: number, known: Map<number, boolean>): boolean {
  const before = known.get(id);
  if (before !== undefined) return before;
  // A loop's phi holds in pixels only if that follows from its holding in pixels only in the rounds before.
  known.set(id, true);
  const [a, b, c] = [ir.a[id], ir.b[id], ir.c[id]];
  const holds = (value: number) => impliesLive(ir, value, known);
  const isFalse = (value: number) => ir.op[value] === Op.Const && ir.a[value] === 0;
  let result = false;
  switch (ir.op[id]) {
    case Op.Const:
      result = a === 0;
      break;
    case Op.Input:
      result = a === InputKind.Live;
      break;
    case Op.LAnd:
      result = holds(a) || holds(b);
      break;
    case Op.LOr:
    case Op.Phi:
    case Op.LoopPhi:
      result = holds(a) && holds(b);
      break;
    case Op.Select:
      result = (holds(b) && holds(c)) || (holds(a) && isFalse(c));
      break;
    case Op.ContPhi:
    case Op.BreakPhi:
      result = ir.pool.slice(a, a + b).every(holds);
      break;
  }
  known.set(id, result);
  return result;
}

/**
 * Where no lane looks at another one, nobody can tell what helpers compute: they may do as pixels do.
 *
 * @returns whether `ir` was changed (in place): it should be simplified then
 */
export function treatHelpersAsPixels(ir: Ir): boolean {
  let found = false;
  for (let i = 1; i < ir.length; i++) {
    if (OPS[ir.op[i]].exchange) return false;
    if (ir.op[i] === Op.Input && ir.a[i] === InputKind.Live) found = true;
  }
  if (!found) return false;
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.Input || ir.a[i] !== InputKind.Live) continue;
    ir.op[i] = Op.Const;
    ir.type[i] = Type.Bool;
    ir.a[i] = 1;
  }
  return true;
}
