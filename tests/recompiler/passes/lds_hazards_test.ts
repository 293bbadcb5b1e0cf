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

/** Stores and loads of one thread in a wave of 32 lanes, under a mask that goes around a loop. */
function oneThread(mask: (ir: Ir, thread: number, running: number) => number): number {
  const ir = new Ir();
  const zero = ir.constU(0);
  const thread = ir.append(Op.Input, Type.Bool, InputKind.ThreadActive);
  const limit = ir.append(Op.Input, Type.U32, InputKind.UserData, 0);
  ir.emit(Op.Loop);
  const running = ir.append(Op.LoopPhi, Type.Bool, thread, 0), trip = ir.append(Op.LoopPhi, Type.U32, zero, 0);
  const active = mask(ir, thread, running);
  const old = ir.append(Op.LdsLoad, Type.U32, zero, active, 4);
  ir.emit(Op.LdsStore, ir.constU(4), active, ir.emit(Op.IAdd, old, trip), 4);
  ir.emit(Op.LdsStore, zero, active, old, 4);
  const next = ir.emit(Op.IAdd, trip, ir.constU(1));
  ir.emit(Op.If, ir.emit(Op.ULe, limit, next), IfKind.Scalar);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  const still = ir.emit(Op.LAnd, active, ir.emit(Op.ULt, old, limit));
  ir.emit(Op.LoopCont);
  ir.b[running] = still;
  ir.b[trip] = next;
  ir.emit(Op.EndLoop);
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  return ldsHazards(ir, 1, 32).size;
}

Deno.test("lanes without a thread are no danger while nothing switches them on", () => {
  assertEquals(oneThread((_ir, thread) => thread), 0);
  assertEquals(oneThread((_ir, _thread, running) => running), 0);
  assertEquals(oneThread((ir, thread, running) => ir.emit(Op.LOr, thread, running)), 0);
});

Deno.test("a mask that switches on lanes without a thread needs barriers", () => {
  assertEquals(oneThread((ir) => ir.constB(true)) > 0, true);
  assertEquals(oneThread((ir, thread) => ir.emit(Op.LNot, thread)) > 0, true);
  assertEquals(oneThread((ir, thread, running) => ir.emit(Op.LOr, ir.emit(Op.LNot, thread), running)) > 0, true);
});
