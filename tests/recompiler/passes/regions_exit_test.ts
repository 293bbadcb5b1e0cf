import { assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { chooseRegions } from "../../../src/recompiler/passes/regions.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";

/** A loop with two exits on c1 and c2; what leaves by the first one is c2, which that exit knows nothing of. */
function twoExits(): Ir {
  const ir = new Ir();
  const user = (index: number) => ir.append(Op.Input, Type.U32, InputKind.UserData, index);
  const zero = ir.constU(0), yes = ir.constB(true);
  const lane = ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
  const c1 = ir.emit(Op.INe, user(0), zero), c2 = ir.emit(Op.INe, user(1), zero);
  // The pass has something to decide: a branch of the wave.
  ir.emit(Op.If, ir.emit(Op.Any, ir.emit(Op.ULt, lane, ir.constU(2))), IfKind.Wave);
  ir.emit(Op.EndIf);
  ir.emit(Op.Loop);
  for (const condition of [c1, c2]) {
    ir.emit(Op.If, condition, IfKind.Scalar);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
  }
  ir.emit(Op.LoopCont);
  ir.emit(Op.EndLoop);
  const left = ir.append(Op.BreakPhi, Type.Bool, ir.pooled([c2, yes]), 2);
  const value = ir.append(Op.Select, Type.U32, left, ir.constU(1), ir.constU(2));
  const address = ir.emit(Op.Pack64, ir.emit(Op.Shl, lane, ir.constU(2)), zero);
  ir.emit(Op.Store, address, yes, value, 4);
  ir.emit(Op.End);
  return ir;
}

Deno.test("what is learned behind a conditional exit of a loop is not known at the exit", () => {
  const { ir } = chooseRegions(twoExits(), new Set());
  for (const [userData, expected] of [[[1, 1], 1], [[1, 0], 2], [[0, 1], 1]] as const) {
    const memory = new EvalMemory();
    const words = memory.mapWords(0n, new Uint32Array(4));
    evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [4, 1, 1], memory, userData });
    assertEquals([...words], [expected, expected, expected, expected], `user data ${userData}`);
  }
});
