/** How far values are known to be the same. */
import { assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { InputKind, MemoryWidth, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { classifyUniformity, Uniformity } from "../../../src/recompiler/passes/uniformity.ts";

Deno.test("a load is as uniform as its address; one that sees other workgroups' data is each lane's own", () => {
  const ir = new Ir();
  const [low, high] = [0, 1].map((k) => ir.append(Op.Input, Type.U32, InputKind.UserData, k));
  const address = ir.emit(Op.Pack64, low, high), yes = ir.constB(true);
  const load = (width: number) => ir.append(Op.Load, Type.U32, address, yes, width);
  const plain = load(4), coherent = load(4 | MemoryWidth.Coherent);
  const first = ir.emit(Op.ReadFirstLane, coherent, yes);
  const { value } = classifyUniformity(ir, false);
  assertEquals([plain, coherent, first].map((i) => value[i]), [
    Uniformity.Workgroup,
    Uniformity.Lane,
    Uniformity.Wave,
  ]);
});
