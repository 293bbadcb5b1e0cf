/** Reads of the first active lane that need no exchange, because every lane knows the answer. */
import { assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import { simplify, simplifyUniformReads } from "../../../src/recompiler/passes/simplify.ts";
import { classifyUniformity, Uniformity } from "../../../src/recompiler/passes/uniformity.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";

const OUT = 0x1_0000_0000n;

interface Parts {
  ir: Ir;
  lane: number;
  /** A user SGPR. */
  user: number;
  /** Lanes from 5 on are active. */
  active: number;
}

/** What lanes store, before and after the pass, with the number of reads that are left. `read` gives the value that each active lane stores. */
function run(user: number, read: (parts: Parts) => number, branch = true): [values: number[], left: number] {
  const ir = new Ir();
  ir.constU(0);
  const lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
  const parts = {
    ir,
    lane,
    user: ir.append(Op.Input, Type.U32, InputKind.UserData, 0),
    active: ir.emit(Op.ULt, ir.constU(4), lane),
  };
  if (branch) ir.emit(Op.If, ir.emit(Op.Any, parts.active), IfKind.Wave);
  const value = read(parts);
  const address = ir.emit(Op.Pack64, ir.emit(Op.Shl, lane, ir.constU(2)), ir.constU(1));
  ir.emit(Op.Store, address, ir.constB(true), value, 4);
  if (branch) ir.emit(Op.EndIf);
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  const before = deadCode(simplify(ir)), after = deadCode(simplifyUniformReads(before));
  validateIrVerbosely(after);
  const [expected, actual] = [before, after].map((each) => {
    const memory = new EvalMemory();
    const words = memory.mapWords(OUT, new Uint32Array(32));
    const options = { waveSize: 32 as const, workgroupSize: [32, 1, 1] as const, userData: [user], memory };
    assertEquals(evaluateWorkgroup(each, options).faults, []);
    return [...new Uint32Array(words.buffer, words.byteOffset, 32)];
  });
  assertEquals(actual, expected);
  return [actual, [...after.op.subarray(0, after.length)].filter((op) => op === Op.ReadFirstLane).length];
}

/** 3 * user + 1 in active lanes, 7 in the others, made step by step under the mask. */
function masked({ ir, user, active }: Parts): number {
  const product = ir.append(Op.Select, Type.U32, active, ir.emit(Op.IMul, user, ir.constU(3)), ir.constU(7));
  const old = ir.emit(Op.Or, product, ir.constU(0));
  return ir.append(Op.Select, Type.U32, active, ir.emit(Op.IAdd, product, ir.constU(1)), old);
}

Deno.test("a value from scalars under the mask is read without an exchange where some lane is active", () => {
  const [values, left] = run(11, (p) => p.ir.emit(Op.ReadFirstLane, masked(p), p.active));
  assertEquals([values, left], [new Array(32).fill(34), 0]);
});

Deno.test("conditions of the value may contain that the lane is active, as those of a compiler's divisions do", () => {
  const [values, left] = run(11, (p) => {
    const small = p.ir.emit(Op.LAnd, p.active, p.ir.emit(Op.ULt, p.user, p.ir.constU(20)));
    const value = p.ir.append(Op.Select, Type.U32, small, p.ir.emit(Op.IMul, p.user, p.user), p.user);
    return p.ir.emit(Op.ReadFirstLane, p.ir.append(Op.Select, Type.U32, p.active, value, p.lane), p.active);
  });
  assertEquals([values, left], [new Array(32).fill(121), 0]);
});

Deno.test("without a branch on active lanes the read may be one of a lane that was never written, and stays", () => {
  assertEquals(run(11, (p) => p.ir.emit(Op.ReadFirstLane, masked(p), p.active), false)[1], 1);
});

Deno.test("a mask other than the branch's keeps the read", () => {
  const [, left] = run(11, (p) => {
    const other = p.ir.emit(Op.ULt, p.ir.constU(8), p.lane);
    return p.ir.emit(Op.ReadFirstLane, masked({ ...p, active: other }), other);
  });
  assertEquals(left, 1);
});

Deno.test("values that differ from lane to lane are read with an exchange", () => {
  const [values, left] = run(11, (p) => p.ir.emit(Op.ReadFirstLane, p.ir.emit(Op.IAdd, p.lane, p.user), p.active));
  assertEquals([values, left], [new Array(32).fill(16), 1]);
});

Deno.test("loads are read with an exchange: somebody may write between those of two lanes", () => {
  const [values, left] = run(11, (p) => {
    const address = p.ir.emit(Op.Pack64, p.ir.constU(64), p.ir.constU(1));
    return p.ir.emit(Op.ReadFirstLane, p.ir.append(Op.Load, Type.U32, address, p.active, 4), p.active);
  });
  assertEquals([values, left], [new Array(32).fill(0), 1]);
});

Deno.test("what a loop leaves unchanged is as uniform behind it, whenever a lane leaves; what it counts is not", () => {
  const ir = new Ir();
  const zero = ir.constU(0), one = ir.constU(1);
  const lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
  const user = ir.append(Op.Input, Type.U32, InputKind.UserData, 0);
  ir.emit(Op.Loop);
  const count = ir.append(Op.LoopPhi, Type.U32, zero, 0);
  const twice = ir.emit(Op.IAdd, user, user);
  ir.emit(Op.If, ir.emit(Op.ULe, lane, count), IfKind.Lane);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  const next = ir.emit(Op.IAdd, count, one);
  ir.emit(Op.LoopCont);
  ir.b[count] = next;
  ir.emit(Op.EndLoop);
  const same = ir.append(Op.BreakPhi, Type.U32, ir.pooled([twice]), 1);
  const counted = ir.append(Op.BreakPhi, Type.U32, ir.pooled([count]), 1);
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  const { value } = classifyUniformity(ir, false);
  assertEquals([value[same], value[counted]], [Uniformity.Workgroup, Uniformity.Lane]);
});
