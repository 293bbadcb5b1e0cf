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
  const writes: number[] = [];
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Store || ir.op[i] === Op.Atomic) writes.push(i);
  if (writes.length === 0) return;
  const inPixels = findTrueInPixelsOnly(ir);
  for (const i of writes) {
    if (inPixels[ir.b[i]] !== 0) continue;
    throw new RefusedError(
      "recompiler.helper-write",
      `${OPS[ir.op[i]].name}: lanes may write that are no pixels of the primitive; a host drops what they write`,
      { pc: ir.pc[i], guestAddress: BigInt.asUintN(64, request.codeAddress + BigInt(ir.pc[i])) },
    );
  }
}

/**
 * Truths that hold in pixels only, 1 at each. All are taken for such until something speaks against it, which then speaks against what was made of it: a
 * loop's phi holds in pixels only where that follows from its holding in pixels only in the rounds before.
 */
function findTrueInPixelsOnly(ir: Ir): Uint8Array {
  const inPixels = new Uint8Array(ir.length).fill(1);
  for (let changed = true; changed;) {
    changed = false;
    for (let i = 0; i < ir.length; i++) {
      if (inPixels[i] === 0 || followsInPixels(ir, i, inPixels)) continue;
      inPixels[i] = 0;
      changed = true;
    }
  }
  return inPixels;
}

/** Whether a truth holds in pixels only if that is so for its operands. */
function followsInPixels(ir: Ir, id: number, inPixels: Uint8Array): boolean {
  const [a, b, c] = [ir.a[id], ir.b[id], ir.c[id]];
  const holds = (value: number) => inPixels[value] !== 0;
  const isFalse = (value: number) => ir.op[value] === Op.Const && ir.a[value] === 0;
  switch (ir.op[id]) {
    case Op.Const:
      return a === 0;
    case Op.Input:
      return a === InputKind.Live;
    case Op.LAnd:
      return holds(a) || holds(b);
    case Op.LOr:
    case Op.Phi:
    case Op.LoopPhi:
      return holds(a) && holds(b);
    case Op.Select:
      return (holds(b) && holds(c)) || (holds(a) && isFalse(c));
    case Op.ContPhi:
    case Op.BreakPhi:
      return ir.pool.slice(a, a + b).every(holds);
    default:
      return false;
  }
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
