import { assert, assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIr } from "../../../src/recompiler/ir/validate.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import { dropUnseenHalves } from "../../../src/recompiler/passes/halves.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { Random } from "../../support/random.ts";

const INPUTS = 6, OUTPUTS = 6;
const count = (ir: Ir, op: number) => ir.op.subarray(0, ir.length).filter((each) => each === op).length;

/** Straight code and a loop over 16-bit operations, insertions, and what takes registers apart. */
function program(random: Random): Ir {
  const ir = new Ir();
  const values: number[] = [];
  for (let k = 0; k < INPUTS; k++) values.push(ir.append(Op.Input, Type.U32, InputKind.UserData, k));
  const u = (bits: number) => ir.constU(bits);
  const pick = () => random.pick(values);
  const insert = (value: number) => ir.emit(Op.BitInsert, pick(), value, random.pick([0, 0, 0, 16]), 16);
  const step = () => {
    const form = random.pick([1, 1, 2]);
    switch (random.below(9)) {
      case 0:
        return insert(ir.emit(Op.HAdd, pick(), pick(), form));
      case 1:
        return insert(ir.emit(Op.HMul, pick(), pick(), form));
      case 2:
        return insert(ir.emit(Op.And, pick(), u(random.pick([0xffff, 0x7fff, -65536, -1]))));
      case 3:
        return ir.emit(random.pick([Op.Shl, Op.Shr]), pick(), u(random.pick([16, 20, 3])));
      case 4:
        return ir.emit(
          random.pick([Op.UBfe, Op.SBfe]),
          pick(),
          u(random.pick([0, 8, 16, 20])),
          u(random.pick([8, 12])),
        );
      case 5:
        return ir.append(Op.Select, Type.U32, ir.emit(Op.ULt, pick(), pick()), pick(), pick());
      case 6:
        return insert(ir.emit(random.pick([Op.Or, Op.Xor]), pick(), pick()));
      case 7:
        return ir.emit(Op.BitInsert, pick(), pick(), random.pick([0, 8, 16]), random.pick([8, 16]));
      default:
        return insert(pick());
    }
  };
  for (let k = 0; k < 12; k++) values.push(step());
  ir.emit(Op.Loop);
  const counter = ir.append(Op.LoopPhi, Type.U32, u(0), 0);
  const carried = ir.append(Op.LoopPhi, Type.U32, pick(), 0);
  const outside = values.length;
  values.push(carried);
  for (let k = 0; k < 6; k++) values.push(step());
  const next = ir.emit(Op.IAdd, counter, u(1)), last = values[values.length - 1];
  ir.emit(Op.If, ir.emit(Op.ULt, u(2), next), 0);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  ir.emit(Op.LoopCont);
  ir.b[counter] = next;
  ir.b[carried] = last;
  ir.emit(Op.EndLoop);
  const left = ir.append(Op.BreakPhi, Type.U32, ir.pooled([last]), 1);
  values.length = outside;
  values.push(left);
  for (let k = 0; k < 6; k++) values.push(step());
  for (let k = 0; k < OUTPUTS; k++) {
    const at = ir.append(Op.Const, Type.U64, k * 4, 0);
    // Most outputs are halves, as where 16-bit code stores.
    const narrow = random.chance(0.7);
    const value = values[values.length - 1 - k];
    if (narrow) ir.emit(Op.Store, at, ir.constB(true), value, 2);
    else ir.emit(Op.Store, at, ir.constB(true), ir.emit(Op.Xor, value, pick()), 4);
  }
  ir.emit(Op.End);
  return ir;
}

Deno.test("random 16-bit code computes the same without insertions into halves that nobody looks at", () => {
  let dropped = 0;
  for (let seed = 1; seed <= 500; seed++) {
    const random = new Random(seed);
    const ir = deadCode(program(random));
    validateIr(ir);
    const result = deadCode(dropUnseenHalves(ir).ir);
    validateIr(result);
    dropped += count(ir, Op.BitInsert) - count(result, Op.BitInsert);
    const userData = Array.from({ length: INPUTS }, () => random.u32() & 0x7bff7bff);
    const run = (each: Ir) => {
      const memory = new EvalMemory();
      const words = memory.mapWords(0n, new Uint32Array(OUTPUTS));
      evaluateWorkgroup(each, { waveSize: 32, workgroupSize: [1, 1, 1], userData, memory });
      return [...words];
    };
    assertEquals(run(result), run(ir), `seed ${seed}`);
  }
  assert(dropped > 500, `${dropped} insertions were dropped`);
});

Deno.test("an insertion stays where both halves are looked at", () => {
  const ir = new Ir();
  const [a, b] = [0, 1].map((k) => ir.append(Op.Input, Type.U32, InputKind.UserData, k));
  const inserted = ir.emit(Op.BitInsert, a, ir.emit(Op.HAdd, a, b, 1), 0, 16);
  const at = ir.append(Op.Const, Type.U64, 0, 0);
  ir.emit(Op.Store, at, ir.constB(true), inserted, 2);
  ir.emit(Op.Store, at, ir.constB(true), ir.emit(Op.Shr, inserted, ir.constU(16)), 2);
  ir.emit(Op.End);
  assertEquals(dropUnseenHalves(ir).changed, false);
});
