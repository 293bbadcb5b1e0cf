import { assertEquals, assertThrows } from "@std/assert";
import { Ir } from "../../src/recompiler/ir/ir.ts";
import { AtomicKind, IfKind, InputKind, MemoryWidth, Op, Type } from "../../src/recompiler/ir/ops.ts";
import { EvalMemory, evaluateWorkgroup } from "./ir_eval.ts";
import { bits32, f32, fma32, toHalf } from "./ir_eval/scalar.ts";

const wave32 = { waveSize: 32, workgroupSize: [32, 1, 1] } as const;

function input(ir: Ir, kind: number, index = 0, type: Type = Type.U32): number {
  return ir.append(Op.Input, type, kind, index);
}

Deno.test("the IR evaluator runs a loop whose trip count differs by lane and merges its break values", () => {
  const ir = new Ir();
  const lane = input(ir, InputKind.LaneId);
  const zero = ir.constU(0), one = ir.constU(1);
  ir.emit(Op.Loop);
  const count = ir.append(Op.LoopPhi, Type.U32, zero);
  const done = ir.emit(Op.IEq, count, lane);
  ir.emit(Op.If, done, IfKind.Lane);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  const next = ir.emit(Op.IAdd, count, one);
  ir.emit(Op.LoopCont);
  ir.b[count] = ir.append(Op.ContPhi, Type.U32, ir.pooled([next]), 1);
  ir.emit(Op.EndLoop);
  const trips = ir.append(Op.BreakPhi, Type.U32, ir.pooled([count]), 1);
  ir.emit(Op.End);
  const result = evaluateWorkgroup(ir, wave32);
  for (let l = 0; l < 32; l++) assertEquals(result.value(trips, l), l);
});

Deno.test("the IR evaluator traps when an exchange stands where not all lanes come", () => {
  const ir = new Ir();
  const odd = ir.emit(Op.INe, ir.emit(Op.And, input(ir, InputKind.LaneId), ir.constU(1)), ir.constU(0));
  ir.emit(Op.If, odd, IfKind.Lane);
  ir.emit(Op.BallotLo, odd);
  ir.emit(Op.EndIf);
  ir.emit(Op.End);
  assertThrows(() => evaluateWorkgroup(ir, wave32), Error, "exchange that not all lanes reach");
});

Deno.test("the IR evaluator traps when lanes disagree on a scalar condition", () => {
  const ir = new Ir();
  const odd = ir.emit(Op.INe, ir.emit(Op.And, input(ir, InputKind.LaneId), ir.constU(1)), ir.constU(0));
  ir.emit(Op.If, odd, IfKind.Scalar);
  ir.emit(Op.EndIf);
  ir.emit(Op.End);
  assertThrows(() => evaluateWorkgroup(ir, wave32), Error, "lanes disagree");
});

Deno.test("the IR evaluator passes data between waves through LDS and a barrier", () => {
  const ir = new Ir();
  const index = input(ir, InputKind.LocalIndex);
  const yes = ir.constB(true);
  const address = ir.emit(Op.Shl, index, ir.constU(2));
  ir.emit(Op.LdsStore, address, yes, index, 4);
  ir.emit(Op.Barrier);
  const other = ir.append(Op.LdsLoad, Type.U32, ir.emit(Op.Xor, address, ir.constU(63 * 4)), yes, 4);
  const beyond = ir.append(Op.LdsLoad, Type.U32, ir.constU(256), yes, 4);
  ir.emit(Op.End);
  const result = evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [8, 4, 2], ldsBytes: 256 });
  for (let l = 0; l < 64; l++) assertEquals([result.value(other, l), result.value(beyond, l)], [63 - l, 0]);
});

