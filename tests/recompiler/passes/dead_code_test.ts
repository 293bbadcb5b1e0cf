import { assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";

function sweep(build: (ir: Ir, lane: number, store: (value: number) => void) => void): string[] {
  const ir = new Ir();
  ir.constU(0);
  const lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
  build(ir, lane, (value) => {
    ir.emit(Op.Store, ir.emit(Op.Pack64, lane, ir.constU(0)), ir.constB(true), value, 4);
  });
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  const result = deadCode(ir);
  validateIrVerbosely(result);
  const names = Object.fromEntries(Object.entries(Op).map(([name, number]) => [number, name]));
  return [...result.op.subarray(1, result.length)].filter((op) => op !== Op.Const).map((op) => names[op]);
}

Deno.test("unused values go, memory effects and barriers stay", () => {
  const left = sweep((ir, lane, store) => {
    ir.emit(Op.IMul, lane, lane);
    ir.emit(Op.BallotLo, ir.emit(Op.ULt, lane, ir.constU(3)));
    ir.append(Op.Load, Type.U32, ir.emit(Op.Pack64, lane, lane), ir.constB(true), 4);
    ir.emit(Op.Barrier);
    ir.emit(Op.LdsAtomic, lane, ir.constB(true), lane, 2);
    store(ir.emit(Op.IAdd, lane, lane));
  });
  assertEquals(left, ["Input", "Barrier", "LdsAtomic", "IAdd", "Pack64", "Store", "End"]);
});

Deno.test("a branch with nothing left in it goes with its condition; an empty else arm goes alone", () => {
  const left = sweep((ir, lane, store) => {
    ir.emit(Op.If, ir.emit(Op.Any, ir.emit(Op.ULt, lane, ir.constU(3))), IfKind.Wave);
    const unused = ir.emit(Op.IAdd, lane, lane);
    ir.emit(Op.If, ir.emit(Op.IEq, unused, lane), IfKind.Lane);
    ir.emit(Op.EndIf);
    ir.emit(Op.EndIf);
    ir.append(Op.Phi, Type.U32, unused, lane);
    ir.emit(Op.If, ir.emit(Op.SLt, lane, ir.constU(3)), IfKind.Lane);
    store(lane);
    ir.emit(Op.Else);
    ir.emit(Op.IMul, lane, lane);
    ir.emit(Op.EndIf);
  });
  assertEquals(left, ["Input", "SLt", "If", "Pack64", "Store", "EndIf", "End"]);
});

Deno.test("a live phi keeps its branch", () => {
  const left = sweep((ir, lane, store) => {
    ir.emit(Op.If, ir.emit(Op.SLt, lane, ir.constU(3)), IfKind.Lane);
    const a = ir.emit(Op.IMul, lane, lane);
    ir.emit(Op.EndIf);
    store(ir.append(Op.Phi, Type.U32, a, lane));
  });
  assertEquals(left, ["Input", "SLt", "If", "IMul", "EndIf", "Phi", "Pack64", "Store", "End"]);
});

Deno.test("loop phis that only feed each other go, the loop and its exits stay", () => {
  const left = sweep((ir, lane, store) => {
    ir.emit(Op.Loop);
    const count = ir.append(Op.LoopPhi, Type.U32, ir.constU(0));
    const dead = ir.append(Op.LoopPhi, Type.U32, lane);
    ir.emit(Op.If, ir.emit(Op.ULt, lane, count), IfKind.Lane);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
    const next = ir.emit(Op.IAdd, count, ir.constU(1));
    const deadNext = ir.emit(Op.IMul, dead, dead);
    ir.emit(Op.LoopCont);
    ir.b[count] = ir.append(Op.ContPhi, Type.U32, ir.pooled([next]), 1);
    ir.b[dead] = ir.append(Op.ContPhi, Type.U32, ir.pooled([deadNext]), 1);
    ir.emit(Op.EndLoop);
    ir.append(Op.BreakPhi, Type.U32, ir.pooled([dead]), 1);
    store(ir.append(Op.BreakPhi, Type.U32, ir.pooled([count]), 1));
  });
  const loop = ["Loop", "LoopPhi", "ULt", "If", "Break", "EndIf", "IAdd", "LoopCont", "ContPhi", "EndLoop", "BreakPhi"];
  assertEquals(left, ["Input", ...loop, "Pack64", "Store", "End"]);
});
