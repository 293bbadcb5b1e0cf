import { assert, assertEquals } from "@std/assert";
import { FloatFacts, isDenormal, isSignalling } from "../../../src/recompiler/ir/float_facts.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { bits32 } from "../../support/ir_eval/scalar.ts";
import { Random } from "../../support/random.ts";

const EDGES = [
  0,
  0x80000000,
  1,
  0x007fffff,
  0x00800000,
  0x80800001,
  0x01000000,
  0x00c00001,
  0x3f800000,
  0xbf800001,
  0x7f800000,
  0x7fc00000,
  0x7f800001,
];

Deno.test("what is proven never denormal, or never a signalling NaN, never is: random expressions on random inputs", () => {
  const random = new Random(17);
  let proven = 0, open = 0;
  for (let round = 0; round < 300; round++) {
    const ir = new Ir();
    const lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
    const values: number[] = [];
    const memory = new EvalMemory();
    for (let k = 0; k < 3; k++) {
      const near = random.u32();
      memory.mapWords(
        BigInt(0x1000 * (k + 1)),
        Array.from(
          { length: 32 },
          (_, i) => i < 13 ? random.pick(EDGES) : i < 24 ? (near + random.below(3) - 1) >>> 0 : random.u32(),
        ),
      );
      const at = ir.emit(Op.IAdd, ir.emit(Op.Shl, lane, ir.constU(2)), ir.constU(0x1000 * (k + 1)));
      const bits = ir.append(Op.Load, Type.U32, ir.emit(Op.Pack64, at, ir.constU(0)), ir.constB(true), 4);
      values.push(
        ir.emit(Op.BitcastF, bits),
        ir.emit(Op.CvtU2F, bits),
        ir.emit(Op.FlushDenorm, ir.emit(Op.BitcastF, bits)),
      );
    }
    values.push(
      ...[random.u32(), bits32(2 ** -101), bits32(-(2 ** -100) * 1.25), bits32(1), bits32(0.3), 0x00800000, 3].map((
        b,
      ) => ir.constF(b)),
    );
    const pick = () => random.pick(values);
    for (let k = 0; k < 30; k++) {
      const name = random.pick([
        "FAdd",
        "FSub",
        "FMul",
        "FMul",
        "FFma",
        "FMin",
        "FMax",
        "FNeg",
        "FAbs",
        "FFloor",
        "FRndne",
        "FlushDenorm",
        "Select",
        "CvtH2F",
      ]);
      const x = pick(), y = random.chance(0.2) ? x : pick();
      if (name === "Select") {
        values.push(ir.append(Op.Select, Type.F32, ir.emit(Op.ULt, lane, ir.constU(random.below(32))), x, y));
      } else if (name === "CvtH2F") values.push(ir.emit(Op.CvtH2F, ir.emit(Op.BitcastU, x)));
      else values.push(ir.emit((Op as Record<string, number>)[name], x, y, name === "FFma" ? pick() : 0));
    }
    ir.emit(Op.End);
    const facts = new FloatFacts(ir);
    const run = evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [32, 1, 1], memory });
    for (const id of values) {
      if (facts.mayBeDenormal(id)) open++;
      else {
        proven++;
        for (let l = 0; l < 32; l++) {
          assert(!isDenormal(run.value(id, l) as number), `round ${round}: %${id} is denormal in lane ${l}`);
        }
      }
      if (!facts.mayBeSignalling(id)) {
        for (let l = 0; l < 32; l++) assert(!isSignalling(run.value(id, l) as number));
      }
    }
  }
  assert(proven > 2000 && open > 2000, `${proven} proven, ${open} open`);
});

Deno.test("loop phis are never denormal when nothing that goes around the loop is", () => {
  const loop = (step: (ir: Ir, phi: number) => number, initial: number) => {
    const ir = new Ir();
    const start = ir.constF(initial), more = ir.constF(bits32(0.5)), limit = ir.constF(bits32(100));
    ir.emit(Op.Loop);
    const phi = ir.append(Op.LoopPhi, Type.F32, start);
    ir.emit(Op.If, ir.emit(Op.FOrdLt, limit, phi), 2);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
    const next = step(ir, ir.emit(Op.FMul, phi, more));
    ir.emit(Op.LoopCont);
    ir.b[phi] = ir.append(Op.ContPhi, Type.F32, ir.pooled([next]), 1);
    ir.emit(Op.EndLoop);
    ir.emit(Op.End);
    return FloatFacts.normalLoopPhis(ir)[phi];
  };
  assertEquals(loop((ir, value) => ir.emit(Op.FlushDenorm, value), bits32(4)), 1);
  assertEquals(loop((_, value) => value, bits32(4)), 0);
  assertEquals(loop((ir, value) => ir.emit(Op.FlushDenorm, value), 1), 0);
});

Deno.test("what goes around a loop stays a multiple of some power of two: z := z * z + c, but not z := z / 2", () => {
  const loop = (step: (ir: Ir, z: number) => number, limited: boolean) => {
    const ir = new Ir();
    const start = ir.emit(
      Op.FMul,
      ir.emit(Op.CvtU2F, ir.append(Op.Input, Type.U32, InputKind.LaneId)),
      ir.constF(bits32(0.005)),
    );
    const limit = ir.constF(bits32(4));
    ir.emit(Op.Loop);
    const z = ir.append(Op.LoopPhi, Type.F32, start), least = ir.append(Op.LoopPhi, Type.F32, limit);
    const square = ir.emit(Op.FMul, z, z);
    ir.emit(Op.If, ir.emit(Op.FOrdLt, limit, square), 2);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
    const next = step(ir, limited ? square : z), smaller = ir.emit(Op.FMin, least, square);
    ir.emit(Op.LoopCont);
    ir.b[z] = ir.append(Op.ContPhi, Type.F32, ir.pooled([next]), 1);
    ir.b[least] = ir.append(Op.ContPhi, Type.F32, ir.pooled([smaller]), 1);
    ir.emit(Op.EndLoop);
    ir.emit(Op.End);
    const facts = FloatFacts.ofProgram(ir);
    return [z, least, square, next].map((id) => facts.mayBeDenormal(id));
  };
  const c = (ir: Ir) => ir.constF(bits32(-0.4));
  assertEquals(loop((ir, z) => ir.emit(Op.FAdd, z, c(ir)), true), [false, false, false, false]);
  assertEquals(loop((ir, z) => ir.emit(Op.FFma, z, z, c(ir)), false), [false, false, false, false]);
  assertEquals(loop((ir, z) => ir.emit(Op.FMul, z, ir.constF(bits32(0.5))), false), [true, true, true, true]);
  // Without the constant a square is a multiple of a smaller power each time.
  assertEquals(loop((ir, z) => ir.emit(Op.FAdd, z, z), true), [true, true, true, true]);
});