Deno.test("the IR evaluator reads and writes guest memory and reports what is unmapped", () => {
  const memory = new EvalMemory();
  const words = memory.mapWords(0xffff8000_00001000n, [0x80, 2, 3, 4]);
  const ir = new Ir();
  ir.currentPc = 0x14;
  const yes = ir.constB(true);
  const at = (low: number) => ir.emit(Op.Pack64, ir.constU(low), ir.constU(0xffff8000));
  const four = ir.append(Op.Load, Type.V4, at(0x1000), yes, 16);
  const narrow = ir.append(Op.Load, Type.U32, at(0x1000), yes, 1 | MemoryWidth.Signed);
  ir.emit(Op.Store, at(0x1004), yes, ir.constU(77), 4);
  ir.emit(Op.Store, at(0x2000), yes, ir.constU(77), 4);
  ir.emit(Op.Store, at(0x3000), ir.constB(false), ir.constU(77), 4);
  const old = ir.emit(Op.Atomic, at(0x1008), yes, ir.constU(5), AtomicKind.Add);
  ir.emit(Op.End);
  const result = evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [2, 1, 1], memory });
  assertEquals(result.value(four, 0), [0x80, 2, 3, 4]);
  assertEquals(result.value(narrow, 1), 0xffffff80);
  assertEquals([result.value(old, 0), result.value(old, 1)], [3, 8]);
  assertEquals([...words], [0x80, 77, 13, 4]);
  assertEquals(
    result.faults.map((f) => [f.address, f.bytes, f.pc, f.write]),
    Array(2).fill([0xffff8000_00002000n, 4, 0x14, true]),
  );
});

Deno.test("ballots of a partial wave have zeros for lanes that do not exist; a program that asks for its threads has whole waves", () => {
  const ballots = (asks: boolean, threadLimit?: [number, number, number]) => {
    const ir = new Ir();
    const condition = asks ? input(ir, InputKind.ThreadActive, 0, Type.Bool) : ir.constB(true);
    const all = ir.emit(Op.BallotHi, ir.constB(true));
    const [low, high] = [ir.emit(Op.BallotLo, condition), ir.emit(Op.BallotHi, condition)];
    ir.emit(Op.End);
    const { value } = evaluateWorkgroup(ir, {
      waveSize: 64,
      workgroupSize: [40, 1, 1],
      workgroupId: [1, 0, 0],
      threadLimit,
    });
    return [all, low, high].map((id) => value(id, 0));
  };
  assertEquals(ballots(false), [0xff, 0xffffffff, 0xff]);
  assertEquals(ballots(true), [0xffffffff, 0xffffffff, 0xff]);
  assertEquals(ballots(true, [44, 1, 1]), [0xffffffff, 0xf, 0]);
});

Deno.test("the evaluator's fused multiply-add rounds once", () => {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: a tie in f32 by itself; a tiny third operand breaks it either way.
  const a = 1 + 2 ** -12;
  assertEquals(fma32(a, a, 0), 1 + 2 ** -11);
  assertEquals(fma32(a, a, 2 ** -100), 1 + 2 ** -11 + 2 ** -23);
  assertEquals(fma32(a, a, -(2 ** -100)), 1 + 2 ** -11);
  assertEquals(fma32(2 ** -75, 2 ** -76, 2 ** -149), 2 ** -149);
  assertEquals(fma32(2 ** 100, 2 ** 100, 0), Infinity);
});

Deno.test("the evaluator's conversion to half rounds as asked and keeps halves", () => {
  assertEquals(toHalf(1 + 2 ** -11, false), 0x3c00);
  assertEquals(toHalf(1 + 3 * 2 ** -11, false), 0x3c02);
  assertEquals(toHalf(1 + 3 * 2 ** -11, true), 0x3c01);
  assertEquals([toHalf(65519, false), toHalf(65520, false), toHalf(1e9, true), toHalf(-0, true)], [
    0x7bff,
    0x7c00,
    0x7bff,
    0x8000,
  ]);
  assertEquals([toHalf(2 ** -25, false), toHalf(2 ** -24, false), toHalf(1.5 * 2 ** -25, false)], [0, 1, 1]);
  assertEquals(f32(bits32(0.1)), Math.fround(0.1));
});
