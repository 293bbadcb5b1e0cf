import { assertEquals, assertThrows } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { emitCompute } from "../../../src/recompiler/spirv/emit.ts";
import { Random } from "../../support/random.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { INPUT, Lanes, OUTPUT } from "./programs.ts";
import { StructuredProgram } from "./structured_programs.ts";
import { compare, emitValid, request, Rig } from "./support.ts";

const LANES = 64;

function runsLikeTheEvaluator(rig: Rig, p: Lanes, results: number): void {
  const random = new Random(9);
  const words = Uint32Array.from({ length: LANES * 2 }, () => random.u32());
  compare(rig, p.ir, {
    waveSize: 64,
    workgroupSize: [LANES, 1, 1],
    windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(LANES * results) }],
  });
}

deviceTest("random nests of selections and loops with breaks and continues run like on the evaluator", (device) => {
  const rig = new Rig(device);
  for (let seed = 1; seed <= 40; seed++) {
    try {
      runsLikeTheEvaluator(rig, new StructuredProgram(new Random(seed), LANES).build(), 2);
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`);
    }
  }
  rig.destroy();
});

Deno.test("a thousand random control flows give modules that SPIRV-Tools and our own verification accept", () => {
  for (let seed = 100; seed < 1100; seed++) {
    const { ir } = new StructuredProgram(new Random(seed), LANES, 90).build();
    emitValid(ir, request({ workgroupSize: [LANES, 1, 1] }));
  }
});

deviceTest("loads and stores inside divergent control flow touch only what their lanes say", (device) => {
  const rig = new Rig(device);
  const p = new Lanes(LANES);
  const { ir } = p;
  const value = p.input(2, 0);
  ir.emit(Op.If, ir.emit(Op.ULt, ir.emit(Op.And, value, ir.constU(7)), ir.constU(4)), IfKind.Lane);
  const more = p.load(p.address(INPUT, p.index, 2, 1), 4, Type.U32);
  p.store(p.address(OUTPUT, p.index, 1, 0), ir.emit(Op.IAdd, value, more), 4);
  ir.emit(Op.Else);
  p.store(p.address(OUTPUT, p.index, 1, LANES), value, 4);
  ir.emit(Op.EndIf);
  p.end();
  runsLikeTheEvaluator(rig, p, 2);
  rig.destroy();
});

Deno.test("a conditional break is one conditional jump", () => {
  const p = new Lanes(32);
  const { ir } = p;
  const limit = p.input(1, 0), zero = ir.constU(0);
  ir.emit(Op.Loop);
  const count = ir.append(Op.LoopPhi, Type.U32, zero);
  ir.emit(Op.If, ir.emit(Op.ULe, limit, count), IfKind.Lane);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  const next = ir.emit(Op.IAdd, count, ir.constU(1));
  ir.emit(Op.LoopCont);
  ir.b[count] = ir.append(Op.ContPhi, Type.U32, ir.pooled([next]), 1);
  ir.emit(Op.EndLoop);
  p.output([ir.append(Op.BreakPhi, Type.U32, ir.pooled([count]), 1)]);
  const { spirv } = emitValid(p.end(), request());
  const main = opcodes(spirv).slice(opcodes(spirv).lastIndexOf(54));
  assertEquals(main.filter((code) => code === 246).length, 1, "loop merges");
  // One selection: the report of faults at the end.
  assertEquals(main.filter((code) => code === 247).length, 1, "selection merges");
  assertEquals(main.filter((code) => code === 245).length, 1, "phis: only the loop's");
});

deviceTest("floats that a loop carries as integers, and stores on the way, keep both forms", (device) => {
  const rig = new Rig(device);
  const p = new Lanes(LANES);
  const { ir } = p;
  const start = p.input(2, 0);
  const zero = ir.constU(0), one = ir.constU(1), three = ir.constU(3), half = ir.constF(0x3f000000);
  ir.emit(Op.Loop);
  const count = ir.append(Op.LoopPhi, Type.U32, zero), carried = ir.append(Op.LoopPhi, Type.U32, start);
  const next = ir.emit(Op.IAdd, count, one);
  const scaled = ir.emit(Op.BitcastU, ir.emit(Op.FMul, ir.emit(Op.BitcastF, carried), half));
  const place = ir.emit(Op.IAdd, ir.emit(Op.IMul, p.index, ir.constU(4)), count);
  p.store(p.address(OUTPUT, place, 1, 0), scaled, 4);
  ir.emit(Op.If, ir.emit(Op.ULe, three, next), IfKind.Lane);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  ir.emit(Op.LoopCont);
  ir.b[count] = next;
  ir.b[carried] = scaled;
  ir.emit(Op.EndLoop);
  const last = ir.append(Op.BreakPhi, Type.U32, ir.pooled([carried]), 1);
  p.store(p.address(OUTPUT, p.index, 4, 3), ir.emit(Op.IAdd, last, one), 4);
  p.end();
  const words = Uint32Array.from({ length: LANES * 2 }, (_, i) => 0x40000000 + i * 99991);
  compare(rig, ir, {
    waveSize: 64,
    workgroupSize: [LANES, 1, 1],
    windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(LANES * 4) }],
  });
  rig.destroy();
});

function opcodes(spirv: Uint32Array): number[] {
  const codes: number[] = [];
  for (let at = 5; at < spirv.length; at += spirv[at] >>> 16) codes.push(spirv[at] & 0xffff);
  return codes;
}

Deno.test("a loop without an end and code behind it that nothing comes to give a valid module", () => {
  const ir = new Ir();
  ir.emit(Op.Loop);
  ir.emit(Op.LoopCont);
  ir.emit(Op.EndLoop);
  ir.emit(Op.IAdd, ir.constU(1), ir.constU(2));
  ir.emit(Op.End);
  emitValid(ir, request());
});

Deno.test("malformed control structure is an error that names the operation", () => {
  const orphan = new Ir();
  orphan.emit(Op.Break);
  orphan.emit(Op.End);
  assertThrows(() => emitCompute(orphan, request()), Error, "Break");
  const open = new Ir();
  open.emit(Op.If, open.constB(true), IfKind.Lane);
  open.emit(Op.End);
  assertThrows(() => emitCompute(open, request()), Error, "a construct is still open");
  const phi = new Ir();
  phi.emit(Op.Loop);
  phi.emit(Op.If, phi.constB(true), IfKind.Lane);
  phi.emit(Op.Break);
  phi.emit(Op.EndIf);
  phi.emit(Op.LoopCont);
  phi.append(Op.ContPhi, Type.U32, phi.pooled([]), 0);
  phi.emit(Op.EndLoop);
  phi.emit(Op.End);
  assertThrows(() => emitCompute(phi, request()), Error, "0 values for 1 edges");
});
