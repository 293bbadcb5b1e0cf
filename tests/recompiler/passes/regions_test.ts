import { assert, assertEquals } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import { checkAddedBarriers } from "../../../src/recompiler/passes/added_barriers.ts";
import { ldsHazards } from "../../../src/recompiler/passes/lds_hazards.ts";
import { chooseRegions } from "../../../src/recompiler/passes/regions.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { Random } from "../../support/random.ts";
import { LANES, MaskProgram, VECTORS } from "./mask_programs.ts";

function run(ir: Ir, lanes: number): number[] {
  const memory = new EvalMemory();
  const words = memory.mapWords(0n, new Uint32Array((VECTORS + 3) * lanes));
  const result = evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [lanes, 1, 1], memory, ldsBytes: 4 * lanes });
  assertEquals(result.faults, []);
  return [...words];
}

function check(ir: Ir, chosen: Ir, seed: number, lanes = LANES): void {
  const expected = run(ir, lanes);
  let actual: number[];
  try {
    actual = run(chosen, lanes);
  } catch (error) {
    throw new Error(`seed ${seed}: ${error}`);
  }
  assertEquals(actual, expected, `seed ${seed}`);
}

Deno.test("lanes that go their own way compute what the wave in lockstep computes", () => {
  const counts = { lane: 0, flat: 0, wave: 0, group: 0 };
  for (let seed = 1; seed <= 3000; seed++) {
    const ir = deadCode(new MaskProgram(new Random(seed), false).ir);
    const { ir: chosen, report } = chooseRegions(ir, new Set());
    for (const each of report) counts[each.decision]++;
    check(ir, chosen, seed);
  }
  assert(counts.lane > 5000, `many branches become lane branches: ${JSON.stringify(counts)}`);
  assertEquals(counts.group, 0, "a workgroup of one wave does not vote as a workgroup");
  assert(counts.wave > 100, `scalar values that stay alive keep their vote: ${JSON.stringify(counts)}`);
});

Deno.test("LDS traffic keeps the lanes together and gets barriers in uniform control flow", () => {
  let barriers = 0;
  for (let seed = 1; seed <= 1500; seed++) {
    const ir = deadCode(new MaskProgram(new Random(seed), true).ir);
    const hazards = ldsHazards(ir, LANES);
    const { ir: chosen } = chooseRegions(ir, hazards);
    barriers += hazards.size;
    check(ir, chosen, seed);
  }
  assert(barriers > 1000, `the programs exchange through LDS (${barriers} barriers)`);
});

/** Whether all barriers that were added stand where the workgroup comes by. */
function isAccepted(ir: Ir): boolean {
  try {
    checkAddedBarriers(ir, false, 0n);
    return true;
  } catch (error) {
    if (error instanceof RefusedError) return false;
    throw error;
  }
}

Deno.test("waves of a workgroup vote together where they exchange, and compute what waves apart compute", () => {
  const lanes = 64;
  let groups = 0, accepted = 0, alone = 0, refused = 0;
  for (let seed = 1; seed <= 700; seed++) {
    const ir = deadCode(new MaskProgram(new Random(seed), true, lanes).ir);
    const hazards = ldsHazards(ir, lanes);
    const { ir: chosen, report } = chooseRegions(ir, hazards, true);
    if (isAccepted(chooseRegions(ir, hazards).ir)) alone++;
    if (!isAccepted(chosen)) {
      refused++;
      continue;
    }
    accepted++;
    groups += report.filter(({ decision }) => decision === "group").length;
    check(ir, chosen, seed, lanes);
  }
  const counts = JSON.stringify({ groups, accepted, alone, refused });
  assert(groups > 60, `workgroups vote: ${counts}`);
  assert(accepted > alone + 30, `more programs are recompiled: ${counts}`);
  assert(refused > 5, `where a wave's scalar values count its own rounds, the program stays refused: ${counts}`);
});

/** A region for the first of two waves, with an exchange behind a loop. `leave` emits the condition to leave the loop, given the trips so far (0, 2, 4 ...). */
function regionWithLoop(leave: (ir: Ir, mask: number, running: number, trips: number) => number): Ir {
  const ir = new Ir();
  const lane = ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
  const mask = ir.emit(Op.ULt, lane, ir.constU(32));
  ir.emit(Op.If, ir.emit(Op.Any, mask), IfKind.Wave);
  ir.emit(Op.Loop);
  const running = ir.append(Op.LoopPhi, Type.Bool, mask), trips = ir.append(Op.LoopPhi, Type.U32, ir.constU(0));
  const condition = leave(ir, mask, running, trips);
  ir.emit(Op.If, condition, IfKind.Wave);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  const next = ir.emit(Op.IAdd, trips, ir.constU(2));
  const still = ir.emit(Op.LAnd, running, ir.emit(Op.ULt, next, ir.constU(9)));
  ir.emit(Op.LoopCont);
  ir.b[running] = still;
  ir.b[trips] = next;
  ir.emit(Op.EndLoop);
  const other = ir.emit(Op.Shuffle, lane, ir.emit(Op.Xor, lane, ir.constU(1)));
  const exchanged = ir.append(Op.Select, Type.U32, mask, other, lane);
  ir.emit(Op.EndIf);
  const result = ir.append(Op.Phi, Type.U32, exchanged, lane);
  const address = ir.emit(Op.Pack64, ir.emit(Op.Shl, lane, ir.constU(2)), ir.constU(0));
  ir.emit(Op.Store, address, ir.constB(true), result, 4);
  ir.emit(Op.End);
  return ir;
}

