/** Which accesses of LDS need a barrier before them to keep the lockstep of a wave. */
import { assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { ldsHazards } from "../../../src/recompiler/passes/lds_hazards.ts";

/**
 * `for (i = thread; i < limit; i += step) lds[address(i, trip)] += 1` with 64 threads; `trip` counts the iterations.
 *
 * @returns the number of accesses that need a barrier
 */
function hazards(step: number, address: (ir: Ir, i: number, trip: number) => number): number {
  const ir = new Ir();
  const zero = ir.constU(0), one = ir.constU(1);
  const thread = ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
  const limit = ir.append(Op.Input, Type.U32, InputKind.UserData, 0);
  ir.emit(Op.Loop);
  const i = ir.append(Op.LoopPhi, Type.U32, thread, 0), trip = ir.append(Op.LoopPhi, Type.U32, zero, 0);
  const active = ir.emit(Op.ULt, i, limit);
  ir.emit(Op.If, ir.emit(Op.LNot, active), IfKind.Lane);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  const at = ir.append(Op.Select, Type.U32, active, address(ir, i, trip), zero);
  const old = ir.append(Op.LdsLoad, Type.U32, at, active, 4);
  ir.emit(Op.LdsStore, at, active, ir.emit(Op.IAdd, old, one), 4);
  const next = ir.append(Op.Select, Type.U32, active, ir.emit(Op.IAdd, i, ir.constU(step)), i);
  const nextTrip = ir.emit(Op.IAdd, trip, one);
  ir.emit(Op.LoopCont);
  ir.b[i] = next;
  ir.b[trip] = nextTrip;
  ir.emit(Op.EndLoop);
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  return ldsHazards(ir, 64).size;
}

const words = (ir: Ir, i: number) => ir.emit(Op.Shl, i, ir.constU(2));

Deno.test("threads that go through LDS in steps of the workgroup stay in their own words", () => {
  assertEquals(hazards(64, words), 0);
  assertEquals(hazards(128, words), 0);
  assertEquals(hazards(64, (ir, i) => ir.emit(Op.IAdd, words(ir, i), ir.constU(1024))), 0);
});

Deno.test("a step that is no multiple of the workgroup leads a thread to the words of another", () => {
  assertEquals(hazards(32, words) > 0, true);
  assertEquals(hazards(65, words) > 0, true);
});

Deno.test("words that overlap the neighbour's need a barrier", () => {
  assertEquals(hazards(64, (ir, i) => ir.emit(Op.Shl, i, ir.constU(1))) > 0, true);
});

Deno.test("what is added may not change from one iteration to the next, although all threads add the same", () => {
  const moved = (ir: Ir, i: number, trip: number) => ir.emit(Op.IAdd, words(ir, i), words(ir, trip));
  assertEquals(hazards(64, moved) > 0, true);
});
