import { assertEquals, assertThrows } from "@std/assert";
import { dumpIr } from "../../../src/recompiler/ir/dump.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIr } from "../../../src/recompiler/ir/validate.ts";

interface Parts {
  ir: Ir;
  lane: number;
  test: number;
}

function build(body: (parts: Parts) => void): Ir {
  const ir = new Ir();
  const lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
  const test = ir.emit(Op.ULt, lane, ir.constU(3));
  body({ ir, lane, test });
  ir.emit(Op.End);
  return ir;
}

const good = ({ ir, lane, test }: Parts) => {
  ir.emit(Op.Loop);
  const phi = ir.append(Op.LoopPhi, Type.U32, lane);
  ir.emit(Op.If, test, IfKind.Lane);
  const inside = ir.emit(Op.IAdd, phi, lane);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  const next = ir.emit(Op.IMul, phi, phi);
  ir.emit(Op.LoopCont);
  ir.b[phi] = ir.append(Op.ContPhi, Type.U32, ir.pooled([next]), 1);
  ir.emit(Op.EndLoop);
  ir.append(Op.BreakPhi, Type.U32, ir.pooled([inside]), 1);
};

Deno.test("a program that obeys the rules is accepted, and dumps readably", () => {
  const ir = build(good);
  validateIr(ir);
  assertEquals(dumpIr(ir).split("\n").map((line) => line.slice(6)), [
    "%1:u32 = Input LaneId",
    "%3:bool = ULt %1, 3",
    "Loop #0",
    "  %5:u32 = LoopPhi %1, %12",
    "  If %3 Lane",
    "    %7:u32 = IAdd %5, %1",
    "    Break",
    "  EndIf",
    "  %10:u32 = IMul %5, %5",
    "LoopCont",
    "  %12:u32 = ContPhi %10",
    "EndLoop",
    "%14:u32 = BreakPhi %7",
    "End",
    "",
  ]);
});

const broken: [string, (parts: Parts) => void][] = [
  ["is bool", ({ ir, lane, test }) => ir.emit(Op.IAdd, lane, test)],
  ["is defined later", ({ ir, lane }) => ir.b[ir.emit(Op.IAdd, lane, lane)] = ir.emit(Op.IMul, lane, lane)],
  ["is no value", ({ ir, lane }) => ir.emit(Op.IAdd, lane, 0)],
  ["has no result", ({ ir, lane }) => ir.emit(Op.IAdd, lane, ir.emit(Op.Barrier))],
  ["wrong result type", ({ ir, lane }) => ir.append(Op.IAdd, Type.F32, lane, lane)],
  ["choices' types differ", ({ ir, lane, test }) => ir.append(Op.Select, Type.U32, test, lane, test)],
  ["component 2 of a v2", ({ ir, lane }) => ir.emit(Op.Extract, ir.append(Op.Vec, Type.V2, lane, lane), 2)],
  ["do not fit a u32", ({ ir, lane, test }) => ir.append(Op.LdsLoad, Type.U32, lane, test, 8)],
  ["does not nest", ({ ir, test }) => {
    ir.emit(Op.If, test, IfKind.Lane);
    ir.emit(Op.EndLoop);
  }],
  ["inside the construct", ({ ir, test }) => ir.emit(Op.If, test, IfKind.Lane)],
  ["second Else", ({ ir, test }) => {
    ir.emit(Op.If, test, IfKind.Lane);
    ir.emit(Op.Else);
    ir.emit(Op.Else);
    ir.emit(Op.EndIf);
  }],
  ["outside a loop", ({ ir, test }) => {
    ir.emit(Op.If, test, IfKind.Lane);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
  }],
  ["follows a Break or Continue", ({ ir, lane }) => {
    ir.emit(Op.Loop);
    ir.emit(Op.Break);
    ir.emit(Op.IAdd, lane, lane);
    ir.emit(Op.LoopCont);
    ir.emit(Op.EndLoop);
  }],
  ["is not available here", ({ ir, lane, test }) => {
    ir.emit(Op.If, test, IfKind.Lane);
    const inside = ir.emit(Op.IAdd, lane, lane);
    ir.emit(Op.EndIf);
    ir.emit(Op.IAdd, inside, lane);
  }],
  ["is not available at its edge", ({ ir, lane, test }) => {
    ir.emit(Op.If, test, IfKind.Lane);
    const inside = ir.emit(Op.IAdd, lane, lane);
    ir.emit(Op.Else);
    ir.emit(Op.EndIf);
    ir.append(Op.Phi, Type.U32, lane, inside);
  }],
  ["phi in a wrong place", ({ ir, lane }) => ir.append(Op.Phi, Type.U32, lane, lane)],
  ["another type than the phi", ({ ir, lane, test }) => {
    ir.emit(Op.If, test, IfKind.Lane);
    ir.emit(Op.EndIf);
    ir.append(Op.Phi, Type.U32, lane, test);
  }],
  ["2 operands for 1 edges", ({ ir, lane }) => {
    ir.emit(Op.Loop);
    ir.emit(Op.Break);
    ir.emit(Op.LoopCont);
    ir.emit(Op.EndLoop);
    ir.append(Op.BreakPhi, Type.U32, ir.pooled([lane, lane]), 2);
  }],
  ["no LoopCont", ({ ir }) => {
    ir.emit(Op.Loop);
    ir.emit(Op.EndLoop);
  }],
  ["not the last operation", ({ ir }) => ir.emit(Op.End)],
];

Deno.test("each broken rule is reported", () => {
  for (const [message, body] of broken) assertThrows(() => validateIr(build(body)), Error, message);
});