Deno.test("a wave without lanes stays in a region only where the loops inside end for it as well", () => {
  const decisionOf = (ir: Ir) => {
    const { ir: chosen, report } = chooseRegions(ir, new Set(), true);
    check(ir, chosen, 0, 64);
    return report[0];
  };
  const byVote = regionWithLoop((ir, _mask, running) => ir.emit(Op.LNot, ir.emit(Op.Any, running)));
  assertEquals(decisionOf(byVote).decision, "group");
  const bySteps = regionWithLoop((ir, _mask, _running, trips) => ir.emit(Op.IEq, trips, ir.constU(6)));
  assertEquals(decisionOf(bySteps).decision, "group");
  // A wave without lanes reads what its first lane holds, and its even numbers never come to that.
  const byFirstLane = regionWithLoop((ir, mask, _running, trips) => {
    const limit = ir.append(Op.Select, Type.U32, mask, ir.constU(6), ir.constU(1));
    return ir.emit(Op.IEq, trips, ir.emit(Op.ReadFirstLane, limit, mask));
  });
  assertEquals(decisionOf(byFirstLane), {
    pc: 0,
    decision: "wave",
    reason: "a loop in the region might not end in a wave without lanes",
  });
});

/** A region for the first 8 lanes, with one exchange and `operations` more. */
function regionWithExchange(operations: number): Ir {
  const ir = new Ir();
  const lane = ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
  const mask = ir.emit(Op.ULt, lane, ir.constU(8));
  ir.emit(Op.If, ir.emit(Op.Any, mask), IfKind.Wave);
  let value = ir.emit(Op.Shuffle, lane, ir.emit(Op.Xor, lane, ir.constU(1)));
  for (let k = 0; k < operations; k++) value = ir.emit(k % 2 === 0 ? Op.IMul : Op.Xor, value, ir.constU(k + 3));
  const chosen = ir.append(Op.Select, Type.U32, mask, value, lane);
  ir.emit(Op.EndIf);
  const result = ir.append(Op.Phi, Type.U32, chosen, lane);
  const address = ir.emit(Op.Pack64, ir.emit(Op.Shl, lane, ir.constU(2)), ir.constU(0));
  ir.emit(Op.Store, address, ir.constB(true), result, 4);
  ir.emit(Op.End);
  return ir;
}

Deno.test("a region with exchanges is skipped by waves without lanes where it takes much longer than the vote", () => {
  const decisionOf = (operations: number, severalWaves: boolean, cost?: number) => {
    const ir = regionWithExchange(operations);
    const { ir: chosen, report } = chooseRegions(ir, new Set(), severalWaves, cost);
    check(ir, chosen, 0, 64);
    return report[0].decision;
  };
  assertEquals(decisionOf(100, false, 16), "wave");
  assertEquals(decisionOf(100, true, 16), "group");
  assertEquals(decisionOf(20, false, 16), "flat", "it is short");
  assertEquals(decisionOf(100, false, 64), "flat", "a vote takes long");
  assertEquals(decisionOf(100, false), "flat");
});

Deno.test("waves that skip regions with exchanges compute what they compute without", () => {
  for (const lanes of [LANES, 64]) {
    const counts = { lane: 0, flat: 0, wave: 0, group: 0 };
    let other = 0, refused = 0;
    for (let seed = 1; seed <= 250; seed++) {
      const ir = deadCode(new MaskProgram(new Random(seed), false, lanes, true).ir);
      const several = lanes > 32;
      const { ir: chosen, report } = chooseRegions(ir, new Set(), several, 0);
      const before = chooseRegions(ir, new Set(), several).report;
      report.forEach(({ decision }, k) => {
        counts[decision]++;
        if (before[k].decision === "flat" && decision !== "flat") other++;
      });
      if (several && !isAccepted(chosen)) refused++;
      else check(ir, chosen, seed, lanes);
    }
    const text = JSON.stringify({ lanes, ...counts, other, refused });
    assert(other > 150, `regions are skipped that were flat: ${text}`);
  }
});
