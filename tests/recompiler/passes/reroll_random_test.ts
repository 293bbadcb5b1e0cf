import { assert, assertEquals } from "@std/assert";
import type { Ir } from "../../../src/recompiler/ir/ir.ts";
import { Op } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { reroll } from "../../../src/recompiler/passes/reroll.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { Random } from "../../support/random.ts";
import { BASE, LANE_BYTES, LANES, SHARED, unrolledIr } from "./unrolled_ir.ts";

/** Seeds of the suite; others as arguments: first, how many. */
const FIRST = Number(Deno.args[0] ?? 1), COUNT = Number(Deno.args[1] ?? 160);
const LIMITS = [0, 3, 9, 0xfffffffe];

const count = (ir: Ir, op: number) => ir.op.subarray(0, ir.length).filter((each) => each === op).length;

/** What a program leaves in memory. */
function results(ir: Ir, limit: number): number[] {
  const memory = new EvalMemory();
  const own = memory.mapWords(BigInt(BASE), Array.from({ length: LANES * LANE_BYTES / 4 }, (_, k) => k * 0x9e3779b1));
  const shared = memory.mapWords(BigInt(SHARED), Array.from({ length: 64 }, (_, k) => k * 0x85ebca6b));
  evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [LANES, 1, 1], userData: [limit], memory });
  return [...own, ...shared];
}

Deno.test("random unrolled programs, with rounds among them that are not quite as the others, do the same when they are rolled up", () => {
  let rolledUp = 0;
  for (let seed = FIRST; seed < FIRST + COUNT; seed++) {
    const ir = unrolledIr(new Random(seed));
    const rolled = reroll(ir, () => () => false);
    if (count(rolled, Op.Loop) === count(ir, Op.Loop)) continue;
    rolledUp++;
    try {
      validateIrVerbosely(rolled);
      for (const limit of LIMITS) assertEquals(results(rolled, limit), results(ir, limit));
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message.slice(0, 400)}`);
    }
  }
  console.log(`${rolledUp} of ${COUNT} rolled up`);
  assert(rolledUp > COUNT / 4, `${rolledUp} of ${COUNT}`);
});
