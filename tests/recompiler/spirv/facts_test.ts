import { assert } from "@std/assert";
import { InputKind, MemoryWidth, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { gatherFacts } from "../../../src/recompiler/spirv/facts.ts";
import { evaluateWorkgroup } from "../../support/ir_eval.ts";
import { Random } from "../../support/random.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";

/** A random straight program of integer operations. */
function randomProgram(random: Random): Ir {
  const ir = new Ir();
  const yes = ir.constB(true);
  const words = [
    ...[0, 1, 2].map((axis) => ir.append(Op.Input, Type.U32, InputKind.LocalId, axis)),
    ir.append(Op.Input, Type.U32, InputKind.LocalIndex),
    ir.append(Op.Input, Type.U32, InputKind.LaneId),
    ir.append(Op.Input, Type.U32, InputKind.WaveId),
    ir.append(Op.Input, Type.U32, InputKind.UserData, 1),
    ...[0, 1, 4, 12, 0xfff0, 0x80000000, 0xfffffffe].map((bits) => ir.constU(bits)),
  ];
  const longs: number[] = [];
  const word = () => random.pick(words);
  const small = () => ir.constU(random.below(12));
  for (let k = 0; k < 40; k++) {
    switch (random.below(14)) {
      case 0:
        words.push(ir.emit(Op.Shl, word(), random.chance(0.7) ? small() : ir.emit(Op.And, word(), ir.constU(31))));
        break;
      case 1:
        words.push(ir.emit(Op.Shr, word(), random.chance(0.7) ? small() : ir.emit(Op.And, word(), ir.constU(31))));
        break;
      case 2:
        words.push(ir.emit(Op.UBfe, word(), small(), ir.constU(1 + random.below(16))));
        break;
      case 3:
        words.push(ir.append(Op.Select, Type.U32, ir.emit(Op.ULt, word(), word()), word(), word()));
        break;
      case 4:
        words.push(ir.emit(random.pick([Op.BitCount, Op.Not, Op.BitReverse]), word()));
        break;
      case 5:
        words.push(ir.append(Op.LdsLoad, Type.U32, word(), yes, random.pick([1, 2, 2 | MemoryWidth.Signed, 4])));
        break;
      case 6:
        longs.push(ir.emit(random.pick([Op.Pack64, Op.UMulWide, Op.SMulWide]), word(), word()));
        break;
      case 7:
        if (longs.length > 0) {
          longs.push(ir.emit(random.pick([Op.IAdd64, Op.ISub64, Op.IMul64]), random.pick(longs), random.pick(longs)));
        }
        break;
      case 8:
        if (longs.length > 0) longs.push(ir.emit(random.pick([Op.Shl64, Op.Shr64]), random.pick(longs), small()));
        break;
      case 9:
        if (longs.length > 0) words.push(ir.emit(random.pick([Op.Lo64, Op.Hi64]), random.pick(longs)));
        break;
      default:
        words.push(
          ir.emit(random.pick([Op.IAdd, Op.ISub, Op.IMul, Op.And, Op.Or, Op.Xor, Op.UMin, Op.UMax]), word(), word()),
        );
    }
  }
  ir.emit(Op.End);
  return ir;
}

Deno.test("bounds and known zero bits hold for every value that random programs compute", () => {
  const random = new Random(31);
  const workgroupSize = [6, 4, 4] as const, waveSize = 32;
  let bounded = 0, aligned = 0;
  for (let round = 0; round < 300; round++) {
    const ir = randomProgram(random);
    const facts = gatherFacts(ir, waveSize, workgroupSize);
    const result = evaluateWorkgroup(ir, { waveSize, workgroupSize, userData: [0, random.u32()], ldsBytes: 256 });
    for (let id = 1; id < ir.length; id++) {
      if (ir.type[id] !== Type.U32 && ir.type[id] !== Type.U64) continue;
      if (ir.type[id] === Type.U32 && facts.upper[id] < 0xffffffff) bounded++;
      if (facts.zeros[id] > 0) aligned++;
      for (let lane = 0; lane < 96; lane += 5) {
        const value = result.value(id, lane);
        if (value === undefined) continue;
        const low = BigInt(value as number | bigint) & 0xffffffffn;
        if (ir.type[id] === Type.U32) {
          assert(Number(low) <= facts.upper[id], `operation ${id}: ${low} > ${facts.upper[id]}`);
        }
        assert(
          low % (1n << BigInt(facts.zeros[id])) === 0n,
          `operation ${id}: ${low} has fewer than ${facts.zeros[id]} zeros`,
        );
      }
    }
  }
  assert(bounded > 1000 && aligned > 1000, `${bounded} bounds and ${aligned} zeros are too few to tell`);
});
