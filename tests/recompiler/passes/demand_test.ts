import { assert, assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, MemoryWidth, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIr } from "../../../src/recompiler/ir/validate.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import { dropUnseenChoices } from "../../../src/recompiler/passes/demand.ts";
import { chooseRegions } from "../../../src/recompiler/passes/regions.ts";
import { simplify } from "../../../src/recompiler/passes/simplify.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { Random } from "../../support/random.ts";
import { LANES, MaskProgram, VECTORS } from "./mask_programs.ts";

const count = (ir: Ir, op: number) => ir.op.subarray(0, ir.length).filter((each) => each === op).length;

/** A program with a lane's own condition, and what tests need of it. */
class Small {
  readonly ir = new Ir();
  readonly lane = this.ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
  readonly on = this.ir.emit(Op.ULt, this.lane, this.ir.constU(3));
  readonly other = this.ir.emit(Op.ULt, this.lane, this.ir.constU(5));
  readonly old = this.ir.append(Op.Input, Type.U32, InputKind.UserData, 0);
  readonly fresh = this.ir.emit(Op.IMul, this.lane, this.ir.constU(12));
  readonly chosen = this.ir.append(Op.Select, Type.U32, this.on, this.fresh, this.old);

  store(active: number, value: number): void {
    const at = this.ir.emit(Op.Pack64, this.ir.emit(Op.Shl, this.lane, this.ir.constU(2)), this.ir.constU(0));
    this.ir.emit(Op.Store, at, active, value, 4);
  }

  selects(): number {
    this.ir.emit(Op.End);
    const result = deadCode(dropUnseenChoices(this.ir).ir);
    validateIr(result);
    return count(result, Op.Select);
  }
}

Deno.test("a choice goes where everybody looks under its condition", () => {
  const p = new Small();
  p.store(p.on, p.chosen);
  p.store(p.ir.emit(Op.LAnd, p.other, p.on), p.ir.emit(Op.IAdd, p.chosen, p.lane));
  assertEquals(p.selects(), 0);
});

Deno.test("a choice stays where somebody may look under another condition", () => {
  const p = new Small();
  p.store(p.on, p.chosen);
  p.store(p.other, p.chosen);
  assertEquals(p.selects(), 1);
});

Deno.test("a reader that looks under one condition does without a choice that others need", () => {
  const p = new Small();
  p.store(p.on, p.chosen);
  p.store(p.other, p.ir.emit(Op.IAdd, p.chosen, p.lane));
  p.ir.emit(Op.End);
  const result = deadCode(dropUnseenChoices(p.ir).ir);
  validateIr(result);
  const stored = [...result.op.subarray(0, result.length)].flatMap((op, i) => op === Op.Store ? [result.c[i]] : []);
  assertEquals(stored.map((value) => result.op[value]), [Op.IMul, Op.IAdd]);
  assertEquals(result.op[result.a[stored[1]]], Op.Select);
});

Deno.test("in a deep nest the innermost conditions are known of: their choices go", () => {
  const p = new Small(), { ir } = p;
  for (let depth = 0; depth < 40; depth++) {
    const on = ir.emit(Op.ULt, p.lane, ir.constU(100 - depth));
    ir.emit(Op.If, on, IfKind.Lane);
    p.store(p.ir.constB(true), ir.append(Op.Select, Type.U32, on, ir.emit(Op.IAdd, p.fresh, ir.constU(depth)), p.old));
  }
  for (let depth = 0; depth < 40; depth++) ir.emit(Op.EndIf);
  assertEquals(p.selects(), 0);
});

Deno.test("branches count: a choice goes where its value is only used in the arm that its condition opens", () => {
  const p = new Small();
  p.ir.emit(Op.If, p.on, IfKind.Lane);
  p.store(p.ir.constB(true), p.chosen);
  p.ir.emit(Op.EndIf);
  assertEquals(p.selects(), 0);
  const q = new Small();
  q.ir.emit(Op.If, q.on, IfKind.Lane);
  q.ir.emit(Op.Else);
  q.store(q.ir.constB(true), q.chosen);
  q.ir.emit(Op.EndIf);
  q.ir.emit(Op.End);
  // Only the old value is seen.
  const result = deadCode(dropUnseenChoices(q.ir).ir);
  assertEquals([count(result, Op.Select), count(result, Op.IMul)], [0, 0]);
});

Deno.test("what other lanes read stays chosen", () => {
  const p = new Small();
  p.store(p.on, p.ir.emit(Op.Shuffle, p.chosen, p.lane));
  assertEquals(p.selects(), 1);
});

Deno.test("a load that is only looked at where it is active is marked, others are not", () => {
  for (const seen of [true, false]) {
    const p = new Small();
    const at = p.ir.emit(Op.Pack64, p.lane, p.ir.constU(0));
    const load = p.ir.append(Op.Load, Type.U32, at, p.on, 4);
    p.store(seen ? p.on : p.other, load);
    p.ir.emit(Op.End);
    const { ir } = dropUnseenChoices(p.ir);
    assertEquals((ir.c[load] & MemoryWidth.Speculative) !== 0, seen);
  }
});

Deno.test("random programs of masks compute the same without unseen choices", () => {
  let dropped = 0;
  for (let seed = 1; seed <= 200; seed++) {
    const start = deadCode(new MaskProgram(new Random(seed), false).ir);
    const ir = deadCode(simplify(chooseRegions(start, new Set()).ir));
    const result = deadCode(dropUnseenChoices(ir).ir);
    validateIr(result);
    dropped += count(ir, Op.Select) - count(result, Op.Select);
    const run = (program: Ir) => {
      const memory = new EvalMemory();
      const words = memory.mapWords(0n, new Uint32Array((VECTORS + 3) * LANES));
      const { faults } = evaluateWorkgroup(program, {
        waveSize: 32,
        workgroupSize: [LANES, 1, 1],
        memory,
        ldsBytes: 4 * LANES,
      });
      assertEquals(faults, []);
      return [...words];
    };
    assertEquals(run(result), run(ir), `seed ${seed}`);
  }
  assert(dropped > 50, `${dropped} choices were dropped`);
});
